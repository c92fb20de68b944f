#pragma once
#include <string>

#include "base/threads.h"
#include "cli/model_flags.h"
#include "runtime/executor.h"
#include "tasks/task.h"

namespace octet::cli {

// A model that takes pictures and answers what its task asks.
class PictureModel {
 public:
  // An Error when the model takes anything else than one float32 picture tensor. `pool` must outlive it.
  PictureModel(const ModelFlags& model, const Config& config, const Task& task, ThreadPool& pool);

  // The output for pixels [N, 3, H, W], which is what the task takes. The next run overwrites it.
  Tensor run(const Tensor& pixels);

  const std::string& path() const { return path_; }
  const char* precision() const { return model_.is_quantized() ? "int8" : "fp32"; }
  std::string input_shape() const;                        // "[3, 224, 224]" of a picture, or "dynamic"
  std::size_t peak_bytes() const { return peak_bytes_; }  // of inputs, outputs and the memory plan

 private:
  std::string path_;
  const Task& task_;
  Model model_;
  Session session_;
  std::size_t peak_bytes_ = 0;
};

}  // namespace octet::cli
