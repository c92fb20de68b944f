#pragma once
#include <string>

namespace octet {

// A config whose programs are the shell scripts of tests/cli/tipc_test.cc.
inline std::string sample_train_config() {
  return R"(===========================train_params===========================
model_name:net
python:sh
gpu_list:-1
use-gpu:False
--epochs:lite_train_lite_infer=5|whole_train_whole_infer=90
--output-dir:./output/
--batch-size:lite_train_lite_infer=4|whole_train_whole_infer=128
--pretrained:null
train_model_name:latest.pdparams
--data-path:./lite_data
##
trainer:norm_train
norm_train:train.sh
##
===========================eval_params===========================
eval:eval.sh --test-only
##
===========================infer_params===========================
--save-inference-dir:./output/net_infer/
--pretrained:
norm_export:export.sh
##
train_model:./net.pdparams
infer_export:export.sh
##
inference:infer.sh
--use-gpu:False
--batch-size:1
--model-dir:./output/net_infer/
--img-path:./images/demo.jpg
--benchmark:False
)";
}

inline std::string sample_ptq_config() {
  return R"(===========================ptq_params===========================
model_name:net
python:sh
--use_gpu:False
--model_path:./net_infer/
--output_dir:./net_infer_ptq/
--data_dir:./lite_data/
--batch_num:2
--batch_size:8
##
trainer:PTQ
PTQ:quantize.sh
##
===========================infer_params===========================
inference:infer.sh
--use-gpu:True|False
--batch-size:1|2
--model-dir:./net_infer_ptq/
--img-path:./images/demo.jpg
--benchmark:True
)";
}

// `text` with the first `from` replaced, which must be there.
inline std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace octet
