#include <regex>
#include <set>

#include "formats/format.h"
#include "train/segmentation_folder.h"

namespace octet {

namespace {

namespace fs = std::filesystem;
using testing::Discs;
using testing::expect_one_error;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::same_bytes;

// Of the last evaluation in a log.
double mean_iou(const std::string& log) {
  static const std::regex line(R"(\[EVAL\] #Images: \d+ mIoU: (\d\.\d{4}))");
  double found = -1;
  for (std::sregex_iterator it(log.begin(), log.end(), line), end; it != end; ++it)
    found = std::stod((*it)[1]);
  return found;
}

std::set<std::string> files_of(const fs::path& folder) {
  std::set<std::string> files;
  for (const auto& file : fs::recursive_directory_iterator(folder))
    if (file.is_regular_file()) files.insert(fs::relative(file.path(), folder).string());
  return files;
}

TEST(SegmentationProgram, PrintsPaddleSegsLinesAndWritesItsFiles) {
  const Discs discs;
  const ProgramResult result = discs.train("--do_eval --save_dir out --log_iters 2 --keep_checkpoint_max 1");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const std::string prefix = R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[INFO\]\t)",
                    numbers = R"(\[\d\.\d* +\d\.\d* *\]\n)";
  std::string expected;
  for (int half = 0; half < 2; ++half) {
    for (int iteration : half == 0 ? std::vector<int>{2} : std::vector<int>{4, 6})
      expected +=
          prefix +
          fmt::format(R"(\[TRAIN\] epoch: {}, iter: {}/6, loss: \d+\.\d{{4}}, lr: 0\.0\d{{5}}, )"
                      R"(batch_cost: \d+\.\d{{4}}, reader_cost: \d+\.\d{{5}}, ips: \d+\.\d{{4}} samples/sec )"
                      R"(\| ETA \d\d:\d\d:\d\d\n)",
                      (iteration - 1) / 3 + 1, iteration);
    expected += prefix + R"(Start evaluating \(total_samples: 3, total_iters: 3\)\.\.\.\n)";
    expected += prefix + R"(\[EVAL\] #Images: 3 mIoU: 0\.\d{4} Acc: \d\.\d{4} Kappa: -?0\.\d{4} \n)";
    expected +=
        prefix + R"(\[EVAL\] Class IoU: \n)" + numbers + prefix + R"(\[EVAL\] Class Acc: \n)" + numbers;
    expected += prefix +
                R"(\[EVAL\] The model with the best validation mIoU \(0\.\d{4}\) was saved at iter [36]\.\n)";
  }
  EXPECT_TRUE(std::regex_match(result.out, std::regex(expected))) << result.out;
  EXPECT_EQ(files_of(discs / "out"), (std::set<std::string>{"recipe.yaml", "best_model/model.pdparams",
                                                            "iter_6/model.pdparams", "iter_6/model.pdopt"}));
  EXPECT_TRUE(load_state_dict(discs / "out/best_model/model.pdparams").find("db.convs.0._conv.weight"));
  EXPECT_TRUE(load_state_dict(discs / "out/best_model/model.pdparams").find("aux_head4.conv_1x1.bias"));
}

TEST(SegmentationProgram, TheWordsOfNewerVersions) {
  const Discs discs;
  const ProgramResult result = discs.train("--do_eval --paddleseg_version 2.9 --iters 1 --use_vdl");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(std::regex_search(
      result.out,
      std::regex(R"(\[\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\] INFO: \[EVAL\] #Images: 3 mIoU: \d\.\d{4} )"
                 R"(Acc: \d\.\d{4} Kappa: -?\d\.\d{4} Dice: \d\.\d{4}\n)")))
      << result.out;
  EXPECT_THAT(result.out, AllOf(HasSubstr("[EVAL] Class Precision: \n["),
                                HasSubstr("[EVAL] Class Recall: \n["), Not(HasSubstr("Class Acc"))));
  std::string log;
  for (const auto& file : fs::directory_iterator(discs / "output"))
    if (file.path().filename().string().starts_with("vdlrecords")) log = read_file(file.path());
  for (const char* tag : {"Train/loss", "Train/loss_0", "Train/loss_4", "Train/lr", "Train/batch_cost",
                          "Train/reader_cost", "Evaluate/mIoU", "Evaluate/Acc"})
    EXPECT_THAT(log, HasSubstr(tag));
}

TEST(SegmentationProgram, LearnsAndIsQuantized) {
  const Discs discs;
  const ProgramResult result = discs.train(
      "--iters 60 --save_interval 60 --do_eval --save_dir float --log_iters 60 --learning_rate 0.02");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_GT(mean_iou(result.out), 0.8) << result.out;
  const ProgramResult test = discs.train("--test-only --model_path float/best_model/model.pdparams");
  EXPECT_EQ(mean_iou(test.out), mean_iou(result.out)) << test.out << test.err;

  // In PaddleSeg's way: moving averages, no PACT, all layers.
  const ProgramResult qat = discs.train(
      "--qat --model_path float/best_model/model.pdparams --iters 4 --save_interval 4 --do_eval --save_dir "
      "qat --learning_rate "
      "0.001");
  ASSERT_EQ(qat.exit_code, 0) << qat.err;
  EXPECT_GT(mean_iou(qat.out), 0.8) << qat.out;
  const StateDict state = load_state_dict(discs / "qat/best_model/model.pdparams");
  EXPECT_TRUE(state.find("db.convs.0._conv._fake_quant_input._scale"));
  EXPECT_TRUE(state.find("head.conv_1x1._fake_quant_weight._scale"));
  EXPECT_TRUE(state.find("aux_head1.conv_1x1._fake_quant_weight._scale"));
  EXPECT_FALSE(state.find("db.convs.0._conv._act_preprocess.alpha"));
  const ProgramResult again = discs.train("--test-only --model_path qat/best_model");
  EXPECT_EQ(mean_iou(again.out), mean_iou(qat.out)) << again.out << again.err;
}

TEST(SegmentationProgram, AResumedRunEndsWithTheSameBits) {
  const Discs discs;
  ASSERT_EQ(discs.train("--iters 7 --do_eval --save_dir whole").exit_code, 0);
  ASSERT_EQ(discs.train("--iters 7 --do_eval --save_dir cut").exit_code, 0);
  fs::remove_all(discs / "cut/iter_6");
  fs::remove_all(discs / "cut/iter_7");
  const ProgramResult resumed = discs.train("--iters 7 --do_eval --save_dir cut --resume_model cut/iter_3");
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, AllOf(Not(HasSubstr("iter: 3/7")), HasSubstr("iter: 4/7")));
  for (const char* file : {"iter_7/model.pdparams", "iter_7/model.pdopt", "best_model/model.pdparams"})
    EXPECT_TRUE(same_bytes(discs / "whole" / file, discs / "cut" / file)) << file;
  // The folder of the run stands for its newest checkpoint.
  EXPECT_THAT(discs.train("--iters 7 --save_dir cut --resume_model cut").out,
              HasSubstr("nothing to do: 7 iterations"));
}

TEST(SegmentationProgram, SigtermSavesWhereItIs) {
  const Discs discs;
  const std::string flags = "--iters 9 --save_interval 100 --save_dir ";
  ASSERT_EQ(discs.train(flags + "whole").exit_code, 0);
  const ProgramResult stopped = run_shell(
      "(exec " + Discs::command(flags + "cut") +
          ") >log 2>err & pid=$!; until grep -q 'iter: 2/9' log; do kill -0 $pid || exit 99; sleep 0.01; "
          "done; kill -TERM $pid; wait $pid",
      discs.path());
  EXPECT_EQ(stopped.exit_code, 143) << read_file(discs / "err");
  const std::string log = read_file(discs / "log");
  std::smatch place;
  ASSERT_TRUE(std::regex_search(log, place, std::regex("go on with --resume_model (cut/iter_\\d+)"))) << log;
  ASSERT_EQ(discs.train(flags + "cut --resume_model " + place[1].str()).exit_code, 0);
  EXPECT_TRUE(same_bytes(discs / "whole/iter_9/model.pdparams", discs / "cut/iter_9/model.pdparams"));
  EXPECT_TRUE(same_bytes(discs / "whole/iter_9/model.pdopt", discs / "cut/iter_9/model.pdopt"));
}

TEST(SegmentationProgram, TwoProcesses) {
  const Discs discs;
  const ProgramResult one = discs.train("--iters 3 --batch_size 4 --do_eval --save_dir one");
  const ProgramResult two =
      run_shell(Discs::command("--iters 3 --batch_size 2 --sync-bn --do_eval --save_dir two")
                    .replace(0, 11, "octet launch --nproc 2 train"),
                discs.path());
  ASSERT_EQ(one.exit_code, 0) << one.err;
  ASSERT_EQ(two.exit_code, 0) << two.err;
  EXPECT_NEAR(mean_iou(one.out), mean_iou(two.out), 0.02);
  EXPECT_THAT(two.out, HasSubstr("#Images: 3 "));
}

TEST(SegmentationProgram, MixedPrecisionOtherLossesAndAugmentedEvaluation) {
  const Discs discs;
  const ProgramResult result = discs.train(
      "--iters 2 --precision fp16 --amp_level O2 --use-ema --do_eval --opts test_config.aug_eval=True "
      "'test_config.scales=[0.5,1]' "
      "'loss.types=[{type: MixedLoss, losses: [{type: OhemCrossEntropyLoss, min_kept: 500}, {type: "
      "DiceLoss}], "
      "coef: [0.8, 0.2]}]'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(SegmentationProgram, AConfigWithoutANetwork) {
  const Discs discs;
  std::string config = read_file(discs / "seg.yml");
  write_file(discs / "seg.yml", config.substr(0, config.find("model:")));
  const ProgramResult result = discs.train("--save_dir out");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "octet: error: the config has no `model` with a `type`, and there is no --model\n");
  EXPECT_FALSE(discs.has("out"));
}

TEST(SegmentationProgram, Mistakes) {
  const Discs discs;
  ASSERT_EQ(discs.train("--iters 1 --save_dir out").exit_code, 0);
  expect_one_error(discs.train("--width 0.5 --model_path out/iter_1/model.pdparams"),
                   {"out/iter_1/model.pdparams", "db.convs.0._conv.weight", "expected"});
  expect_one_error(discs.train("--opts loss.coef=[1,1]"), {"2 losses", "bisenetv2 has 5 outputs"});
  expect_one_error(discs.train("--resume_model out/iter_7"), {"out/iter_7"});
  expect_one_error(discs.train("--mixup 0.2"), {"--mixup", "classifiers"});
  fs::remove(discs / "out/iter_1/model.pdopt");
  expect_one_error(discs.train("--resume_model out/iter_1"), {"no model.pdopt beside it"});
  testing::write_disc(discs / "data", "t3", 64, 64, 3);
  Mask mask(64, 64);
  std::ranges::fill(mask.pixels, std::uint8_t{7});
  write_file(discs / "data/Annotations/t3.png", encode_mask(mask));
  expect_one_error(discs.train("--iters 3"), {"data/Annotations/t3.png", "class 7"});
}

}  // namespace

}  // namespace octet
