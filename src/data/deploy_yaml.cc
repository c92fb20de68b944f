#include "data/deploy_yaml.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <initializer_list>

#include "base/error.h"
#include "base/file.h"
#include "base/journal.h"

namespace octet {
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxBytes = 1 << 20;

// What came from the file, for a message: one line, of reasonable length.
std::string printable(std::string text) {
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

// Reads the file's transforms into a Preprocess. Every message begins with the file and the line.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  std::optional<Preprocess> read(std::string_view text) {
    const YAML::Node root = YAML::Load(std::string(text));
    const YAML::Node deploy = root.IsMap() ? root["Deploy"] : YAML::Node(YAML::NodeType::Undefined);
    if (!deploy || !deploy.IsMap()) error(root, "expected a section 'Deploy:' with a list 'transforms:'");
    const YAML::Node transforms = deploy["transforms"];
    if (!transforms || transforms.IsNull()) return std::nullopt;
    if (!transforms.IsSequence()) error(transforms, "'transforms' must be a list");

    preprocess_.resize_size = 0;
    preprocess_.crop_size = 0;
    for (const YAML::Node& transform : transforms) read_transform(transform);
    if (last_ != kNormalize)
      error(
          transforms,
          "'transforms' has no Normalize; one with mean [0, 0, 0] and std [1, 1, 1] gives pixels in [0, 1]");
    return preprocess_;
  }

 private:
  // In the order in which they are applied, and in which the file must list them.
  enum Step { kNone, kResizeShort, kCenterCrop, kNormalize };

  [[noreturn]] void error(const YAML::Node& node, const std::string& what) const {
    fail("{}:{}: {}", name_, std::max(node.Mark().line, 0) + 1, what);
  }

  void read_transform(const YAML::Node& node) {
    if (!node.IsMap() || !node["type"] || !node["type"].IsScalar())
      error(node, "a transform must be a map with a 'type', such as {type: CenterCrop, size: 224}");
    const std::string type = node["type"].Scalar();
    if (type == "ResizeShort") {
      enter(node, kResizeShort, {"type", "size", "interpolation"});
      preprocess_.resize_size = read_size(node);
      if (const YAML::Node name = node["interpolation"]) preprocess_.interpolation = read_interpolation(name);
    } else if (type == "CenterCrop") {
      enter(node, kCenterCrop, {"type", "size"});
      preprocess_.crop_size = read_size(node);
    } else if (type == "Normalize") {
      enter(node, kNormalize, {"type", "mean", "std"});
      // PaddleSeg's defaults, whose exported files leave them out.
      preprocess_.mean = node["mean"] ? read_channels(node["mean"], "mean") : std::array{0.5f, 0.5f, 0.5f};
      preprocess_.std = node["std"] ? read_channels(node["std"], "std") : std::array{0.5f, 0.5f, 0.5f};
    } else {
      error(node,
            fmt::format("transform '{}' is not supported; there are ResizeShort, CenterCrop and Normalize",
                        printable(type)));
    }
    try {
      validate(preprocess_);
    } catch (const Error& problem) {
      error(node, problem.what());
    }
  }

  void enter(const YAML::Node& node, Step step, std::initializer_list<std::string_view> keys) {
    if (step <= last_)
      error(node, "transforms must come in the order ResizeShort, CenterCrop, Normalize, each at most once");
    last_ = step;
    for (const auto& entry : node) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
      if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
      std::string known;
      for (std::string_view k : keys) known.append(known.empty() ? "" : ", ").append(k);
      error(entry.first, fmt::format("'{}' is not a setting of {}; there are {}", printable(key),
                                     node["type"].Scalar(), known));
    }
  }

  int read_size(const YAML::Node& node) const {
    const YAML::Node size = node["size"];
    if (!size) error(node, fmt::format("{} needs a 'size'", node["type"].Scalar()));
    int value = 0;
    if (!size.IsScalar() || !YAML::convert<int>::decode(size, value) || value < 1)
      error(size, "'size' must be a positive whole number");
    return value;
  }

  Interpolation read_interpolation(const YAML::Node& node) const {
    if (!node.IsScalar()) error(node, "'interpolation' must be a name");
    try {
      return parse_interpolation(printable(node.Scalar()));
    } catch (const Error& problem) {
      error(node, problem.what());
    }
  }

  std::array<float, 3> read_channels(const YAML::Node& node, const char* key) const {
    std::array<float, 3> values{};
    bool good = node.IsSequence() && node.size() == values.size();
    for (std::size_t i = 0; good && i < values.size(); ++i)
      good = node[i].IsScalar() && YAML::convert<float>::decode(node[i], values[i]);
    if (!good) error(node, fmt::format("'{}' must be a list of three numbers", key));
    return values;
  }

  const std::string& name_;
  Preprocess preprocess_;
  Step last_ = kNone;
};

}  // namespace

std::optional<Preprocess> read_deploy_yaml(std::string_view text, const std::string& name) {
  if (text.size() > kMaxBytes)
    fail("{}: {} bytes, more than the {} of any deploy.yaml", name, text.size(), kMaxBytes);
  try {
    return Reader(name).read(text);
  } catch (const YAML::DeepRecursion& problem) {
    fail("{}:{}: nested too deeply for a deploy.yaml", name, std::max(problem.mark.line, 0) + 1);
  } catch (const YAML::Exception& problem) {
    fail("{}:{}: not a YAML file: {}", name, std::max(problem.mark.line, 0) + 1, printable(problem.msg));
  }
}

std::optional<Preprocess> load_deploy_yaml(const fs::path& model) {
  std::error_code error;
  const fs::path path = (fs::is_directory(model, error) ? model : model.parent_path()) / "deploy.yaml";
  if (!file_exists(path)) return std::nullopt;
  return read_deploy_yaml(read_text(path, kMaxBytes), path.string());
}

std::string write_deploy_yaml(const Preprocess& preprocess, const std::string& model_filename,
                              const std::string& params_filename) {
  validate(preprocess);
  YAML::Emitter out;
  const auto channels = [&](const char* key, const std::array<float, 3>& values) {
    out << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (float value : values) out << fmt::format("{}", value);  // the shortest text that reads back the same
    out << YAML::EndSeq;
  };
  const auto begin = [&](const char* type) {
    out << YAML::BeginMap << YAML::Key << "type" << YAML::Value << type;
  };

  out << YAML::BeginMap << YAML::Key << "Deploy" << YAML::Value << YAML::BeginMap;
  if (!model_filename.empty()) out << YAML::Key << "model" << YAML::Value << model_filename;
  if (!params_filename.empty()) out << YAML::Key << "params" << YAML::Value << params_filename;
  out << YAML::Key << "transforms" << YAML::Value << YAML::BeginSeq;
  if (preprocess.resize_size > 0) {
    begin("ResizeShort");
    out << YAML::Key << "size" << YAML::Value << preprocess.resize_size;
    out << YAML::Key << "interpolation" << YAML::Value << std::string(name_of(preprocess.interpolation));
    out << YAML::EndMap;
  }
  if (preprocess.crop_size > 0) {
    begin("CenterCrop");
    out << YAML::Key << "size" << YAML::Value << preprocess.crop_size << YAML::EndMap;
  }
  begin("Normalize");
  channels("mean", preprocess.mean);
  channels("std", preprocess.std);
  out << YAML::EndMap << YAML::EndSeq << YAML::EndMap << YAML::EndMap << YAML::Newline;
  return out.c_str();
}

}  // namespace octet
