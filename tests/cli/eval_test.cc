#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "support/npz.h"
#include "support/run_program.h"
#include "support/sandbox.h"
#include "support/small_models.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ProgramResult eval(const Sandbox& box, std::vector<std::string> words) {
  words.insert(words.begin(), "eval");
  return run_octet(words, box.path());
}

// What it prints, with X for each time, since those differ from run to run.
std::string output_of(const Sandbox& box, std::vector<std::string> words) {
  ProgramResult result = eval(box, std::move(words));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  static const std::regex kTime(R"(avg time \d+\.\d{5} sec)");
  return std::regex_replace(result.out, kTime, "avg time X sec");
}

std::string error_of(const Sandbox& box, std::vector<std::string> words) {
  ProgramResult result = eval(box, std::move(words));
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_THAT(result.err, StartsWith("octet: error: "));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  return result.err;
}

// Twelve JPEGs in one folder per class. The second class of the model is the first of the folders, and so on.
void add_folders(const Sandbox& box) {
  const std::array<std::uint8_t, 3> colors[] = {{0, 0, 255}, {0, 255, 0}, {255, 0, 0}};
  const char* names[] = {"blue", "green", "red"};
  for (std::size_t c = 0; c < 3; ++c) {
    fs::create_directories(box / "data/val" / names[c]);
    for (int i = 0; i < 4; ++i)
      write_file(box / "data/val" / names[c] / (std::to_string(i) + ".jpg"),
                 encode_jpeg(plain_image(20 + i, 24, colors[c])));
  }
}

TEST(EvalCommand, SpeaksAsTheReferenceScriptDoes) {
  Sandbox box;
  EXPECT_EQ(output_of(box, {"--model_path", "model", "--data_dir", "photos", "--batch_size=1"}),
            "batch_id 0, acc1 1.000, acc5 1.000, avg time X sec/img\n"
            "End test: test image 3\n"
            "test_acc1 1.0000, test_acc5 1.0000, avg time X sec/img\n");
}

TEST(EvalCommand, EveryBatchSizeAndNumberOfThreadsCountsTheSame) {
  Sandbox box;
  add_folders(box);
  for (std::vector<std::string> flags : {std::vector<std::string>{"--batch-size", "1"},
                                         {"--batch-size", "5"},
                                         {"--threads", "1"},
                                         {"--batch-size", "12", "--threads", "2"},
                                         {"--ir_optim", "False"},
                                         {"--isa", "ref"}}) {
    flags.insert(flags.begin(), {"--model-dir", "scores", "--data-path", "data"});
    // Of the folders only green is in the place of its class.
    EXPECT_THAT(output_of(box, flags), EndsWith("End test: test image 12\n"
                                                "test_acc1 0.3333, test_acc5 1.0000, avg time X sec/img\n"));
  }
}

TEST(EvalCommand, PrintsALineEveryTenBatches) {
  Sandbox box;
  add_folders(box);
  std::string out = output_of(box, {"--model", "model", "--data-dir", "data", "--batch-size", "1"});
  EXPECT_THAT(out, StartsWith("batch_id 0, acc1 0.000, acc5 1.000, avg time X sec/img\n"
                              "batch_id 10, acc1 0.364, acc5 1.000, avg time X sec/img\nEnd test"));
}

TEST(EvalCommand, BatchNumEndsEarly) {
  Sandbox box;
  add_folders(box);
  std::string out =
      output_of(box, {"--model", "model", "--data-dir", "data/val", "--batch-size", "3", "--batch_num", "2"});
  EXPECT_THAT(out,
              EndsWith("End test: test image 6\ntest_acc1 0.3333, test_acc5 1.0000, avg time X sec/img\n"));
}

TEST(EvalCommand, BatchNumCountsPicturesOfAnySize) {
  Sandbox box;
  add_folders(box);  // whose pictures have four sizes
  std::string out = output_of(box, {"--model", "model", "--data-dir", "data/val", "--batch-size", "3",
                                    "--batch_num", "2", "--resize-size", "0", "--crop-size", "0"});
  EXPECT_THAT(out, HasSubstr("End test: test image 6\n"));
}

TEST(EvalCommand, ABaselineGivesATable) {
  Sandbox box;
  std::string out = output_of(box, {"--model-path", "scores", "--baseline", "model", "--data-dir", "photos"});
  EXPECT_THAT(out, StartsWith("batch_id 0, acc1 1.000, acc5 1.000, agreement 1.000, avg time X sec/img\n"));
  const std::regex table(
      "[^]*\n\\| model \\| precision \\| top-1 \\| top-5 \\| agreement \\| size on disk \\| ms/image \\| "
      "peak memory "
      "\\|\n"
      "\\|---\\|---\\|--:\\|--:\\|--:\\|--:\\|--:\\|--:\\|\n"
      "\\| model \\| fp32 \\| 1.0000 \\| 1.0000 \\| 1.0000 \\| [0-9.]+ k?B \\| [0-9.]+ \\| [0-9.]+ MB \\|\n"
      "\\| scores \\| fp32 \\| 1.0000 \\| 1.0000 \\| 1.0000 \\| [0-9.]+ k?B \\| [0-9.]+ \\| [0-9.]+ MB "
      "\\|\n\n"
      "\\| output \\| cosine \\| largest difference \\| of the largest value \\| agreement \\|\n"
      "\\|---\\|--:\\|--:\\|--:\\|--:\\|\n"
      "\\| y \\| 0\\.[0-9]+ \\| [0-9.]+ \\| [0-9.]+ \\| 1.0000 \\|\n\n"
      "End test: test image 3\ntest_acc1 [^]*");
  EXPECT_TRUE(std::regex_match(out, table)) << out;
}

TEST(EvalCommand, AgreementNeedsNoLabels) {
  Sandbox box;
  fs::remove(box / "photos/val_list.txt");
  // A model that takes blue for green and the other way round, so it agrees on red alone.
  Builder b;
  ValueId weight = b.constant("w", Tensor::of<float>({3, 3}, {1, 0, 0, 0, 0, 1, 0, 1, 0}));
  ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
  Model(std::make_shared<const Graph>(b.build({b.matmul(b.flatten(b.global_avg_pool(x)), weight)})))
      .save(box / "odd", {.model_file = "odd.pdmodel", .weights_file = "odd.pdiparams"});
  std::string out = output_of(
      box, {"--model-path", "model", "--baseline", "odd", "--baseline_model_filename", "odd.pdmodel",
            "--baseline_params_filename", "odd.pdiparams", "--data-dir", "photos", "--json", "r.json"});
  EXPECT_THAT(out, StartsWith("batch_id 0, acc1 -, acc5 -, agreement 0.333, avg time X sec/img\n"));
  EXPECT_THAT(out, HasSubstr("| odd | fp32 | - | - | 1.0000 |"));
  EXPECT_THAT(out, HasSubstr("| model | fp32 | - | - | 0.3333 |"));
  EXPECT_THAT(out, EndsWith("test_acc1 -, test_acc5 -, avg time X sec/img\n"));
  nlohmann::json json = nlohmann::json::parse(read_file(box / "r.json"));
  EXPECT_EQ(json["images"], 3);
  EXPECT_FALSE(json["models"][1].contains("acc1"));
  EXPECT_NEAR(json["models"][1]["agreement"], 1.0 / 3, 1e-9);

  EXPECT_THAT(error_of(box, {"--model-path", "model", "--data-dir", "photos"}),
              HasSubstr("photos: no labels to hold the answers against"));
}

// Two inputs, and two outputs of different ranks; the scores are multiplied by `factor`.
void save_two_inputs(const fs::path& folder, float factor) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 2}), shift = b.input("shift", {kUnknown, 3, 4});
  ValueId weight = b.constant("w", Tensor::of<float>({2, 3}, {factor, 0, 0, 0, factor, 0}));
  ValueId scores = b.matmul(x, weight), moved = b.relu(shift);
  b.rename(scores, "scores");
  b.rename(moved, "moved");
  Model(std::make_shared<const Graph>(b.build({scores, moved}))).save(folder);
}

TEST(EvalCommand, ABaselineServesModelsOfAnyKind) {
  Sandbox box;
  save_two_inputs(box / "two", 2);
  save_two_inputs(box / "other", 1);
  const Tensor x = Tensor::of<float>({3, 2}, {1, 2, 3, 4, 6, 5});
  const Tensor shift = testing::ramp({3, 3, 4});
  fs::create_directory(box / "arrays");
  write_file(box / "arrays/a.npz", make_npz({{"shift", shift}, {"x", x}}, true));
  write_file(box / "arrays/b.npz", make_npz({{"arr_0", x}, {"arr_1", shift}}));
  const auto check = [&](std::vector<std::string> words, int images) {
    words.insert(words.begin(), {"--model-path", "two", "--baseline", "other", "--json", "r.json"});
    const std::string out = output_of(box, words);
    EXPECT_THAT(out, HasSubstr("| scores | 1.000000 | 6 | 1 | 1.0000 |\n"));
    EXPECT_THAT(out, HasSubstr("| moved | 1.000000 | 0 | 0 | 1.0000 |\n"));
    EXPECT_THAT(out, HasSubstr("| model | precision | size on disk | ms/image | peak memory |\n"));
    EXPECT_THAT(out, EndsWith(fmt::format("End test: test image {}\navg time X sec/img\n", images)));
    const nlohmann::json json = nlohmann::json::parse(read_file(box / "r.json"));
    EXPECT_EQ(json["outputs"][0]["largest_difference"], 6);
    EXPECT_EQ(json["images"], images);
  };
  check({"--data-dir", "arrays"}, 6);
  check({"--data-dir", "arrays", "--batch-size", "2"}, 6);
  check({"--data-dir", "arrays/a.npz"}, 3);
  save_npy(box / "one.npy", x);
  save_npy(box / "shift.npy", shift);
  check({"--input", "shift=shift.npy", "--input", "one.npy"}, 3);

  EXPECT_THAT(error_of(box, {"--model-path", "two", "--data-dir", "arrays"}), HasSubstr("--baseline"));
  EXPECT_THAT(error_of(box, {"--model-path", "two", "--baseline", "other", "--data-dir", "one.npy"}),
              HasSubstr("the model has 2 inputs"));
  EXPECT_THAT(error_of(box, {"--model-path", "two", "--baseline", "other", "--input", "x=one.npy"}),
              HasSubstr("'shift' of the model gets no file"));
}

TEST(EvalCommand, ABaselineServesModelsThatGiveMapsForPictures) {
  Sandbox box;
  for (const char* name : {"map", "same"}) {
    Builder b;
    ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
    Model(std::make_shared<const Graph>(b.build({b.relu(x)}))).save(box / name);
  }
  const std::string out =
      output_of(box, {"--model-path", "map", "--baseline", "same", "--data-dir", "photos"});
  EXPECT_THAT(out, HasSubstr(" | 1.000000 | 0 | 0 | 1.0000 |\n"));
  EXPECT_THAT(out, HasSubstr("End test: test image 3\n"));
  EXPECT_THAT(error_of(box, {"--model-path", "map", "--data-dir", "photos"}),
              HasSubstr("the first output is"));
}

TEST(EvalCommand, JsonHoldsTheNumbers) {
  Sandbox box;
  add_folders(box);
  write_file(box / "data/val/red/broken.jpg", "\xff\xd8\xff");
  output_of(box, {"--model-path", "model", "--data-dir", "data", "--json", "result.json", "--threads=1"});
  nlohmann::json json = nlohmann::json::parse(read_file(box / "result.json"));
  EXPECT_EQ(json["data"], "data");
  EXPECT_EQ(json["images"], 12);
  EXPECT_EQ(json["broken"], 1);
  EXPECT_EQ(json["threads"], 1);
  ASSERT_EQ(json["models"].size(), 1u);
  const nlohmann::json& model = json["models"][0];
  EXPECT_EQ(model["precision"], "fp32");
  EXPECT_NEAR(model["acc1"], 1.0 / 3, 1e-9);
  EXPECT_EQ(model["acc5"], 1.0);
  EXPECT_FALSE(model.contains("agreement"));
  EXPECT_EQ(model["disk_bytes"], fs::file_size(box / "model/inference.pdmodel") +
                                     fs::file_size(box / "model/inference.pdiparams"));
  EXPECT_GT(model["ms_per_image"], 0);
  EXPECT_GT(model["peak_bytes"], 12 * 3 * 224 * 224 * 4);
}

TEST(EvalCommand, BrokenPicturesAreCounted) {
  Sandbox box;
  write_file(box / "photos/green.png", "no picture");
  ProgramResult result = eval(box, {"--model-path", "model", "--data-dir", "photos"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("End test: test image 2\n"));
  EXPECT_THAT(result.err,
              StartsWith("octet: warning: photos/green.png: not a JPEG, PNG, WebP or BMP picture"));
  EXPECT_THAT(result.err, HasSubstr("octet: warning: 1 of 3 pictures can't be read and was left out\n"));
  EXPECT_THAT(result.err, HasSubstr("octet: notice: no deploy.yaml beside model"));
  write_file(box / "photos/red.png", "no picture");
  EXPECT_THAT(error_of(box, {"--model-path", "model", "--data-dir", "photos"}),
              HasSubstr("2 of 3 pictures can't be read"));
}

TEST(EvalCommand, LabelsMustBeClassesOfTheModel) {
  Sandbox box;
  write_file(box / "photos/val_list.txt", "red.png 0\nblue.png 3\n");
  EXPECT_THAT(error_of(box, {"--model-path", "model", "--data-dir", "photos"}),
              HasSubstr("photos: photos/blue.png has the label 3, but model has 3 classes, 0 to 2"));
  add_folders(box);
  fs::remove_all(box / "data/val/red");
  ProgramResult result = eval(box, {"--model-path", "model", "--data-dir", "data"});
  EXPECT_THAT(result.err, StartsWith("octet: warning: data: 2 folders for the 3 classes of model"));
}

TEST(EvalCommand, TheModelsMustHaveTheSameClasses) {
  Sandbox box;
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
  ValueId weight = b.constant("w", Tensor::of<float>({3, 4}, std::vector<float>(12, 1.0f)));
  Model(std::make_shared<const Graph>(b.build({b.matmul(b.flatten(b.global_avg_pool(x)), weight)})))
      .save(box / "four");
  EXPECT_THAT(error_of(box, {"--model-path", "four", "--baseline", "model", "--data-dir", "photos"}),
              HasSubstr("four has 4 classes, and the baseline model has 3"));
}

TEST(EvalCommand, ArraysWorkToo) {
  Sandbox box;
  fs::create_directory(box / "arrays");
  fs::copy_file(box / "x.npy", box / "arrays/x.npy");
  EXPECT_THAT(error_of(box, {"--model-path", "model", "--data-dir", "arrays"}), HasSubstr("no labels"));
  save_npy(box / "arrays/labels.npy", Tensor::of<std::int64_t>({2}, {0, 1}));
  EXPECT_THAT(output_of(box, {"--model-path", "model", "--data-dir", "arrays/x.npy"}),
              EndsWith("End test: test image 2\ntest_acc1 0.5000, test_acc5 1.0000, avg time X sec/img\n"));
}

TEST(EvalCommand, BadRequests) {
  Sandbox box;
  EXPECT_THAT(error_of(box, {"--model-path", "model"}), HasSubstr("--data-dir is required"));
  EXPECT_THAT(error_of(box, {"--model-path", "model", "--data-dir", "nowhere"}), HasSubstr("nowhere"));
  EXPECT_THAT(error_of(box, {"--model-path", "nowhere", "--data-dir", "photos"}), HasSubstr("nowhere"));
  EXPECT_THAT(error_of(box, {"--model-path", "model", "--data-dir", "photos", "--use_gpu", "True"}),
              HasSubstr("no usable CUDA device"));
}

}  // namespace
}  // namespace octet
