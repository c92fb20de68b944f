#include "models/models.h"

#include "base/error.h"
#include "base/nearest.h"

namespace octet::models {

// The zoo. Each has a function of its name in a file of this folder; docs/add-a-network.md says how to add
// one.
#define OCTET_NETWORKS(NETWORK) \
  NETWORK(mobilenet_v3_small)   \
  NETWORK(mobilenet_v3_large)   \
  NETWORK(mobilenet_v2)         \
  NETWORK(mobilenet_v1)         \
  NETWORK(resnet18)             \
  NETWORK(resnet34)             \
  NETWORK(resnet50)             \
  NETWORK(efficientnet_lite0)

#define OCTET_DECLARE(name) Graph name(const ModelOptions& options);
OCTET_NETWORKS(OCTET_DECLARE)

namespace {

struct Entry {
  const char* name;
  Graph (*build)(const ModelOptions& options);
};

#define OCTET_ROW(name) {#name, name},
constexpr Entry kModels[] = {OCTET_NETWORKS(OCTET_ROW)};

const Entry& find_entry(std::string_view name) {
  for (const Entry& entry : kModels)
    if (name == entry.name) return entry;
  std::string meant = nearest(name, model_names());
  fail("no network is called '{}'{}; there are {}", printable(name),
       meant.empty() ? "" : fmt::format(", did you mean {}?", meant), fmt::join(model_names(), ", "));
}

// An option that is far out is a slip, and would only end in too much memory.
template <class T>
void check_range(const char* what, T value, T low, T high) {
  if (!(value >= low && value <= high))
    fail("{} is {}; it can be anything from {} to {}", what, value, low, high);
}

}  // namespace

const std::vector<std::string>& model_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> result;
    for (const Entry& entry : kModels) result.emplace_back(entry.name);
    return result;
  }();
  return names;
}

void check_model_name(std::string_view name) {
  find_entry(name);
}

Graph build_model(std::string_view name, const ModelOptions& options) {
  const Entry& entry = find_entry(name);
  check_range<std::int64_t>("the number of classes", options.num_classes, 1, 1 << 20);
  check_range<std::int64_t>("the size of the images", options.img_size, 1, 1 << 14);
  check_range("the width", options.width, 0.01, 16.0);
  return entry.build(options);
}

}  // namespace octet::models
