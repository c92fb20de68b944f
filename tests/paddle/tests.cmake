# Against real Paddle and PaddleSlim. The first test makes the models (minutes once, then they are cached outside the clone).
set(paddle_environment "OCTET_PROGRAM=$<TARGET_FILE:octet_program>" "OCTET_REWRITE_TOOL=$<TARGET_FILE:octet_rewrite_tool>"
    "OCTET_PADDLE3_OPS_TOOL=$<TARGET_FILE:octet_paddle3_ops_tool>")

add_test(NAME paddle_models COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/make_models.py)
set_tests_properties(paddle_models PROPERTIES LABELS parity FIXTURES_SETUP paddle_models TIMEOUT 900 PROCESSORS 2)
foreach(name float quantized round_trip bad_input footprint ptq paddle3 paddle3_commands)
  add_test(NAME paddle_${name} COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/${name}_test.py)
  set_tests_properties(paddle_${name} PROPERTIES LABELS parity FIXTURES_REQUIRED paddle_models TIMEOUT 900
                       ENVIRONMENT "${paddle_environment}")
endforeach()

# For `make test-paddle3` alone: all networks, and every release of Paddle 3, of which each is 200 MB to download.
if(OCTET_ONNX_PYTHON)
  set(paddle3_onnx onnx)
endif()
foreach(name networks releases ${paddle3_onnx})
  add_test(NAME paddle3_${name} COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/paddle3_${name}_test.py)
  set_tests_properties(paddle3_${name} PROPERTIES LABELS releases FIXTURES_REQUIRED paddle_models TIMEOUT 3600
                       ENVIRONMENT "${paddle_environment};OCTET_ONNX_PYTHON=${OCTET_ONNX_PYTHON}")
endforeach()

add_test(NAME parity_state_dict COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/state_dict_test.py)
set_tests_properties(parity_state_dict PROPERTIES LABELS parity TIMEOUT 300
                     ENVIRONMENT "OCTET_STATE_DICT_TOOL=$<TARGET_FILE:octet_state_dict_tool>")

add_test(NAME parity_zoo COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/zoo_test.py)
set_tests_properties(parity_zoo PROPERTIES LABELS parity TIMEOUT 600
                     ENVIRONMENT "OCTET_PROGRAM=$<TARGET_FILE:octet_program>;OCTET_ZOO_TOOL=$<TARGET_FILE:octet_zoo_tool>")

add_test(NAME parity_segmentation COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/segmentation_test.py)
set_tests_properties(parity_segmentation PROPERTIES LABELS parity TIMEOUT 900
                     ENVIRONMENT "OCTET_PROGRAM=$<TARGET_FILE:octet_program>;OCTET_ZOO_TOOL=$<TARGET_FILE:octet_zoo_tool>;OCTET_SEGMENTATION_TOOL=$<TARGET_FILE:octet_segmentation_tool>")

if(TARGET octet_training)
  add_test(NAME parity_segmentation_chain COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/segmentation_chain_test.py)
  set_tests_properties(parity_segmentation_chain PROPERTIES LABELS parity TIMEOUT 900 PROCESSORS 2
                       ENVIRONMENT "OCTET_PROGRAM=$<TARGET_FILE:octet_program>;GOMP_SPINCOUNT=1000")
  add_test(NAME parity_train COMMAND ${OCTET_PYTHON} ${CMAKE_CURRENT_LIST_DIR}/train_test.py)
  set_tests_properties(parity_train PROPERTIES LABELS parity TIMEOUT 300
                       ENVIRONMENT "OCTET_PROGRAM=$<TARGET_FILE:octet_program>")
endif()
