#include <gmock/gmock.h>

#include "support/run_program.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using testing::HasSubstr;

bool is_installed(const std::string& program) {
  return run_shell("command -v " + program).exit_code == 0;
}

// What bash offers after `words`, when the cursor is on the last of them.
std::string complete_in_bash(const std::string& words, const std::filesystem::path& cwd = ".") {
  ProgramResult result =
      run_shell("eval \"$(octet completion bash)\"; compopt() { :; }; COMP_WORDS=(" + words +
                    "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _octet; echo \"${COMPREPLY[*]}\"",
                cwd);
  EXPECT_EQ(result.err, "");
  return result.out;
}

TEST(Completion, ScriptsAreValid) {
  TempDir dir;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    ProgramResult script = run_octet({"completion", shell});
    ASSERT_EQ(script.exit_code, 0) << script.err;
    EXPECT_THAT(script.out, HasSubstr("model-filename"));
    write_file(dir / shell, script.out);
    if (!is_installed(shell)) continue;
    ProgramResult check = run_shell(std::string(shell) + " -n " + (dir / shell).string());
    EXPECT_EQ(check.exit_code, 0) << check.err;
  }
}

TEST(Completion, BashCompletesCommandsFlagsValuesAndFiles) {
  EXPECT_EQ(complete_in_bash("octet inf"), "info infer\n");
  EXPECT_EQ(complete_in_bash("octet infer --max-b"), "--max-batch-size\n");
  EXPECT_EQ(complete_in_bash("octet infer --interpolation bi"), "bilinear bicubic\n");
  EXPECT_EQ(complete_in_bash("octet infer --interpolation = o"), "opencv\n");
  EXPECT_EQ(complete_in_bash("octet infer --use_gpu Fa"), "False\n");
  EXPECT_EQ(complete_in_bash("octet completion z"), "zsh\n");
  EXPECT_EQ(complete_in_bash("octet help conv"), "convert\n");
  TempDir dir;
  write_file(dir / "picture one.jpg", "");
  EXPECT_EQ(complete_in_bash("octet infer --img-path pic", dir.path()), "picture one.jpg\n");
  EXPECT_EQ(complete_in_bash("octet info pic", dir.path()), "picture one.jpg\n");
  EXPECT_EQ(complete_in_bash("octet infer --batch-size pic", dir.path()), "\n");
}

TEST(Completion, UnknownShellIsAnError) {
  ProgramResult result = run_octet({"completion", "csh"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.err, "octet: error: SHELL: 'csh' is not one of bash, zsh, fish\n");
}

}  // namespace
}  // namespace octet
