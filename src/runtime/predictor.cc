#include "octet/predictor.h"

#include <cstring>
#include <filesystem>

#include "runtime/executor.h"

namespace octet {

void Config::set_model(std::string model_path) {
  model_path_ = std::move(model_path);
  params_file_.clear();
}

void Config::set_model(std::string model_file, std::string params_file) {
  model_path_ = std::move(model_file);
  params_file_ = std::move(params_file);
}

int Config::cpu_math_library_num_threads() const {
  return threads_ > 0 ? threads_ : default_threads();
}

void Config::enable_use_gpu(std::uint64_t, int device_id) {
  if (device_id < 0) fail("gpu:{}: a device number is 0 or more", device_id);
  gpu_ = device_id;
}

namespace {

class Handle : public TensorHandle {
 public:
  // `integers` are those of an input that may be given as such; or null.
  Handle(const Graph& graph, const Value& value, bool is_input, const IntegerInput* integers = nullptr)
      : graph_(graph),
        integers_(integers),
        name_(value.name),
        declared_(value.shape),
        is_input_(is_input),
        dtype_(value.dtype),
        shape_(value.shape) {}

  const std::string& name() const override { return name_; }
  DType type() const override { return dtype_; }
  std::vector<std::int64_t> shape() const override { return shape_; }
  std::int64_t size() const override {
    if (!is_known(shape_)) is_input_ ? fail_unshaped() : fail_empty();
    return element_count(shape_);
  }
  const Tensor& tensor() const { return tensor_; }

  void reshape(const std::vector<std::int64_t>& shape) override {
    if (!is_input_) fail("output {}: only an input can be reshaped", name());
    if (!declared_.empty() && shape.size() != declared_.size())
      fail("input {}: expected {} dimensions ({}), got {} ({})", name(), declared_.size(),
           to_string(declared_), shape.size(), to_string(shape));
    element_count(shape);
    shape_ = shape;
    tensor_ = {};
  }

  void set(Tensor tensor) {
    dtype_ = tensor.dtype();
    shape_ = tensor.shape();
    tensor_ = std::move(tensor);
  }

 private:
  void copy_in(DType type, const void* data) override {
    if (!is_input_) fail("output {}: data can only be copied to an input", name());
    if (type != dtype_) fail("input {}: expected {}, got {}", name(), name_of(dtype_), name_of(type));
    if (!is_known(shape_)) fail_unshaped();
    tensor_ = Tensor(dtype_, shape_);
    std::memcpy(tensor_.mutable_bytes().data(), data, tensor_.size_bytes());
  }

  void copy_pixels_in(const std::uint8_t* pixels, const float* values) override {
    if (!is_input_) fail("output {}: data can only be copied to an input", name());
    if (dtype_ != DType::kFloat32 || shape_.size() != 4)
      fail("input {}: pixels are for float32 N x C x H x W; this is {} {}", name(), name_of(dtype_),
           to_string(shape_));
    if (!is_known(shape_)) fail_unshaped();
    const auto channels = static_cast<std::size_t>(shape_[1]);
    const auto count = static_cast<std::size_t>(element_count(shape_));
    if (values_.size() != channels ||
        std::memcmp(values_.data(), values, channels * sizeof(values_[0])) != 0) {
      values_.resize(channels);
      std::memcpy(values_.data(), values, channels * sizeof(values_[0]));
      if (integers_) table_ = integers_of(graph_, *integers_, values_);
    }
    Tensor tensor(integers_ ? DType::kInt8 : DType::kFloat32, shape_);
    const std::size_t picture = count == 0 ? 0 : count / static_cast<std::size_t>(shape_[0]);
    for (std::size_t begin = 0; begin < count; begin += picture) {
      const std::span from(pixels + begin, picture);
      if (integers_)
        look_up(table_, from, tensor.mutable_data<std::int8_t>().subspan(begin, picture));
      else
        look_up(values_, from, tensor.mutable_data<float>().subspan(begin, picture));
    }
    tensor_ = std::move(tensor);
  }

  void copy_out(DType type, void* data) const override {
    if (tensor_.empty()) fail_empty();
    if (type != dtype_) fail("{}: holds {}, asked for {}", name(), name_of(dtype_), name_of(type));
    std::memcpy(data, tensor_.bytes().data(), tensor_.size_bytes());
  }

  [[noreturn]] void fail_unshaped() const {
    fail("input {}: its shape is {}; call reshape() first", name(), to_string(shape_));
  }
  [[noreturn]] void fail_empty() const {
    if (is_input_) fail("input {} has no data yet; call copy_from_cpu() first", name());
    fail("output {} has no data yet; call run() first", name());
  }

  const Graph& graph_;
  const IntegerInput* integers_;
  PixelValues values_;  // of the pixels that were copied last
  PixelIntegers table_;
  std::string name_;
  Shape declared_;
  bool is_input_;
  DType dtype_;
  Shape shape_;
  Tensor tensor_;
};

class GraphPredictor : public Predictor {
 public:
  GraphPredictor(std::shared_ptr<const Executable> executable, int threads)
      : executable_(std::move(executable)), pool_(threads), session_(executable_, pool_) {
    const Graph& graph = executable_->graph;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const std::vector<std::optional<IntegerInput>>& integers = executable_->integer_inputs;
      inputs_.push_back(
          std::make_shared<Handle>(graph, graph.value(graph.inputs[i]), true,
                                   i < integers.size() && integers[i] ? &*integers[i] : nullptr));
    }
    for (ValueId id : graph.outputs)
      outputs_.push_back(std::make_shared<Handle>(graph, graph.value(id), false));
  }

  std::vector<std::string> get_input_names() const override { return names(inputs_); }
  std::vector<std::string> get_output_names() const override { return names(outputs_); }
  std::shared_ptr<TensorHandle> get_input_handle(const std::string& name) override {
    return find(inputs_, name, "input");
  }
  std::shared_ptr<TensorHandle> get_output_handle(const std::string& name) override {
    return find(outputs_, name, "output");
  }

  void run() override {
    std::vector<Tensor> tensors;
    for (const auto& handle : inputs_) {
      if (handle->tensor().empty()) fail("input {}: has no data; copy_from_cpu() first", handle->name());
      tensors.push_back(handle->tensor());
    }
    std::vector<Tensor> results = session_.run(tensors);
    for (std::size_t i = 0; i < results.size(); ++i) outputs_[i]->set(std::move(results[i]));
  }

  std::unique_ptr<Predictor> clone() const override {
    return std::make_unique<GraphPredictor>(executable_, pool_.threads());
  }

 private:
  using Handles = std::vector<std::shared_ptr<Handle>>;

  static std::vector<std::string> names(const Handles& handles) {
    std::vector<std::string> list;
    for (const auto& handle : handles) list.push_back(handle->name());
    return list;
  }

  static std::shared_ptr<TensorHandle> find(const Handles& handles, const std::string& name,
                                            const char* what) {
    for (const auto& handle : handles)
      if (handle->name() == name) return handle;
    fail("{}: no such {}; the model has: {}", name, what, fmt::join(names(handles), ", "));
  }

  std::shared_ptr<const Executable> executable_;
  ThreadPool pool_;
  Session session_;
  Handles inputs_, outputs_;
};

void check_device(const Config& config) {
  if (config.use_gpu() && !config.device())
    fail("gpu:{}: no usable CUDA device; run on the CPU, with disable_gpu()", config.gpu_device_id());
}

}  // namespace

std::unique_ptr<Predictor> create_predictor(const Model& model, const Config& config) {
  check_device(config);
  auto executable = prepare(*model.graph(), execute_options(config));
  return std::make_unique<GraphPredictor>(std::move(executable), config.cpu_math_library_num_threads());
}

std::unique_ptr<Predictor> create_predictor(const Config& config) {
  check_device(config);
  if (config.params_file().empty()) return create_predictor(Model::load(config.model_path()), config);
  // Paddle's two-file form: the params file may be anywhere.
  std::string params = std::filesystem::absolute(config.params_file()).string();
  return create_predictor(Model::load(config.model_path(), {"", params}), config);
}

}  // namespace octet
