# Tests beside the unit tests. OCTET_PYTHON is a Python with the packages of tools/requirements.txt, and
# OCTET_FUZZ_BUILD the build folder of the preset `fuzz`; `make test` gives both, and what needs one is left out without it.
set(OCTET_PYTHON "" CACHE FILEPATH "A Python that has Paddle; none: no tests against Paddle")
set(OCTET_FUZZ_BUILD "" CACHE PATH "Where the fuzz targets are built; none: no fuzzing in the tests")

foreach(tool state_dict_tool rewrite_tool zoo_tool segmentation_tool visualdl_tool batch_tool paddle3_ops_tool)
  add_executable(octet_${tool} tools/${tool}.cc)
  target_link_libraries(octet_${tool} PRIVATE octet_internal)
endforeach()

set(OCTET_ONNX_PYTHON "" CACHE FILEPATH "A Python that has onnx and ONNX Runtime; none: no tests against them")

include(attack/tests.cmake)
include(style/tests.cmake)
include(bench/tests.cmake)
include(install/tests.cmake)
include(tipc/tests.cmake)
if(OCTET_PYTHON)
  include(data/tests.cmake)
  include(paddle/tests.cmake)
  include(report/tests.cmake)
endif()

if(OCTET_ONNX_PYTHON)
  include(onnx/tests.cmake)
endif()

if(OCTET_FUZZ_BUILD)
  add_test(NAME fuzz COMMAND ${CMAKE_SOURCE_DIR}/fuzz/run 5)
  set_tests_properties(fuzz PROPERTIES LABELS fuzz ENVIRONMENT OCTET_FUZZ_BUILD=${OCTET_FUZZ_BUILD})
endif()
