#include <algorithm>
#include <map>

#include "kernels/fast/fast.h"
#include "kernels/fast/float.h"

// conv2d_transpose. Input i adds to the output at p = i*stride + k*dilation (before cropping). The outputs
// whose p leaves the same remainder modulo the stride are touched by the same taps: they are a phase, and for
// them the op is a product of matrices as conv2d is.
namespace octet::fast {
namespace {

struct Tap {
  std::int64_t k, shift;  // the input of output p is at p / stride - shift
};

// The taps of each phase of an axis.
using Phases = std::vector<std::vector<Tap>>;

Phases find_phases(std::int64_t kernel, std::int64_t stride, std::int64_t dilation) {
  Phases phases(static_cast<std::size_t>(stride));
  for (std::int64_t k = 0; k < kernel; ++k)
    phases[static_cast<std::size_t>(k * dilation % stride)].push_back({k, k * dilation / stride});
  return phases;
}

struct PreparedTranspose : Prepared {
  std::int64_t groups, in_channels, out_channels;  // channels of a group
  std::int64_t kernel_h, kernel_w;
  Phases y, x;
  std::map<std::pair<std::size_t, std::size_t>, Tensor> weights;  // of a phase, group after group
  std::vector<Tensor> bias;                                       // one per group, or none
  std::vector<float> zeros;

  std::int64_t depth(std::size_t phase_y, std::size_t phase_x) const {
    return static_cast<std::int64_t>(y[phase_y].size() * x[phase_x].size()) * in_channels;
  }
};

std::shared_ptr<const Prepared> prepare_transpose(const PrepareArgs& args) {
  auto prepared = std::make_shared<PreparedTranspose>();
  PreparedTranspose& p = *prepared;
  const simd::FloatRoutines& routines = args.simd->f32;
  Tensor weight = args.constant("weight").aligned(), bias = args.constant("bias").aligned();
  p.groups = attr<std::int64_t>(args.node, "groups");
  p.in_channels = weight.dim(0) / p.groups;
  p.out_channels = weight.dim(1);
  p.kernel_h = weight.dim(2);
  p.kernel_w = weight.dim(3);
  p.zeros.assign(static_cast<std::size_t>(p.in_channels), 0.0f);
  // auto_pad may change the dilations, so they are not read from the attributes.
  ops::Window window = ops::conv_transpose_window(args.node, kUnknown, kUnknown, p.kernel_h, p.kernel_w);
  p.y = find_phases(p.kernel_h, window.y.stride, window.y.dilation);
  p.x = find_phases(p.kernel_w, window.x.stride, window.x.dilation);
  for (std::size_t py = 0; py < p.y.size(); ++py)
    for (std::size_t px = 0; px < p.x.size(); ++px) {
      std::int64_t depth = p.depth(py, px), size = packed_size(routines, depth, p.out_channels);
      if (depth == 0) continue;
      Tensor packed(DType::kFloat32, {p.groups * size});
      for (std::int64_t group = 0; group < p.groups; ++group) {
        const float* from =
            weight.data<float>().data() + group * p.in_channels * p.out_channels * p.kernel_h * p.kernel_w;
        auto at = [&](std::int64_t k, std::int64_t column) {
          auto tap = static_cast<std::size_t>(k / p.in_channels);
          std::int64_t ky = p.y[py][tap / p.x[px].size()].k, kx = p.x[px][tap % p.x[px].size()].k;
          return from[((k % p.in_channels * p.out_channels + column) * p.kernel_h + ky) * p.kernel_w + kx];
        };
        pack_panels(routines, depth, p.out_channels, at, packed.mutable_data<float>().data() + group * size);
      }
      p.weights[{py, px}] = packed;
    }
  for (std::int64_t group = 0; group < p.groups && !bias.empty(); ++group) {
    Tensor part(DType::kFloat32, {p.out_channels});
    std::copy_n(bias.data<float>().begin() + group * p.out_channels, p.out_channels,
                part.mutable_data<float>().begin());
    p.bias.push_back(pack_bias(routines, part));
  }
  return prepared;
}

void run_transpose(const KernelArgs& args) {
  const auto& p = static_cast<const PreparedTranspose&>(*args.prepared);
  const Tensor& x = *args.inputs[0];
  Epilogue epilogue = read_epilogue(args.node, args.input("out_scale"));
  ops::Window window = ops::conv_transpose_window(args.node, x.dim(2), x.dim(3), p.kernel_h, p.kernel_w);
  const ops::WindowAxis &wy = window.y, &wx = window.x;
  std::int64_t out_h = args.outputs[0].dim(2), out_w = args.outputs[0].dim(3);
  std::int64_t channels = p.groups * p.in_channels, out_channels = p.groups * p.out_channels;
  simd::FloatTarget target = find_target(args, epilogue, wx.stride * out_channels);
  const float* images = x.data<float>().data();

  // A task is the outputs of one phase in one row.
  args.pool.parallel_for(x.dim(0) * out_h * wx.stride, [&](std::int64_t task) {
    std::int64_t n = task / (out_h * wx.stride), oy = task / wx.stride % out_h, phase = task % wx.stride;
    // The first output with (ox + before) % stride == phase.
    std::int64_t first = ((phase - wx.before) % wx.stride + wx.stride) % wx.stride;
    if (first >= out_w) return;
    std::int64_t count = divide_up(out_w - first, wx.stride);
    auto py = static_cast<std::size_t>((oy + wy.before) % wy.stride), px = static_cast<std::size_t>(phase);
    std::int64_t cell_y = (oy + wy.before) / wy.stride, cell_x = (first + wx.before) / wx.stride;
    std::int64_t depth = p.depth(py, px);
    const float* weights = depth > 0 ? p.weights.at({py, px}).data<float>().data() : nullptr;
    std::int64_t size = packed_size(args.simd->f32, depth, p.out_channels);
    for (std::int64_t group = 0; group < p.groups; ++group) {
      std::vector<const float*> pieces;
      for (const Tap& ty : p.y[py])
        for (const Tap& tx : p.x[px])
          for (std::int64_t i = 0; i < count; ++i) {
            std::int64_t iy = cell_y - ty.shift, ix = cell_x + i - tx.shift;
            bool inside = iy >= 0 && iy < wy.in && ix >= 0 && ix < wx.in;
            pieces.push_back(inside
                                 ? images + ((n * wy.in + iy) * wx.in + ix) * channels + group * p.in_channels
                                 : p.zeros.data());
          }
      std::int64_t place = ((n * out_h + oy) * out_w + first) * out_channels + group * p.out_channels;
      args.simd->f32.multiply(
          {.pieces = pieces.data(),
           .piece_step = count,
           .taps = depth / p.in_channels,
           .depth = p.in_channels,
           .rows = count,
           .weights = weights ? weights + group * size : nullptr,
           .bias = p.bias.empty() ? nullptr : data_or_null(p.bias[static_cast<std::size_t>(group)]),
           .columns = p.out_channels,
           .alpha = 1,
           .target = advance(target, place)});
    }
  });
}

}  // namespace

std::vector<Implementation> float_transpose() {
  return {{.op = "conv2d_transpose",
           .name = "gemm",
           .layout = LayoutNeed::kChannelsLast,
           .run = run_transpose,
           .fits = constants_are_weights,
           .prepare = prepare_transpose,
           .drops_constants = true}};
}

}  // namespace octet::fast
