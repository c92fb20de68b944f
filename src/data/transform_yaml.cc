#include "data/transform_yaml.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "data/yaml.h"

namespace octet {

namespace {

std::string list_of_names(bool random_allowed) {
  std::vector<std::string> names;
  for (const TransformRow* row : transform_table())
    if (random_allowed || !row->is_random) names.emplace_back(row->name);
  return listed(std::move(names));
}

Transform read_transform(const YAML::Node& node, const std::string& file, bool random_allowed) {
  const std::string type = type_of(node, file, "a transform", "{type: CenterCrop, size: 224}");
  const auto table = transform_table();
  const auto found = std::ranges::find(table, type, &TransformRow::name);
  if (found == table.end()) {
    std::vector<std::string> names;
    for (const TransformRow* row : table) names.emplace_back(row->name);
    const std::string meant = nearest(type, names);
    fail_at(file, node,
            fmt::format("transform '{}' is not supported; {}", shortened(type),
                        meant.empty() ? "there are " + list_of_names(random_allowed)
                                      : fmt::format("did you mean {}?", meant)));
  }
  const TransformRow& row = **found;
  if (row.is_random && !random_allowed)
    fail_at(file, node,
            fmt::format("{} is random, which only training is; there are {}", type, list_of_names(false)));
  std::optional<Transform> transform;
  read_settings(node, file, type, [&](Settings& from) { transform = row.read(from); });
  return *transform;
}

}  // namespace

Transforms read_transforms(const YAML::Node& list, const std::string& name, bool random_allowed) {
  if (!list.IsSequence()) fail_at(name, list, "'transforms' must be a list");
  Transforms transforms;
  for (const YAML::Node& node : list) {
    const Transform transform = read_transform(node, name, random_allowed);
    try {
      check_next(transforms, transform);
    } catch (const Error& problem) {
      fail_at(name, node, problem.what());
    }
    transforms.push_back(transform);
  }
  try {
    check_transforms(transforms);
  } catch (const Error& problem) {
    fail_at(name, list, problem.what());
  }
  return transforms;
}

void write_transforms(YAML::Emitter& out, const Transforms& transforms) {
  out << YAML::BeginSeq;
  for (const Transform& transform : transforms) {
    out << YAML::BeginMap << YAML::Key << "type" << YAML::Value << std::string(transform.row().name);
    write_settings(out, [&](Settings& to) { transform.write(to); });
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

Transforms read_transforms(const std::string& text, const std::string& name, bool random_allowed) {
  return reading_yaml(name, [&] { return read_transforms(parse_yaml(text, name), name, random_allowed); });
}

std::string write_transforms(const Transforms& transforms) {
  YAML::Emitter out;
  write_transforms(out, transforms);
  return out.c_str();
}

}  // namespace octet
