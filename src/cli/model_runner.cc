#include "cli/model_runner.h"

#include <algorithm>

namespace octet::cli {

ModelRunner::ModelRunner(const ModelFlags& model, const Config& config, ThreadPool& pool)
    : ModelRunner(model.path, Model::load(model.path, model.files), config, pool) {}

ModelRunner::ModelRunner(std::string path, Model model, const Config& config, ThreadPool& pool)
    : path_(std::move(path)),
      model_(std::move(model)),
      executable_(prepare(*model_.graph(), execute_options(config))),
      session_(executable_, pool) {}

ModelRunner::ModelRunner(const ModelRunner& other, ThreadPool& pool)
    : path_(other.path_), model_(other.model_), executable_(other.executable_), session_(executable_, pool) {}

std::optional<PixelIntegers> ModelRunner::integers_of(const std::optional<PixelValues>& values) const {
  const std::vector<std::optional<IntegerInput>>& inputs = executable_->integer_inputs;
  if (!values || inputs.size() != 1 || !inputs[0]) return std::nullopt;
  return octet::integers_of(executable_->graph, *inputs[0], *values);
}

std::vector<Tensor> ModelRunner::run(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> outputs = session_.run(inputs);
  std::size_t bytes = session_.arena_bytes();
  for (const Tensor& input : inputs) bytes += input.size_bytes();
  for (const Tensor& output : outputs) bytes += output.size_bytes();
  peak_bytes_ = std::max(peak_bytes_, bytes);
  return outputs;
}

}  // namespace octet::cli
