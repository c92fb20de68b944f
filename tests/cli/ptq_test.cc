#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "octet/model.h"
#include "support/idx_files.h"
#include "support/npz.h"
#include "support/run_program.h"
#include "support/sandbox.h"
#include "support/small_models.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;

ProgramResult ptq(const Sandbox& box, std::vector<std::string> words) {
  words.insert(words.begin(), {"ptq", "--model_path", "scores", "--output_dir", "int8"});
  return run_octet(words, box.path());
}

std::string error_of(const Sandbox& box, std::vector<std::string> words) {
  ProgramResult result = ptq(box, std::move(words));
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_THAT(result.err, StartsWith("octet: error: "));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  EXPECT_FALSE(fs::exists(box / "int8/__model__"));
  return result.err;
}

TEST(PtqCommand, WritesAModelWithItsPreprocessingAndAReport) {
  Sandbox box;
  ProgramResult result = ptq(box, {"--data_dir", "photos", "--batch_num", "1", "--batch_size=3",
                                   "--crop-size", "4", "--resize-size=4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(Model::load((box / "int8").string()).is_quantized());
  EXPECT_TRUE(fs::exists(box / "int8/__params__"));
  EXPECT_THAT(read_file(box / "int8/deploy.yaml"), HasSubstr("size: 4"));
  nlohmann::json report = nlohmann::json::parse(read_file(box / "int8/ptq_report.json"));
  EXPECT_EQ(report.at("samples"), 3);
  EXPECT_FALSE(report.at("layers").empty());
  EXPECT_THAT(result.out, HasSubstr("| layer"));
}

TEST(PtqCommand, TheNamesOfPaddleSlimWork) {
  Sandbox box;
  ProgramResult result =
      run_octet({"ptq", "--model_dir", "scores", "--quantize_model_path", "out", "--data_dir", "x.npy",
                 "--batch_nums", "1", "--algo", "hist", "--save_model_filename", "m",
                 "--save_params_filename", "p", "--onnx_format", "False", "--use_gpu", "False"},
                box.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::exists(box / "out/m"));
  EXPECT_TRUE(fs::exists(box / "out/p"));
}

TEST(PtqCommand, MnistsTestPicturesAreLeftAlone) {
  Sandbox box;
  fs::create_directory(box / "mnist");
  write_file(box / "mnist/train-images-idx3-ubyte", idx_pictures(12));
  write_file(box / "mnist/train-labels-idx1-ubyte", idx_labels(12));
  write_file(box / "mnist/t10k-images-idx3-ubyte", idx_pictures(3));
  write_file(box / "mnist/t10k-labels-idx1-ubyte", idx_labels(3));
  ProgramResult result = ptq(box, {"--data_dir", "mnist", "--crop-size", "4", "--resize-size=4"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("calibrated on 9 pictures, judged on 3 pictures held out"));
}

TEST(PtqCommand, ABrokenPictureIsSkippedAndFewBatchesAreSaid) {
  Sandbox box;
  write_file(box / "photos/broken.jpg", "no picture");
  ProgramResult result =
      ptq(box, {"--data_dir", "photos", "--crop-size", "4", "--resize-size=4", "--batch_size=2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(fs::exists(box / "int8/__model__"));
  EXPECT_THAT(result.err, HasSubstr("--batch_num 10"));
}

TEST(PtqCommand, MistakesGetOneClearLine) {
  Sandbox box;
  fs::create_directory(box / "empty");
  fs::create_directory(box / "bad");
  for (int i = 0; i < 6; ++i) write_file(box / ("bad/" + std::to_string(i) + ".jpg"), "no picture");
  EXPECT_THAT(error_of(box, {"--data_dir", "empty"}), HasSubstr("empty"));
  EXPECT_THAT(error_of(box, {"--data_dir", "nowhere"}), HasSubstr("nowhere"));
  EXPECT_THAT(error_of(box, {"--data_dir", "bad"}), HasSubstr("bad"));
  EXPECT_THAT(error_of(box, {"--data_dir", "photos", "--algo", "best"}), HasSubstr("best"));
  EXPECT_THAT(error_of(box, {}), HasSubstr("--data_dir"));
  EXPECT_THAT(error_of(box, {"--data_dir", "photos", "--use_gpu", "True"}), HasSubstr("gpu"));
  EXPECT_THAT(error_of(box, {"--data_dir", "photos", "--save_model_filename", "../m"}), HasSubstr("'../m'"));
  EXPECT_THAT(error_of(box, {"--data_dir", "photos", "--save_params_filename", "__model__"}),
              HasSubstr("the program's name already"));
  EXPECT_THAT(error_of(box, {"--data_dir", "photos", "--output_dir", "x.npy"}), HasSubstr("not a directory"));
  EXPECT_THAT(error_of(box, {"--data_dir", "photos", "--save_stats", "x.npy/y"}), HasSubstr("x.npy"));
  EXPECT_THAT(error_of(box, {"--data_dir", "photos", "--save_model_filename", "deploy.yaml"}),
              HasSubstr("'deploy.yaml'"));
}

TEST(PtqCommand, SeveralProcessesMakeTheModelOfOne) {
  Sandbox box;
  for (const char* extra :
       {"--two_pass=False", "--two_pass=True", "--algo=mse", "--algo=auto", "--equalize=True"}) {
    std::vector<std::string> words = {
        "ptq", "--model_path", "scores", "--data_dir", "photos", "--batch_size", "1",  "--resize-size",
        "4",   "--crop-size",  "4",      "--threads",  "1",      "--algo",       "KL", extra};
    std::vector<std::string> one = words, three = {"launch", "--nproc", "3"};
    one.insert(one.end(), {"--output_dir", "one"});
    three.insert(three.end(), words.begin(), words.end());
    three.insert(three.end(), {"--output_dir", "three"});
    ASSERT_EQ(run_octet(one, box.path()).exit_code, 0);
    ProgramResult result = run_octet(three, box.path());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    for (const char* file : {"__model__", "__params__", "ptq_report.json"})
      EXPECT_EQ(read_file(box / "one" / file), read_file(box / "three" / file)) << extra << " " << file;
  }
}

// Twelve pictures, each of a size of its own.
void add_sizes(const Sandbox& box) {
  fs::create_directory(box / "sizes");
  for (int i = 0; i < 12; ++i)
    write_file(box / ("sizes/" + std::to_string(10 + i) + ".png"), encode_png(test_image(4 + i, 5)));
}

TEST(PtqCommand, PicturesAreCountedNotBatches) {
  Sandbox box;
  add_sizes(box);
  ProgramResult result = ptq(
      box, {"--data_dir", "sizes", "--crop-size=0", "--resize-size=0", "--batch_size=5", "--batch_num=2"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("calibrated on 10 pictures, judged on 2 others; all layers"));

  write_file(box / "sizes/10.png", "no picture");
  result = ptq(box, {"--data_dir", "sizes", "--crop-size=0", "--resize-size=0", "--batch_size=5"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("pictures (1 skipped: can't be read), judged on"));
  EXPECT_THAT(result.err, HasSubstr("50 pictures were asked for, sizes has 12"));
}

TEST(PtqCommand, SeveralProcessesMakeTheModelOfOneFromPicturesOfAnySize) {
  Sandbox box;
  add_sizes(box);
  std::vector<std::string> words = {"ptq", "--model_path",  "scores", "--data_dir",  "sizes", "--batch_size",
                                    "4",   "--resize-size", "0",      "--crop-size", "0",     "--threads",
                                    "1"};
  std::vector<std::string> one = words, three = {"launch", "--nproc", "3"};
  one.insert(one.end(), {"--output_dir", "one"});
  three.insert(three.end(), words.begin(), words.end());
  three.insert(three.end(), {"--output_dir", "three"});
  ASSERT_EQ(run_octet(one, box.path()).exit_code, 0);
  ProgramResult result = run_octet(three, box.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* file : {"__model__", "__params__", "ptq_report.json"})
    EXPECT_EQ(read_file(box / "one" / file), read_file(box / "three" / file)) << file;
}

// deploy.yaml has what was done to the pictures, or nothing.
TEST(PtqCommand, ThePreprocessingIsThatOfTheStatistics) {
  Sandbox box;
  ASSERT_EQ(ptq(box, {"--data_dir", "photos", "--resize-size=4", "--crop-size=4", "--mean", "0.1,0.2,0.3",
                      "--std", "0.4,0.5,0.6", "--save-stats", "stats"})
                .exit_code,
            0);
  const std::string first = read_file(box / "int8/deploy.yaml");
  EXPECT_THAT(first, HasSubstr("0.1"));
  fs::remove_all(box / "int8");
  ProgramResult result = ptq(box, {"--load-stats", "stats"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_file(box / "int8/deploy.yaml"), first);
}

TEST(PtqCommand, OfArraysThePreprocessingIsNotKnown) {
  Sandbox box;
  ProgramResult result = ptq(box, {"--data_dir", "x.npy"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(read_file(box / "int8/deploy.yaml"), Not(HasSubstr("transforms")));
  EXPECT_THAT(result.err, HasSubstr("what was done to the pictures is not known"));
  result = run_octet({"infer", "--model-path", "int8", "--img-path", "photos"}, box.path());
  EXPECT_THAT(result.err,
              HasSubstr("no deploy.yaml beside int8 says how its pictures are prepared; assumed: short "
                        "side 256"));
}

TEST(PtqCommand, SeveralInputsComeFromNpzFiles) {
  Sandbox box;
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8}), scale = b.input("scale", {kUnknown, 4});
  ValueId pool = b.flatten(b.global_avg_pool(b.conv2d(x, b.constant("w", testing::ramp({4, 3, 3, 3})))));
  ValueId y = b.matmul(b.add(pool, scale), b.constant("v", testing::ramp({4, 5}, 2)));
  Model(std::make_shared<const Graph>(b.build({y}))).save(box / "two");
  fs::create_directory(box / "arrays");
  for (std::uint32_t i = 0; i < 3; ++i)
    write_file(box / fmt::format("arrays/{}.npz", i),
               make_npz({{"scale", testing::ramp({4, 4}, 10 + i)}, {"x", testing::ramp({4, 3, 8, 8}, i)}}));
  for (const char* processes : {"1", "2"}) {
    ProgramResult result =
        run_octet({"launch", "--nproc", processes, "ptq", "--model_path", "two", "--output_dir",
                   std::string("out") + processes, "--data_dir", "arrays", "--batch_size", "3"},
                  box.path());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("held out of the data; all layers"));
  }
  EXPECT_TRUE(Model::load((box / "out1").string()).is_quantized());
  EXPECT_EQ(read_file(box / "out1/__params__"), read_file(box / "out2/__params__"));
  ProgramResult result =
      run_octet({"ptq", "--model_path", "two", "--output_dir", "out3", "--data_dir", "photos"}, box.path());
  EXPECT_THAT(result.err, HasSubstr("give .npz files with an array for each"));
}

// A model of one picture input, quantized from arrays with default flags.
ProgramResult ptq_of(const Sandbox& box, Graph graph) {
  Model(std::make_shared<const Graph>(std::move(graph))).save(box / "float");
  save_npy(box / "pictures.npy", testing::ramp({40, 3, 8, 8}, 5));
  return run_octet({"ptq", "--model_path", "float", "--output_dir", "int8", "--data_dir", "pictures.npy",
                    "--batch_num", "4", "--float_share", "0"},
                   box.path());
}

TEST(PtqCommand, WarnsOfALayerThatIsAtFaultAndNamesTheRemedy) {
  Sandbox box;
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  Tensor first = testing::ramp({8, 3, 3, 3}, 1).clone(), second = testing::ramp({8, 8, 1, 1}, 2).clone();
  for (std::size_t i = 0; i < 27; ++i) first.mutable_data<float>()[i] *= 1000;
  for (std::size_t o = 0; o < 8; ++o) second.mutable_data<float>()[o * 8] /= 1000;
  // hard_swish does not let a scale through, so that this can't be balanced.
  ValueId y = b.hard_swish(b.conv2d(x, b.constant("first", std::move(first))));
  const ProgramResult result = ptq_of(box, b.build({b.conv2d(y, b.constant("second", std::move(second)))}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("octet: warning: the int8 model answers differently"));
  EXPECT_THAT(result.err, HasSubstr("times as far as most"));
  EXPECT_THAT(result.err, HasSubstr("Try --equalize, or --keep-float 'conv2d_1"));
}

// Two layers that nearly cancel out, up to `rest`: each is healthy, and of both together much is noise.
Graph cancelling(float rest) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 8, 8});
  const Tensor one = testing::ramp({4, 3, 3, 3}, 1), little = testing::ramp({4, 3, 3, 3}, 2);
  Tensor other = one.clone();
  for (std::size_t i = 0; i < 108; ++i)
    other.mutable_data<float>()[i] = -one.data<float>()[i] + rest * little.data<float>()[i];
  return b.build(
      {b.add(b.conv2d(x, b.constant("one", one)), b.conv2d(x, b.constant("other", std::move(other))))});
}

TEST(PtqCommand, DoesNotBlameALayerForANetworkThatMakesSmallDifferencesLarge) {
  Sandbox box;
  const ProgramResult noisy = ptq_of(box, cancelling(0.02f)), ruined = ptq_of(box, cancelling(0.002f));
  for (const ProgramResult& result : {noisy, ruined}) {
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("makes small differences large"));
    EXPECT_THAT(result.err, ::testing::Not(HasSubstr("--keep-float")));
  }
  EXPECT_THAT(noisy.err, HasSubstr("octet: notice: the int8 model answers differently"));
  EXPECT_THAT(noisy.err, ::testing::Not(HasSubstr("warning")));
  EXPECT_THAT(ruined.err, HasSubstr("octet: warning: the int8 model answers differently"));
}

TEST(PtqCommand, AQuantizedModelIsRefused) {
  Sandbox box;
  ASSERT_EQ(ptq(box, {"--data_dir", "x.npy"}).exit_code, 0);
  ProgramResult result =
      run_octet({"ptq", "--model_path", "int8", "--output_dir", "again", "--data_dir", "x.npy"}, box.path());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("quantized already"));
}

}  // namespace
}  // namespace octet
