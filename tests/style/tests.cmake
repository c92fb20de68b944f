# How the sources look and hang together, and the scripts that see to it.
add_test(NAME style_format COMMAND ${CMAKE_SOURCE_DIR}/tools/check_format)
add_test(NAME style_includes COMMAND ${CMAKE_SOURCE_DIR}/tools/check_includes)
add_test(NAME style_includes_test COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/check_includes_test.py)
add_test(NAME style_setup_test COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/setup_test.py)
set_tests_properties(style_format style_includes style_includes_test style_setup_test PROPERTIES LABELS style)
