#include "data/yaml.h"

#include <yaml-cpp/depthguard.h>

#include <algorithm>

#include "base/error.h"
#include "data/settings_yaml.h"

namespace octet {

namespace {

constexpr int kMaxDepth = 64;
constexpr int kMaxNodes = 1 << 19;  // one for every two bytes

[[noreturn]] void fail_for_depth(const std::string& name, const YAML::Mark& mark) {
  fail("{}:{}: nested too deeply, or a part of itself", name, std::max(mark.line, 0) + 1);
}

// Goes through the document as a reader would, once for every place where an anchored part is referred to,
// until that gets out of proportion.
void check_extent(const YAML::Node& node, const std::string& name, int depth, int& left) {
  if (depth > kMaxDepth) fail_for_depth(name, node.Mark());
  if (--left < 0)
    fail("{}:{}: more than {} values, those that are referred to counted each time", name,
         std::max(node.Mark().line, 0) + 1, kMaxNodes);
  if (node.IsSequence())
    for (const YAML::Node& item : node) check_extent(item, name, depth + 1, left);
  if (node.IsMap())
    for (const auto& item : node) {
      check_extent(item.first, name, depth + 1, left);
      check_extent(item.second, name, depth + 1, left);
    }
}

}  // namespace

YAML::Node parse_yaml(std::string_view text, const std::string& name) {
  if (text.size() > kMaxYamlBytes)
    fail("{}: {} bytes, and a YAML file may have {}", name, text.size(), kMaxYamlBytes);
  return reading_yaml(name, [&] {
    YAML::Node document = YAML::Load(std::string(text));
    int left = kMaxNodes;
    check_extent(document, name, 0, left);
    return document;
  });
}

void fail_for_yaml(const std::string& name, const YAML::Exception& problem) {
  if (dynamic_cast<const YAML::DeepRecursion*>(&problem)) fail_for_depth(name, problem.mark);
  fail("{}:{}: not a YAML file: {}", name, std::max(problem.mark.line, 0) + 1, shortened(problem.msg));
}

}  // namespace octet
