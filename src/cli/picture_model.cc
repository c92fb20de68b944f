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

void check_takes_pictures(const ModelRunner& model, const Task& task) {
  const std::vector<TensorInfo> inputs = model.model().inputs();
  if (inputs.size() != 1 || inputs[0].dtype != DType::kFloat32 || inputs[0].shape.size() != 4)
    fail(
        "{}: {}'s one input is a float32 picture, N x 3 x H x W; this one takes {}; `octet run` runs any "
        "model",
        model.path(), task.model, describe_all(inputs));
}

void check_answers(const ModelRunner& model, const Task& task, const Tensor& output, std::int64_t pictures) {
  if (!task.accepts(output, pictures))
    fail("{}: the first output is {}, not {} for each of the {} pictures; `octet run` runs any model",
         model.path(), describe(output.dtype(), output.shape()), task.output, pictures);
}

PictureModel::PictureModel(std::string path, Model model, const Config& config, const Task& task,
                           ThreadPool& pool)
    : ModelRunner(std::move(path), std::move(model), config, pool), task_(task) {
  check_takes_pictures(*this, task);
}

std::string PictureModel::input_shape() const {
  const std::vector<std::int64_t> shape = model().inputs().at(0).shape;
  if (std::any_of(shape.begin() + 1, shape.end(), [](std::int64_t size) { return size < 0; }))
    return "dynamic";
  return fmt::format("[{}]", fmt::join(shape.begin() + 1, shape.end(), ", "));
}

Tensor PictureModel::run(const Tensor& pixels) {
  const Tensor output = ModelRunner::run({pixels}).at(0);
  check_answers(*this, task_, output, pixels.dim(0));
  return output;
}

}  // namespace octet::cli
