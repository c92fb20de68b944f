#include "cli/bindings.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "cli/tensors.h"
#include "tensor/npy.h"

namespace octet::cli {

namespace {

std::string names_of(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::vector<Binding> bind_files(const char* flag, const std::vector<std::string>& words,
                                const std::vector<TensorInfo>& own, const Graph& graph) {
  std::vector<Binding> bindings;
  for (const std::string& word : words) {
    std::size_t equals = word.find('=');
    std::string name = equals == std::string::npos ? "" : word.substr(0, equals);
    if (!name.empty() && graph.find_value(name) == kNoValue) {
      std::error_code ignored;
      if (!std::filesystem::exists(word, ignored))
        fail("{} {}: the model has no tensor '{}'; its {}s are {}", flag, word, name, flag + 2,
             names_of(own));
      name.clear();  // a file with = in its name
    }
    bindings.push_back({name, name.empty() ? word : word.substr(equals + 1)});
    if (bindings.back().file.empty()) fail("{} {}: a file name is missing after =", flag, word);
  }
  auto is_named = [&](const std::string& name) {
    return std::any_of(bindings.begin(), bindings.end(), [&](const Binding& b) { return b.name == name; });
  };
  auto next = own.begin();
  for (Binding& binding : bindings) {
    if (!binding.name.empty()) continue;
    next = std::find_if(next, own.end(), [&](const TensorInfo& t) { return !is_named(t.name); });
    if (next == own.end())
      fail("{} {}: the model has only {} {}{}: {}", flag, binding.file, own.size(), flag + 2,
           own.size() == 1 ? "" : "s", names_of(own));
    binding.name = next->name;
  }
  return bindings;
}

Tensor load_input(const TensorHandle& input, const std::string& file) {
  Tensor tensor = load_npy(file);
  bool same_rank = input.shape().empty() || input.shape().size() == tensor.shape().size();
  if (tensor.dtype() != input.type() || !same_rank)
    fail("{}: holds {}, but input '{}' of the model is {}", file, describe(tensor.dtype(), tensor.shape()),
         input.name(), describe(input.type(), input.shape()));
  return tensor;
}

}  // namespace octet::cli
