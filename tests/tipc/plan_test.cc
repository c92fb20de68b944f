#include "tipc/plan.h"

#include <gmock/gmock.h>

#include "octet/error.h"
#include "tipc/sample_config.h"

namespace octet::tipc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kLite = "lite_train_lite_infer";

Plan plan_of(const std::string& text, const char* mode = kLite, bool has_gpu = false) {
  return make_plan(Config::parse(text, "c.txt"), mode, has_gpu);
}

std::vector<std::string> commands_of(const Plan& plan) {
  std::vector<std::string> commands;
  for (const Step& step : plan.steps) commands.push_back(step.reported());
  return commands;
}

std::string error_of(const std::string& text, const char* mode = kLite) {
  try {
    plan_of(text, mode);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TipcPlan, ChainOfTraining) {
  const Plan plan = plan_of(sample_train_config());
  EXPECT_THAT(
      commands_of(plan),
      ElementsAre(
          "sh train.sh --output-dir=./log/net/lite_train_lite_infer/norm_train_gpus_-1 --epochs=5 "
          "--batch-size=4 --data-path=./lite_data",
          "sh eval.sh --test-only "
          "--pretrained=./log/net/lite_train_lite_infer/norm_train_gpus_-1/latest.pdparams "
          "--data-path=./lite_data",
          "sh export.sh --pretrained=./log/net/lite_train_lite_infer/norm_train_gpus_-1/latest.pdparams "
          "--save-inference-dir=./log/net/lite_train_lite_infer/norm_train_gpus_-1",
          "sh infer.sh --use-gpu=False --model-dir=./log/net/lite_train_lite_infer/norm_train_gpus_-1 "
          "--batch-size=1 --img-path=./images/demo.jpg --benchmark=False > "
          "./log/net/lite_train_lite_infer/python_infer_cpu_batchsize_1.log 2>&1 "));
  std::vector<int> needs;
  for (const Step& step : plan.steps) needs.push_back(step.needs);
  EXPECT_THAT(needs, ElementsAre(-1, 0, 0, 2));
  EXPECT_EQ(plan.steps[0].makes, "./log/net/lite_train_lite_infer/norm_train_gpus_-1/latest.pdparams");
  EXPECT_TRUE(plan.notices.empty());
}

// Folders of earlier runs are emptied, so no name may lead out of ./log.
TEST(TipcPlan, NamesStayNames) {
  for (const std::string name : {"../../x", "a/b", "..", "/x"}) {
    std::string text = sample_train_config();
    const std::size_t at = text.find("model_name:") + 11;
    text.replace(at, text.find('\n', at) - at, name);
    EXPECT_THAT(error_of(text), HasSubstr("can't be a part of a file's name")) << name;
  }
}

TEST(TipcPlan, WholeInferExportsAndInfers) {
  EXPECT_THAT(commands_of(plan_of(sample_train_config(), "whole_infer")),
              ElementsAre("sh export.sh --pretrained=./net.pdparams --save-inference-dir=./output/net_infer/",
                          "sh infer.sh --use-gpu=False --model-dir=./output/net_infer/ --batch-size=1 "
                          "--img-path=./images/demo.jpg --benchmark=False > "
                          "./log/net/whole_infer/python_infer_cpu_batchsize_1.log 2>&1 "));
}

TEST(TipcPlan, ChainOfQuantizing) {
  const Plan plan = plan_of(sample_ptq_config(), "whole_infer");
  ASSERT_EQ(plan.steps.size(), 5u);
  EXPECT_EQ(plan.steps[0].command,
            "sh quantize.sh --use_gpu=False --model_path=./net_infer/ --batch_num=2 --batch_size=8 "
            "--data_dir=./lite_data/ --output_dir=./net_infer_ptq/");
  EXPECT_EQ(plan.steps[1].skip, "no CUDA device");
  EXPECT_EQ(plan.steps[1].log, "./log/net/whole_infer/python_infer_gpu_batchsize_1.log");
  EXPECT_EQ(plan.steps[4].log, "./log/net/whole_infer/python_infer_cpu_batchsize_2.log");
  EXPECT_EQ(plan.steps[4].skip, "");
  EXPECT_THAT(error_of(sample_ptq_config()), HasSubstr("its mode is whole_infer, not lite_train_lite_infer"));
}

TEST(TipcPlan, TheMatrixIsExpandedInOrder) {
  std::string text = with(sample_train_config(), "gpu_list:-1", "gpu_list:0|0,1");
  text = with(text, "trainer:norm_train",
              "trainer:norm_train|amp_train|fpgm_train\namp_train:amp.sh\nfpgm_train:null");
  text = with(text, "lite_infer=4", "lite_infer=4|lite_train_lite_infer=8");
  const Plan plan = plan_of(text);
  std::vector<std::string> rows;
  for (const Step& step : plan.steps)
    if (rows.empty() || rows.back() != step.row) rows.push_back(step.row);
  EXPECT_THAT(rows, ElementsAre("norm_train_gpus_0_batchsize_4", "norm_train_gpus_0_batchsize_8",
                                "amp_train_gpus_0_batchsize_4", "amp_train_gpus_0_batchsize_8",
                                "norm_train_gpus_0,1_batchsize_4", "norm_train_gpus_0,1_batchsize_8",
                                "amp_train_gpus_0,1_batchsize_4", "amp_train_gpus_0,1_batchsize_8"));
  EXPECT_THAT(plan.steps[8].command, HasSubstr("sh amp.sh --output-dir="));
  EXPECT_THAT(plan.notices, ElementsAre("no CUDA device: gpu_list 0 trains on the CPU, with 1 process",
                                        "no CUDA device: gpu_list 0,1 trains on the CPU, with 2 processes"));
  // All rows infer into one log: the first begins it.
  EXPECT_FALSE(plan.steps[3].appends);
  EXPECT_THAT(plan.steps[7].reported(), HasSubstr(" >> ./log/"));
}

TEST(TipcPlan, SeveralDevicesAreLaunched) {
  const Plan several = plan_of(with(sample_train_config(), "gpu_list:-1", "gpu_list:0,1"));
  EXPECT_THAT(several.steps[0].command,
              HasSubstr("sh -m paddle.distributed.launch --gpus=0,1 train.sh --output-dir="));
  EXPECT_THAT(several.steps[1].command, HasSubstr("sh eval.sh "));
  const Plan machines = plan_of(with(sample_train_config(), "gpu_list:-1", "gpu_list:10.0.0.1,10.0.0.2;0,1"));
  EXPECT_THAT(
      machines.steps[0].command,
      HasSubstr("sh -m paddle.distributed.launch --ips=10.0.0.1,10.0.0.2 --gpus=0,1 train.sh --output-dir="));
  EXPECT_EQ(machines.steps[0].row, "norm_train_gpus_0,1_nodes_2");
  EXPECT_THAT(machines.notices.at(0), HasSubstr("with 4 processes"));
}

TEST(TipcPlan, GpusAreUsedWhereThereAreSome) {
  std::string text = with(sample_train_config(), "gpu_list:-1", "gpu_list:-1|1|0,1");
  text = with(text, "use-gpu:False", "--device:cpu|gpu|gpu");
  text = with(text, "--use-gpu:False", "--use-gpu:True");
  const Plan gpu = plan_of(text, kLite, true);
  EXPECT_THAT(gpu.steps[0].environment, ElementsAre("CUDA_VISIBLE_DEVICES=-1"));
  EXPECT_THAT(gpu.steps[4].environment, ElementsAre("CUDA_VISIBLE_DEVICES=1"));
  EXPECT_THAT(gpu.steps[8].environment, ElementsAre());
  EXPECT_THAT(gpu.steps[9].environment, ElementsAre("CUDA_VISIBLE_DEVICES=0"));
  EXPECT_THAT(gpu.steps[4].command, HasSubstr("--device=gpu"));
  EXPECT_EQ(gpu.steps[7].skip, "");
  EXPECT_TRUE(gpu.notices.empty());
  const Plan cpu = plan_of(text);
  EXPECT_THAT(cpu.steps[4].environment, ElementsAre());
  EXPECT_THAT(cpu.steps[4].command, HasSubstr("--device=cpu"));
  EXPECT_EQ(cpu.steps[7].skip, "no CUDA device");
}

TEST(TipcPlan, NullLeavesStepsOut) {
  auto stages = [](const std::string& text, const char* mode = kLite) {
    std::vector<std::string> result;
    for (const Step& step : plan_of(text, mode).steps) result.push_back(step.stage);
    return result;
  };
  const std::string text = sample_train_config();
  EXPECT_THAT(stages(text), ElementsAre("train", "eval", "export", "infer"));
  EXPECT_THAT(stages(with(text, "eval:eval.sh --test-only", "eval:null")),
              ElementsAre("train", "export", "infer"));
  EXPECT_THAT(stages(with(text, "norm_export:export.sh", "norm_export:null")), ElementsAre("train", "eval"));
  EXPECT_THAT(stages(with(text, "inference:infer.sh", "inference:null")),
              ElementsAre("train", "eval", "export"));
  EXPECT_THAT(stages(with(text, "infer_export:export.sh", "infer_export:null"), "whole_infer"),
              ElementsAre("infer"));
  EXPECT_THAT(error_of(with(text, "norm_train:train.sh", "norm_train:null")),
              HasSubstr("c.txt: nothing to run in the mode lite_train_lite_infer"));
}

TEST(TipcPlan, AlternativesCannotMultiplyWithoutEnd) {
  std::string many = "1";
  for (int i = 0; i < 40; ++i) many += "|1";
  std::string text = with(sample_train_config(), "--batch-size:1", "--batch-size:" + many);
  text = with(text, "gpu_list:-1", "gpu_list:" + many);
  EXPECT_THAT(error_of(text), HasSubstr("c.txt: more than 1000 commands; give fewer alternatives"));
}

TEST(TipcPlan, MistakesAreNamed) {
  const std::string text = sample_train_config();
  EXPECT_THAT(error_of(with(text, "gpu_list:-1", "gpu_list:zero")),
              HasSubstr("c.txt:4: gpu_list: 'zero' is neither -1"));
  EXPECT_THAT(error_of(with(text, "use-gpu:False", "use-gpu:True|True")),
              HasSubstr("c.txt:5: use-gpu has 2 values, but gpu_list has 1"));
  EXPECT_THAT(error_of(text, "lite_train_whole_infer"),
              HasSubstr("c.txt:8: --batch-size has no value for the mode"));
  EXPECT_THAT(error_of(with(text, "--benchmark:False", "--benchmark:False|True")),
              HasSubstr("c.txt:32: --benchmark can have one value only, not False and True"));
}

}  // namespace
}  // namespace octet::tipc
