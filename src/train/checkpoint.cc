#include "train/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/file.h"
#include "base/journal.h"
#include "formats/format.h"
#include "models/names.h"
#include "quant/fake_quant.h"
#include "train/convert.h"

namespace octet::train {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOctet = "octet";  // the entry of *.pdopt that Paddle does not know
// Entries of it that there are only where they are not 0.
constexpr std::string_view kSinceBest = "since_best", kBestIteration = "best_iteration";

StateDict parameters_of(const Graph& graph, const CheckpointNames& names) {
  if (!names.model.empty())
    return models::to_state_dict(
        graph, names.model,
        names.naming == "paddle.vision" ? models::Naming::kPaddleVision : models::Naming::kReference);
  StateDict state;
  for (const Value& value : graph.values)
    if (value.is_constant() && value.dtype == DType::kFloat32) state.set(value.name, {value.constant});
  return state;
}

// Those of quantizers as well.
StateDict all_parameters(const Network& network, const CheckpointNames& names) {
  const Graph graph = network.bake();
  StateDict parameters = parameters_of(quant::float_graph(graph), names);
  quant::write_fake_quant(graph, parameters);
  return parameters;
}

// Paddle's name for the variable of each parameter, by its name in the graph; what has none keeps its own.
std::map<std::string, std::string> variable_names(const Graph& graph, const CheckpointNames& names) {
  std::map<std::string, std::string> variables;
  for (const auto& [name, parameter] : parameters_of(graph, {names.model, "reference"}).parameter_names)
    variables[name] = parameter;
  return variables;
}

std::string variable_of(const std::map<std::string, std::string>& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? name : found->second;
}

// The entry of *.pdopt with a weight to go on with, where *.pdparams has its average.
std::string trained_name(const std::map<std::string, std::string>& variables, const Weight& weight) {
  return variable_of(variables, weight.name) + "_trained_0";
}

// FNV-1a over the parameters: ties the two files of a checkpoint together.
std::int64_t fingerprint(const StateDict& state) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const StateDict::Item& item : state.items) {
    const Tensor* tensor = state.find(item.name);
    if (!tensor) continue;
    const Tensor aligned = tensor->aligned();
    const std::byte* data = aligned.bytes().data();
    for (std::size_t i = 0; i + 4 <= aligned.size_bytes(); i += 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, data + i, sizeof word);
      hash = (hash ^ word) * 0x100000001b3;
    }
  }
  return static_cast<std::int64_t>(hash >> 1);
}

StateMap dictionary(std::vector<std::pair<std::string, StateValue::Data>> entries) {
  StateMap dict;
  for (auto& [key, data] : entries) dict.entries.push_back({{key}, {std::move(data)}});
  return dict;
}

const StateMap* octet_entry(const StateDict& state) {
  for (const StateDict::Item& item : state.items)
    if (item.name == kOctet) return item.value.get_if<StateMap>();
  return nullptr;
}

template <class T>
T entry(const StateMap& dict, std::string_view key, const fs::path& path) {
  const StateValue* value = dict.find(key);
  const T* data = value ? value->get_if<T>() : nullptr;
  if (!data) fail("{}: no {} in it; it was not written by octet train, or is damaged", path.string(), key);
  return *data;
}

fs::path optimizer_file(fs::path parameters) {
  return parameters.replace_extension(".pdopt");
}

// Whether the two files can be read and were written together.
bool is_whole(const fs::path& parameters) try {
  const fs::path optimizer = optimizer_file(parameters);
  if (!file_exists(parameters) || !file_exists(optimizer)) return false;
  const StateDict state = load_state_dict(optimizer);
  const StateMap* octet = octet_entry(state);
  return octet &&
         entry<std::int64_t>(*octet, "parameters", optimizer) == fingerprint(load_state_dict(parameters));
} catch (const Error&) {
  return false;
}

// The number behind a word: 7 of "model_7".
std::optional<int> number_behind(std::string_view word, const std::string& name) {
  int number = 0;
  if (!name.starts_with(word)) return std::nullopt;
  const auto [end, error] = std::from_chars(name.data() + word.size(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

// Of the folder's model_N, or iter_N/model; empty if there is none.
fs::path newest_whole(const fs::path& folder) {
  std::map<int, fs::path, std::greater<>> found;
  for (const fs::directory_entry& file : fs::directory_iterator(folder.empty() ? fs::path(".") : folder)) {
    const fs::path& path = file.path();
    if (const auto epoch = number_behind("model_", path.stem().string());
        epoch && path.extension() == ".pdparams")
      found[*epoch] = path;
    if (const auto iteration = number_behind("iter_", path.filename().string()))
      found[*iteration] = path / "model.pdparams";
  }
  for (const auto& newest : found)
    if (is_whole(newest.second)) return newest.second;
  return {};
}

}  // namespace

void save_parameters(const fs::path& file, const Network& network, const CheckpointNames& names) {
  AtomicFiles files;
  add_state_dict(files, file, all_parameters(network, names));
  files.commit();
}

void save_checkpoint(const fs::path& folder, const std::vector<std::string>& stems, const Network& network,
                     Optimizer& optimizer, const Position& position, const CheckpointNames& names,
                     const std::vector<Weight>& trained) {
  const StateDict parameters = all_parameters(network, names);
  const std::map<std::string, std::string> variables = variable_names(network.graph(), names);

  StateDict state;
  const std::vector<Weight>& weights = network.parameters();
  for (auto& [kind, flat] : optimizer.state())
    for (std::size_t i = 0; i < weights.size(); ++i)
      state.set(variable_of(variables, weights[i].name) + "_" + kind + "_0",
                {from_torch(optimizer.part_of(flat, i))});
  // Paddle counts AdamW's steps by the powers of its betas, one ahead.
  if (optimizer.state().contains("moment1")) {
    for (const auto& [kind, beta] : {std::pair("beta1", Optimizer::kBeta1), {"beta2", Optimizer::kBeta2}}) {
      const auto power = static_cast<float>(std::pow(beta, optimizer.steps_done + 1));
      for (const Weight& weight : weights)
        state.set(fmt::format("{}_{}_pow_acc_0", variable_of(variables, weight.name), kind),
                  {Tensor::of<float>({1}, {power})});
    }
  }
  for (const Weight& weight : trained)
    state.set(trained_name(variables, weight), {from_torch(weight.tensor)});
  state.set("LR_Scheduler",
            {dictionary({{"last_epoch", position.epoch}, {"last_lr", position.learning_rate}})});
  StateMap octet = dictionary({{"epoch", position.epoch},
                               {"iteration", position.iteration},
                               {"steps", optimizer.steps_done},
                               {"best", position.best},
                               {"loss_scale", position.loss_scale},
                               {"good_steps", std::int64_t{position.good_steps}},
                               {"parameters", fingerprint(parameters)}});
  const auto add_number = [&](std::string_view key, std::int64_t number) {
    if (number > 0) octet.entries.push_back({{std::string(key)}, {number}});
  };
  add_number(kSinceBest, position.since_best);
  add_number(kBestIteration, position.best_iteration);
  state.set(kOctet, {std::move(octet)});
  AtomicFiles files;
  for (const std::string& stem : stems) {
    add_state_dict(files, folder / (stem + ".pdparams"), parameters);
    add_state_dict(files, folder / (stem + ".pdopt"), state);
  }
  files.commit();
}

fs::path find_parameters(const fs::path& path, const std::vector<std::string>& preferred) {
  if (fs::is_directory(path)) {
    for (const std::string& name : preferred)
      if (file_exists(path / (name + ".pdparams"))) return path / (name + ".pdparams");
    fail("{}: no {}.pdparams in this folder", path.string(), preferred.front());
  }
  return models::find_checkpoint(path.extension() == ".pdopt" ? fs::path(path).replace_extension(".pdparams")
                                                              : path);
}

fs::path find_checkpoint(const fs::path& path) {
  const bool is_folder = fs::is_directory(path);
  const bool is_iteration = is_folder && file_exists(path / "model.pdparams");
  const fs::path parameters = !is_folder     ? find_parameters(path, {})
                              : is_iteration ? path / "model.pdparams"
                                             : path / "latest.pdparams";
  const std::string optimizer = optimizer_file(parameters).filename().string();
  if (is_whole(parameters)) return parameters;
  if (!is_iteration && (is_folder || file_exists(optimizer_file(parameters))))
    if (const fs::path newest = newest_whole(parameters.parent_path()); !newest.empty()) return newest;
  if (!file_exists(parameters))
    fail("{}: no latest.pdparams, model_N.pdparams or iter_N to resume", path.string());
  if (!file_exists(optimizer_file(parameters)))
    fail(
        "{}: no {} beside it, so training can't go on where it was; to start from these weights use "
        "--pretrained",
        parameters.string(), optimizer);
  fail("{} and {} do not belong to the same step{}", parameters.string(), optimizer,
       is_iteration ? "; resume another iter_N" : ", and there is no whole model_N beside them");
}

bool load_parameters(Graph& graph, const StateDict& state, const fs::path& path, const CheckpointNames& names,
                     bool new_head) {
  if (!names.model.empty()) {
    const models::ReadResult result =
        models::read_parameters(graph, state, names.model, path.string(),
                                new_head ? models::Head::kMayDiffer : models::Head::kMustFit);
    return !result.head_was_read;
  }
  models::read_parameters_by_name(graph, state, path.string());
  return false;
}

Position load_optimizer(const fs::path& parameters, Network& network, Optimizer& optimizer,
                        const CheckpointNames& names) {
  const fs::path path = optimizer_file(parameters);
  const StateDict state = load_state_dict(path);
  const std::map<std::string, std::string> variables = variable_names(network.graph(), names);
  const std::vector<Weight>& weights = network.parameters();
  const at::NoGradGuard no_gradients;
  for (auto& [kind, flat] : optimizer.state()) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::string name = variable_of(variables, weights[i].name) + "_" + kind + "_0";
      const Tensor* tensor = state.find(name);
      if (!tensor)
        fail("{}: no {} in it; it was trained with another optimiser (--opt) or is of another network",
             path.string(), name);
      at::Tensor part = optimizer.part_of(flat, i);
      if (tensor->shape() != part.sizes().vec())
        fail("{}: {} has shape {}, expected {}", path.string(), name, to_string(tensor->shape()),
             to_string(part.sizes().vec()));
      part.copy_(view_in_torch(*tensor));
    }
  }
  for (auto* all : {&network.parameters(), &network.statistics()})
    for (Weight& weight : *all)
      if (const Tensor* tensor = state.find(trained_name(variables, weight)))
        weight.tensor.copy_(view_in_torch(*tensor));
  Position position;
  const StateMap* octet = octet_entry(state);
  if (!octet)
    fail("{}: it does not say how far the run was; it was not written by octet train", path.string());
  position.epoch = entry<std::int64_t>(*octet, "epoch", path);
  position.iteration = entry<std::int64_t>(*octet, "iteration", path);
  position.best = entry<double>(*octet, "best", path);
  position.loss_scale = entry<double>(*octet, "loss_scale", path);
  position.good_steps = static_cast<int>(entry<std::int64_t>(*octet, "good_steps", path));
  const auto number = [&](std::string_view key) {
    return octet->find(key) ? entry<std::int64_t>(*octet, key, path) : 0;
  };
  position.since_best = static_cast<int>(number(kSinceBest));
  position.best_iteration = number(kBestIteration);
  optimizer.steps_done = entry<std::int64_t>(*octet, "steps", path);
  return position;
}

}  // namespace octet::train
