#include "data/deploy_yaml.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "base/journal.h"
#include "data/transform_yaml.h"

namespace octet {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxBytes = 1 << 20;

}  // namespace

std::optional<Transforms> read_deploy_yaml(std::string_view text, const std::string& name) {
  if (text.size() > kMaxBytes)
    fail("{}: {} bytes, more than the {} of any deploy.yaml", name, text.size(), kMaxBytes);
  try {
    const YAML::Node root = YAML::Load(std::string(text));
    const YAML::Node deploy = root.IsMap() ? root["Deploy"] : YAML::Node(YAML::NodeType::Undefined);
    if (!deploy || !deploy.IsMap())
      fail_at(name, root, "expected a section 'Deploy:' with a list 'transforms:'");
    const YAML::Node transforms = deploy["transforms"];
    if (!transforms || transforms.IsNull()) return std::nullopt;
    return read_transforms(transforms, name, /*random_allowed=*/false);
  } catch (const YAML::DeepRecursion& problem) {
    fail("{}:{}: nested too deeply for a deploy.yaml", name, std::max(problem.mark.line, 0) + 1);
  } catch (const YAML::Exception& problem) {
    fail("{}:{}: not a YAML file: {}", name, std::max(problem.mark.line, 0) + 1, shortened(problem.msg));
  }
}

std::optional<Transforms> load_deploy_yaml(const fs::path& model) {
  std::error_code error;
  const fs::path path = (fs::is_directory(model, error) ? model : model.parent_path()) / "deploy.yaml";
  if (!file_exists(path)) return std::nullopt;
  return read_deploy_yaml(read_text(path, kMaxBytes), path.string());
}

std::string write_deploy_yaml(const Transforms& transforms, const std::string& model_filename,
                              const std::string& params_filename) {
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "Deploy" << YAML::Value << YAML::BeginMap;
  if (!model_filename.empty()) out << YAML::Key << "model" << YAML::Value << model_filename;
  if (!params_filename.empty()) out << YAML::Key << "params" << YAML::Value << params_filename;
  if (!transforms.empty()) {
    check_transforms(transforms);
    out << YAML::Key << "transforms" << YAML::Value;
    write_transforms(out, transforms);
  }
  out << YAML::EndMap << YAML::EndMap << YAML::Newline;
  return out.c_str();
}

}  // namespace octet
