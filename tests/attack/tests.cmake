# Attacks on the whole program; `make attack` runs them for hours.
add_executable(octet_mutants attack/mutants.cc attack/mutate.cc attack/samples.cc attack/child.cc)
target_link_libraries(octet_mutants PRIVATE octet_cli)
target_include_directories(octet_mutants PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(octet_mutants PRIVATE -O1)

add_executable(octet_fault_sweep attack/fault_sweep.cc support/paths.cc)
target_link_libraries(octet_fault_sweep PRIVATE octet_internal JPEG::JPEG PNG::PNG ZLIB::ZLIB)
target_include_directories(octet_fault_sweep PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_options(octet_fault_sweep PRIVATE -O1)
add_dependencies(octet_fault_sweep octet_program octet_faults)

add_executable(octet_differential attack/differential.cc)
target_link_libraries(octet_differential PRIVATE octet_internal)
target_compile_options(octet_differential PRIVATE -O1)

# A minute of each.
add_test(NAME attack_mutants COMMAND octet_mutants 60s --keep ${CMAKE_BINARY_DIR}/mutants_found)
add_test(NAME attack_kernels COMMAND octet_differential 60s)
add_test(NAME attack_faults COMMAND octet_fault_sweep --share 12 --memory 60)
set_tests_properties(attack_mutants attack_kernels attack_faults PROPERTIES LABELS attack)
