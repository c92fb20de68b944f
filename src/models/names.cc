#include "models/names.h"

#include <algorithm>

#include "base/error.h"
#include "base/glob.h"
#include "base/journal.h"
#include "models/models.h"
#include "models/parameter_order.h"

namespace octet::models {

namespace {

namespace fs = std::filesystem;

// "features.0.0.weight" is "features.0.0" and "weight".
std::pair<std::string, std::string> split_leaf(const std::string& name) {
  std::size_t dot = name.rfind('.');
  if (dot == std::string::npos) return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

// In the order of a checkpoint.
std::vector<const Value*> parameters_of(const Graph& graph) {
  std::vector<const Value*> result;
  for (const Value& value : graph.values)
    if (value.is_constant()) result.push_back(&value);
  order_parameters(result);
  return result;
}

// The number N and the rest of a name `prefix`N.rest.
struct Numbered {
  int number = -1;  // when the name is not like that
  std::string rest;
};

Numbered numbered(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  int number = 0;
  std::size_t digits = 0;
  for (; digits < name.size() && digits < 4 && name[digits] >= '0' && name[digits] <= '9'; ++digits)
    number = 10 * number + (name[digits] - '0');
  if (digits == 0 || digits == name.size() || name[digits] != '.') return {};
  return {number, std::string(name.substr(digits + 1))};
}

// A block of MobileNetV3 numbers the parts it has; paddle.vision names them. Which part is which follows from
// how many there are, and which of them is the squeeze-and-excite.
struct BlockParts {
  int last = -1, squeeze = -1;

  std::string name_of(int part) const {
    if (part == last) return "linear_conv";
    if (part == squeeze) return "mid_se";
    return part == (squeeze >= 0 ? squeeze : last) - 1 ? "bottleneck_conv" : "expand_conv";
  }
};

std::map<std::string, std::string> mobilenet_v3_names(const std::vector<const Value*>& parameters) {
  std::map<int, BlockParts> blocks;
  int last_feature = 0;
  for (const Value* value : parameters) {
    Numbered feature = numbered(value->name, "features.");
    last_feature = std::max(last_feature, feature.number);
    Numbered part = numbered(feature.rest, "block.");
    if (part.number < 0) continue;
    BlockParts& block = blocks[feature.number];
    block.last = std::max(block.last, part.number);
    if (part.rest.starts_with("fc1.")) block.squeeze = part.number;
  }
  std::map<std::string, std::string> names;
  for (const Value* value : parameters) {
    Numbered feature = numbered(value->name, "features.");
    Numbered part = numbered(feature.rest, "block.");
    std::string& name = names[value->name] = value->name;
    if (part.number >= 0)
      name = fmt::format("blocks.{}.{}.{}", feature.number - 1,
                         blocks.at(feature.number).name_of(part.number), part.rest);
    else if (feature.number >= 0)
      name = (feature.number == last_feature ? "lastconv." : "conv.") + feature.rest;
  }
  return names;
}

// Paddle numbers the layers of a kind in the order in which a network makes them. That is the order of the
// parameters, but for ResNet's shortcuts and what STDC's blocks halve the image with: they are made before
// the block that they belong to.
std::vector<std::string> layers_as_made(const std::vector<const Value*>& parameters) {
  std::vector<std::string> layers;
  for (const Value* value : parameters) {
    std::string layer = split_leaf(value->name).first;
    if (std::ranges::find(layers, layer) != layers.end()) continue;
    const std::size_t shortcut = std::min(layer.find("downsample."), layer.find("avd_layer."));
    auto place = std::ranges::find_if(
        layers, [&](const std::string& other) { return other.starts_with(layer.substr(0, shortcut)); });
    layers.insert(shortcut == std::string::npos ? layers.end() : place, layer);
  }
  return layers;
}

// What Paddle calls a layer of this name, with these parameters by their leaves; "" for what is none.
std::string_view kind_of(std::string_view layer, const std::map<std::string, const Value*>& leaves) {
  if (leaves.contains("_scale")) return "uafm__sp_atten";
  if (leaves.contains("_mean")) return "batch_norm2d";
  const auto weight = leaves.find("weight");
  if (weight == leaves.end()) return "";
  if (weight->second->shape.size() == 4) return layer.ends_with(".deconv") ? "conv2d_transpose" : "conv2d";
  return weight->second->shape.size() == 2 ? "linear" : "layer_norm";
}

// conv2d_0.w_0 and so on, by the parameters' names in the graph. What is no parameter of a layer has none.
std::map<std::string, std::string> variable_names(const std::vector<const Value*>& parameters) {
  std::map<std::string, std::map<std::string, const Value*>> layers;
  for (const Value* value : parameters) {
    auto [layer, leaf] = split_leaf(value->name);
    layers[layer][leaf] = value;
  }
  std::map<std::string, std::string> names;
  std::map<std::string_view, int> counts;
  for (const std::string& layer : layers_as_made(parameters)) {
    const auto& leaves = layers[layer];
    const std::string_view kind = kind_of(layer, leaves);
    if (kind.empty()) continue;
    const std::string variable = fmt::format("{}_{}", kind, counts[kind]++);
    for (auto [leaf, suffix] :
         {std::pair{"weight", ".w_0"}, std::pair{"_scale", ".w_0"}, std::pair{"bias", ".b_0"},
          std::pair{"_mean", ".w_1"}, std::pair{"_variance", ".w_2"}})
      if (auto found = leaves.find(leaf); found != leaves.end())
        names[found->second->name] = variable + suffix;
  }
  return names;
}

// The layers that give a score for each class, of networks whose names begin so: the last one, and those of
// auxiliary heads (a glob).
struct Heads {
  std::string_view network, last, auxiliary;
};

constexpr Heads kHeads[] = {
    {"mobilenet_v3", "classifier.3", ""},
    {"mobilenet_v2", "classifier.1", ""},
    {"efficientnet", "_fc", ""},
    {"bisenetv2", "head.conv_1x1", "aux_head?.conv_1x1"},
    {"deeplabv3_", "head.cls", ""},
    {"deeplabv3p_", "head.decoder.conv", ""},
    {"gcnet", "head.conv", "head.auxlayer.conv"},
    {"pspnet", "head.conv", "head.auxlayer.conv"},
    {"unet", "cls", "conv"},
    {"pp_liteseg", "seg_heads.0.conv_out", "seg_heads.*.conv_out"},
    {"", "fc", ""},
};

const Heads& heads_of(std::string_view model) {
  check_model_name(model);
  return *std::ranges::find_if(kHeads, [&](const Heads& row) { return model.starts_with(row.network); });
}

bool is_head(std::string_view model, const std::string& parameter) {
  const Heads& heads = heads_of(model);
  const std::string layer = split_leaf(parameter).first;
  return layer == heads.last || matches(heads.auxiliary, layer);
}

// A few of many, for a message.
std::string some_of(const std::vector<std::string>& texts) {
  constexpr std::size_t kShown = 3;
  std::span<const std::string> shown(texts.data(), std::min(texts.size(), kShown));
  return fmt::format("{}{}", fmt::join(shown, ", "), texts.size() > kShown ? ", ..." : "");
}

std::string describe(const StateDict& state, const std::string& name) {
  const Tensor* tensor = state.find(name);
  return tensor ? fmt::format("{} {}", printable(name), to_string(tensor->shape())) : printable(name);
}

std::vector<std::string> describe(const StateDict& state, const std::vector<std::string>& names) {
  std::vector<std::string> result;
  for (const std::string& name : names) result.push_back(describe(state, name));
  return result;
}

// PaddleSeg's UNet has its last layer under two names.
std::string second_name(std::string_view model, const std::string& parameter) {
  return model == "unet" && parameter.starts_with("cls.") ? "conv." + parameter.substr(4) : "";
}

bool is_float(DType dtype) {
  return dtype == DType::kFloat16 || dtype == DType::kBFloat16 || dtype == DType::kFloat32 ||
         dtype == DType::kFloat64;
}

}  // namespace

std::map<std::string, std::string> paddle_vision_names(const Graph& graph, std::string_view model) {
  std::vector<const Value*> parameters = parameters_of(graph);
  if (model.starts_with("mobilenet_v3")) return mobilenet_v3_names(parameters);
  std::map<std::string, std::string> names;
  for (const Value* value : parameters) names[value->name] = value->name;
  return names;
}

fs::path find_checkpoint(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    for (const char* name : {"best.pdparams", "latest.pdparams"})
      if (file_exists(path / name)) return path / name;
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error))
      if (entry.path().extension() == ".pdparams") found.push_back(entry.path());
    if (found.size() == 1) return found[0];
    fail("{}: has neither best.pdparams nor latest.pdparams, and {} other *.pdparams; name the file",
         path.string(), found.size());
  }
  if (file_exists(path)) return path;
  fs::path with_ending = path;
  with_ending += ".pdparams";
  if (file_exists(with_ending)) return with_ending;
  fail("{}: no such checkpoint, nor is there {}", path.string(), with_ending.filename().string());
}

std::int64_t num_classes_of(const StateDict& state, std::string_view model, std::string_view source) {
  const std::string head(heads_of(model).last);
  const bool is_linear = task_of(model) == Task::kClassification;  // of weights [in, out], else a convolution
  const Tensor* weight = state.find(head + ".weight");
  if (!weight || weight->rank() != (is_linear ? 2 : 4)) {
    std::vector<std::string> names;
    for (const StateDict::Item& item : state.items) names.push_back(describe(state, item.name));
    fail(
        "{}: has no {}.weight of {} dimensions, the last layer of {}, but {} other items ({}); is it a "
        "checkpoint of another network?",
        source, head, is_linear ? "two" : "four", model, names.size(), some_of(names));
  }
  return weight->dim(is_linear ? 1 : 0);
}

namespace {

// Finds the item of a checkpoint for each parameter of a graph.
class Matching {
 public:
  Matching(const Graph& graph, const StateDict& state, std::string_view model, std::string_view part) {
    const std::map<std::string, std::string> paddle_names = paddle_vision_names(graph, model);
    const std::string prefix = part.empty() ? "" : std::string(part) + ".";
    std::map<std::string, const Tensor*> items;
    for (const StateDict::Item& item : state.items) items[item.name] = state.find(item.name);
    for (std::size_t i = 0; i < graph.values.size(); ++i) {
      const Value& value = graph.values[i];
      if (!value.is_constant() || !value.name.starts_with(prefix)) continue;
      ++total;
      auto item = items.find(value.name.substr(prefix.size()));
      if (item == items.end() && prefix.empty()) item = items.find(paddle_names.at(value.name));
      const std::string second = second_name(model, value.name);
      if (item == items.end()) item = items.find(second);
      const Tensor* tensor = item == items.end() ? nullptr : item->second;
      if (!tensor) {
        missing.push_back(fmt::format("{} {}", value.name, to_string(value.shape)));
        continue;
      }
      if (tensor->shape() == value.shape && is_float(tensor->dtype())) {
        found[static_cast<ValueId>(i)] =
            tensor->dtype() == value.dtype ? tensor->aligned() : tensor->cast(value.dtype);
      } else {
        differing.push_back({value.name, fmt::format("{} is {} {}, expected {} {}", printable(item->first),
                                                     name_of(tensor->dtype()), to_string(tensor->shape()),
                                                     name_of(value.dtype), to_string(value.shape))});
      }
      items.erase(item);
      items.erase(second);
    }
    for (const StateDict::Item& item : state.items)
      if (items.contains(item.name)) unused.push_back(item.name);
  }

  void fill(Graph& graph) {
    for (auto& [id, tensor] : found) graph.value(id).constant = std::move(tensor);
  }

  struct Difference {
    std::string parameter, text;
  };

  std::int64_t total = 0;
  std::map<ValueId, Tensor> found;
  std::vector<std::string> missing, unused;
  std::vector<Difference> differing;
};

}  // namespace

ReadResult read_parameters(Graph& graph, const StateDict& state, std::string_view model,
                           std::string_view source, Head head) {
  Matching matching(graph, state, model, {});
  ReadResult result{.unused = matching.unused};
  std::vector<std::string> misshapen;
  for (const auto& [parameter, text] : matching.differing) {
    if (head == Head::kMayDiffer && is_head(model, parameter))
      result.head_was_read = false;
    else
      misshapen.push_back(text);
  }
  if (!matching.missing.empty() || !misshapen.empty()) {
    std::vector<std::string> problems;
    if (!misshapen.empty())
      problems.push_back(fmt::format("{} of another shape ({})", misshapen.size(), some_of(misshapen)));
    if (!matching.missing.empty())
      problems.push_back(fmt::format("{} missing ({})", matching.missing.size(), some_of(matching.missing)));
    if (!result.unused.empty())
      problems.push_back(
          fmt::format("{} unexpected ({})", result.unused.size(), some_of(describe(state, result.unused))));
    fail("{}: does not fit {}: {}; is it a checkpoint of another network, or of another width?", source,
         model, fmt::join(problems, ", "));
  }
  matching.fill(graph);
  return result;
}

PartialResult read_what_fits(Graph& graph, const StateDict& state, std::string_view model,
                             std::string_view part) {
  Matching matching(graph, state, model, part);
  PartialResult result{.loaded = static_cast<std::int64_t>(matching.found.size()),
                       .total = matching.total,
                       .missing = std::move(matching.missing),
                       .differing = {},
                       .unused = std::move(matching.unused)};
  for (Matching::Difference& difference : matching.differing)
    result.differing.push_back(std::move(difference.text));
  matching.fill(graph);
  return result;
}

void read_parameters_by_name(Graph& graph, const StateDict& state, std::string_view source) {
  for (Value& value : graph.values) {
    if (!value.is_constant() || value.dtype != DType::kFloat32) continue;
    const Tensor* tensor = state.find(value.name);
    if (!tensor) fail("{}: no {} in it; is it a checkpoint of another network?", source, value.name);
    if (tensor->shape() != value.shape)
      fail("{}: {} is {}, and the network's is {}; is it a checkpoint of another network?", source,
           value.name, to_string(tensor->shape()), to_string(value.shape));
    value.constant = tensor->clone();
  }
}

void check_all_used(const ReadResult& result, const StateDict& state, std::string_view model,
                    std::string_view source) {
  std::vector<std::string> tensors;
  for (const std::string& name : result.unused)
    if (state.find(name)) tensors.push_back(name);
  if (tensors.empty()) return;
  fail("{}: has {} tensors that {} does not have ({}); is it a checkpoint of another network?", source,
       tensors.size(), model, some_of(describe(state, tensors)));
}

StateDict to_state_dict(const Graph& graph, std::string_view model, Naming naming) {
  std::vector<const Value*> parameters = parameters_of(graph);
  std::map<std::string, std::string> paddle_names = paddle_vision_names(graph, model);
  std::map<std::string, std::string> variables = variable_names(parameters);
  StateDict state;
  const auto add = [&](const Value& value, std::string name) {
    if (auto variable = variables.find(value.name); variable != variables.end())
      state.parameter_names.push_back({name, variable->second});
    state.items.push_back({std::move(name), {value.constant}});
  };
  for (const Value* value : parameters)
    add(*value, naming == Naming::kReference ? value->name : paddle_names.at(value->name));
  for (const Value* value : parameters)
    if (const std::string second = second_name(model, value->name); !second.empty()) add(*value, second);
  return state;
}

}  // namespace octet::models
