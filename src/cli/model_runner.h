#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/threads.h"
#include "cli/model_flags.h"
#include "runtime/executor.h"

namespace octet::cli {

// A model that is loaded and runs, whatever it takes and gives.
class ModelRunner {
 public:
  ModelRunner(const ModelFlags& model, const Config& config, ThreadPool& pool);  // `pool` must outlive it
  ModelRunner(std::string path, Model model, const Config& config, ThreadPool& pool);
  // The same model on other threads, which can run at the same time. They share the weights.
  ModelRunner(const ModelRunner& other, ThreadPool& pool);

  // What 8-bit pixels that stand for `values` may be given as, in place of those: nothing, only as floats.
  std::optional<PixelIntegers> integers_of(const std::optional<PixelValues>& values) const;

  // The outputs, which the next run overwrites.
  std::vector<Tensor> run(const std::vector<Tensor>& inputs);

  bool is_on_cpu() const { return !executable_->on_device; }
  const std::string& path() const { return path_; }
  const Model& model() const { return model_; }
  const char* precision() const { return model_.is_quantized() ? "int8" : "fp32"; }
  std::size_t arena_bytes() const { return session_.arena_bytes(); }  // of activations, after the first run
  std::size_t peak_bytes() const { return peak_bytes_; }  // of inputs, outputs and the memory plan

 private:
  std::string path_;
  Model model_;
  std::shared_ptr<const Executable> executable_;
  Session session_;
  std::size_t peak_bytes_ = 0;
};

}  // namespace octet::cli
