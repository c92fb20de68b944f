#include "formats/paddle/state_dict.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace octet::paddle {

using pickle::printable;

namespace {

constexpr std::string_view kParameterNames = "StructuredToParameterName@@";
constexpr std::string_view kSplitArrays = "UnpackBigParamInfor@@";  // sic

const std::vector<StateValue>* items_of(const StateValue* value) {
  if (!value) return nullptr;
  if (const auto* list = value->get_if<StateList>()) return &list->items;
  if (const auto* tuple = value->get_if<StateTuple>()) return &tuple->items;
  return nullptr;
}

// Removes the item called `name` and returns its value, which has to be a dictionary; an empty one when there
// is none.
StateMap take_dict(StateDict& state, std::string_view name, std::string_view source) {
  auto item =
      std::find_if(state.items.begin(), state.items.end(), [&](const auto& i) { return i.name == name; });
  if (item == state.items.end()) return {};
  auto* dict = std::get_if<StateMap>(&item->value.data);
  if (!dict) fail("{}: {} is {}, expected a dictionary", source, name, item->value.type_name());
  StateMap taken = std::move(*dict);
  state.items.erase(item);
  return taken;
}

// Protocols 2 and 3 cannot hold arrays over 4 GiB; Paddle splits those over 1 GiB, and says how:
// {name: {'OriginShape': (...), 'slices': [name@@.0, name@@.1, ...]}}
class Joiner {
 public:
  Joiner(std::vector<StateDict::Item>& items, std::string_view source)
      : items_(items), source_(source), used_(items.size(), false) {
    for (std::size_t i = 0; i < items.size(); ++i) index_.emplace(items[i].name, i);
  }

  void join(const StateMap& splits) {
    for (const auto& [key, value] : splits.entries) {
      const auto* name = key.get_if<std::string>();
      const auto* how = value.get_if<StateMap>();
      const auto* dims = how ? items_of(how->find("OriginShape")) : nullptr;
      const auto* slices = how ? items_of(how->find("slices")) : nullptr;
      if (!name || !dims || !slices || slices->empty()) fail("{}: {} is damaged", source_, kSplitArrays);
      join_one(*name, *dims, *slices);
    }
    // A whole array takes the place of its first part.
    std::vector<StateDict::Item> kept;
    for (std::size_t i = 0; i < items_.size(); ++i) {
      if (auto whole = joined_.find(i); whole != joined_.end()) {
        kept.push_back(std::move(whole->second));
      } else if (!used_[i]) {
        kept.push_back(std::move(items_[i]));
      }
    }
    items_ = std::move(kept);
  }

 private:
  void join_one(const std::string& name, const std::vector<StateValue>& dims,
                const std::vector<StateValue>& slices) {
    std::vector<Tensor> parts;
    std::size_t first = 0, bytes = 0;
    for (const StateValue& slice : slices) {
      const auto* part_name = slice.get_if<std::string>();
      auto found = part_name ? index_.find(*part_name) : index_.end();
      const Tensor* part = found != index_.end() ? items_[found->second].value.tensor() : nullptr;
      // Each part is used once: naming one often may not make a large array of a small file.
      if (!part || used_[found->second]) fail("{}: a part of '{}' is missing", source_, printable(name));
      used_[found->second] = true;
      if (parts.empty()) first = found->second;
      parts.push_back(*part);
      bytes += part->size_bytes();
    }

    DType dtype = parts[0].dtype();
    bool fits =
        std::all_of(parts.begin(), parts.end(), [&](const Tensor& part) { return part.dtype() == dtype; });
    Shape shape;
    std::size_t need = size_of(dtype);
    for (const StateValue& dim : dims) {
      const auto* number = dim.get_if<std::int64_t>();
      fits = fits && number && *number > 0 && need <= bytes / static_cast<std::size_t>(*number);
      if (!fits) break;
      need *= static_cast<std::size_t>(*number);
      shape.push_back(*number);
    }
    if (!fits || need != bytes)
      fail("{}: the parts of '{}' do not make up its shape", source_, printable(name));
    Tensor whole(dtype, std::move(shape));
    auto to = whole.mutable_bytes().begin();
    for (const Tensor& part : parts) to = std::copy(part.bytes().begin(), part.bytes().end(), to);
    joined_.emplace(first, StateDict::Item{name, {std::move(whole)}});
  }

  std::vector<StateDict::Item>& items_;
  std::string_view source_;
  std::unordered_map<std::string_view, std::size_t> index_;
  std::vector<bool> used_;
  std::unordered_map<std::size_t, StateDict::Item> joined_;
};

StateDict from_value(StateValue value, std::string_view source) {
  auto* dict = std::get_if<StateMap>(&value.data);
  if (!dict) fail("{}: holds {}, expected a dictionary of tensors", source, value.type_name());
  StateDict state;
  for (auto& [key, item] : dict->entries) {
    auto* name = std::get_if<std::string>(&key.data);
    if (!name) fail("{}: a key is {}, expected a name", source, key.type_name());
    state.items.push_back({std::move(*name), std::move(item)});
  }
  for (auto& [key, item] : take_dict(state, kParameterNames, source).entries) {
    const auto *name = key.get_if<std::string>(), *parameter = item.get_if<std::string>();
    if (!name || !parameter) fail("{}: {} is damaged: it holds other than text", source, kParameterNames);
    state.parameter_names.push_back({*name, *parameter});
  }
  if (StateMap splits = take_dict(state, kSplitArrays, source); !splits.entries.empty())
    Joiner(state.items, source).join(splits);
  return state;
}

}  // namespace

StateDict read_state_dict(Bytes bytes, std::shared_ptr<const void> owner, std::string_view source) {
  return from_value(pickle::read(bytes, std::move(owner), source), source);
}

StateDict load_state_dict(const std::filesystem::path& path) {
  return from_value(pickle::load(path), path.string());
}

void add_state_dict(AtomicFiles& files, const std::filesystem::path& path, const StateDict& state) {
  StateMap dict, names;
  std::unordered_set<std::string_view> known;
  for (const StateDict::Item& item : state.items) {
    if (!known.insert(item.name).second)
      fail("{}: two items are named '{}'", path.string(), printable(item.name));
    dict.entries.push_back({{item.name}, item.value});
  }
  // paddle.load looks up every name of this table, and fails when one is not in the file.
  for (const StateDict::ParameterName& entry : state.parameter_names)
    if (known.count(entry.name)) names.entries.push_back({{entry.name}, {entry.parameter}});
  if (!names.entries.empty()) dict.entries.push_back({{std::string(kParameterNames)}, {std::move(names)}});
  pickle::add(files, path, {std::move(dict)});
}

}  // namespace octet::paddle
