#include <gmock/gmock.h>

#include "support/run_program.h"

// The rules that all flags share, seen from outside: `infer` has a flag of each kind, and looks at the model
// after all of them.
namespace octet {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string error_of(std::vector<std::string> words) {
  ProgramResult result = run_octet(std::move(words));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, StartsWith("octet: error: "));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  return result.err;
}

constexpr char kNoModel[] = "no_such_model";
// Words that parse get as far as the model, which isn't there.
void expect_parsed(std::vector<std::string> words) {
  words.insert(words.begin(), "infer");
  EXPECT_THAT(error_of(words), HasSubstr(kNoModel)) << testing::PrintToString(words);
}

TEST(Args, DashesAndUnderscoresAreAlike) {
  expect_parsed({"--model-dir", kNoModel});
  expect_parsed({"--model_dir", kNoModel});
  expect_parsed({"--model_dir=no_such_model", "--batch_size=2", "--img-path", "x.jpg", "--use_gpu=False"});
  expect_parsed({"--model", kNoModel});
}

TEST(Args, BooleansTakeManyWords) {
  for (const char* word : {"False", "false", "FALSE", "no", "0", "off"}) {
    expect_parsed({"--model-dir", kNoModel, "--use-gpu", word});
    expect_parsed({"--model-dir", kNoModel, std::string("--use-gpu=") + word});
  }
  for (const char* word : {"True", "true", "TRUE", "yes", "1", "on"})
    EXPECT_THAT(error_of({"infer", "--model-dir", kNoModel, "--use-gpu", word}), HasSubstr("gpu:0"));
  EXPECT_THAT(error_of({"infer", "--use-gpu", "--model-dir", kNoModel}), HasSubstr("gpu:0"));
  EXPECT_THAT(error_of({"infer", "--use-gpu=maybe", "--model-dir", kNoModel}),
              HasSubstr("--use-gpu: 'maybe' is not True or False"));
}

TEST(Args, ABareBooleanDoesNotEatTheNextWord) {
  EXPECT_THAT(error_of({"info", "--json", kNoModel}), HasSubstr(kNoModel));
}

TEST(Args, TheLastOfARepeatedFlagCounts) {
  expect_parsed({"--model-dir", "a_first_one", "--model-dir", kNoModel});
  expect_parsed({"--model-dir", kNoModel, "--use-gpu", "True", "--use_gpu", "False"});
}

TEST(Args, AFlagForSeveralValuesTakesAllThatFollow) {
  auto error = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"ptq", "--output-dir", "int8"});
    return error_of(words);
  };
  EXPECT_THAT(error({"--keep-float", "a", "b*", "--model-path", kNoModel, "--skip-tensor-list", "c", "d"}),
              HasSubstr(kNoModel));
  EXPECT_THAT(error({"--model-path", kNoModel, "--keep-float", "a", "--keep-float=b"}), HasSubstr(kNoModel));
  EXPECT_THAT(error({"--model-path", kNoModel, "--keep-float=a", "b"}), HasSubstr("'b' is not expected"));
  // Where a positional argument may follow they can't.
  EXPECT_THAT(error_of({"info", "--input", "1x3x8x8", kNoModel}), HasSubstr(kNoModel));
}

TEST(Args, UnknownFlagsGetASuggestion) {
  EXPECT_THAT(error_of({"infer", "--batchsize", "3"}),
              HasSubstr("unknown flag --batchsize; did you mean --batch-size?"));
  EXPECT_THAT(error_of({"infer", "--batch=3"}),
              HasSubstr("unknown flag --batch; did you mean --batch-size?"));
  EXPECT_THAT(error_of({"infer", "--fly"}), HasSubstr("unknown flag --fly; `octet infer --help`"));
  EXPECT_THAT(error_of({"infer", "-x"}), HasSubstr("unknown flag -x"));
}

TEST(Args, ValuesAreChecked) {
  EXPECT_THAT(error_of({"infer", "--batch-size", "many"}),
              HasSubstr("--batch-size: 'many' is not a whole number"));
  EXPECT_THAT(error_of({"infer", "--batch-size", "0"}), HasSubstr("between 1 and 4096"));
  EXPECT_THAT(error_of({"infer", "--batch-size=3.5"}), HasSubstr("'3.5'"));
  EXPECT_THAT(error_of({"infer", "--batch-size=99999999999999999999"}), HasSubstr("--batch-size"));
  EXPECT_THAT(error_of({"infer", "--interpolation", "cubic"}),
              HasSubstr("bilinear, bicubic, nearest, opencv"));
  EXPECT_THAT(error_of({"infer", "--mean", "0.1,0.2"}),
              HasSubstr("--mean: '0.1,0.2' is not one number or three"));
  EXPECT_THAT(error_of({"infer", "--std=nan"}), HasSubstr("--std: 'nan'"));
  EXPECT_THAT(error_of({"infer", "--labels"}), HasSubstr("--labels needs a value: --labels FILE"));
  EXPECT_THAT(error_of({"infer", "--labels", "--topk", "2"}), HasSubstr("--labels needs a value"));
  EXPECT_THAT(error_of({"info", ""}), HasSubstr("an argument is empty"));
  EXPECT_THAT(error_of({"infer", "--labels="}), HasSubstr("--labels needs a value"));
  EXPECT_THAT(error_of({"infer", "--device", "tpu"}), HasSubstr("--model-dir is required"));
  EXPECT_THAT(error_of({"infer", "--device", "tpu", "--model-dir", kNoModel}),
              HasSubstr("'tpu' is not cpu, gpu or gpu:N"));
  EXPECT_THAT(error_of({"infer", "stray", "--model-dir", kNoModel}), HasSubstr("'stray' is not expected"));
}

TEST(Args, ListsOfNumbersComeWithCommasOrSpaces) {
  expect_parsed({"--model-dir", kNoModel, "--mean", "0.5,0.5,0.5"});
  expect_parsed({"--mean", "-0.5", "0.5", "0.25", "--model-dir", kNoModel});
  expect_parsed({"--mean=0.5", "--std", "0.5, 0.5, 0.5", "--model-dir", kNoModel});
}

TEST(Args, AGpuThatIsNotThereIsNamed) {
  EXPECT_THAT(error_of({"infer", "--model-dir", kNoModel, "--use-gpu", "True"}),
              testing::AllOf(HasSubstr("gpu:0: no usable CUDA device"), HasSubstr("--use-gpu False")));
  EXPECT_THAT(error_of({"run", "--model", kNoModel, "--device=gpu:3"}),
              testing::AllOf(HasSubstr("gpu:3: no usable CUDA device"), HasSubstr("--device cpu")));
}

TEST(Args, AnIsaThatIsNotThereIsNamed) {
  EXPECT_THAT(error_of({"run", "--model", kNoModel, "--isa", "mmx"}),
              testing::AllOf(HasSubstr("mmx"), HasSubstr("ref")));
}

}  // namespace
}  // namespace octet
