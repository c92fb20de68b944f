#include "formats/paddle_common/as_read.h"

#include <algorithm>

#include "base/error.h"
#include "base/journal.h"

namespace octet::paddle {
namespace fs = std::filesystem;

namespace {

// The oldest way to save: a file for each parameter, named after it.
std::vector<Param> read_separate_params(const fs::path& directory, const std::vector<std::string>& names) {
  std::vector<Param> params;
  for (const std::string& name : names) {
    if (fs::path(name).is_absolute() || name.find("..") != std::string::npos)
      fail("{}: parameter {} is no file name; name the params file", directory.string(), name);
    auto file = std::make_shared<const MappedFile>(directory / name);
    params.push_back(std::move(read_params(file, {name}).front()));
  }
  return params;
}

std::vector<Param> read_all(const ModelPaths& paths, const std::vector<std::string>& names, AsRead& as_read) {
  if (file_exists(paths.weights)) {
    as_read.params_file = std::make_shared<const MappedFile>(paths.weights);
    return read_params(as_read.params_file, names);
  }
  if (names.empty()) return {};
  if (file_exists(paths.model.parent_path() / names.front()))
    return read_separate_params(paths.model.parent_path(), names);
  fail(
      "{}: no such file, and the model has {} parameters; put it beside the model, or name the file that has "
      "them",
      paths.weights.string(), names.size());
}

}  // namespace

std::vector<std::string> sorted_names(std::vector<std::string> names) {
  std::sort(names.begin(), names.end());
  if (auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end())
    fail("variable {} is declared twice", *twice);
  return names;
}

void read_model_params(const ModelPaths& paths, const std::vector<std::string>& names, AsRead& as_read) {
  for (Param& param : read_all(paths, names, as_read)) {
    std::string name = param.name;
    as_read.params.emplace(std::move(name), std::move(param));
  }
}

void AsRead::remember_names(const Graph& graph) {
  for (const Value& value : graph.values) value_names.push_back(value.name);
  for (ValueId id : graph.inputs) inputs.push_back(graph.value(id).name);
  for (ValueId id : graph.outputs) outputs.push_back(graph.value(id).name);
}

bool Changes::none() const {
  if (!as_read_ || graph_.nodes.size() != as_read_->nodes.size()) return false;
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    if (graph_.nodes[i].source != static_cast<int>(i) || !is_as_read(graph_.nodes[i])) return false;
  for (const Value& value : graph_.values)
    if (value.is_constant() && !is_as_read(value)) return false;
  return same_names(graph_.inputs, as_read_->inputs) && same_names(graph_.outputs, as_read_->outputs);
}

bool Changes::is_as_read(const Node& node) const {
  if (!as_read_ || node.source < 0) return false;
  const Node& read = as_read_->nodes[static_cast<std::size_t>(node.source)];
  return node.op == read.op && node.attrs == read.attrs && same_names(node.inputs, read.inputs) &&
         same_names(node.outputs, read.outputs);
}

bool Changes::are_as_read(std::size_t index, std::size_t first, std::size_t count) const {
  if (!is_as_read(graph_.nodes[index])) return false;
  const std::size_t before = static_cast<std::size_t>(graph_.nodes[index].source) - first;
  if (index < before || index - before + count > graph_.nodes.size()) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Node& member = graph_.nodes[index - before + i];
    if (member.source != static_cast<int>(first + i) || !is_as_read(member)) return false;
  }
  return true;
}

const Param* Changes::original_param(std::string_view name) const {
  if (!as_read_) return nullptr;
  auto it = as_read_->params.find(name);
  return it == as_read_->params.end() ? nullptr : &it->second;
}

bool Changes::is_as_read(const Value& constant) const {
  const Param* param = original_param(constant.name);
  return param && param->tensor.bytes().data() == constant.constant.bytes().data() &&
         param->tensor.dtype() == constant.constant.dtype() &&
         param->tensor.shape() == constant.constant.shape();
}

bool Changes::same_names(const std::vector<ValueId>& now, const std::vector<ValueId>& then) const {
  return std::equal(now.begin(), now.end(), then.begin(), then.end(), [&](ValueId a, ValueId b) {
    if (a == kNoValue || b == kNoValue) return a == b;
    return graph_.value(a).name == as_read_->value_names[static_cast<std::size_t>(b)];
  });
}

bool Changes::same_names(const std::vector<ValueId>& now, const std::vector<std::string>& then) const {
  return std::equal(now.begin(), now.end(), then.begin(), then.end(),
                    [&](ValueId a, const std::string& name) { return graph_.value(a).name == name; });
}

}  // namespace octet::paddle
