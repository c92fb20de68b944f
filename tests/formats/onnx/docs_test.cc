#include <gtest/gtest.h>

#include <map>

#include "formats/onnx/model_io.h"
#include "formats/onnx/reader.h"
#include "formats/onnx/writer.h"
#include "graph/op_table.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace octet::onnx {
namespace {

// The part of docs/onnx.md between two marks, which is made from the tables.
std::string part_of_page(const std::string& mark) {
  const std::string page = read_file(std::filesystem::path(kSourceDir) / "docs/onnx.md");
  const std::string begin = "<!-- " + mark + " -->\n", end = "<!-- end -->";
  const std::size_t at = page.find(begin);
  if (at == std::string::npos) return "";
  return page.substr(at + begin.size(), page.find(end, at) - at - begin.size());
}

TEST(OnnxPage, ListsTheOpsThatAreRead) {
  std::map<std::string, std::string> rows;
  for (const ReadRow& row : read_table()) {
    rows[std::string(row.type)] = fmt::format("| {} | {} | {} |\n", row.type, row.since, row.note);
  }
  std::string expected = "| op | from opset | as far as |\n|---|---|---|\n";
  for (const auto& [type, line] : rows) expected += line;
  EXPECT_EQ(part_of_page("read"), expected) << "replace that part of docs/onnx.md by:\n" << expected;
}

TEST(OnnxPage, ListsTheOpsThatAreWritten) {
  std::vector<std::string_view> written, kept;
  for (const OpSpec& spec : op_table()) {
    // Only a prepared graph has these.
    if (spec.is_integer || spec.name == "reorder" || spec.name == "resize_arg_max") continue;
    (find_writer(spec.name) ? written : kept).push_back(spec.name);
  }
  const std::string expected =
      fmt::format("Written: {}.\n\nNot written: {}.\n", fmt::join(written, ", "), fmt::join(kept, ", "));
  EXPECT_EQ(part_of_page("written"), expected) << "replace that part of docs/onnx.md by:\n" << expected;
}

// A row says an op's name in octet, or composes it of others.
TEST(OnnxTable, HasEachOpOnce) {
  std::set<std::string_view> types;
  for (const ReadRow& row : read_table()) {
    EXPECT_TRUE(types.insert(row.type).second) << row.type;
    EXPECT_TRUE(row.read) << row.type;
    EXPECT_GE(row.since, 1) << row.type;
  }
}

}  // namespace
}  // namespace octet::onnx
