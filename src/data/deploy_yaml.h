#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/transform.h"

namespace octet {

// deploy.yaml carries the transforms of a model's pictures, and the names of its classes, beside it;
// docs/deploy-yaml.md describes the file.

// From the deploy.yaml in the directory `model`, or beside `model` when that is a file; nothing when there is
// no deploy.yaml or it lists no transforms. Errors name the file and the line.
std::optional<Transforms> load_deploy_yaml(const std::filesystem::path& model);

// The same from the text of the file; `name` is for messages.
std::optional<Transforms> read_deploy_yaml(std::string_view text, const std::string& name);

// The names of the classes, in their order, from the same file; none when it has none.
std::vector<std::string> load_class_names(const std::filesystem::path& model);
std::vector<std::string> read_class_names(std::string_view text, const std::string& name);

// What PaddleSeg says of a model from its version 2.7 on.
struct DeployedForm {
  std::vector<std::int64_t> input_shape;  // -1: any
  std::string output_dtype, output_op;    // "int32", "argmax"
};

// The files that make the model, as a deploy.yaml names them: paths beside it; empty: it does not.
struct DeployedFiles {
  std::string model, params;
};
DeployedFiles read_deployed_files(std::string_view text, const std::string& name);
DeployedFiles load_deployed_files(const std::filesystem::path& deploy_yaml);

// The text of the file; without transforms it says nothing of them. The names of the model's files and of its
// classes are recorded in it when they are given.
std::string write_deploy_yaml(const Transforms& transforms, const std::string& model_filename = "",
                              const std::string& params_filename = "",
                              const std::vector<std::string>& class_names = {},
                              const std::optional<DeployedForm>& form = {});

}  // namespace octet
