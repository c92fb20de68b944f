#include "models/parameter_order.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

namespace octet::models {

namespace {

// Layers that stand in another order than they are used in: those of PP-LiteSeg's attention and of STDC's
// blocks.
constexpr std::string_view kDeclared[] = {"_scale",        "conv_x",    "conv_out",
                                          "conv_xy_atten", "conv_list", "avd_layer"};

// Where a layer stands among those of the same parent.
struct Place {
  std::int64_t number = 0;     // of a numbered one
  std::size_t declared = 0;    // of one of kDeclared
  std::size_t first_seen = 0;  // of any other

  auto operator<=>(const Place&) const = default;
};

Place place_of(std::string_view word, std::size_t seen) {
  std::int64_t number = 0;
  if (std::from_chars(word.data(), word.data() + word.size(), number).ptr == word.data() + word.size())
    return {.number = number};
  const auto declared = std::ranges::find(kDeclared, word);
  if (declared != std::end(kDeclared))
    return {.declared = static_cast<std::size_t>(declared - kDeclared) + 1};
  return {.first_seen = seen};
}

}  // namespace

void order_parameters(std::vector<const Value*>& parameters) {
  std::map<std::string_view, Place> places;  // of every beginning of a name that ends with a layer
  std::map<const Value*, std::vector<Place>> keys;
  for (const Value* value : parameters) {
    const std::string_view name = value->name;
    for (std::size_t begin = 0; begin < name.size();) {
      const std::size_t end = std::min(name.find('.', begin), name.size());
      const auto [place, is_new] = places.try_emplace(name.substr(0, end));
      if (is_new) place->second = place_of(name.substr(begin, end - begin), places.size());
      keys[value].push_back(place->second);
      begin = end + 1;
    }
  }
  std::ranges::stable_sort(parameters,
                           [&](const Value* a, const Value* b) { return keys.at(a) < keys.at(b); });
}

}  // namespace octet::models
