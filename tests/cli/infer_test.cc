#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "support/run_program.h"
#include "support/sandbox.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

struct Answer {
  std::string name;
  int class_id;
  float prob;
  bool operator==(const Answer&) const = default;
};

// What `octet infer` prints, which scripts read: the format is checked to the letter.
std::vector<Answer> parse(const std::string& out) {
  static const std::regex kLine(R"(image_name: (.*), class_id: (\d+), prob: ([0-9.e-]+))");
  std::vector<Answer> answers;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    EXPECT_TRUE(std::regex_match(line, match, kLine)) << line;
    if (!match.empty()) answers.push_back({match[1], std::stoi(match[2]), std::stof(match[3])});
  }
  return answers;
}

ProgramResult infer(const Sandbox& box, std::vector<std::string> words) {
  words.insert(words.begin(), "infer");
  return run_octet(words, box.path());
}

std::string error_of(const Sandbox& box, std::vector<std::string> words) {
  ProgramResult result = infer(box, std::move(words));
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_THAT(result.err, testing::StartsWith("octet: error: "));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  return result.err;
}

// The probability of the class of a plain picture in its own colour; it is the largest of the three.
float expected_prob(std::array<float, 3> color, int class_id) {
  const float mean[] = {0.485f, 0.456f, 0.406f}, std[] = {0.229f, 0.224f, 0.225f};
  float c[3], sum = 0;
  for (int i = 0; i < 3; ++i) c[i] = (color[static_cast<std::size_t>(i)] - mean[i]) / std[i];
  float e[3];
  for (int i = 0; i < 3; ++i) sum += e[i] = std::exp((c[i] - c[(i + 1) % 3]) / 4);
  return e[class_id] / sum;
}

TEST(InferCommand, TheDefaultPictureIsImagesDemoJpg) {
  Sandbox box;
  ProgramResult result = infer(box, {"--model-dir", "model"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::vector<Answer> answers = parse(result.out);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].name, "./images/demo.jpg");
  EXPECT_EQ(answers[0].class_id, 0);
  EXPECT_NEAR(answers[0].prob, expected_prob({1, 0, 0}, 0), 2e-3);  // JPEG's red is not quite 255, 0, 0
}

TEST(InferCommand, TransformsTakeThePlaceOfTheUsualOnes) {
  Sandbox box;
  write_file(
      box / "steps.yaml",
      "- {type: Letterbox, width: 8, height: 8, fill: 114}\n- type: ToBGR\n- {type: Normalize, mean: 0}\n");
  for (const char* steps :
       {"[{type: Resize, width: 4, height: 4}, {type: ToBGR}, {type: Normalize}]", "steps.yaml"}) {
    ProgramResult result = infer(box, {"--model-dir", "model", "--transforms", steps});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(parse(result.out).at(0).class_id, 2) << "red is taken for blue";
  }
  EXPECT_THAT(error_of(box, {"--model-dir", "model", "--transforms", "[{type: Turn}]"}),
              testing::HasSubstr("--transforms:1: transform 'Turn' is not supported"));
}

TEST(InferCommand, SoftmaxIsAppliedToScoresOnly) {
  Sandbox box;
  std::vector<Answer> from_probabilities = parse(infer(box, {"--model-dir", "model", "--topk", "3"}).out);
  std::vector<Answer> from_scores = parse(infer(box, {"--model-dir", "scores", "--topk", "3"}).out);
  ASSERT_EQ(from_probabilities.size(), 3u);
  ASSERT_EQ(from_scores.size(), 3u);
  float sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(from_scores[i].class_id, from_probabilities[i].class_id);
    EXPECT_NEAR(from_scores[i].prob, from_probabilities[i].prob, 1e-6);
    sum += from_scores[i].prob;
  }
  EXPECT_NEAR(sum, 1, 1e-6);
  EXPECT_GT(from_scores[0].prob, from_scores[1].prob);
}

TEST(InferCommand, AFolderGivesTheSameInEveryBatchSize) {
  Sandbox box;
  std::vector<Answer> one = parse(infer(box, {"--model-dir", "model", "--img-path", "photos"}).out);
  ASSERT_EQ(one.size(), 3u);
  EXPECT_EQ(one[0].name, "photos/blue.png");
  EXPECT_EQ(one[0].class_id, 2);
  // The pool sums 50176 pixels in float, one after the other.
  EXPECT_NEAR(one[0].prob, expected_prob({0, 0, 1}, 2), 1e-3);
  EXPECT_EQ(one[1].class_id, 1);
  EXPECT_NEAR(one[1].prob, expected_prob({0, 1, 0}, 1), 1e-3);
  EXPECT_EQ(one[2].class_id, 0);
  for (std::vector<std::string> batch : {std::vector<std::string>{"--batch-size", "2"},
                                         {"--batch_size=8"},
                                         {"--batch-size", "3", "--max-batch-size", "1"},
                                         {"--batch-size", "2", "--threads", "1"},
                                         {"--batch-size", "2", "--ir_optim", "False"}}) {
    batch.insert(batch.begin(), {"--model-dir", "model", "--img-path", "photos"});
    EXPECT_EQ(parse(infer(box, batch).out), one);
  }
}

TEST(InferCommand, PicturesOfDifferentSizesWorkWithoutACrop) {
  Sandbox box;
  EXPECT_EQ(parse(infer(box, {"--model-dir", "model", "--img-path", "photos", "--resize-size", "0",
                              "--crop-size", "0", "--batch-size", "3"})
                      .out)
                .size(),
            3u);
}

TEST(InferCommand, LabelsAreShown) {
  Sandbox box;
  ProgramResult result = infer(box, {"--model-dir", "model", "--labels", "labels.txt"});
  EXPECT_THAT(result.out, testing::EndsWith(", label: red\n"));
  write_file(box / "numbered.txt", "0 red\r\n1 green\r\n2 blue\r\n");
  EXPECT_EQ(infer(box, {"--model-dir", "model", "--labels", "numbered.txt"}).out, result.out);
  write_file(box / "marked.txt", "\xef\xbb\xbfred\r\ngreen\r\nblue\r\n");
  EXPECT_EQ(infer(box, {"--model-dir", "model", "--labels", "marked.txt"}).out, result.out);
  write_file(box / "empty.txt", "");
  EXPECT_THAT(error_of(box, {"--model-dir", "model", "--labels", "empty.txt"}),
              HasSubstr("empty.txt: there are no labels in it"));
  write_file(box / "short.txt", "red\ngreen\n");
  EXPECT_THAT(error_of(box, {"--model-dir", "model", "--labels", "short.txt"}),
              HasSubstr("short.txt: 2 labels, but the model has 3 classes"));
}

TEST(InferCommand, FlagsOverrideTheDeployFile) {
  Sandbox box;
  std::vector<Answer> plain = parse(infer(box, {"--model-dir", "model"}).out);
  write_file(
      box / "model/deploy.yaml",
      "Deploy:\n  transforms:\n    - {type: ResizeShort, size: 32}\n    - {type: CenterCrop, size: 24}\n"
      "    - {type: Normalize, mean: [0, 0, 0], std: [1, 1, 1]}\n");
  std::vector<Answer> deployed = parse(infer(box, {"--model-dir", "model"}).out);
  std::vector<Answer> overridden = parse(
      infer(box, {"--model-dir", "model", "--mean", "0.485,0.456,0.406", "--std", "0.229", "0.224", "0.225"})
          .out);
  ASSERT_EQ(deployed.size(), 1u);
  ASSERT_EQ(overridden.size(), 1u);
  EXPECT_LT(deployed[0].prob, plain[0].prob - 0.1f);
  EXPECT_NEAR(overridden[0].prob, plain[0].prob, 1e-3);
}

TEST(InferCommand, ABrokenPictureAmongOthersIsSkipped) {
  Sandbox box;
  write_file(box / "photos/broken.jpg", "\xff\xd8\xff\xe0 no picture");
  for (const char* batch : {"1", "4"}) {
    ProgramResult result =
        infer(box, {"--model-dir", "model", "--img-path", "photos", "--batch-size", batch});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(parse(result.out).size(), 3u);
    EXPECT_THAT(result.err, testing::StartsWith("octet: warning: photos/broken.jpg"));
  }
  EXPECT_THAT(error_of(box, {"--model-dir", "model", "--img-path", "photos/broken.jpg"}),
              HasSubstr("photos/broken.jpg"));
}

TEST(InferCommand, NoPicturesIsAnError) {
  Sandbox box;
  std::filesystem::create_directory(box / "empty");
  EXPECT_THAT(error_of(box, {"--model-dir", "model", "--img-path", "empty"}), HasSubstr("empty"));
  EXPECT_THAT(error_of(box, {"--model-dir", "model", "--img-path", "missing.jpg"}), HasSubstr("missing.jpg"));
}

TEST(InferCommand, APathThatTheSystemRefusesIsAnError) {
  Sandbox box;
  error_of(box, {"--model-dir", "model", "--img-path", std::string(5000, 'z')});
  error_of(box, {"--model-dir", "model", "--labels", std::string(5000, 'z')});
}

TEST(InferCommand, AModelThatIsNoClassifierIsExplained) {
  Sandbox box;
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, kUnknown, kUnknown});
  Model(std::make_shared<const Graph>(b.build({b.slice(x, {1}, {0}, {1})}))).save(box / "map");
  EXPECT_THAT(error_of(box, {"--model-dir", "map"}), HasSubstr("not one row of class scores"));
  ValueId v = b.input("v", {kUnknown, 4});
  Model(std::make_shared<const Graph>(b.build({b.relu(v)}))).save(box / "vector");
  EXPECT_THAT(error_of(box, {"--model-dir", "vector"}), HasSubstr("this one takes v (float32 ?x4)"));
}

TEST(InferCommand, BenchmarkPrintsTheReportThatPipelinesCollect) {
  Sandbox box;
  ProgramResult result = infer(box, {"--model-dir", "model", "--img-path", "photos", "--benchmark", "True",
                                     "--warmup", "2", "--batch-size=2", "--threads=1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* text : {" Env info -",
                           "\n OS_version: ",
                           "\n CPU: ",
                           " octet info -",
                           "\n octet_version: ",
                           " Conf info -",
                           "\n runtime_device: cpu\n",
                           "\n cpu_math_library_num_threads: 1\n",
                           " Model info -",
                           "\n model_name: model\n precision: fp32\n",
                           " Data info -",
                           "\n batch_size: 2\n",
                           "\n data_num: 3\n",
                           " Perf info -",
                           "\n cpu_rss(MB): ",
                           "\n cpu_usage(%): ",
                           "\n total time spent(s): ",
                           "\n preprocess_time(ms): ",
                           ", inference_time(ms): ",
                           ", postprocess_time(ms): ",
                           "\n ips: "})
    EXPECT_THAT(result.out, HasSubstr(text));
  EXPECT_THAT(result.out, HasSubstr("\n input_shape: dynamic\n"));
}

TEST(InferCommand, AnswersGoToFilesToo) {
  Sandbox box;
  fs::rename(box / "photos/green.png", box / "photos/green, too.png");
  const ProgramResult result = run_octet({"infer", "--model-dir", "model", "--img-path", "photos", "--topk",
                                          "2", "--json", "a.json", "--csv", "a.csv"},
                                         box.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const nlohmann::json rows = nlohmann::json::parse(read_file(box / "a.json"));
  const auto lines = std::ranges::count(result.out, '\n');
  ASSERT_EQ(std::ssize(rows), lines);
  EXPECT_THAT(result.out,
              HasSubstr(fmt::format("image_name: {}, class_id: {}", rows[0]["image_name"].get<std::string>(),
                                    rows[0]["class_id"].get<int>())));
  const std::string csv = read_file(box / "a.csv");
  EXPECT_THAT(csv, testing::StartsWith("image_name,class_id,prob,label\r\n"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), lines + 1);
  EXPECT_THAT(csv, HasSubstr("\"photos/green, too.png\","));
}

}  // namespace
}  // namespace octet
