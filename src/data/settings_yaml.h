#pragma once
#include <functional>
#include <string>

#include "data/settings.h"

namespace YAML {
class Emitter;
class Node;
}  // namespace YAML

namespace octet {

using NameSettings = std::function<void(Settings&)>;

// The settings in a map of a YAML file, which has a key 'type' as well. An Error, with the file and the line,
// for a key that `owner` does not have and for a value that can't be.
void read_settings(const YAML::Node& map, const std::string& file, const std::string& owner,
                   const NameSettings& settings);

// As keys and values of a map that is open.
void write_settings(YAML::Emitter& out, const NameSettings& settings);

// The type of a thing, for the table of those that there are; an Error says that it must be a map with one,
// such as `example`.
std::string type_of(const YAML::Node& map, const std::string& file, const std::string& thing,
                    const std::string& example);

// An Error about a place in a YAML file, or in a value of the command line, `--opts KEY`, which has no lines.
[[noreturn]] void fail_at(const std::string& name, const YAML::Node& node, const std::string& what);

// What came from a YAML file, for a message: one line, of reasonable length.
std::string shortened(std::string text);

// "a, b and c"
std::string listed(std::vector<std::string> names);

}  // namespace octet
