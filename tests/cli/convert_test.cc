#include <gmock/gmock.h>

#include "support/run_program.h"
#include "support/sandbox.h"

namespace octet {
namespace {

using testing::HasSubstr;

std::string error_of(const Sandbox& box, std::vector<std::string> words) {
  words.insert(words.begin(), "convert");
  ProgramResult result = run_octet(words, box.path());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, testing::StartsWith("octet: error: "));
  return result.err;
}

TEST(ConvertCommand, WritesTheSameBytes) {
  Sandbox box;
  ProgramResult result = run_octet({"convert", "--model", "model", "--output", "new/copy"}, box.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* name : {"inference.pdmodel", "inference.pdiparams"}) {
    EXPECT_EQ(read_file(box / "new/copy" / name), read_file(box / "model" / name));
    EXPECT_THAT(result.out, HasSubstr("wrote new/copy/" + std::string(name) + " ("));
  }
}

TEST(ConvertCommand, NamesAreFree) {
  Sandbox box;
  EXPECT_EQ(run_octet({"convert", "--model", "model", "--output", "old", "--save_model_filename", "__model__",
                       "--save_params_filename=__params__"},
                      box.path())
                .exit_code,
            0);
  EXPECT_EQ(read_file(box / "old/__model__"), read_file(box / "model/inference.pdmodel"));
  EXPECT_EQ(read_file(box / "old/__params__"), read_file(box / "model/inference.pdiparams"));
  EXPECT_EQ(run_octet({"convert", "--model", "old", "--output", "back", "--model-filename", "__model__",
                       "--params-filename", "__params__"},
                      box.path())
                .exit_code,
            0);
  EXPECT_EQ(read_file(box / "back/inference.pdiparams"), read_file(box / "model/inference.pdiparams"));
  EXPECT_THAT(error_of(box, {"--model", "model", "--output", "x", "--save-model-filename", "a/b"}),
              HasSubstr("--save-model-filename: 'a/b' is not the name of a file"));
  EXPECT_THAT(error_of(box, {"--model", "model", "--output", "x", "--save-model-filename=a",
                             "--save-params-filename=a"}),
              HasSubstr("'a' is the program's name already"));
}

TEST(ConvertCommand, OntoItselfChangesNothing) {
  Sandbox box;
  std::string program = read_file(box / "model/inference.pdmodel");
  std::string params = read_file(box / "model/inference.pdiparams");
  ProgramResult result = run_octet({"convert", "--model", "model", "--output", "model"}, box.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_file(box / "model/inference.pdmodel"), program);
  EXPECT_EQ(read_file(box / "model/inference.pdiparams"), params);
}

TEST(ConvertCommand, TheDeployFileGoesAlongWithTheNewNames) {
  Sandbox box;
  write_file(box / "model/deploy.yaml",
             "Deploy:\n  model: inference.pdmodel\n  params: inference.pdiparams  # kept\n  transforms: []");
  EXPECT_EQ(
      run_octet({"convert", "--model", "model", "--output", "copy", "--save-model-filename", "m.pdmodel"},
                box.path())
          .exit_code,
      0);
  EXPECT_EQ(read_file(box / "copy/deploy.yaml"),
            "Deploy:\n  model: m.pdmodel\n  params: inference.pdiparams  # kept\n  transforms: []");
}

TEST(ConvertCommand, BadTargetsAreNamed) {
  Sandbox box;
  write_file(box / "file", "");
  EXPECT_THAT(error_of(box, {"--model", "model", "--output", "file"}), HasSubstr("file"));
  EXPECT_THAT(error_of(box, {"--model", "model"}), HasSubstr("--output is required"));
  EXPECT_THAT(error_of(box, {"--output", "copy"}), HasSubstr("--model is required"));
  EXPECT_THAT(error_of(box, {"--model", "nothing", "--output", "copy"}), HasSubstr("nothing"));
  EXPECT_FALSE(std::filesystem::exists(box / "copy"));
}

// A model that takes a while to write.
void save_large_model(const std::filesystem::path& path) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4096});
  ValueId y = b.matmul(x, b.constant("weight", Tensor(DType::kFloat32, {4096, 4096})));
  Model(std::make_shared<const Graph>(b.build({y}))).save(path);
}

TEST(ConvertCommand, KilledWhileItWritesItLeavesNothing) {
  TempDir dir;
  save_large_model(dir / "model");
  // Killed as soon as a file appears. On a busy machine that can be too late, the whole model being there, so
  // there are some attempts.
  ProgramResult result = run_shell(
      "for i in {1..20}; do mkdir copy; octet convert --model model --output copy >&2 & "
      "until [[ -n $(ls -A copy) ]]; do :; done; kill $!; wait $!; code=$?; "
      "if [[ -e copy/inference.pdmodel ]]; then rm -r copy; continue; fi; echo $code; ls -A copy; break; "
      "done",
      dir.path());
  EXPECT_EQ(result.out, "143\n") << result.err;
}

TEST(ConvertCommand, ALimitOnFileSizesIsAnErrorThatLeavesNothing) {
  TempDir dir;
  save_large_model(dir / "model");
  ProgramResult result = run_shell("ulimit -f 1000; octet convert --model model --output copy", dir.path());
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("copy/inference.pdiparams: cannot write: File too large"));
  EXPECT_TRUE(std::filesystem::is_empty(dir / "copy"));
}

}  // namespace
}  // namespace octet
