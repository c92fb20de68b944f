# Pixels and preprocessing against real Pillow, OpenCV and Paddle.
add_executable(octet_image_tool ${CMAKE_CURRENT_LIST_DIR}/../tools/image_tool.cc)
target_include_directories(octet_image_tool PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
target_link_libraries(octet_image_tool PRIVATE octet_internal)

add_test(NAME pillow COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/pillow_test.py)
set_tests_properties(pillow PROPERTIES LABELS parity TIMEOUT 600
                     ENVIRONMENT "OCTET_IMAGE_TOOL=$<TARGET_FILE:octet_image_tool>")
add_test(NAME augment COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/augment_test.py)
set_tests_properties(augment PROPERTIES LABELS parity TIMEOUT 600
                     ENVIRONMENT "OCTET_IMAGE_TOOL=$<TARGET_FILE:octet_image_tool>")
add_test(NAME paddleseg_transforms COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/paddleseg_test.py)
set_tests_properties(paddleseg_transforms PROPERTIES LABELS parity TIMEOUT 600
                     ENVIRONMENT "OCTET_IMAGE_TOOL=$<TARGET_FILE:octet_image_tool>")
