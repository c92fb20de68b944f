#include "cli/picture_model.h"

#include <algorithm>

#include "base/error.h"
#include "cli/tensors.h"

namespace octet::cli {

namespace {

std::string describe_all(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> texts;
  for (const TensorInfo& t : tensors)
    texts.push_back(fmt::format("{} ({})", t.name, describe(t.dtype, t.shape)));
  return texts.empty() ? "nothing" : fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

PictureModel::PictureModel(const ModelFlags& model, const Config& config, const Task& task, ThreadPool& pool)
    : path_(model.path),
      task_(task),
      model_(Model::load(model.path, model.files)),
      session_(prepare(*model_.graph(), execute_options(config)), pool) {
  std::vector<TensorInfo> inputs = model_.inputs();
  if (inputs.size() != 1 || inputs[0].dtype != DType::kFloat32 || inputs[0].shape.size() != 4)
    fail(
        "{}: {}'s one input is a float32 picture, N x 3 x H x W; this one takes {}; `octet run` runs any "
        "model",
        path_, task.model, describe_all(inputs));
}

std::string PictureModel::input_shape() const {
  const std::vector<std::int64_t> shape = model_.inputs().at(0).shape;
  if (std::any_of(shape.begin() + 1, shape.end(), [](std::int64_t size) { return size < 0; }))
    return "dynamic";
  return fmt::format("[{}]", fmt::join(shape.begin() + 1, shape.end(), ", "));
}

Tensor PictureModel::run(const Tensor& pixels) {
  std::vector<Tensor> outputs = session_.run({pixels});
  std::size_t bytes = pixels.size_bytes() + session_.arena_bytes();
  for (const Tensor& output : outputs) bytes += output.size_bytes();
  peak_bytes_ = std::max(peak_bytes_, bytes);

  const std::int64_t count = pixels.dim(0);
  const Tensor& output = outputs.at(0);
  if (!task_.accepts(output, count))
    fail("{}: the first output is {}, not {} for each of the {} pictures; `octet run` runs any model", path_,
         describe(output.dtype(), output.shape()), task_.output, count);
  return output;
}

}  // namespace octet::cli
