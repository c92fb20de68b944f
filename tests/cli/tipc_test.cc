#include <gmock/gmock.h>

#include "support/is_running.h"
#include "support/run_program.h"
#include "support/temp_dir.h"
#include "tipc/sample_config.h"

namespace octet {
namespace {

using testing::HasSubstr;

// A folder with programs that take the place of a trainer and the rest: each fails unless it finds what it
// needs.
struct TipcCommand : testing::Test {
  TipcCommand() {
    const std::string parse =
        "for a in \"$@\"; do case $a in --output-dir=*|--save-inference-dir=*|--output_dir=*) out=${a#*=};; "
        "--pretrained=*) weights=${a#*=};; --model-dir=*|--model_path=*) model=${a#*=};; --img-path=*) "
        "picture=${a#*=};; "
        "--epochs=*|--batch-size=*|--data-path=*|--use-gpu=False|--benchmark=False|--test-only) ;; "
        "*) echo \"unknown flag $a\"; exit 2;; esac; done\n";
    auto script = [&](const char* name, const std::string& body) { write_file(dir / name, parse + body); };
    script("train.sh", "echo training; touch $out/latest.pdparams\n");
    script("eval.sh", "[ -e \"$weights\" ] || { echo \"no $weights\"; exit 1; }\n");
    script("export.sh",
           "[ -e \"$weights\" ] || { echo \"no $weights\"; exit 1; }\nmkdir -p $out; touch $out/model\n");
    script("infer.sh",
           "for f in $model/model $picture; do [ -e \"$f\" ] || { echo \"no $f\"; exit 1; }; done; echo "
           "class_id: 1\n");
    std::filesystem::create_directory(dir / "images");
    write_file(dir / "images/demo.jpg", "");
  }

  ProgramResult run(const std::string& config, std::vector<std::string> flags = {},
                    const std::string& mode = "lite_train_lite_infer") {
    write_file(dir / "c.txt", config);
    flags.insert(flags.begin(), {"tipc", "run", "c.txt", mode});
    return run_octet(flags, dir.path());
  }
  // With another value for a field.
  ProgramResult run_with(const std::string& from, const std::string& to) {
    return run(with(sample_train_config(), from, to));
  }

  TempDir dir;
};

TEST_F(TipcCommand, RunsAChain) {
  ProgramResult result = run(sample_train_config());
  EXPECT_EQ(result.exit_code, 0) << result.out;
  EXPECT_THAT(result.out, HasSubstr(" Run successfully with command - sh train.sh --output-dir=./log/net/"));
  EXPECT_THAT(result.out, HasSubstr("4 commands: 4 ran successfully, 0 failed, 0 skipped; "
                                    "./log/net/lite_train_lite_infer/results_python.log\n"));
  EXPECT_EQ(read_file(dir / "log/net/lite_train_lite_infer/norm_train_gpus_-1_train.log"), "training\n");
  EXPECT_EQ(read_file(dir / "log/net/lite_train_lite_infer/python_infer_cpu_batchsize_1.log"),
            "class_id: 1\n");
  EXPECT_THAT(read_file(dir / "log/net/lite_train_lite_infer/results_python.log"),
              HasSubstr("Run successfully"));
}

TEST_F(TipcCommand, DryRunOnlyPrints) {
  ProgramResult result = run(with(sample_train_config(), "--use-gpu:False", "--use-gpu:True"), {"--dry-run"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              HasSubstr("sh train.sh --output-dir=./log/net/lite_train_lite_infer/norm_train_gpus_-1 "
                        "--epochs=5 --batch-size=4 --data-path=./lite_data\n"));
  EXPECT_FALSE(std::filesystem::exists(dir / "log"));
}

TEST_F(TipcCommand, AWrongCommandInAnyFieldIsFoundAndNamed) {
  struct Case {
    const char *from, *to, *failed, *why;
  };
  const Case cases[] = {
      {"python:sh", "python:no_such_python", "no_such_python train.sh", "no_such_python: not found"},
      {"norm_train:train.sh", "norm_train:trian.sh", "sh trian.sh", "trian.sh"},
      {"--epochs:", "--epoch:", "sh train.sh", "unknown flag --epoch=5"},
      {"--output-dir:", "--save-dir:", "sh train.sh", "unknown flag --save-dir="},
      {"--batch-size:lite", "--batch_size:lite", "sh train.sh", "unknown flag --batch_size=4"},
      {"--pretrained:null", "--pre-trained:null\n--weights:x\npretrained:null", "sh train.sh",
       "unknown flag --weights=x"},
      {"train_model_name:latest", "train_model_name:lastest", "sh train.sh",
       "it wrote no ./log/net/lite_train_lite_infer/norm_train_gpus_-1/lastest.pdparams"},
      {"--data-path:", "--data-dir:", "sh train.sh", "unknown flag --data-dir=./lite_data"},
      {"use-gpu:False", "--device:cpu", "sh train.sh", "unknown flag --device=cpu"},
      {"eval:eval.sh", "eval:evaluate.sh", "sh evaluate.sh", "evaluate.sh"},
      {"norm_export:export.sh", "norm_export:export.sh --oops", "sh export.sh --oops", "unknown flag --oops"},
      {"--save-inference-dir:", "--save_inference_dir:", "sh export.sh",
       "unknown flag --save_inference_dir="},
      {"inference:infer.sh", "inference:no_infer.sh", "sh no_infer.sh", "no_infer.sh"},
      {"--use-gpu:False", "--use-gpu:cpu", "sh infer.sh", "unknown flag --use-gpu=cpu"},
      {"--batch-size:1", "--batch_size:1", "sh infer.sh", "unknown flag --batch_size=1"},
      {"--model-dir:", "--model_dir:", "sh infer.sh", "unknown flag --model_dir="},
      {"images/demo.jpg", "images/gone.jpg", "sh infer.sh", "no ./images/gone.jpg"},
      {"--benchmark:False", "--benchmark:Flase", "sh infer.sh", "unknown flag --benchmark=Flase"},
  };
  for (const Case& c : cases) {
    ProgramResult result = run_with(c.from, c.to);
    EXPECT_EQ(result.exit_code, 1) << c.to;
    EXPECT_THAT(result.out, HasSubstr(std::string(" Run failed with command - ") + c.failed)) << c.to;
    EXPECT_THAT(result.out, HasSubstr(c.why)) << c.to;
  }
}

TEST_F(TipcCommand, AFailureDoesNotHideTheOtherRows) {
  const std::string config =
      with(sample_train_config(), "trainer:norm_train", "trainer:bad_train|norm_train\nbad_train:bad.sh");
  ProgramResult result = run(config);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr(" : its input is missing, because bad_train_gpus_-1 train failed\n"));
  EXPECT_THAT(result.out, HasSubstr("8 commands: 4 ran successfully, 1 failed, 3 skipped"));
  for (std::vector<std::string> flags : {std::vector<std::string>{"--fail-fast"}, {"--keep-going", "False"}})
    EXPECT_THAT(run(config, flags).out, HasSubstr("8 commands: 0 ran successfully, 1 failed, 7 skipped"));
  EXPECT_THAT(run(config, {"--jobs", "2"}).out,
              HasSubstr("8 commands: 4 ran successfully, 1 failed, 3 skipped"));
}

TEST_F(TipcCommand, WritesJUnit) {
  EXPECT_EQ(run(sample_train_config(), {"--junit", "results.xml"}).exit_code, 0);
  EXPECT_THAT(read_file(dir / "results.xml"), HasSubstr("tests=\"4\" failures=\"0\" skipped=\"0\""));
}

TEST_F(TipcCommand, AHangingCommandIsStopped) {
  write_file(dir / "train.sh", "sleep 1000 & echo $! > pid; wait\n");
  ProgramResult result = run(sample_train_config(), {"--timeout", "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("stopped at its time limit of 1 s"));
  EXPECT_FALSE(is_running(dir / "pid"));
}

TEST_F(TipcCommand, CtrlCStopsEverything) {
  write_file(dir / "train.sh", "setsid sleep 1000 & echo $! > pid; wait\n");
  write_file(dir / "c.txt", sample_train_config());
  // set -m: or the shell would let the command ignore SIGINT.
  ProgramResult result = run_shell(
      "set -m; octet tipc run c.txt lite_train_lite_infer & child=$!; while ! [ -s pid ]; do sleep 0.05; "
      "done; "
      "kill -INT $child; wait $child; echo code $?",
      dir.path());
  EXPECT_THAT(result.out, HasSubstr("interrupted"));
  EXPECT_THAT(result.out, HasSubstr("code 130\n"));
  EXPECT_FALSE(is_running(dir / "pid"));
}

TEST_F(TipcCommand, MistakesAreOneLine) {
  EXPECT_THAT(run_octet({"tipc", "walk", "c.txt", "whole_infer"}).err,
              HasSubstr("ACTION: 'walk' is not one of prepare, run"));
  EXPECT_THAT(run_octet({"tipc", "run", "c.txt", "lite"}).err,
              HasSubstr("MODE: 'lite' is not one of lite_train_lite"));
  EXPECT_THAT(run_octet({"tipc", "run", "no_such.txt", "whole_infer"}).err, HasSubstr("no_such.txt"));
  EXPECT_THAT(run_with("eval:", "evla:").err, HasSubstr("octet: error: c.txt:17: unknown key 'evla'"));
}

TEST(TipcScripts, NamesOfThePipelineAreCommands) {
  struct Name {
    const char *script, *command;
  };
  for (const Name& name : {Name{"train.py", "train"},
                           {"./train.py", "train"},
                           {"tools/export_model.py", "export"},
                           {"deploy/inference_python/infer.py", "infer"},
                           {"deploy/ptq_python/post_quant.py", "ptq"},
                           {"deploy/ptq_python/eval.py", "eval"}})
    EXPECT_THAT(run_octet({name.script, "--help"}).out,
                HasSubstr(std::string("octet ") + name.command + ": "));
  EXPECT_THAT(run_octet({"other.py"}).err, HasSubstr("unknown command 'other.py'"));
  EXPECT_THAT(run_octet({"-m", "pip"}).err,
              HasSubstr("-m pip: octet has no such module, only paddle.distributed.launch"));
}

TEST(TipcScripts, LaunchStartsAProcessForEachGpu) {
  if (run_shell("command -v mpirun").exit_code != 0) GTEST_SKIP() << "no Open MPI";
  for (const char* launch :
       {"-m paddle.distributed.launch --gpus=0,1", "launch --gpus 0,1", "launch --nproc 2",
        "launch --ips 127.0.0.1 --gpus 0,1", "launch --devices=0,1"}) {
    ProgramResult result =
        run_shell(std::string("CUDA_VISIBLE_DEVICES= octet ") + launch + " info | grep -c '^octet '");
    EXPECT_EQ(result.out, "2\n") << launch << result.err;
    if (std::string_view(launch).ends_with("2")) continue;
    EXPECT_THAT(result.err,
                HasSubstr("octet: notice: no CUDA device; --gpus 0,1 starts 2 processes on the CPU\n"));
  }
}

TEST(TipcScripts, MistakesOfLaunch) {
  EXPECT_THAT(run_octet({"launch", "info"}).err,
              HasSubstr("how many processes? Give --nproc 2, or --gpus 0,1"));
  EXPECT_THAT(run_octet({"launch", "--gpus", "a,b", "info"}).err,
              HasSubstr("--gpus a,b: expected numbers of GPUs"));
  EXPECT_THAT(run_octet({"launch", "--gpus", "0,1", "--nproc", "3", "info"}).err,
              HasSubstr("--nproc 3: --gpus 0,1 on 1 machine are 2 processes"));
}

}  // namespace
}  // namespace octet
