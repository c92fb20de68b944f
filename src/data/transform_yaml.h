#pragma once
#include <string>

#include "data/settings_yaml.h"
#include "data/transform.h"

namespace YAML {
class Emitter;
class Node;
}  // namespace YAML

namespace octet {

// Lists of transforms in YAML, as they are in deploy.yaml and in recipes:
//
//   - type: ResizeShort
//     size: 256
//   - type: Normalize

// The transforms of a list, in the file `name`; errors begin with that and the line. Random ones are for
// training only.
Transforms read_transforms(const YAML::Node& list, const std::string& name, bool random_allowed);

void write_transforms(YAML::Emitter& out, const Transforms& transforms);

// The same as a text of its own.
Transforms read_transforms(const std::string& text, const std::string& name, bool random_allowed);
std::string write_transforms(const Transforms& transforms);

}  // namespace octet
