#include <algorithm>
#include <vector>

#include "graph/ops/quantization.h"
#include "graph/quantization.h"
#include "kernels/blocks.h"
#include "kernels/quantizer.h"
#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"

namespace octet::ref {
namespace {

// Calls work(channel, begin, end) for runs of elements of one channel; axis -1: there is one channel.
template <class Work>
void for_channels(const KernelArgs& args, const Tensor& x, std::int64_t axis, const Work& work) {
  if (axis == -1) {
    for_blocks(args.pool, x.size(),
               [&](std::int64_t begin, std::int64_t end) { work(std::size_t{0}, begin, end); });
    return;
  }
  AxisView view = along(x.shape(), axis);
  if (x.size() == 0) return;
  auto runs = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t run = begin; run < end; ++run)
      work(static_cast<std::size_t>(run % view.size), run * view.inner, (run + 1) * view.inner);
  };
  for_blocks(args.pool, view.outer * view.size, runs, std::max<std::int64_t>(1, (1 << 14) / view.inner));
}

float bound_of(const KernelArgs& args, const char* bits) {
  return static_cast<float>(levels_of(attr<int>(args.node, bits)));
}

std::vector<Quantizer> quantizers(const Quantization& how) {
  std::vector<Quantizer> result;
  for (std::size_t channel = 0; channel < how.steps.size(); ++channel) result.emplace_back(how, channel);
  return result;
}

// y = integer * abs_max / Q, for integers already in y.
void dequantize_in_place(float* y, std::int64_t begin, std::int64_t end, float abs_max, float bound) {
  for (std::int64_t i = begin; i < end; ++i) y[i] = y[i] * abs_max / bound;
}

void quantize_floats(const KernelArgs& args, const Quantization& how, bool dequantize) {
  const float* x = args.inputs[0]->data<float>().data();
  float* y = args.outputs[0].mutable_data<float>().data();
  std::vector<Quantizer> q = quantizers(how);
  auto bound = static_cast<float>(how.qmax());
  for_channels(args, *args.inputs[0], attr<std::int64_t>(args.node, "axis"),
               [&](std::size_t channel, std::int64_t begin, std::int64_t end) {
                 quantize_run(x + begin, end - begin, q[channel], y + begin);
                 if (dequantize) dequantize_in_place(y, begin, end, how.abs_max(channel), bound);
               });
}

// The largest magnitude of each channel; NaN is passed over.
Tensor measure(const Tensor& x, std::int64_t axis) {
  AxisView view = axis == -1 ? AxisView{1, 1, x.size()} : along(x.shape(), axis);
  std::vector<float> result(static_cast<std::size_t>(view.size), 0.0f);
  const float* data = x.data<float>().data();
  for (std::int64_t run = 0; run < view.outer * view.size; ++run) {
    float& largest = result[static_cast<std::size_t>(run % view.size)];
    for (std::int64_t i = 0; i < view.inner; ++i, ++data) {
      float magnitude = std::fabs(*data);
      largest = largest < magnitude ? magnitude : largest;
    }
  }
  return Tensor::of<float>({view.size}, result);
}

void quantize_measured(const KernelArgs& args, bool dequantize) {
  const Tensor abs_max = measure(*args.inputs[0], attr<std::int64_t>(args.node, "axis"));
  quantize_floats(args, quantization_of(args.node, abs_max, nullptr), dequantize);
  if (args.outputs.size() > 1)
    std::ranges::copy(abs_max.data<float>(), args.outputs[1].mutable_data<float>().begin());
}

template <class T>
void dequantize_from(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const Quantization how = quantization_of(args.node, *args.input("scale"), args.input("zero_point"));
  const T* from = x.data<T>().data();
  float* to = args.outputs[0].mutable_data<float>().data();
  auto bound = static_cast<float>(how.qmax());
  const bool step = how.unit == ScaleUnit::kStep;
  for_channels(args, x, how.axis, [&](std::size_t channel, std::int64_t begin, std::int64_t end) {
    const float s = step ? static_cast<float>(how.step(channel)) : how.abs_max(channel);
    const auto zero = static_cast<float>(how.zero_point(channel));
    for (std::int64_t i = begin; i < end; ++i) {
      auto value = static_cast<float>(from[i]);
      to[i] = step ? (value - zero) * s : value * s / bound;
    }
  });
}

// NaN becomes the lowest integer, as in int8.
void quantize_unsigned(const KernelArgs& args, const std::vector<Quantizer>& quantizers) {
  const float* x = args.inputs[0]->data<float>().data();
  std::uint8_t* y = args.outputs[0].mutable_data<std::uint8_t>().data();
  for_channels(args, *args.inputs[0], attr<std::int64_t>(args.node, "axis"),
               [&](std::size_t channel, std::int64_t begin, std::int64_t end) {
                 const Quantizer& q = quantizers[channel];
                 for (std::int64_t i = begin; i < end; ++i) {
                   const float integer = q(x[i]);
                   y[i] = static_cast<std::uint8_t>(integer > 0 ? integer : 0);
                 }
               });
}

}  // namespace

void quantize(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const std::vector<Quantizer> q =
      quantizers(quantization_of(args.node, *args.input("scale"), args.input("zero_point")));
  auto run = [&](auto* y) {
    for_channels(args, x, attr<std::int64_t>(args.node, "axis"),
                 [&](std::size_t channel, std::int64_t begin, std::int64_t end) {
                   quantize_run(x.data<float>().data() + begin, end - begin, q[channel], y + begin);
                 });
  };
  if (args.outputs[0].dtype() == DType::kUInt8) return quantize_unsigned(args, q);
  if (args.outputs[0].dtype() == DType::kInt8)
    run(args.outputs[0].mutable_data<std::int8_t>().data());
  else
    run(args.outputs[0].mutable_data<float>().data());
}

void dequantize(const KernelArgs& args) {
  DType dtype = args.inputs[0]->dtype();
  if (dtype == DType::kInt8) return dequantize_from<std::int8_t>(args);
  if (dtype == DType::kUInt8) return dequantize_from<std::uint8_t>(args);
  if (dtype == DType::kInt32) return dequantize_from<std::int32_t>(args);
  dequantize_from<float>(args);
}

void fake_quant(const KernelArgs& args) {
  quantize_floats(args, quantization_of(args.node, *args.input("scale"), nullptr), true);
}

void dynamic_quantize(const KernelArgs& args) {
  quantize_measured(args, false);
}

void dynamic_fake_quant(const KernelArgs& args) {
  quantize_measured(args, true);
}

void dequantize_sum(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  auto weight_scale = args.input("weight_scale")->data<float>();
  const Tensor* x_scale = args.input("x_scale");
  const float* from = x.data<float>().data();
  float* to = args.outputs[0].mutable_data<float>().data();
  // Paddle multiplies the two bounds as integers; their product is exact in float for up to 12 bits each.
  float bound = bound_of(args, "bits");
  if (x_scale) bound = static_cast<float>(static_cast<double>(bound) * bound_of(args, "x_bits"));
  float s = x_scale ? x_scale->data<float>()[0] : 1.0f;
  for_channels(args, x, ops::dequantize_sum_axis(args.node, x.shape(), x_scale != nullptr),
               [&](std::size_t channel, std::int64_t begin, std::int64_t end) {
                 float w = weight_scale[channel];
                 for (std::int64_t i = begin; i < end; ++i)
                   to[i] = x_scale ? from[i] * w * s / bound : from[i] * w / bound;
               });
}

void dequantize_range(const KernelArgs& args) {
  const float* x = args.inputs[0]->data<float>().data();
  float* y = args.outputs[0].mutable_data<float>().data();
  float scale = args.input("scale")->data<float>()[0], range = attr<float>(args.node, "range");
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = x[i] * scale / range;
  });
}

void qlut(const KernelArgs& args) {
  const std::int8_t* x = args.inputs[0]->data<std::int8_t>().data();
  const std::int8_t* table = args.input("table")->data<std::int8_t>().data();
  std::int8_t* y = args.outputs[0].mutable_data<std::int8_t>().data();
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = table[x[i] + 128];
  });
}

}  // namespace octet::ref
