# Against onnx's own tests and ONNX Runtime.
set(onnx_environment "OCTET_PROGRAM=$<TARGET_FILE:octet_program>" "OCTET_BATCH_TOOL=$<TARGET_FILE:octet_batch_tool>")

add_test(NAME onnx_conformance COMMAND ${OCTET_ONNX_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/conformance.py --quick)
add_test(NAME onnx_parity COMMAND ${OCTET_ONNX_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/parity_test.py)
add_test(NAME onnx_quantized COMMAND ${OCTET_ONNX_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/quantized_test.py)
set_tests_properties(onnx_conformance onnx_parity onnx_quantized PROPERTIES LABELS parity TIMEOUT 300 ENVIRONMENT "${onnx_environment}")
