#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/training_folder.h"

// `octet train --pact_quant` together with the rest of training, and models on libtorch's device.
namespace octet {

namespace {

using ::testing::AllOf;
using testing::expect_one_error;
using ::testing::HasSubstr;
using testing::interrupt;
using testing::launched;
using testing::losses;
using ::testing::Not;
using testing::Pictures;
using testing::same_bytes;

const std::string kNetwork = "--model mobilenet_v3_small --width 0.5 --img-size 32 --seed 5 ";
const std::string kQuantized = kNetwork + "--pact_quant --lr 0.005 ";

// The accuracy that the last evaluation printed.
std::string last_accuracy(const std::string& log) {
  const std::size_t at = log.rfind(" * Acc@1 ");
  return at == std::string::npos ? "none" : log.substr(at + 9, 6);
}

ProgramResult run_in(const Pictures& pictures, const std::string& line) {
  return run_shell(line, pictures.path());
}

std::string evaluated(const Pictures& pictures, const std::string& model) {
  const ProgramResult result =
      run_in(pictures, "octet eval --data-dir data --threads 1 --model-path " + model);
  const std::size_t at = result.out.rfind("test_acc1 ");
  return at == std::string::npos ? result.err : result.out.substr(at + 10, 6);
}

TEST(QatProgram, PrintsTheAccuracyThatIsDeployed) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train(kNetwork + "--epochs 3 --lr 0.02 --output-dir float").exit_code, 0);
  const ProgramResult result = pictures.train(kQuantized + "--epochs 1 --pretrained float");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string accuracy = last_accuracy(result.out);
  EXPECT_EQ(evaluated(pictures, "out/qat_inference.pdmodel"), accuracy);
  // A checkpoint knows by itself that it is quantized.
  const ProgramResult tested = pictures.train(kNetwork + "--test-only --pretrained out/latest");
  EXPECT_EQ(last_accuracy(tested.out), accuracy) << tested.err;
  for (const std::string flags : {"", "--onnx_format False"}) {
    const ProgramResult exported =
        run_in(pictures,
               "octet export --model mobilenet_v3_small --width 0.5 --img-size 32 --pretrained out/latest "
               "--save-inference-dir exported " +
                   flags);
    ASSERT_EQ(exported.exit_code, 0) << exported.err;
    EXPECT_EQ(evaluated(pictures, "exported"), accuracy) << flags;
    EXPECT_THAT(run_in(pictures, "octet info --model exported").out, HasSubstr("quantized: "));
    EXPECT_THAT(run_in(pictures, "octet info --model exported").out, Not(HasSubstr("quantized: no")));
    EXPECT_THAT(run_in(pictures, "octet info --model exported").out, Not(HasSubstr("clip ")));
  }
}

TEST(QatProgram, TrainsAnInferenceModel) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train(kNetwork + "--epochs 1").exit_code, 0);
  const std::string export_it = "octet export --pretrained out/latest --save-inference-dir ";
  ASSERT_EQ(
      run_in(pictures, export_it + "float --model mobilenet_v3_small --width 0.5 --img-size 32").exit_code,
      0);
  const ProgramResult result = run_in(
      pictures,
      "octet train --model-dir float --data-path data --img-size 32 -b 8 --epochs 1 --lr 0.005 --threads 1 "
      "--device cpu --pact_quant --output-dir out");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(evaluated(pictures, "out/qat_inference.pdmodel"), last_accuracy(result.out));
  const ProgramResult exported = run_in(pictures, export_it + "int8 --model-dir float");
  ASSERT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_EQ(evaluated(pictures, "int8"), last_accuracy(result.out));
  EXPECT_TRUE(same_bytes(pictures / "int8/inference.pdiparams", pictures / "out/qat_inference.pdiparams"));
  expect_one_error(run_in(pictures, export_it + "int8 --model-dir int8"), {"quantized already"});
}

TEST(QatProgram, GoesOnAfterAStopAsIfThereHadBeenNone) {
  const Pictures pictures;
  const std::string flags = kQuantized + "--epochs 2 -b 4 ";
  ASSERT_EQ(pictures.train(flags + "--output-dir whole").exit_code, 0);
  const ProgramResult stopped = interrupt(pictures, flags + "--output-dir cut", "Epoch 0, iter: 4]", "TERM");
  EXPECT_EQ(stopped.exit_code, 143);
  // Without --pact_quant: the checkpoint says so.
  const ProgramResult resumed =
      pictures.train(kNetwork + "--lr 0.005 --epochs 2 -b 4 --output-dir cut --resume cut");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  for (const char* file : {"latest.pdparams", "latest.pdopt"})
    EXPECT_TRUE(same_bytes(pictures / "whole" / file, pictures / "cut" / file)) << file;
}

TEST(QatProgram, TrainsInMixedPrecision) {
  const Pictures pictures;
  const std::vector<std::string> full = losses(pictures.train(kQuantized + "--epochs 1").out);
  ASSERT_EQ(full.size(), 6u);
  for (const char* level : {"O1", "O2"}) {
    const ProgramResult result = pictures.train(kQuantized + "--epochs 1 --amp_level " + level);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const std::vector<std::string> low = losses(result.out);
    ASSERT_EQ(low.size(), full.size());
    EXPECT_NEAR(std::stod(low[0]), std::stod(full[0]), 0.05) << level;
    EXPECT_NE(low, full) << level;
    EXPECT_EQ(evaluated(pictures, "out/qat_inference.pdmodel"), last_accuracy(result.out));
  }
}

TEST(QatProgram, TwoProcessesFollowOne) {
  const Pictures pictures;
  const std::string flags = kQuantized + "--epochs 3 ";
  const ProgramResult one = pictures.train(flags + "-b 16 --output-dir one");
  const ProgramResult two = run_in(pictures, launched(flags + "-b 8 --sync-bn --output-dir two"));
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(two.exit_code, 0) << two.err;
  const std::vector<std::string> a = losses(one.out), b = losses(two.out);
  ASSERT_EQ(a.size(), 9u);
  ASSERT_EQ(b.size(), 9u);
  // A number that falls on the other side of a half is another integer, so this is no matter of 1e-4.
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(std::stod(a[i]), std::stod(b[i]), 0.02) << "step " << i;
  EXPECT_EQ(evaluated(pictures, "two/qat_inference.pdmodel"), last_accuracy(two.out));
}

TEST(QatProgram, WritesLogsForVisualDL) {
  const Pictures pictures;
  const ProgramResult result = pictures.train(kQuantized + "--epochs 1 --use_vdl");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(run_in(pictures, "ls out/vdl out | grep -c vdlrecords").out, "1\n");
}

TEST(QatProgram, BadInputIsNamed) {
  const Pictures pictures;
  expect_one_error(pictures.train(kQuantized + "--weight_bits 1"), {"weight-bits", "2"});
  expect_one_error(pictures.train(kQuantized + "--activation_bits 9"), {"activation-bits", "8"});
  ASSERT_EQ(pictures.train(kNetwork + "--epochs 1").exit_code, 0);
  expect_one_error(pictures.train(kQuantized + "--resume out"), {"--pretrained out --pact_quant"});
  ASSERT_EQ(pictures.train(kQuantized + "--epochs 1").exit_code, 0);
  expect_one_error(pictures.train("--pact_quant --pretrained out"), {"out/best.pdparams", "another network"});
  expect_one_error(run_in(pictures,
                          "octet train --data-path data --device cpu --img-size 32 -b 8 --pact_quant "
                          "--model-dir out/qat_inference.pdmodel"),
                   {"quantized already"});
}

const std::string kOnDevice = "OMP_NUM_THREADS=1 octet-train on cpu fp32 ";

// octet-train has all commands, for models on its device; the CPU stands for a GPU here.
TEST(DeviceProgram, CommandsAnswerAsOnTheCpu) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train(kNetwork + "--epochs 2 --lr 0.02").exit_code, 0);
  ASSERT_EQ(run_in(pictures,
                   "octet export --model mobilenet_v3_small --width 0.5 --img-size 32 --pretrained "
                   "out/latest --save-inference-dir float")
                .exit_code,
            0);
  const auto both = [&](const std::string& command) {
    const ProgramResult there = run_in(pictures, kOnDevice + command);
    EXPECT_EQ(there.exit_code, 0) << there.err;
    const ProgramResult here = run_in(pictures, "octet " + command);
    EXPECT_EQ(here.exit_code, 0) << here.err;
    return std::pair(here.out, there.out);
  };
  const std::string ptq =
      "ptq --model_path float --data_dir data/val --batch_num 3 --algo abs_max --threads 1 ";
  ASSERT_EQ(run_in(pictures, "octet " + ptq + "--output_dir int8").exit_code, 0);
  ASSERT_EQ(run_in(pictures, kOnDevice + ptq + "--output_dir int8_there").exit_code, 0);
  EXPECT_EQ(evaluated(pictures, "int8"), evaluated(pictures, "int8_there"));
  for (const std::string model : {"float", "int8"}) {
    const auto [here, there] = both("infer --model-dir " + model + " --img-path data/val/red/01.png");
    EXPECT_EQ(here.substr(0, here.find("prob")), there.substr(0, there.find("prob")));
    const auto [accuracy, accuracy_there] = both("eval --data-dir data --model-path " + model);
    EXPECT_EQ(accuracy.substr(accuracy.find("test_acc1"), 35),
              accuracy_there.substr(accuracy_there.find("test_acc1"), 35));
  }
  expect_one_error(run_in(pictures, kOnDevice + "info --model float --plan"), {"--plan"});
  expect_one_error(run_in(pictures, "octet-train on gpu:9 fp32 info --model float"), {"gpu:9"});
  expect_one_error(run_in(pictures, "octet eval --model-path float --data-dir data --precision fp16"),
                   {"--precision fp16"});
}

}  // namespace

}  // namespace octet
