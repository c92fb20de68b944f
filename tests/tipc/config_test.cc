#include "tipc/config.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <span>

#include "octet/error.h"
#include "support/damage.h"
#include "support/paths.h"
#include "support/temp_dir.h"
#include "tipc/sample_config.h"

namespace octet::tipc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Config parse(const std::string& text) {
  return Config::parse(text, "c.txt");
}

// The message of the Error; "" if there is none.
std::string error_of(const std::string& text, const char* mode = nullptr, const char* field = nullptr) {
  try {
    const Config config = parse(text);
    if (mode) config.values(config.get("train_params", field), mode);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TipcConfig, FieldsAreFoundByTheirSectionAndKey) {
  const Config config = parse(sample_train_config());
  EXPECT_EQ(config.model_name(), "net");
  EXPECT_EQ(config.program(), "sh");
  EXPECT_FALSE(config.is_ptq());
  EXPECT_EQ(config.get("train_params", "pretrained").number, 9);
  EXPECT_EQ(config.get("infer_params", "pretrained").number, 21);
  EXPECT_EQ(config.get("infer_params", "batch-size").value, "1");
  ASSERT_EQ(config.trainers().size(), 1u);
  EXPECT_EQ(config.trainers()[0].command->value, "train.sh");
  EXPECT_TRUE(parse(sample_ptq_config()).is_ptq());
}

TEST(TipcConfig, SpellingAndPlaceInTheSectionDoNotMatter) {
  const Config config =
      parse(with(with(sample_train_config(), "--batch-size:lite", "--batch_size:lite"),
                 "model_name:net\npython:sh\n", "# a remark\n\npython:sh \r\nmodel_name: net\n"));
  EXPECT_EQ(config.model_name(), "net");
  EXPECT_EQ(config.program(), "sh");
  EXPECT_EQ(config.get("train_params", "batch-size").key, "--batch_size");
  EXPECT_EQ(config.get("train_params", "use-gpu").key, "use-gpu");
  const Config device = parse(with(sample_train_config(), "use-gpu:False", "--device:cpu"));
  EXPECT_EQ(device.get("train_params", "use-gpu").flag(), "--device=cpu");
}

TEST(TipcConfig, OnlyFlagsWithAValueArePassedOn) {
  EXPECT_EQ((Line{"--epochs", "5", 1}).flag(), "--epochs=5");
  EXPECT_EQ((Line{"-o Global.epochs", "5", 1}).flag(), "-o Global.epochs=5");
  EXPECT_EQ((Line{"--pretrained", "null", 1}).flag(), "");
  EXPECT_EQ((Line{"--pretrained", "", 1}).flag(), "");
  EXPECT_EQ((Line{"use-gpu", "True", 1}).flag(), "");
}

TEST(TipcConfig, AlternativesMayBelongToAMode) {
  const Config config = parse(with(sample_train_config(), "--epochs:lite_train_lite_infer=5",
                                   "--epochs:lite_train_lite_infer=5|lite_train_lite_infer=6"));
  const Line& epochs = config.get("train_params", "epochs");
  EXPECT_THAT(config.values(epochs, "lite_train_lite_infer"), ElementsAre("5", "6"));
  EXPECT_THAT(config.values(epochs, "whole_train_whole_infer"), ElementsAre("90"));
  const Line mixed{"--lr", "0.1|a=b|whole_infer=x=y", 3};
  EXPECT_THAT(config.values(mixed, "lite_train_lite_infer"), ElementsAre("0.1", "a=b"));
  EXPECT_THAT(config.values(mixed, "whole_infer"), ElementsAre("0.1", "a=b", "x=y"));
}

TEST(TipcConfig, ValuesMayHoldColons) {
  const Config config = parse(with(sample_train_config(), "./lite_data", "s3://bucket:80/a"));
  EXPECT_EQ(config.get("train_params", "data-path").value, "s3://bucket:80/a");
}

TEST(TipcConfig, EditorsMayWriteAByteOrderMarkAndCarriageReturns) {
  std::string text = "\xef\xbb\xbf";
  for (char c : sample_train_config()) text += c == '\n' ? "\r\n" : std::string(1, c);
  const Config config = parse(text), plain = parse(sample_train_config());
  for (const char* key : {"epochs", "output-dir", "trainer"})
    EXPECT_EQ(config.get("train_params", key).value, plain.get("train_params", key).value);
}

TEST(TipcConfig, OtherFlagsGoToTheCommandOfTheirPlace) {
  std::string text =
      with(sample_train_config(), "--data-path:", "--lr:0.1\n--none:null\nnull:null\n--data-path:");
  text = with(text, "norm_export:", "--img-size:64\nnorm_export:");
  text += "--topk:5\n";
  const Config config = parse(text);
  EXPECT_THAT(config.other_flags("train_params"), ElementsAre("--lr=0.1"));
  EXPECT_THAT(config.other_flags("infer_params"), ElementsAre("--img-size=64"));
  EXPECT_THAT(config.other_flags("infer_params", Config::To::kInference), ElementsAre("--topk=5"));
}

struct Mistake {
  const char *from, *to, *message;
};

TEST(TipcConfig, MistakesAreNamedWithTheirLineAndTheFix) {
  const Mistake mistakes[] = {
      {"model_name:net\n", "",
       "c.txt:1: train_params has no model-name; add a line such as model_name:mobilenet"},
      {"model_name:net\n", "model_name:\n", "c.txt:2: model_name has no value; write model_name:"},
      {"python:sh\n", "", "c.txt:1: train_params has no python; add a line such as python:octet"},
      {"gpu_list:-1\n", "gpu_list:null\n",
       "c.txt:4: gpu_list has no value; write gpu_list:0|0,1 (-1 for the CPU)"},
      {"use-gpu:False\n", "", "train_params has no use-gpu; add a line such as use-gpu:True"},
      {"--epochs:", "--many:",
       "train_params has no epochs; add a line such as --epochs:lite_train_lite_infer=5"},
      {"--output-dir:./output/\n", "",
       "train_params has no output-dir; add a line such as --output-dir:./output/"},
      {"--output-dir:", "output-dir:",
       "c.txt:7: output-dir must be a flag of the program, which gets a folder by it; write "
       "--output-dir:./output/"},
      {"--pretrained:null\n", "", "train_params has no pretrained; add a line such as --pretrained:null"},
      {"train_model_name:", "train_model:",
       "c.txt:10: unknown key 'train_model' in train_params; begin it with -- to pass it on"},
      {"trainer:norm_train\n", "", "unknown key 'norm_train' in train_params"},
      {"norm_train:train.sh\n", "",
       "c.txt:13: the trainer norm_train has no command; add a line norm_train:COMMAND"},
      {"norm_train:train.sh", "norm_trian:train.sh",
       "unknown key 'norm_trian' in train_params; did you mean 'norm_train'?"},
      {"eval:eval.sh", "evla:eval.sh", "c.txt:17: unknown key 'evla' in eval_params; did you mean 'eval'?"},
      {"eval:eval.sh --test-only\n", "", "c.txt:16: eval_params has no eval; add a line such as eval:null"},
      {"--save-inference-dir:", "--save-dir:", "infer_params has no save-inference-dir"},
      {"norm_export:export.sh\n", "", "infer_params has no norm-export; add a line such as norm_export:null"},
      {"train_model:./net.pdparams\n", "", "infer_params has no train-model"},
      {"infer_export:", "export:", "c.txt:25: unknown key 'export' in infer_params"},
      {"inference:", "inferrence:", "unknown key 'inferrence' in infer_params; did you mean 'inference'?"},
      {"--batch-size:1\n", "", "c.txt:19: infer_params has no batch-size; add a line such as --batch-size:1"},
      {"--model-dir:", "--model:", "infer_params has no model-dir"},
      {"--benchmark:False\n", "", "infer_params has no benchmark"},
      {"--img-path:", "--batch_size:", "c.txt:31: --batch_size is already in line 29, as --batch-size"},
      {"##\n", "nonsense\n", "c.txt:12: 'nonsense' is not key:value, ======section====== or ##"},
      {"##\n", ":5\n", "c.txt:12: ':5' is not key:value"},
      {"==train_params==", "==training==",
       "c.txt:1: unknown section 'training'; there are train_params, eval_params"},
      {"==eval_params==", "==train_params==", "c.txt:16: the section train_params is already in line 1"},
      {"==eval_params==", "==ptq_params==",
       "c.txt:16: both train_params and ptq_params; make two files of it"},
      {"===========================train_params===========================\n", "",
       "c.txt:1: before the first section; begin with ======train_params======"},
  };
  for (const Mistake& mistake : mistakes)
    EXPECT_THAT(error_of(with(sample_train_config(), mistake.from, mistake.to)), HasSubstr(mistake.message))
        << mistake.from;
  EXPECT_EQ(error_of(sample_train_config()), "");
  EXPECT_THAT(error_of(""),
              HasSubstr("c.txt: the section train_params is missing; it begins with a line ======"));
  EXPECT_THAT(
      error_of(with(sample_ptq_config(), "--model_path:", "--model:")),
      HasSubstr("ptq_params has no model-path; add a line such as --model_path:./mobilenet_v3_small_infer/"));
  EXPECT_THAT(error_of(with(sample_ptq_config(), "PTQ:quantize.sh\n", "")),
              HasSubstr("the trainer PTQ has no command"));
}

TEST(TipcConfig, AModeWithoutAValueIsNamed) {
  EXPECT_THAT(error_of(sample_train_config(), "lite_train_whole_infer", "epochs"),
              HasSubstr("c.txt:6: --epochs has no value for the mode lite_train_whole_infer, only for "
                        "lite_train_lite_infer, whole_train_whole_infer; add |lite_train_whole_infer=VALUE"));
  EXPECT_THAT(
      error_of(with(sample_train_config(), "epochs:lite_train_lite_infer", "epochs:lite_train_light_infer"),
               "lite_train_lite_infer", "epochs"),
      HasSubstr(
          "c.txt:6: --epochs: there is no mode 'lite_train_light_infer', only lite_train_lite_infer, "));
}

TEST(TipcConfig, SurvivesDamage) {
  const auto read = [](const std::string& text) { parse(text); };
  // Without its last line, and from there on, a file has too few.
  const std::string good = with(sample_train_config(), "--benchmark:False\n", "--benchmark:");
  expect_survives_damage(good, read, 7, 500);
}

TEST(TipcConfig, AFileThatIsNotThereIsNamed) {
  EXPECT_THROW(Config::load("no/such/file.txt"), Error);
}

// Other scripts find the fields of these files by the numbers of their lines.
TEST(TipcConfig, ShippedFilesKeepTheLinesOfTheDocuments) {
  const std::filesystem::path configs = std::filesystem::path(kSourceDir) / "test_tipc/configs";
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(configs)) {
    if (entry.path().extension() != ".txt") continue;  // what a chain of segmentation trains is beside it
    ++files;
    SCOPED_TRACE(entry.path());
    const Config config = Config::load(entry.path());
    EXPECT_EQ(config.model_name(), entry.path().parent_path().filename());
    const std::string text = read_file(entry.path());
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), config.is_ptq() ? 20 : 32);
    struct Place {
      const char *section, *field;
      int line;
    };
    const Place train[] = {{"train_params", "model-name", 2},
                           {"train_params", "python", 3},
                           {"train_params", "gpu-list", 4},
                           {"train_params", "use-gpu", 5},
                           {"train_params", "epochs", 6},
                           {"train_params", "output-dir", 7},
                           {"train_params", "batch-size", 8},
                           {"train_params", "pretrained", 9},
                           {"train_params", "train-model-name", 10},
                           {"train_params", "data-path", 11},
                           {"train_params", "trainer", 13},
                           {"eval_params", "eval", 17},
                           {"infer_params", "save-inference-dir", 20},
                           {"infer_params", "pretrained", 21},
                           {"infer_params", "norm-export", 22},
                           {"infer_params", "train-model", 24},
                           {"infer_params", "infer-export", 25},
                           {"infer_params", "inference", 27},
                           {"infer_params", "use-gpu", 28},
                           {"infer_params", "batch-size", 29},
                           {"infer_params", "model-dir", 30},
                           {"infer_params", "img-path", 31},
                           {"infer_params", "benchmark", 32}};
    const Place ptq[] = {{"ptq_params", "model-name", 2},   {"ptq_params", "python", 3},
                         {"ptq_params", "use-gpu", 4},      {"ptq_params", "model-path", 5},
                         {"ptq_params", "output-dir", 6},   {"ptq_params", "data-dir", 7},
                         {"ptq_params", "batch-num", 8},    {"ptq_params", "batch-size", 9},
                         {"ptq_params", "trainer", 11},     {"infer_params", "inference", 15},
                         {"infer_params", "use-gpu", 16},   {"infer_params", "batch-size", 17},
                         {"infer_params", "model-dir", 18}, {"infer_params", "img-path", 19},
                         {"infer_params", "benchmark", 20}};
    for (const Place& place : config.is_ptq() ? std::span<const Place>(ptq) : std::span<const Place>(train))
      EXPECT_EQ(config.get(place.section, place.field).number, place.line) << place.field;
    EXPECT_EQ(config.trainers().at(0).command->number, config.is_ptq() ? 12 : 14);
  }
  EXPECT_GE(files, 16);
}

}  // namespace
}  // namespace octet::tipc
