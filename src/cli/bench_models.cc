#include "cli/bench_models.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/random.h"
#include "graph/graph.h"
#include "models/inference.h"
#include "models/models.h"
#include "octet/quantize.h"

namespace octet::cli {

Model named_model(const std::string& name_or_path, const LoadOptions& files) {
  std::error_code error;
  const std::vector<std::string>& names = models::model_names();
  if (std::filesystem::exists(name_or_path, error) || std::ranges::find(names, name_or_path) == names.end())
    return Model::load(name_or_path, files);
  const bool segments = models::task_of(name_or_path) == models::Task::kSegmentation;
  constexpr std::int64_t kCityscapes = 19, kImageNet = 1000;
  Graph graph = models::build_model(name_or_path, {.num_classes = segments ? kCityscapes : kImageNet});
  models::to_inference(graph, {.output = segments ? models::OutputOp::kArgmax : models::OutputOp::kSoftmax});
  return Model(std::make_shared<const Graph>(std::move(graph)));
}

Model hasty_int8(const Model& model, int threads) {
  QuantizeOptions options;
  options.algo = "abs_max";
  options.round_type = "round";
  options.bias_correction = false;
  options.batch_num = 1;
  options.threads = threads;
  const std::vector<TensorInfo> inputs = model.inputs();
  const BatchGenerator batches = [&](std::int64_t index, std::vector<FloatArray>& arrays) {
    if (index > 0) return false;
    for (const TensorInfo& input : inputs) {
      if (input.dtype != DType::kFloat32)
        fail("--int8: input '{}' is {}; quantize such a model with `octet ptq`, and give it as --int8-model",
             input.name, name_of(input.dtype));
      FloatArray array{.shape = input.shape, .values = {}};
      constexpr std::int64_t kSide = 128;  // of pictures of any size
      for (std::size_t i = 0; i < array.shape.size(); ++i)
        if (array.shape[i] < 0) array.shape[i] = i == 0 ? 1 : i == 1 ? 3 : kSide;
      std::int64_t count = 1;
      for (std::int64_t size : array.shape) count *= size;
      Random random({1});
      for (std::int64_t i = 0; i < count; ++i)
        array.values.push_back(static_cast<float>(random.uniform(-1, 1)));
      arrays.push_back(std::move(array));
    }
    return true;
  };
  return quantize(model, batches, options);
}

}  // namespace octet::cli
