#pragma once
#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>

namespace octet {

constexpr std::size_t kMaxYamlBytes = 1 << 20;

// The document in `text`, the only way in which octet parses YAML that it did not write. What is too large,
// nested too deeply, refers to itself or to its parts so often that they add up to too much, or is no YAML
// is an Error with the line; `name` is the file's.
YAML::Node parse_yaml(std::string_view text, const std::string& name);

// An Error with the line of the problem.
[[noreturn]] void fail_for_yaml(const std::string& name, const YAML::Exception& problem);

// What `work` makes of a document; what yaml-cpp finds wrong with it on the way is such an Error.
template <class Work>
auto reading_yaml(const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const YAML::Exception& problem) {
    fail_for_yaml(name, problem);
  }
}

}  // namespace octet
