# cmake -DBUILD=… -DWORK=… -DVERSION=… -DCXX=… -DNM=… [-DMODEL=…] -P install_test.cmake
# Installs octet, builds the program in this folder against it, and runs that.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE error)
  set(code ${code} PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
  set(error "${error}" PARENT_SCOPE)
endfunction()

function(expect what)
  if(NOT (${ARGN}))
    message(FATAL_ERROR "${what}\nexit code: ${code}\n${output}\n${error}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
expect("the installation fails" code EQUAL 0)
foreach(file IN ITEMS bin/octet lib/liboctet.a lib/liboctet_vision.a include/octet/predictor.h share/doc/octet/LICENSE
    share/bash-completion/completions/octet)
  expect("${file} is not installed" EXISTS ${WORK}/prefix/${file})
endforeach()
run(${WORK}/prefix/bin/octet --version)
expect("the installed program does not know its version" output MATCHES "${VERSION}")

# The library that gets deployed needs nothing for pictures, YAML or the pipeline harness; that for pictures does.
function(expect_free_of file pattern)
  string(REGEX MATCH "[^\n]*(${pattern})[^\n]*" found "${output}")
  expect("${file} has '${found}'" "${found}" STREQUAL "")
endfunction()
run(${NM} -C ${WORK}/prefix/lib/liboctet.a)
expect("the library's symbols can't be listed" code EQUAL 0 AND output MATCHES "octet::Model::load")
expect_free_of(liboctet.a "jpeg_|png_|YAML::|inflate|octet::tipc::|c10::|at::Tensor")
run(${CMAKE_COMMAND} -E cat ${WORK}/prefix/lib/cmake/octet/octetTargets.cmake)
expect("octetTargets.cmake can't be read" output MATCHES "octet::octet")
expect_free_of(octetTargets.cmake "yaml|JPEG|PNG|ZLIB|json")
run(${NM} -C ${WORK}/prefix/lib/liboctet_vision.a)
expect("the library for pictures reads none" output MATCHES "jpeg_" AND output MATCHES "YAML::")

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_CXX_COMPILER=${CXX})
expect("find_package(octet) fails" code EQUAL 0)
run(${CMAKE_COMMAND} --build ${WORK}/build)
expect("a program does not build against the installed library" code EQUAL 0)

run(${WORK}/build/user)
expect("the program does not run" code EQUAL 0 AND output STREQUAL "octet ${VERSION}\n")
run(${WORK}/build/user ${WORK}/no-such-model)
expect("a missing model is not reported" code EQUAL 2 AND error MATCHES "no-such-model")
if(MODEL)
  run(${WORK}/build/user ${MODEL})
  expect("the orientation classifier does not run" code EQUAL 0 AND output MATCHES "\n1 2 \n")
endif()
