#include <gmock/gmock.h>

#include <cmath>

#include "support/run_program.h"
#include "support/sandbox.h"

namespace octet {
namespace {

using testing::HasSubstr;

std::vector<float> floats(const std::filesystem::path& path) {
  Tensor tensor = load_npy(path);
  std::span<const float> values = tensor.aligned().data<float>();
  return {values.begin(), values.end()};
}

ProgramResult run_model(const Sandbox& box, std::vector<std::string> words) {
  words.insert(words.begin(), {"run", "--model", "scores"});
  return run_octet(words, box.path());
}

std::string error_of(const Sandbox& box, std::vector<std::string> words) {
  ProgramResult result = run_model(box, std::move(words));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::StartsWith("octet: error: "));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  return result.err;
}

// x.npy holds pictures whose mean colours are (2, 0, 0) and (0, 0, 2).
const std::vector<float> kScores = {0.5f, 0, -0.5f, 0, -0.5f, 0.5f};

TEST(RunCommand, WritesOutputs) {
  Sandbox box;
  ProgramResult result = run_model(box, {"--input", "x.npy", "--output", "y.npy"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "wrote y.npy: y = float32 2x3\n");
  EXPECT_EQ(floats(box / "y.npy"), kScores);
  EXPECT_EQ(load_npy(box / "y.npy").shape(), (Shape{2, 3}));
}

TEST(RunCommand, NamesAndThreadsGiveTheSame) {
  Sandbox box;
  ProgramResult result =
      run_model(box, {"--input=x=x.npy", "--output=y=named.npy", "--threads=2", "--isa", "ref"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(floats(box / "named.npy"), kScores);
}

TEST(RunCommand, WithoutOutputPrintsASummary) {
  Sandbox box;
  EXPECT_EQ(run_model(box, {"--input", "x.npy"}).out,
            "y: float32 2x3, min -0.5, max 0.5, mean 0, first 0.5 0 -0.5 0 -0.5\n");
}

TEST(RunCommand, InnerTensorsGoInAndOut) {
  Sandbox box;
  EXPECT_EQ(
      run_model(box, {"--input", "x.npy", "--output", "mean=mean.npy", "--output", "y=y.npy"}).exit_code, 0);
  EXPECT_EQ(floats(box / "mean.npy"), (std::vector<float>{2, 0, 0, 0, 0, 2}));
  EXPECT_EQ(floats(box / "y.npy"), kScores);
  // From the middle on: the model's own input isn't needed.
  save_npy(box / "mean.npy", Tensor::of<float>({1, 3}, {0, 4, 0}));
  EXPECT_EQ(run_model(box, {"--input", "mean=mean.npy", "--output", "y.npy"}).exit_code, 0);
  EXPECT_EQ(floats(box / "y.npy"), (std::vector<float>{-1, 1, 0}));
}

TEST(RunCommand, WrongArraysAreNamedWithWhatIsExpected) {
  Sandbox box;
  save_npy(box / "ints.npy", Tensor::of<std::int64_t>({1, 3, 4, 4}, std::vector<std::int64_t>(48)));
  EXPECT_THAT(error_of(box, {"--input", "ints.npy"}),
              HasSubstr("ints.npy: holds int64 1x3x4x4, but input 'x' of the model is float32 ?x3x?x?"));
  save_npy(box / "flat.npy", Tensor::of<float>({48}, std::vector<float>(48)));
  EXPECT_THAT(error_of(box, {"--input", "flat.npy"}), HasSubstr("holds float32 48, but input 'x'"));
  save_npy(box / "gray.npy", Tensor::of<float>({1, 1, 4, 4}, std::vector<float>(16)));
  EXPECT_THAT(error_of(box, {"--input", "gray.npy"}),
              HasSubstr("input x is declared ?x3x?x?, given 1x1x4x4"));
  EXPECT_THAT(error_of(box, {"--input", "none.npy"}), HasSubstr("none.npy"));
  EXPECT_THAT(error_of(box, {"--input", "labels.txt"}), HasSubstr("labels.txt"));
}

TEST(RunCommand, WrongNamesAreExplained) {
  Sandbox box;
  EXPECT_THAT(error_of(box, {"--input", "z=x.npy"}), HasSubstr("no tensor 'z'; its inputs are x"));
  EXPECT_THAT(error_of(box, {"--input", "x.npy", "--output", "q=y.npy"}), HasSubstr("its outputs are y"));
  EXPECT_THAT(error_of(box, {"--input", "x.npy", "--input", "x.npy"}), HasSubstr("only 1 input: x"));
  EXPECT_THAT(error_of(box, {"--input", "x=x.npy", "--input", "x=x.npy"}), HasSubstr("given twice"));
  EXPECT_THAT(error_of(box, {"--input", std::string(5000, 'z') + "=x.npy"}), HasSubstr("no tensor"));
  EXPECT_THAT(error_of(box, {"--input", "x="}), HasSubstr("a file name is missing"));
  EXPECT_THAT(error_of(box, {}), HasSubstr("x: this input is needed"));
}

TEST(RunCommand, AnEqualsSignInAFileNameIsNoName) {
  Sandbox box;
  std::filesystem::copy(box / "x.npy", box / "a=b.npy");
  EXPECT_EQ(run_model(box, {"--input", "a=b.npy"}).exit_code, 0);
}

TEST(RunCommand, AFailedRunLeavesTheOldOutput) {
  Sandbox box;
  write_file(box / "y.npy", "old");
  error_of(box, {"--input", "none.npy", "--output", "y.npy"});
  EXPECT_EQ(read_file(box / "y.npy"), "old");
  EXPECT_THAT(error_of(box, {"--input", "x.npy", "--output", "no/such/folder/y.npy"}),
              HasSubstr("no/such/folder"));
}

}  // namespace
}  // namespace octet
