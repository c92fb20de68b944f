#include "cli/loss_keys.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "data/settings_yaml.h"

namespace octet::cli {

namespace {

using train::LossSpec;

// A word in place of weights: "auto" of octet's classifiers, "dynamic" of BCELoss.
bool is_word(const YAML::Node& weight) {
  double number = 0;
  return weight && weight.IsScalar() && !YAML::convert<double>::decode(weight, number);
}

void weights(LossSpec& spec, Settings& settings, bool is_word) {
  if (is_word)
    settings.optional("weight", spec.balance);
  else
    settings.optional("weight", spec.weight);
}

// A loss that PaddleSeg has, with its settings.
struct Row {
  std::string_view type;
  void (*settings)(LossSpec& spec, Settings& settings, bool has_word);
};

constexpr Row kRows[] = {
    {"CrossEntropyLoss",
     [](LossSpec& spec, Settings& settings, bool has_word) {
       weights(spec, settings, has_word);
       settings.optional("label_smoothing", spec.label_smoothing);
       settings.optional("top_k_percent_pixels", spec.top_k_percent_pixels);
       settings.optional("avg_non_ignore", spec.avg_non_ignore);
     }},
    {"OhemCrossEntropyLoss",
     [](LossSpec& spec, Settings& settings, bool has_word) {
       weights(spec, settings, has_word);
       settings.optional("thresh", spec.thresh);
       settings.optional("min_kept", spec.min_kept);
     }},
    {"DiceLoss",
     [](LossSpec& spec, Settings& settings, bool has_word) {
       weights(spec, settings, has_word);
       settings.optional("smooth", spec.smooth);
     }},
    {"LovaszSoftmaxLoss",
     [](LossSpec& spec, Settings& settings, bool) { settings.optional("classes", spec.classes); }},
    {"BCELoss",
     [](LossSpec& spec, Settings& settings, bool has_word) {
       weights(spec, settings, has_word);
       settings.optional("pos_weight", spec.pos_weight);
     }},
    {"MixedLoss", [](LossSpec&, Settings&, bool) {}},
};

void check_spec(const LossSpec& spec, const YAML::Node& node, const std::string& file) {
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) fail_at(file, node, spec.type + ": " + what);
  };
  require(spec.label_smoothing >= 0 && spec.label_smoothing < 1, "label_smoothing must be in [0, 1)");
  require(spec.top_k_percent_pixels > 0 && spec.top_k_percent_pixels <= 1,
          "top_k_percent_pixels must be above 0 and at most 1");
  require(spec.thresh >= 0 && spec.thresh <= 1, "thresh must be a probability, between 0 and 1");
  require(spec.min_kept >= 0, "min_kept must not be negative");
  require(!spec.smooth || *spec.smooth >= 0, "smooth must not be negative");
  require(std::ranges::all_of(spec.weight, [](double w) { return w >= 0; }), "a weight is negative");
  require(spec.classes == "present" || spec.classes == "all", "classes must be present or all");
  const std::string word = spec.type == "BCELoss" ? "dynamic" : "auto";
  require(spec.balance.empty() || (spec.balance == word && spec.type != "DiceLoss"),
          fmt::format("weight is '{}'; it must be a number for each class", spec.balance));
  double number = 0;
  require(spec.pos_weight.empty() || spec.pos_weight == "dynamic" ||
              YAML::convert<double>::decode(YAML::Node(spec.pos_weight), number),
          "pos_weight must be a number, or dynamic");
}

std::vector<LossSpec> read_losses(const YAML::Node& list, const std::string& file, int depth = 0);

LossSpec read_loss(const YAML::Node& node, const std::string& file, int depth) {
  LossSpec spec;
  spec.type = type_of(node, file, "a loss", "{type: CrossEntropyLoss}");
  const auto row = std::ranges::find(kRows, spec.type, &Row::type);
  if (row == std::end(kRows)) {
    std::vector<std::string> names;
    for (const Row& other : kRows) names.emplace_back(other.type);
    const std::string meant = nearest(spec.type, names);
    fail_at(file, node,
            fmt::format("there is no loss '{}'; {}", shortened(spec.type),
                        meant.empty() ? "there are " + listed(names) : "did you mean " + meant + "?"));
  }
  const bool is_mixed = spec.type == "MixedLoss";
  if (is_mixed && depth > 0) fail_at(file, node, "a MixedLoss is inside of another one");
  YAML::Node rest(YAML::NodeType::Map);  // but for the losses inside
  for (const auto& entry : node)
    if (!is_mixed || !entry.first.IsScalar() || entry.first.Scalar() != "losses")
      rest.force_insert(entry.first, entry.second);
  const bool has_word = is_word(node["weight"]);
  std::vector<double> coef;
  read_settings(rest, file, spec.type, [&](Settings& from) {
    from.optional("ignore_index", spec.ignore_index);
    row->settings(spec, from, has_word);
    if (is_mixed) from.optional("coef", coef);
  });
  check_spec(spec, node, file);
  if (!is_mixed) return spec;
  if (!node["losses"]) fail_at(file, node, "MixedLoss needs a list 'losses'");
  spec.losses = read_losses(node["losses"], file, depth + 1);
  if (coef.size() != spec.losses.size())
    fail_at(file, node,
            fmt::format("MixedLoss has {} losses and {} factors in 'coef'", spec.losses.size(), coef.size()));
  for (std::size_t i = 0; i < coef.size(); ++i) spec.losses[i].coef = coef[i];
  return spec;
}

std::vector<LossSpec> read_losses(const YAML::Node& list, const std::string& file, int depth) {
  if (!list.IsSequence() || list.size() == 0)
    fail_at(file, list, "losses must be a list, such as [{type: CrossEntropyLoss}]");
  std::vector<LossSpec> losses;
  for (const YAML::Node& node : list) losses.push_back(read_loss(node, file, depth));
  return losses;
}

void write_loss(YAML::Emitter& out, LossSpec spec) {
  out << YAML::BeginMap << YAML::Key << "type" << YAML::Value << spec.type;
  write_settings(out, [&](Settings& to) {
    to.optional("ignore_index", spec.ignore_index);
    std::ranges::find(kRows, spec.type, &Row::type)->settings(spec, to, !spec.balance.empty());
    std::vector<double> coef;
    for (const LossSpec& inner : spec.losses) coef.push_back(inner.coef);
    to.optional("coef", coef);
  });
  if (!spec.losses.empty()) {
    out << YAML::Key << "losses" << YAML::Value << YAML::BeginSeq;
    for (const LossSpec& inner : spec.losses) write_loss(out, inner);
    out << YAML::EndSeq;
  }
  out << YAML::EndMap;
}

}  // namespace

void add_loss_keys(Args& args, LossKeys* loss) {
  Flag& types =
      args.add_key("loss.types", "LIST", "losses: one for each output of the network, or one for all");
  types.read = [loss](const YAML::Node& node, const std::string& file) {
    loss->types = read_losses(node, file);
  };
  types.write = [loss] {
    YAML::Emitter out;
    out << YAML::BeginSeq;
    for (const LossSpec& spec : loss->types) write_loss(out, spec);
    out << YAML::EndSeq;
    return YAML::Load(out.c_str());
  };
  args.add("loss.coef", &loss->coef, "a factor for each output");
}

std::vector<LossSpec> losses_of(const LossKeys& loss) {
  std::vector<LossSpec> losses = loss.types;
  if (loss.coef.empty()) return losses;
  if (losses.size() == 1) losses.resize(loss.coef.size(), losses[0]);
  if (losses.size() != loss.coef.size())
    fail("loss.types has {} losses, and loss.coef {} factors; there must be as many, or one loss for all",
         losses.size(), loss.coef.size());
  for (std::size_t i = 0; i < losses.size(); ++i) losses[i].coef = loss.coef[i];
  return losses;
}

LossKeys keys_of(const std::vector<LossSpec>& losses) {
  LossKeys keys{.types = losses};
  for (const LossSpec& loss : losses) keys.coef.push_back(loss.coef);
  return keys;
}

}  // namespace octet::cli
