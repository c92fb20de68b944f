#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "support/paths.h"
#include "support/run_program.h"
#include "support/segmentation_box.h"

// The pages of docs/commands/ are true: their examples do what they show, and every flag is described.
namespace octet {
namespace {

namespace fs = std::filesystem;

struct Example {
  std::string command;
  std::string expected;  // `...` stands for anything
};

// The commands of the ```console blocks, which follow a "$ ", with the output below each.
std::vector<Example> examples_of(const fs::path& page) {
  std::vector<Example> examples;
  std::istringstream lines(read_file(page));
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```"))
      inside = line == "```console";
    else if (inside && line.starts_with("$ "))
      examples.push_back({line.substr(2), ""});
    else if (inside)
      examples.back().expected += line + "\n";
  }
  return examples;
}

// Whether `text` begins with the pieces between the `...` of `pattern`, in their order and to its end.
bool matches(const std::string& text, const std::string& pattern) {
  std::size_t at = 0, begin = 0;
  for (std::size_t dots; (dots = pattern.find("...", begin)) != std::string::npos; begin = dots + 3) {
    std::string piece = pattern.substr(begin, dots - begin);
    std::size_t found = text.find(piece, at);
    if (found == std::string::npos || (begin == 0 && found != 0)) return false;
    at = found + piece.size();
  }
  std::string last = pattern.substr(begin);
  return begin == 0 ? text == last : text.size() >= at + last.size() && text.ends_with(last);
}

class CommandPage : public testing::TestWithParam<const char*> {
 protected:
  fs::path page() const { return fs::path(kSourceDir) / "docs/commands" / (std::string(GetParam()) + ".md"); }
};

TEST_P(CommandPage, ExamplesDoWhatTheyShow) {
  SegmentationBox box;
  std::vector<Example> examples = examples_of(page());
  ASSERT_FALSE(examples.empty());
  for (const Example& example : examples) {
    ProgramResult result = run_shell(example.command, box.path());
    EXPECT_EQ(result.exit_code, 0) << example.command << "\n" << result.err;
    EXPECT_TRUE(matches(result.out, example.expected)) << "$ " << example.command << "\n"
                                                       << result.out << "\nexpected:\n"
                                                       << example.expected;
  }
}

TEST_P(CommandPage, EveryFlagIsDescribed) {
  std::string help = run_octet({GetParam(), "--help"}).out, text = read_file(page());
  static const std::regex kFlag(R"(\n  (--[a-z-]+|[A-Z]+) )");
  int flags = 0;
  for (std::sregex_iterator match(help.begin(), help.end(), kFlag), end; match != end; ++match, ++flags)
    EXPECT_NE(text.find(fmt::format("`{}", (*match)[1].str())), std::string::npos) << (*match)[1];
  EXPECT_GT(flags, 0);
}

INSTANTIATE_TEST_SUITE_P(All, CommandPage,
                         testing::Values("train", "info", "run", "infer", "predict", "eval", "ptq", "qat",
                                         "export", "convert", "bench", "compare", "launch", "tipc",
                                         "completion"),
                         [](const auto& info) { return std::string(info.param); });

TEST(DocsTest, PatternsMatchWhatTheyShould) {
  EXPECT_TRUE(matches("abc\n", "abc\n"));
  EXPECT_TRUE(matches("a 12 b\n", "a ... b\n"));
  EXPECT_TRUE(matches("x\nyz\n", "...\nyz\n"));
  EXPECT_FALSE(matches("abcd\n", "abc\n"));
  EXPECT_FALSE(matches("b 12\n", "a ...\n"));
  EXPECT_FALSE(matches("za 12\n", "a ...\n"));
  EXPECT_FALSE(matches("a 12\nc\n", "a ...\nd\n"));
}

}  // namespace
}  // namespace octet
