#include "data/deploy_yaml.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/journal.h"
#include "data/transform_yaml.h"
#include "data/yaml.h"

namespace octet {
namespace fs = std::filesystem;

namespace {

// What `read` makes of the document.
template <class Read>
auto parsed(std::string_view text, const std::string& name, const Read& read) {
  return reading_yaml(name, [&] { return read(parse_yaml(text, name)); });
}

// The deploy.yaml of a model.
fs::path file_of(const fs::path& model) {
  std::error_code error;
  return (fs::is_directory(model, error) ? model : model.parent_path()) / "deploy.yaml";
}

}  // namespace

std::optional<Transforms> read_deploy_yaml(std::string_view text, const std::string& name) {
  return parsed(text, name, [&](const YAML::Node& root) -> std::optional<Transforms> {
    const YAML::Node deploy = root.IsMap() ? root["Deploy"] : YAML::Node(YAML::NodeType::Undefined);
    if (!deploy || !deploy.IsMap())
      fail_at(name, root, "expected a section 'Deploy:' with a list 'transforms:'");
    const YAML::Node transforms = deploy["transforms"];
    if (!transforms || transforms.IsNull()) return std::nullopt;
    return read_transforms(transforms, name, /*random_allowed=*/false);
  });
}

std::vector<std::string> read_class_names(std::string_view text, const std::string& name) {
  return parsed(text, name, [&](const YAML::Node& root) {
    std::vector<std::string> names;
    const YAML::Node list = root.IsMap() ? root["class_names"] : YAML::Node(YAML::NodeType::Undefined);
    if (!list || list.IsNull()) return names;
    if (!list.IsSequence()) fail_at(name, list, "class_names needs a list of names, one for each class");
    for (const YAML::Node& item : list) {
      if (!item.IsScalar()) fail_at(name, item, "a name in class_names is one word or text, and no list");
      names.push_back(item.Scalar());
    }
    return names;
  });
}

std::optional<Transforms> load_deploy_yaml(const fs::path& model) {
  const fs::path path = file_of(model);
  if (!file_exists(path)) return std::nullopt;
  return read_deploy_yaml(read_text(path, kMaxYamlBytes), path.string());
}

std::vector<std::string> load_class_names(const fs::path& model) {
  const fs::path path = file_of(model);
  if (!file_exists(path)) return {};
  return read_class_names(read_text(path, kMaxYamlBytes), path.string());
}

DeployedFiles read_deployed_files(std::string_view text, const std::string& name) {
  return parsed(text, name, [&](const YAML::Node& root) {
    const YAML::Node deploy = root.IsMap() ? root["Deploy"] : YAML::Node(YAML::NodeType::Undefined);
    if (!deploy || !deploy.IsMap())
      fail_at(name, root, "expected a section 'Deploy:' with `model:` and `params:`");
    const auto file = [&](const char* key) {
      const YAML::Node node = deploy[key];
      if (!node || node.IsNull()) return std::string();
      if (!node.IsScalar()) fail_at(name, node, fmt::format("{} needs the name of a file", key));
      return node.Scalar();
    };
    return DeployedFiles{file("model"), file("params")};
  });
}

DeployedFiles load_deployed_files(const fs::path& deploy_yaml) {
  return read_deployed_files(read_text(deploy_yaml, kMaxYamlBytes), deploy_yaml.string());
}

std::string write_deploy_yaml(const Transforms& transforms, const std::string& model_filename,
                              const std::string& params_filename, const std::vector<std::string>& class_names,
                              const std::optional<DeployedForm>& form) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "Deploy" << YAML::Value << YAML::BeginMap;
  if (form) {
    out << YAML::Key << "input_shape" << YAML::Value << YAML::BeginSeq;
    for (std::int64_t size : form->input_shape) {
      if (size < 0)
        out << YAML::Null;
      else
        out << size;
    }
    out << YAML::EndSeq;
  }
  if (!model_filename.empty()) out << YAML::Key << "model" << YAML::Value << model_filename;
  if (form)
    out << YAML::Key << "output_dtype" << YAML::Value << form->output_dtype << YAML::Key << "output_op"
        << YAML::Value << form->output_op;
  if (!params_filename.empty()) out << YAML::Key << "params" << YAML::Value << params_filename;
  if (!transforms.empty()) {
    check_transforms(transforms);
    out << YAML::Key << "transforms" << YAML::Value;
    write_transforms(out, transforms);
  }
  out << YAML::EndMap;
  if (!class_names.empty()) {
    out << YAML::Key << "class_names" << YAML::Value << YAML::BeginSeq;
    for (const std::string& name : class_names) out << YAML::DoubleQuoted << name;
    out << YAML::EndSeq;
  }
  out << YAML::EndMap << YAML::Newline;
  return out.c_str();
}

}  // namespace octet
