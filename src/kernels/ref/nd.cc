#include "graph/ops/nd.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/ref/ref.h"
#include "kernels/ref/strides.h"
#include "kernels/ref/typed.h"

// Pooling and convolution of 1 to 3 dimensions. Fewer than 3 are seen as 3, with ones in front.
namespace octet::ref {

namespace {

struct Volume {
  ops::WindowAxis axes[3];

  explicit Volume(const std::vector<ops::WindowAxis>& given) {
    for (std::size_t i = 0; i < 3; ++i) axes[i] = {1, 1, 1, 1, 0, 0, 1};
    std::copy(given.begin(), given.end(), axes + (3 - given.size()));
  }
  std::int64_t taps() const { return axes[0].kernel * axes[1].kernel * axes[2].kernel; }
  std::int64_t inputs() const { return axes[0].in * axes[1].in * axes[2].in; }
  std::int64_t outputs() const { return axes[0].out * axes[1].out * axes[2].out; }

  // visit(tap, where it lies in the input) for each tap of output o that lies in the image, in order;
  // covered(how many taps lie in the image or its padding).
  template <class Visit>
  std::int64_t visit(std::int64_t o, const Visit& visit) const {
    const ops::WindowAxis &a = axes[0], &b = axes[1], &c = axes[2];
    std::int64_t at[3] = {o / (b.out * c.out), o / c.out % b.out, o % c.out}, covered = 0;
    auto position = [&](std::size_t i, std::int64_t k) {
      return at[i] * axes[i].stride + k * axes[i].dilation - axes[i].before;
    };
    for (std::int64_t i = 0; i < a.kernel; ++i)
      for (std::int64_t j = 0; j < b.kernel; ++j)
        for (std::int64_t k = 0; k < c.kernel; ++k) {
          std::int64_t z = position(0, i), y = position(1, j), x = position(2, k);
          covered += z < a.in + a.after && y < b.in + b.after && x < c.in + c.after;
          if (z < 0 || z >= a.in || y < 0 || y >= b.in || x < 0 || x >= c.in) continue;
          visit((i * b.kernel + j) * c.kernel + k, (z * b.in + y) * c.in + x);
        }
    return covered;
  }

  // The same for a transposed convolution: the inputs that touch output o.
  template <class Visit>
  void visit_transposed(std::int64_t o, const Visit& visit) const {
    const ops::WindowAxis &b = axes[1], &c = axes[2];
    std::int64_t at[3] = {o / (b.out * c.out), o / c.out % b.out, o % c.out};
    for (std::int64_t tap = 0; tap < taps(); ++tap) {
      std::int64_t k[3] = {tap / (b.kernel * c.kernel), tap / c.kernel % b.kernel, tap % c.kernel}, input = 0;
      bool touches = true;
      for (std::size_t i = 0; i < 3; ++i) {
        std::int64_t p = at[i] + axes[i].before - k[i] * axes[i].dilation, from = p / axes[i].stride;
        touches = touches && p >= 0 && p % axes[i].stride == 0 && from < axes[i].in;
        input = input * axes[i].in + from;
      }
      if (touches) visit(tap, input);
    }
  }
};

template <class T>
void largest(const KernelArgs& args, const Volume& volume) {
  const Tensor& x = *args.inputs[0];
  std::int64_t in = volume.inputs(), out = volume.outputs();
  const ops::WindowAxis* axes = volume.axes;
  bool column_major = attr<bool>(args.node, "column_major");
  std::int64_t* indices =
      args.outputs.size() > 1 ? args.outputs[1].mutable_data<std::int64_t>().data() : nullptr;
  args.pool.parallel_for(x.dim(0) * x.dim(1), [&](std::int64_t plane) {
    const T* from = x.data<T>().data() + plane * in;
    T* to = args.outputs[0].mutable_data<T>().data() + plane * out;
    for (std::int64_t o = 0; o < out; ++o) {
      T most = std::numeric_limits<T>::lowest();
      std::int64_t best = -1;
      volume.visit(o, [&](std::int64_t, std::int64_t i) {
        if (best >= 0 && !(from[i] > most)) return;
        most = from[i];
        best = i;
      });
      to[o] = most;
      if (!indices) continue;
      std::int64_t z = best / (axes[1].in * axes[2].in), y = best / axes[2].in % axes[1].in,
                   column = best % axes[2].in;
      if (column_major) best = (column * axes[1].in + y) * axes[0].in + z;
      indices[plane * out + o] = plane * in + best;
    }
  });
}

// Sums in double, rounded once.
void mean_or_norm(const KernelArgs& args, const Volume& volume) {
  const Tensor& x = *args.inputs[0];
  std::int64_t in = volume.inputs(), out = volume.outputs();
  bool norm = attr<std::string>(args.node, "type") == "lp", exclusive = attr<bool>(args.node, "exclusive");
  auto p = static_cast<double>(attr<std::int64_t>(args.node, "p"));
  args.pool.parallel_for(x.dim(0) * x.dim(1), [&](std::int64_t plane) {
    const float* from = x.data<float>().data() + plane * in;
    float* to = args.outputs[0].mutable_data<float>().data() + plane * out;
    for (std::int64_t o = 0; o < out; ++o) {
      double sum = 0;
      std::int64_t inside = 0;
      std::int64_t covered = volume.visit(o, [&](std::int64_t, std::int64_t i) {
        double value = from[i];
        sum += norm ? std::pow(std::fabs(value), p) : value;
        ++inside;
      });
      auto count = static_cast<double>(std::max<std::int64_t>(exclusive ? inside : covered, 1));
      to[o] = static_cast<float>(norm ? std::pow(sum, 1 / p) : sum / count);
    }
  });
}

}  // namespace

void pool_nd(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  auto kernel = attr<std::vector<std::int64_t>>(args.node, "kernel");
  kernel.resize(x.shape().size() - 2, 1);
  Volume volume(ops::nd_window(args.node, x.shape(), kernel));
  if (attr<std::string>(args.node, "type") == "max")
    with_number(x.dtype(), [&]<class T>() { largest<T>(args, volume); });
  else
    mean_or_norm(args, volume);
}

// y[n, o] = bias[o] + the sum over (tap, c), in this order, of weight[o, c, tap] * x[n, first + c, ...], in
// double, rounded once.
void conv_nd(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &weight = *args.input("weight");
  const Tensor* bias = args.input("bias");
  Shape kernel(weight.shape().begin() + 2, weight.shape().end());
  Volume volume(ops::nd_window(args.node, x.shape(), kernel));
  std::int64_t in = volume.inputs(), out = volume.outputs(), taps = volume.taps();
  std::int64_t outputs = weight.dim(0), group_channels = weight.dim(1), groups = x.dim(1) / group_channels;
  args.pool.parallel_for(x.dim(0) * outputs, [&](std::int64_t plane) {
    std::int64_t n = plane / outputs, o = plane % outputs, first = o / (outputs / groups) * group_channels;
    const float* from = x.data<float>().data() + (n * x.dim(1) + first) * in;
    const float* w = weight.data<float>().data() + o * group_channels * taps;
    float* to = args.outputs[0].mutable_data<float>().data() + plane * out;
    for (std::int64_t i = 0; i < out; ++i) {
      double sum = bias ? bias->data<float>()[static_cast<std::size_t>(o)] : 0;
      volume.visit(i, [&](std::int64_t tap, std::int64_t at) {
        for (std::int64_t c = 0; c < group_channels; ++c)
          sum += static_cast<double>(w[c * taps + tap]) * static_cast<double>(from[c * in + at]);
      });
      to[i] = static_cast<float>(sum);
    }
  });
}

void conv_nd_transpose(const KernelArgs& args) {
  const Tensor &x = *args.inputs[0], &weight = *args.input("weight");
  const Tensor* bias = args.input("bias");
  Shape kernel(weight.shape().begin() + 2, weight.shape().end());
  Volume volume(ops::nd_transpose_window(args.node, x.shape(), kernel));
  std::int64_t in = volume.inputs(), out = volume.outputs(), taps = volume.taps();
  std::int64_t groups = attr<std::int64_t>(args.node, "groups"), group_outputs = weight.dim(1),
               outputs = group_outputs * groups, group_channels = x.dim(1) / groups;
  args.pool.parallel_for(x.dim(0) * outputs, [&](std::int64_t plane) {
    std::int64_t n = plane / outputs, o = plane % outputs, first = o / group_outputs * group_channels;
    const float* from = x.data<float>().data() + (n * x.dim(1) + first) * in;
    const float* w = weight.data<float>().data() + (first * group_outputs + o % group_outputs) * taps;
    float* to = args.outputs[0].mutable_data<float>().data() + plane * out;
    for (std::int64_t i = 0; i < out; ++i) {
      double sum = bias ? bias->data<float>()[static_cast<std::size_t>(o)] : 0;
      volume.visit_transposed(i, [&](std::int64_t tap, std::int64_t at) {
        for (std::int64_t c = 0; c < group_channels; ++c)
          sum +=
              static_cast<double>(w[c * group_outputs * taps + tap]) * static_cast<double>(from[c * in + at]);
      });
      to[i] = static_cast<float>(sum);
    }
  });
}

}  // namespace octet::ref
