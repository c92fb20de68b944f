# Logs against real VisualDL.
add_test(NAME visualdl COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/visualdl_test.py)
set_tests_properties(visualdl PROPERTIES LABELS parity TIMEOUT 120
                     ENVIRONMENT "OCTET_VISUALDL_TOOL=$<TARGET_FILE:octet_visualdl_tool>")
