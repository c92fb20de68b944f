# The chains of test_tipc, with its scripts. `make test` runs the quick ones, `make test-tipc` all.
set(octet_tipc_configs train_infer_python train_amp_infer_python train_pact_infer_python train_ptq_infer_python)

function(octet_add_chain name label model config mode)
  add_test(NAME ${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/chain_test.sh ${CMAKE_SOURCE_DIR}
    ${CMAKE_CURRENT_BINARY_DIR}/tipc/${name} ${model} ${config} ${mode} ${ARGN})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT 3600 PROCESSORS 2
    ENVIRONMENT "OCTET=$<TARGET_FILE:octet_program>;CUDA_VISIBLE_DEVICES=")
endfunction()

if(TARGET octet_train)
  foreach(config IN LISTS octet_tipc_configs)
    if(config STREQUAL train_ptq_infer_python)
      set(mode whole_infer)
    else()
      set(mode lite_train_lite_infer)
      octet_add_chain(tipc_quick_${config} chain mobilenet_v3_small ${config} ${mode} quick)
    endif()
    octet_add_chain(tipc_quick_bisenetv2_${config} chain bisenetv2 ${config} ${mode} quick)
    foreach(model IN ITEMS mobilenet_v3_small resnet18 mobilenet_v2 bisenetv2)
      octet_add_chain(tipc_${model}_${config} tipc ${model} ${config} ${mode})
    endforeach()
  endforeach()
  octet_add_chain(tipc_quick_train_ptq_infer_python chain mobilenet_v3_small train_ptq_infer_python whole_infer quick)
  octet_add_chain(tipc_whole_infer tipc mobilenet_v3_small train_infer_python whole_infer)
  octet_add_chain(tipc_whole_infer_bisenetv2 tipc bisenetv2 train_infer_python whole_infer)
endif()
