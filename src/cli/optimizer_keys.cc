#include "cli/optimizer_keys.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "data/settings_yaml.h"

namespace octet::cli {

namespace {

using train::ParameterGroup;

constexpr std::string_view kWays[] = {"ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"};

// A number that may be negative.
Flag& add_number(Args& args, const std::string& path, std::optional<double>* target, std::string help) {
  Flag& key = args.add_key(path, "X", std::move(help));
  key.read = [target, path](const YAML::Node& node, const std::string& file) {
    double number = 0;
    if (!node.IsScalar() || !YAML::convert<double>::decode(node, number) || !std::isfinite(number))
      fail_at(file, node, path + ": expected a number");
    *target = number;
  };
  key.write = [target] { return *target ? YAML::Node(**target) : YAML::Node(); };
  return key;
}

void settings_of(ParameterGroup& group, Settings& settings) {
  settings.optional("name", group.name);
  settings.optional("lr_mult", group.lr_mult);
  settings.optional("weight_decay_mult", group.weight_decay_mult);
}

ParameterGroup read_group(const YAML::Node& node, const std::string& file) {
  if (!node.IsMap()) fail_at(file, node, "optimizer.custom_cfg: expected {name: backbone, lr_mult: 0.1}");
  ParameterGroup group;
  read_settings(node, file, "optimizer.custom_cfg", [&](Settings& from) { settings_of(group, from); });
  if (group.name.empty())
    fail_at(file, node, "optimizer.custom_cfg: 'name' is missing, which is a part of parameters' names");
  const auto is_factor = [](double x) { return x >= 0 && std::isfinite(x); };
  if (!is_factor(group.lr_mult) || !is_factor(group.weight_decay_mult.value_or(1)))
    fail_at(file, node, "optimizer.custom_cfg: lr_mult and weight_decay_mult must be numbers from 0 on");
  return group;
}

}  // namespace

void add_optimizer_keys(Args& args, train::TrainOptions* train) {
  Flag& way = args.add_key("optimizer.grad_clip_cfg.name", fmt::format("{}", fmt::join(kWays, "|")),
                           "how gradients are clipped: all together, each parameter's alone, or each number");
  way.default_text = train->clip_grad;
  way.read = [train](const YAML::Node& node, const std::string& file) {
    if (!node.IsScalar() || std::ranges::find(kWays, node.Scalar()) == std::end(kWays))
      fail_at(file, node, fmt::format("optimizer.grad_clip_cfg.name must be {}", fmt::join(kWays, " or ")));
    train->clip_grad = node.Scalar();
  };
  way.write = [train] { return YAML::Node(train->clip_grad); };
  add_number(args, "optimizer.grad_clip_cfg.max", &train->clip_grad_max, "ClipGradByValue: the largest");
  add_number(args, "optimizer.grad_clip_cfg.min", &train->clip_grad_min, "and the least").default_text =
      "-max";
  Flag& groups = args.add_key("optimizer.custom_cfg", "LIST",
                              "parameters by a part of their name, with factors of the learning rate and of "
                              "weight decay; the first that fits counts");
  groups.read = [train](const YAML::Node& list, const std::string& file) {
    if (!list.IsSequence())
      fail_at(file, list, "optimizer.custom_cfg must be a list, such as [{name: backbone, lr_mult: 0.1}]");
    train->groups.clear();
    for (const YAML::Node& node : list) train->groups.push_back(read_group(node, file));
  };
  groups.write = [train] {
    if (train->groups.empty()) return YAML::Node();
    YAML::Emitter out;
    out << YAML::BeginSeq;
    for (ParameterGroup group : train->groups) {
      out << YAML::BeginMap;
      write_settings(out, [&](Settings& to) { settings_of(group, to); });
      out << YAML::EndMap;
    }
    out << YAML::EndSeq;
    return YAML::Load(out.c_str());
  };
}

void check_clipping(const train::TrainOptions& train) {
  const std::string where = "optimizer.grad_clip_cfg: " + train.clip_grad;
  const bool has_bounds = train.clip_grad_max || train.clip_grad_min;
  if (train.clip_grad == "ClipGradByValue") {
    if (train.clip_grad_norm != 0) fail("{} takes max and min, and no clip_norm", where);
    if (!train.clip_grad_max) fail("{} needs a max", where);
    if (!(train.clip_grad_min.value_or(-*train.clip_grad_max) < *train.clip_grad_max))
      fail("{} needs a max above its min", where);
  } else if (has_bounds) {
    fail("{} takes clip_norm; max and min are for ClipGradByValue", where);
  } else if (train.clip_grad == "ClipGradByNorm" && train.clip_grad_norm == 0) {
    fail("{} needs a clip_norm above 0", where);
  }
}

}  // namespace octet::cli
