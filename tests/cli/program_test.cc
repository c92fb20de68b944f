#include <gmock/gmock.h>

#include "octet/version.h"
#include "support/run_program.h"

namespace octet {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

// What every mistake of the user looks like.
void expect_one_line_error(const ProgramResult& result, const std::string& text) {
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("octet: error: "));
  EXPECT_THAT(result.err, HasSubstr(text));
  EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
}

TEST(Main, PrintsItsVersion) {
  ProgramResult result = run_octet({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, std::string("octet ") + version() + "\n");
  EXPECT_EQ(result.err, "");
}

TEST(Main, HelpListsTheCommands) {
  for (const char* word : {"--help", "-h", "help"}) {
    ProgramResult result = run_octet({word});
    EXPECT_EQ(result.exit_code, 0);
    for (const char* command :
         {"info", "run", "infer", "export", "convert", "bench", "compare", "completion"})
      EXPECT_THAT(result.out, HasSubstr("\n  " + std::string(command) + " "));
  }
}

TEST(Main, HelpOfACommandComesInTwoWays) {
  for (const char* command :
       {"info", "run", "infer", "export", "convert", "bench", "compare", "completion"}) {
    ProgramResult result = run_octet({command, "--help"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_THAT(result.out, StartsWith("octet " + std::string(command) + ": "));
    EXPECT_EQ(run_octet({"help", command}).out, result.out);
    EXPECT_EQ(run_octet({command, "--no-such-file-is-looked-at=1", "-h"}).exit_code, 2);
  }
}

TEST(Main, HelpFitsInto100Columns) {
  for (const char* command :
       {"info", "run", "infer", "export", "convert", "bench", "compare", "completion"}) {
    std::string help = run_octet({command, "--help"}).out;
    for (std::size_t at = 0, end; (end = help.find('\n', at)) != std::string::npos; at = end + 1)
      EXPECT_LE(end - at, 100u) << help.substr(at, end - at);
  }
}

TEST(Main, UnknownCommandsGetASuggestion) {
  expect_one_line_error(run_octet({"covnert"}), "unknown command 'covnert'; did you mean 'convert'?");
  for (const char* names : {"octet has train, ", ", tipc, launch, completion"})
    expect_one_line_error(run_octet({"bake"}), names);
  expect_one_line_error(run_octet({}), "a command is missing");
  expect_one_line_error(run_octet({"--quick", "info"}), "--quick");
  expect_one_line_error(run_octet({"help", "inof"}), "did you mean 'info'?");
}

TEST(Main, ControlCharactersInNamesStayOnOneLine) {
  expect_one_line_error(run_octet({"info", "no\nsuch\x1b[2Jmodel"}), "no such\\x1b[2Jmodel");
}

TEST(Main, NamesAndSettingsThatTheSystemRefusesAreErrorsOfTheUser) {
  std::string endless(5000, 'a');
  for (const char* command : {"octet info ", "octet run --model ", "octet infer --model-dir "})
    expect_one_line_error(run_shell(command + endless), endless);
  expect_one_line_error(run_shell("OCTET_NUM_THREADS=lots octet info"), "OCTET_NUM_THREADS: 'lots'");
}

TEST(Main, AReaderThatLeavesIsNoError) {
  ProgramResult result = run_shell("octet completion zsh | true; echo ${PIPESTATUS[0]}");
  EXPECT_EQ(result.out, "0\n");
  EXPECT_EQ(result.err, "");
}

TEST(Main, OutputThatCannotBeWrittenIsAnError) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "this system has no /dev/full";
  expect_one_line_error(run_shell("octet info > /dev/full"),
                        "cannot write to the standard output: No space left");
  expect_one_line_error(run_shell("octet info >&-"), "cannot write to the standard output");
}

TEST(Main, AClosedErrorStreamDoesNoHarm) {
  EXPECT_EQ(run_shell("octet nonsense 2>&-").exit_code, 2);
}

}  // namespace
}  // namespace octet
