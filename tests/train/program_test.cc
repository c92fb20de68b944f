#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "base/random.h"
#include "formats/format.h"
#include "support/pictures.h"
#include "support/run_program.h"
#include "support/temp_dir.h"
#include "train/device.h"
#include "train/training_folder.h"

// `octet train`, the program, on a few small pictures.
namespace octet {

namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using testing::expect_one_error;
using ::testing::HasSubstr;
using testing::interrupt;
using testing::launched;
using testing::losses;
using ::testing::Not;
using testing::Pictures;
using testing::same_bytes;

// libgomp would end the program when it gets fewer threads than it was told.
TEST(TrainProgram, GoesOnWithFewerThreadsWhereTheSystemHasNoMore) {
  const Pictures pictures;
  const ProgramResult result =
      run_shell("ulimit -v 9000000; " + Pictures::command("--epochs 1 --threads 1000"), pictures.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("the system has no room for 1000 threads to train"));
  EXPECT_EQ(result.err.find("libgomp"), std::string::npos) << result.err;
}

TEST(TrainProgram, PrintsWhatUsersKnowAndWritesCheckpoints) {
  const Pictures pictures;
  const ProgramResult result = pictures.train("--epochs 1 -b 16");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, ::testing::AnyOf("", HasSubstr("warning: the network takes every picture")));
  std::istringstream lines(result.out);
  const std::regex step(
      R"(\[Epoch 0, iter: [0-2]\] top1: \d\.\d{5}, top5: 1\.00000, lr: 0\.05000, loss: \d+\.\d{5}, )"
      R"(avg_reader_cost: \d+\.\d{5} sec, avg_batch_cost: \d+\.\d{5} sec, avg_samples: 16(\.0)?, )"
      R"(avg_ips: \d+\.\d{5} images/sec\.)");
  std::string line;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_TRUE(std::regex_match(line, step)) << line;
  }
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_TRUE(std::regex_match(line, std::regex(R"( \* Acc@1 [01]\.\d{4} Acc@5 1\.0000 loss \d+\.\d{4})")))
      << line;
  ASSERT_TRUE(std::getline(lines, line));
  EXPECT_EQ(line, "per class, at epoch 0:");
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(std::getline(lines, line));
    EXPECT_TRUE(line.starts_with("|")) << line;
  }
  EXPECT_FALSE(std::getline(lines, line)) << line;
  std::set<std::string> files;
  for (const auto& file : fs::directory_iterator(pictures / "out"))
    files.insert(file.path().filename().string());
  EXPECT_EQ(files, (std::set<std::string>{"model_0.pdparams", "model_0.pdopt", "latest.pdparams",
                                          "latest.pdopt", "best.pdparams", "best.pdopt", "deploy.yaml",
                                          "recipe.yaml", "confusion_matrix.png"}));
  EXPECT_TRUE(same_bytes(pictures / "out/latest.pdparams", pictures / "out/model_0.pdparams"));
}

TEST(TrainProgram, PrintsEverySoManySteps) {
  const Pictures pictures;
  const ProgramResult result = pictures.train("--epochs 1 -b 4 --print-freq 5");
  EXPECT_THAT(result.out, AllOf(HasSubstr("iter: 0]"), HasSubstr("iter: 5]"), HasSubstr("iter: 10]"),
                                Not(HasSubstr("iter: 1]"))));
}

TEST(TrainProgram, Learns) {
  const Pictures pictures;
  const ProgramResult result = pictures.train("--epochs 10 --lr 0.01");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::vector<std::string> all = losses(result.out);
  ASSERT_EQ(all.size(), 60u);
  EXPECT_LT(std::stod(all.back()), 0.3);
  const ProgramResult test = pictures.train("--test-only --resume out/best");
  EXPECT_THAT(test.out, HasSubstr(" * Acc@1 1.0000")) << result.out << test.err;
}

TEST(TrainProgram, TheSameSeedGivesTheSameRun) {
  const Pictures pictures;
  const ProgramResult first = pictures.train("--epochs 1 --seed 3 --output-dir a");
  const ProgramResult again = pictures.train("--epochs 1 --seed 3 --output-dir b -j 2");
  const ProgramResult other = pictures.train("--epochs 1 --seed 4 --output-dir c");
  EXPECT_EQ(losses(first.out), losses(again.out));
  EXPECT_NE(losses(first.out), losses(other.out));
  EXPECT_TRUE(same_bytes(pictures / "a/latest.pdparams", pictures / "b/latest.pdparams"));
}

// The recipe that a run leaves is all it needs.
TEST(TrainProgram, ARecipeDoesTheSameAgain) {
  const Pictures pictures;
  const std::string flags =
      "--epochs 1 --crop-pad 2 --color-jitter 0.3 --seed 3 --lr-schedule cosine --output-dir ";
  ASSERT_EQ(pictures.train(flags + "a").exit_code, 0);
  const ProgramResult again = run_shell("octet train --config a/recipe.yaml --output-dir b", pictures.path());
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_TRUE(same_bytes(pictures / "a/latest.pdparams", pictures / "b/latest.pdparams"));
  expect_one_error(run_shell("octet train --config a/deploy.yaml", pictures.path()),
                   {"a/deploy.yaml:", "no key"});
}

TEST(TrainProgram, SoManyIterations) {
  const Pictures pictures;
  const ProgramResult result = pictures.train("--iters 8");  // six are an epoch
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(losses(result.out).size(), 8u);
  EXPECT_THAT(result.out, HasSubstr("[Epoch 1, iter: 1]"));
  EXPECT_TRUE(pictures.has("out/model_1.pdparams"));
  const ProgramResult more = pictures.train("--iters 10 --resume out");
  EXPECT_THAT(more.out, AllOf(HasSubstr("at epoch 1, iteration 2"), HasSubstr("[Epoch 1, iter: 2]")));
  EXPECT_THAT(pictures.train("--iters 8 --resume out").out,
              HasSubstr("nothing to do: 10 iterations are done"));
}

TEST(TrainProgram, ARunThatIsKilledGoesOnAsIfItHadNotBeen) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train("--epochs 3 -b 4 --output-dir whole").exit_code, 0);
  const ProgramResult killed =
      interrupt(pictures, "--epochs 3 -b 4 --output-dir cut", "Epoch 1, iter: 2]", "9");
  EXPECT_EQ(killed.exit_code, 128 + 9);
  ASSERT_TRUE(pictures.has("cut/model_0.pdparams"));
  ASSERT_FALSE(pictures.has("cut/model_2.pdparams"));
  const ProgramResult resumed = pictures.train("--epochs 3 -b 4 --output-dir cut --resume cut");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("resuming from cut/latest.pdparams at epoch 1, iteration 0"));
  for (const char* file : {"latest.pdparams", "latest.pdopt", "best.pdparams", "model_2.pdparams"})
    EXPECT_TRUE(same_bytes(pictures / "whole" / file, pictures / "cut" / file)) << file;
}

TEST(TrainProgram, SigtermSavesInTheMiddleOfAnEpoch) {
  for (const std::string signal : {"TERM", "INT"}) {
    const Pictures pictures;
    ASSERT_EQ(pictures.train("--epochs 2 -b 4 --opt adamw --lr 0.001 --output-dir whole").exit_code, 0);
    const std::string flags = "--epochs 2 -b 4 --opt adamw --lr 0.001 --output-dir cut";
    const ProgramResult stopped = interrupt(pictures, flags, "Epoch 0, iter: 3]", signal);
    EXPECT_EQ(stopped.exit_code, signal == "TERM" ? 143 : 130);
    EXPECT_THAT(read_file(pictures / "log"), HasSubstr("latest.* is saved; go on with --resume cut"));
    ASSERT_FALSE(pictures.has("cut/model_0.pdparams"));
    const ProgramResult resumed = pictures.train(flags + " --resume cut");
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_THAT(resumed.out, Not(HasSubstr("[Epoch 0, iter: 3]")));
    EXPECT_TRUE(same_bytes(pictures / "whole/latest.pdparams", pictures / "cut/latest.pdparams"));
    EXPECT_TRUE(same_bytes(pictures / "whole/latest.pdopt", pictures / "cut/latest.pdopt"));
  }
}

// Several processes. The pictures of a step are the same as with one process and the whole batch.

TEST(TrainProgram, TwoProcessesFollowOne) {
  const Pictures pictures;
  const std::string flags =
      "--model mobilenet_v3_small --width 0.5 --img-size 64 --epochs 7 --lr 0.005 --seed 5";
  const ProgramResult one = pictures.train(flags + " -b 16 --output-dir one");
  const ProgramResult two = run_shell(launched(flags + " -b 8 --sync-bn --output-dir two"), pictures.path());
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(two.exit_code, 0) << two.err;
  const std::vector<std::string> a = losses(one.out), b = losses(two.out);
  ASSERT_EQ(a.size(), 21u);
  ASSERT_EQ(b.size(), 21u);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_NEAR(std::stod(a[i]), std::stod(b[i]), 1e-4) << "step " << i;
  EXPECT_THAT(two.out, HasSubstr("avg_samples: 16"));
  EXPECT_TRUE(pictures.has("two/best.pdopt"));
}

TEST(TrainProgram, AProcessThatDiesEndsTheJobWithItsName) {
  const Pictures pictures;
  // Rank 1 is killed when the job is under way.
  const std::string line = launched("--epochs 200 >log 2>err & ") +
                           "until grep -q 'iter: 1]' log; do sleep 0.05; done; "
                           "for p in /proc/[0-9]*; do "
                           "  if [ \"$(readlink $p/cwd)\" = \"$PWD\" ] && tr '\\0' '\\n' <$p/environ "
                           "2>/dev/null | grep -qx OMPI_COMM_WORLD_RANK=1; "
                           "  then kill -9 ${p#/proc/}; fi; done; "
                           "wait $!";
  const ProgramResult result = run_shell(line, pictures.path());
  EXPECT_NE(result.exit_code, 0);
  EXPECT_NE(result.exit_code, 128 + 14) << "it hangs";
  const std::string said = read_file(pictures / "err") + read_file(pictures / "log");
  EXPECT_THAT(said, HasSubstr("rank 1"));
  EXPECT_THAT(said, HasSubstr("signal 9"));
}

TEST(TrainProgram, AProcessThatFailsSaysWhoItIs) {
  const Pictures pictures;
  const ProgramResult result = run_shell(launched("--lr 1e30"), pictures.path());
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("of 2: the loss is"));
}

// Bad input: one line each.

TEST(TrainProgram, NoPictures) {
  const Pictures pictures;
  expect_one_error(pictures.train("--data-path nowhere"), {"nowhere"});
  fs::create_directories(pictures / "empty/train");
  fs::create_directories(pictures / "empty/val");
  expect_one_error(pictures.train("--data-path empty"), {"empty/"});
  fs::remove_all(pictures / "data/val");
  expect_one_error(pictures.train(""), {"val"});
}

TEST(TrainProgram, AClassWithoutPictures) {
  const Pictures pictures;
  fs::remove_all(pictures / "data/train/green");
  fs::create_directory(pictures / "data/train/green");
  expect_one_error(pictures.train(""), {"data/train/green"});
}

TEST(TrainProgram, OtherClassesToEvaluateOn) {
  const Pictures pictures;
  fs::rename(pictures / "data/val/green", pictures / "data/val/grass");
  expect_one_error(pictures.train(""), {"green", "grass"});
}

TEST(TrainProgram, WeightsOfAnotherNetwork) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train("--epochs 1").exit_code, 0);
  expect_one_error(pictures.train("--model mobilenet_v3_small --pretrained out"),
                   {"best.pdparams", "features.0.0.weight"});
  expect_one_error(pictures.train("--width 0.5 --pretrained out/latest"),
                   {"conv1.weight", "16x3x7x7", "32x3x7x7"});
  expect_one_error(pictures.train("--width 0.5 --resume out"), {"conv1.weight"});
}

TEST(TrainProgram, OtherClassesThanThePretrainedHas) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train("--epochs 1 --num-classes 5").exit_code, 0);
  const ProgramResult result = pictures.train("--epochs 1 --pretrained out --output-dir other");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("is for 5 classes: the last layer starts anew for 3"));
  expect_one_error(pictures.train("--num-classes 2"), {"3 classes", "--num-classes 3"});
}

TEST(TrainProgram, ABatchLargerThanTheDataSet) {
  const Pictures pictures;
  expect_one_error(pictures.train("-b 49"), {"48", "49"});
  EXPECT_EQ(pictures.train("-b 48 --epochs 1").exit_code, 0);
}

TEST(TrainProgram, ALossThatIsNoNumber) {
  const Pictures pictures;
  expect_one_error(pictures.train("--lr 1e30"),
                   {"the loss is", "epoch 0, iteration 1", "no checkpoint yet", "--lr"});
  EXPECT_FALSE(pictures.has("out/latest.pdparams"));
  ASSERT_EQ(pictures.train("--epochs 1").exit_code, 0);
  const std::string before = read_file(pictures / "out/latest.pdparams");
  expect_one_error(pictures.train("--lr 1e30 --resume out"),
                   {"epoch 1, iteration 1", "the last good checkpoint is out/latest.pdparams"});
  EXPECT_TRUE(read_file(pictures / "out/latest.pdparams") == before);
}

// The last step of an epoch may be the bad one: then there is a loss only after the checkpoint.
TEST(TrainProgram, WeightsThatAreNoNumbersAreNotSaved) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train("-b 48 --epochs 1").exit_code, 0);
  const std::string before = read_file(pictures / "out/latest.pdparams");
  expect_one_error(pictures.train("-b 48 --lr 1e30 --resume out"),
                   {"epoch 1", "the last good checkpoint is out/latest.pdparams", "--lr"});
  EXPECT_TRUE(read_file(pictures / "out/latest.pdparams") == before);
  EXPECT_FALSE(pictures.has("out/model_1.pdparams"));
}

TEST(TrainProgram, NoSpaceLeft) {
  const Pictures pictures;
  const ProgramResult result =
      run_shell("ulimit -f 500; " + Pictures::command("--epochs 1"), pictures.path());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("octet: error: out/"), HasSubstr(".pdparams: "),
                                ::testing::EndsWith("File too large\n")));
  for (const auto& file : fs::directory_iterator(pictures / "out"))
    EXPECT_THAT(file.path().filename(), ::testing::AnyOf("deploy.yaml", "recipe.yaml")) << "is left over";
}

TEST(TrainProgram, AnOutputFolderThatCanNotBeMade) {
  const Pictures pictures;
  write_file(pictures / "file", "");
  expect_one_error(pictures.train("--output-dir file/out"), {"file/out"});
  expect_one_error(pictures.train("--output-dir file"), {"file"});
}

TEST(TrainProgram, NothingToResume) {
  const Pictures pictures;
  expect_one_error(pictures.train("--resume nowhere"), {"nowhere"});
  fs::create_directory(pictures / "bare");
  expect_one_error(pictures.train("--resume bare"), {"bare", "latest.pdparams"});
  expect_one_error(pictures.train("--resume bare --pretrained bare"), {"--pretrained", "--resume"});
}

TEST(TrainProgram, FlagsThatMeanNothing) {
  const Pictures pictures;
  expect_one_error(pictures.train("--model resnet19"), {"resnet19", "resnet18"});
  expect_one_error(pictures.train("--device gpu"), {"--device gpu", "CUDA", "--device cpu"});
  expect_one_error(pictures.train("--device gpu:1"), {"--device gpu:1", "CUDA"});
  expect_one_error(pictures.train("--device tpu"), {"tpu"});
  expect_one_error(pictures.train("--opt lion"), {"lion", "sgd"});
  expect_one_error(pictures.train("--lr -1"), {"--lr"});
  expect_one_error(pictures.train("--lr nan"), {"--lr"});
  expect_one_error(pictures.train("--momentum 1"), {"--momentum"});
  expect_one_error(pictures.train("--weight-decay -1"), {"--weight-decay"});
  expect_one_error(pictures.train("--label-smoothing 1.5"), {"--label-smoothing"});
  expect_one_error(pictures.train("--lr-gamma -1"), {"--lr-gamma"});
  expect_one_error(pictures.train("--warmup-epochs -1"), {"--warmup-epochs"});
}

TEST(TrainProgram, DeviceAutoSaysThatItIsTheCpu) {
  const Pictures pictures;
  const ProgramResult result = pictures.train("--device auto --epochs 1");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("notice: training on the CPU"));
}

TEST(TrainProgram, ABrokenPictureIsNamedAndPassedOver) {
  const Pictures pictures;
  write_file(pictures / "data/train/red/07.png", "no picture");
  const ProgramResult result = pictures.train("--epochs 1");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("warning: data/train/red/07.png"));
  EXPECT_EQ(losses(result.out).size(), 6u);
}

TEST(TrainProgram, MixedPrecisionTrains) {
  const Pictures pictures;
  const std::vector<std::string> full = losses(pictures.train("--lr 0.01 --epochs 1").out);
  // CPUs that have bfloat16 compute in it, others round to it.
  const bool rounds_bfloat16 = train::choose_precision({.amp_level = "O1"}, at::kCPU).rounded;
  for (const char* flags : {"--amp_level O1", "--amp-level O2", "--amp-level O2 --amp-dtype float16"}) {
    const ProgramResult result = pictures.train(std::string("--lr 0.01 --epochs 1 ") + flags);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const bool rounds = std::string_view(flags).ends_with("float16") || rounds_bfloat16;
    EXPECT_EQ(result.err.find("rounded") != std::string::npos, rounds) << result.err;
    const std::vector<std::string> low = losses(result.out);
    ASSERT_EQ(low.size(), full.size());
    EXPECT_NEAR(std::stod(low[0]), std::stod(full[0]), 0.1) << flags;
    EXPECT_NE(low, full) << flags;
  }
}

}  // namespace

}  // namespace octet
