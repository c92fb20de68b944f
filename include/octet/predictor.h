#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "octet/model.h"

// Runs models. Shaped like Paddle Inference's C++ interface:
//
//   octet::Config config("mobilenet_v3_small_infer");
//   auto predictor = octet::create_predictor(config);
//   auto input = predictor->get_input_handle(predictor->get_input_names()[0]);
//   input->reshape({1, 3, 224, 224});
//   input->copy_from_cpu(pixels.data());
//   predictor->run();
//   auto output = predictor->get_output_handle(predictor->get_output_names()[0]);
//   std::vector<float> scores(output->size());
//   output->copy_to_cpu(scores.data());

namespace octet {

class Device;  // made by octet-train, which has libtorch

class Config {
 public:
  Config() = default;
  explicit Config(std::string model_path) {
    set_model(std::move(model_path));
  }  // a directory or a model file
  Config(std::string model_file, std::string params_file) {
    set_model(std::move(model_file), std::move(params_file));
  }

  void set_model(std::string model_path);
  void set_model(std::string model_file, std::string params_file);
  const std::string& model_path() const { return model_path_; }
  const std::string& params_file() const { return params_file_; }

  // The default is OCTET_NUM_THREADS, or the number of cores.
  void set_cpu_math_library_num_threads(int threads) { threads_ = threads; }
  int cpu_math_library_num_threads() const;

  // Off: the graph runs as the file has it. On (the default): rewritten to run faster, with the same results.
  void switch_ir_optim(bool on = true) { ir_optim_ = on; }
  bool ir_optim() const { return ir_optim_; }

  // "" (the default) is the best implementation that the CPU has; `octet info` lists the names.
  void set_isa(std::string isa) { isa_ = std::move(isa); }
  const std::string& isa() const { return isa_; }

  void enable_use_gpu(std::uint64_t memory_pool_mb = 100, int device_id = 0);
  void disable_gpu() { gpu_ = -1; }
  bool use_gpu() const { return gpu_ >= 0; }
  int gpu_device_id() const { return gpu_; }
  // Where models run instead of on the CPU; a GPU needs one.
  void set_device(std::shared_ptr<const Device> device) { device_ = std::move(device); }
  const std::shared_ptr<const Device>& device() const { return device_; }

 private:
  std::string model_path_, params_file_, isa_;
  int threads_ = 0;
  int gpu_ = -1;
  bool ir_optim_ = true;
  std::shared_ptr<const Device> device_;
};

// One input or output of a predictor, valid as long as the predictor.
class TensorHandle {
 public:
  virtual ~TensorHandle() = default;
  virtual const std::string& name() const = 0;
  virtual DType type() const = 0;
  virtual std::vector<std::int64_t> shape() const = 0;
  virtual std::int64_t size() const = 0;  // the number of elements; of an output, once run() has been called

  // Inputs: the shape of the next run.
  virtual void reshape(const std::vector<std::int64_t>& shape) = 0;
  // Inputs: size() elements are copied from `data`. T must be the input's type.
  template <class T>
  void copy_from_cpu(const T* data) {
    copy_in(DTypeOf<T>::value, data);
  }
  // Inputs of shape N x C x H x W: N x H x W pixels of 8 bits, whose channels lie together, as decoders give
  // them. `values` are 256 numbers for each channel: what the model is to see where a pixel is 0, 1, ... 255;
  // (i / 255 - mean) / std, say. It answers as if it were given them, to the bit; but one that quantizes its
  // input first gets the integers at once, and the floats are never made.
  void copy_pixels_from_cpu(const std::uint8_t* pixels, const float* values) {
    copy_pixels_in(pixels, values);
  }
  // Outputs: size() elements are copied to `data`. T must be the output's type.
  template <class T>
  void copy_to_cpu(T* data) const {
    copy_out(DTypeOf<T>::value, data);
  }

 protected:
  virtual void copy_in(DType type, const void* data) = 0;
  virtual void copy_pixels_in(const std::uint8_t* pixels, const float* values) = 0;
  virtual void copy_out(DType type, void* data) const = 0;
};

// Not for use from several threads at once: give each thread its clone(). Clones share the weights.
class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual std::vector<std::string> get_input_names() const = 0;
  virtual std::vector<std::string> get_output_names() const = 0;
  virtual std::shared_ptr<TensorHandle> get_input_handle(const std::string& name) = 0;
  virtual std::shared_ptr<TensorHandle> get_output_handle(const std::string& name) = 0;
  virtual void run() = 0;
  virtual std::unique_ptr<Predictor> clone() const = 0;
};

std::unique_ptr<Predictor> create_predictor(const Config& config);
// A model that is already loaded; the config's paths are not used.
std::unique_ptr<Predictor> create_predictor(const Model& model, const Config& config = {});

}  // namespace octet
