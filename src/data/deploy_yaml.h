#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "data/transform.h"

namespace octet {

// deploy.yaml carries the transforms of a model's pictures beside it; docs/deploy-yaml.md describes the file.

// From the deploy.yaml in the directory `model`, or beside `model` when that is a file; nothing when there is
// no deploy.yaml or it lists no transforms. Errors name the file and the line.
std::optional<Transforms> load_deploy_yaml(const std::filesystem::path& model);

// The same from the text of the file; `name` is for messages.
std::optional<Transforms> read_deploy_yaml(std::string_view text, const std::string& name);

// The text of the file; without transforms it says nothing of them. The names of the model's files are
// recorded in it when they are given.
std::string write_deploy_yaml(const Transforms& transforms, const std::string& model_filename = "",
                              const std::string& params_filename = "");

}  // namespace octet
