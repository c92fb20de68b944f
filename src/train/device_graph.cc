#include "train/device_graph.h"

#include <ATen/Context.h>

#include "train/convert.h"
#include "train/device.h"
#include "train/network.h"

namespace octet::train {

namespace {

class TorchDevice : public Device {
 public:
  TorchDevice(at::Device device, Precision precision) : device_(device), precision_(precision) {}

  DeviceGraph load(const Graph& graph, const std::vector<ValueId>& observed) const override {
    auto network = std::make_shared<Network>(graph, device_);
    network->precision = precision_;
    std::vector<ValueId> wanted = graph.outputs;
    wanted.insert(wanted.end(), observed.begin(), observed.end());
    return [=](const std::vector<Tensor>& inputs, const Observer& observer) {
      const at::NoGradGuard no_gradients;
      std::vector<at::Tensor> on_device;
      for (const Tensor& input : inputs) on_device.push_back(view_in_torch(input));
      const std::vector<at::Tensor> results = network->forward(on_device, wanted);
      std::vector<Tensor> outputs;
      for (std::size_t i = 0; i < results.size(); ++i) {
        const bool is_low = results[i].scalar_type() == at::kHalf;
        Tensor tensor = from_torch(is_low ? results[i].to(at::kFloat) : results[i]);
        if (i < network->graph().outputs.size())
          outputs.push_back(std::move(tensor));
        else if (observer)
          observer(wanted[i], tensor);
      }
      return outputs;
    };
  }

 private:
  at::Device device_;
  Precision precision_;
};

}  // namespace

std::shared_ptr<const Device> open_device(const std::string& device_name, const std::string& precision_name) {
  const at::Device device = choose_device(device_name, *alone());
  at::globalContext().setAllowTF32CuDNN(false);  // fp32 is what was asked for, not 10 bits of it
  Precision precision;
  if (precision_name == "fp16")
    precision = {.level = Amp::kO2, .dtype = at::kHalf, .rounded = device.is_cpu()};
  return std::make_shared<TorchDevice>(device, precision);
}

}  // namespace octet::train
