#pragma once
#include <string>

#include "base/threads.h"
#include "cli/model_flags.h"
#include "runtime/executor.h"

namespace octet::cli {

// A model that takes pictures and gives a row of class scores for each.
class Classifier {
 public:
  // An Error when the model takes anything else than one float32 picture tensor. `pool` must outlive it.
  Classifier(const ModelFlags& model, const Config& config, ThreadPool& pool);

  // [N, classes] float32 for pixels [N, 3, H, W]. The next run overwrites the result.
  Tensor run(const Tensor& pixels);

  const std::string& path() const { return path_; }
  const char* precision() const { return model_.is_quantized() ? "int8" : "fp32"; }
  std::string input_shape() const;                        // "[3, 224, 224]" of a picture, or "dynamic"
  std::size_t peak_bytes() const { return peak_bytes_; }  // of inputs, outputs and the memory plan

 private:
  std::string path_;
  Model model_;
  Session session_;
  std::size_t peak_bytes_ = 0;
};

}  // namespace octet::cli
