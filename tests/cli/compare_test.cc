#include <gmock/gmock.h>

#include "support/run_program.h"
#include "support/sandbox.h"
#include "support/small_models.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

ProgramResult compare_in(const TempDir& dir, std::vector<std::string> words) {
  words.insert(words.begin(), {"compare", "--input", "x.npy"});
  return run_octet(words, dir.path());
}

// x to 4 channels by a convolution, between quantizers with this scale if there is one, and a relu.
void save_convolution(const std::filesystem::path& folder, std::optional<float> scale, const char* output,
                      float weight = 1) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  ValueId in = x;
  if (scale) {
    ValueId step = b.constant("x.scale", Tensor::of<float>({1}, {*scale}));
    ValueId q = b.op("quantize", {x, step}, {{"dtype", std::string("float32")}});
    b.rename(q, "x.quantized");
    in = b.op("dequantize", {q, step});
  }
  Tensor weights = octet::testing::ramp({4, 3, 3, 3}).clone();
  for (float& w : weights.mutable_data<float>()) w *= weight;
  ValueId conv = b.conv2d(in, b.constant("w", weights));
  b.rename(conv, "conv");
  ValueId y = b.relu(conv);
  b.rename(y, output);
  Model(std::make_shared<const Graph>(b.build({y}))).save(folder);
}

struct Models : TempDir {
  Models() {
    save_npy(*this / "x.npy", octet::testing::ramp({1, 3, 8, 8}, 9));
    save_convolution(*this / "float", std::nullopt, "y");
    save_convolution(*this / "int8", 1.0f, "y");
  }
};

TEST(CompareCommand, AModelEqualsItself) {
  Models dir;
  ProgramResult result = compare_in(dir, {"--model", "float", "--baseline", "float", "--tolerance", "0"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "| tensor | op | shape | cosine | SQNR dB | largest difference | of the largest value |\n"
            "|---|---|---|--:|--:|--:|--:|\n"
            "| conv | conv2d | 1x4x6x6 | 1.000000 | inf | 0 | 0 |\n"
            "| y | relu | 1x4x6x6 | 1.000000 | inf | 0 | 0 |\n"
            "\noutput y: SQNR inf dB, cosine 1.000000\nAll 2 tensors are within 0 of the baseline.\n");
}

TEST(CompareCommand, AQuantizedModelIsNearItsFloatModel) {
  Models dir;
  ProgramResult near = compare_in(dir, {"--model", "int8", "--baseline", "float", "--tolerance", "0.05"});
  EXPECT_EQ(near.exit_code, 0) << near.out << near.err;
  EXPECT_THAT(near.out, HasSubstr("| conv | conv2d | 1x4x6x6 | 0.9999"));
  ProgramResult far = compare_in(dir, {"--model", "int8", "--baseline", "float"});
  EXPECT_EQ(far.exit_code, 1) << far.err;
  EXPECT_THAT(far.out, HasSubstr("\nThe first that differs more than 0.0001: conv (conv2d): 0.00"));
}

// `octet ptq` folds batch norms and keeps names, so the same names stand for other numbers in the float
// model.
TEST(CompareCommand, BatchNormsAreFoldedOnBothSides) {
  const TempDir dir;
  save_npy(dir / "x.npy", octet::testing::ramp({4, 3, 8, 8}, 9));
  Model(std::make_shared<const Graph>(octet::testing::small_network())).save(dir / "float");
  ASSERT_EQ(
      run_octet({"ptq", "--model_path", "float", "--data_dir", "x.npy", "--output_dir", "int8"}, dir.path())
          .exit_code,
      0);
  const ProgramResult result = run_octet(
      {"compare", "--model", "int8", "--baseline", "float", "--input", "x.npy", "--tolerance", "0.1"},
      dir.path());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("| conv2d |"));
}

// Of two models with different scales the integers differ far more than what they stand for.
TEST(CompareCommand, IntegersAreComparedAsRealNumbers) {
  Models dir;
  save_convolution(dir / "coarse", 2.0f, "y");
  ProgramResult result = compare_in(dir, {"--model", "coarse", "--baseline", "int8", "--tolerance", "0.02"});
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("| x.quantized | quantize | 1x3x8x8 | 0.9999"));
}

TEST(CompareCommand, OutputsWithOtherNamesAreCompared) {
  Models dir;
  save_convolution(dir / "other", std::nullopt, "z", 0.5f);
  ProgramResult result = compare_in(dir, {"--model", "other", "--baseline", "float"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("| z | relu | 1x4x6x6 | 1.000000 | 6.0 | "));
  EXPECT_THAT(result.out, HasSubstr(" | 0.5 |\n"));
}

TEST(CompareCommand, OneModelOnTwoImplementations) {
  Models dir;
  EXPECT_EQ(compare_in(dir, {"--model", "int8", "--isa", "ref", "--baseline-isa", "ref"}).exit_code, 0);
  EXPECT_EQ(compare_in(dir, {"--model", "int8", "--baseline-isa", "ref"}).exit_code, 0);
  EXPECT_EQ(compare_in(dir, {"--model", "float", "--ir-optim"}).exit_code, 0);
}

TEST(CompareCommand, DifferentShapesDiffer) {
  Sandbox box;
  Builder b;
  ValueId y = b.relu(b.input("x", {kUnknown, 3, kUnknown, kUnknown}));
  b.rename(y, "y");
  Model(std::make_shared<const Graph>(b.build({y}))).save(box / "relu");
  ProgramResult result = compare_in(box, {"--model", "relu", "--baseline", "scores"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("y (relu): its shape is 2x3x4x4, the baseline's 2x3"));
}

TEST(CompareCommand, MistakesAreOneLine) {
  Models dir;
  auto error_of = [&](std::vector<std::string> words) {
    ProgramResult result = compare_in(dir, std::move(words));
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, ::testing::MatchesRegex("octet: error: [^\n]*\n"));
    return result.err;
  };
  EXPECT_THAT(error_of({"--model", "float"}), HasSubstr("--baseline is missing"));
  EXPECT_THAT(error_of({"--model", "float", "--baseline-isa", "mmx"}), HasSubstr("mmx"));
  EXPECT_THAT(error_of({"--model", "float", "--baseline", "none"}), HasSubstr("none"));
  EXPECT_THAT(error_of({"--model", "float", "--baseline", "float", "--tolerance", "-1"}),
              HasSubstr("--tolerance: '-1' is not a number of 0 or more"));
  EXPECT_THAT(error_of({"--model", "float", "--baseline", "float", "--input", "q=x.npy"}),
              HasSubstr("no tensor 'q'"));
}

}  // namespace
}  // namespace octet
