#include "tensor/state_dict.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace octet {

const StateValue* StateMap::find(std::string_view key) const {
  for (const StateEntry& entry : entries)
    if (const auto* name = entry.key.get_if<std::string>(); name && *name == key) return &entry.value;
  return nullptr;
}

const Tensor* StateValue::tensor() const {
  if (const auto* alone = get_if<Tensor>()) return alone;
  const auto* pair = get_if<StateTuple>();
  if (!pair || pair->items.size() != 2 || !pair->items[0].get_if<std::string>()) return nullptr;
  return pair->items[1].get_if<Tensor>();
}

std::string_view StateValue::type_name() const {
  constexpr std::array<std::string_view, std::variant_size_v<Data>> kNames = {
      "None",  "a bool",   "an integer", "a number", "text",
      "bytes", "an array", "a list",     "a tuple",  "a dictionary"};
  return kNames[data.index()];
}

const Tensor* StateDict::find(std::string_view name) const {
  for (const Item& item : items)
    if (item.name == name) return item.value.tensor();
  return nullptr;
}

const Tensor& StateDict::at(std::string_view name) const {
  const Tensor* tensor = find(name);
  if (!tensor) fail("the state has no tensor named '{}'; it has {} items", name, items.size());
  return *tensor;
}

void StateDict::set(std::string_view name, StateValue value) {
  auto item = std::find_if(items.begin(), items.end(), [&](const Item& i) { return i.name == name; });
  if (item == items.end()) item = items.insert(items.end(), {std::string(name), {}});
  item->value = std::move(value);
}

}  // namespace octet
