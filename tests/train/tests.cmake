# Training, in a program of its own, since only it links libtorch.
file(GLOB OCTET_TRAIN_TEST_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.cc)
add_executable(octet_train_tests ${OCTET_TRAIN_TEST_SOURCES} support/paths.cc)
target_link_libraries(octet_train_tests PRIVATE octet_training GTest::gtest GTest::gmock GTest::gtest_main)
target_include_directories(octet_train_tests PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_precompile_headers(octet_train_tests REUSE_FROM octet_training)
target_compile_options(octet_train_tests PRIVATE -fPIE)
# It has definitions of its own.
set_source_files_properties(support/paths.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
add_dependencies(octet_train_tests octet_program octet_faults)

# As two tests, not one each: loading libtorch takes longer than most of them.
add_test(NAME train COMMAND octet_train_tests --gtest_filter=-*Program.*)
add_test(NAME train_program COMMAND octet_train_tests --gtest_filter=*Program.*)
# libgomp must not spin: ctest runs other tests meanwhile.
set_tests_properties(train train_program PROPERTIES LABELS unit TIMEOUT 600 ENVIRONMENT GOMP_SPINCOUNT=1000)

# The commands of docs/segmentation.md, which are those of PaddleSeg's tutorial.
add_test(NAME segmentation_tutorial COMMAND ${CMAKE_SOURCE_DIR}/tests/cli/tutorial_test.sh ${CMAKE_SOURCE_DIR}
  ${CMAKE_CURRENT_BINARY_DIR}/tutorial $<TARGET_FILE:octet_program>)
set_tests_properties(segmentation_tutorial PROPERTIES LABELS chain TIMEOUT 900 PROCESSORS 2 ENVIRONMENT GOMP_SPINCOUNT=1000)
