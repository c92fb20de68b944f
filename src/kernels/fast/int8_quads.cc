#include "kernels/fast/int8_quads.h"

#include <cstring>
#include <numeric>

#include "kernels/fast/int8_product.h"
#include "kernels/simd/simd.h"

namespace octet::fast {
namespace {

constexpr std::int64_t kTaps = 5;      // in a row and in a column
constexpr std::int64_t kQuadRows = 2;  // rows of quads that the taps of an output reach into

// Groups of as many channels as a vector has lanes. The last one takes the last channels of the image, some
// of which the one before may have too.
struct PackedQuads : Prepared {
  std::int64_t groups = 0;
  std::int64_t period = 0;  // so many rows of outputs have their first taps at another place of a quad
  std::int8_t shift = 0;
  std::vector<std::int32_t> init, sums;  // [group][channel]
  std::vector<float> multiplier, bias;   // [group][channel]
  Tensor weights;                        // [group][row of the period], then as simd::Int8Routines wants them

  std::int64_t first(std::int64_t group, std::int64_t channels, std::int64_t lanes) const {
    return std::min(group * lanes, channels - lanes);
  }
  static std::int64_t bytes(std::int64_t lanes) { return kTaps * kQuadRows * lanes * 4; }
};

// Where the first tap of row `y` of outputs lies in its quad.
std::int64_t place_of(std::int64_t y, std::int64_t stride) {
  return y * stride % 4;
}

// The work of a run: chunks of rows of outputs, of each group the quads and what they are multiplied to.
class Quads {
 public:
  Quads(const KernelArgs& args, const PackedQuads& packed)
      : packed_(packed),
        x_(*args.inputs[0]),
        simd_(args.simd->i8),
        channels_(x_.dim(1)),
        lanes_(simd_.features.lanes),
        quad_(4 * lanes_) {
    window_ = ops::conv_window(args.node, x_.dim(2), x_.dim(3), kTaps, kTaps);
    width_ = (window_.x.out - 1) * window_.x.stride + kTaps;
    constexpr std::int64_t kBytes = 48 << 10;  // of quads, so that they stay in the L1 cache or close to it
    const std::int64_t quad_rows = std::max<std::int64_t>(kBytes / (width_ * quad_), 3);
    // Tasks get rows of their own, as long as not much of what they read is read by others too; then groups.
    const std::int64_t tasks = task_count(args.pool.threads()), out_rows = window_.y.out * x_.dim(0);
    const std::int64_t chunks = std::clamp<std::int64_t>(out_rows / 8, 1, tasks);
    rows_ = std::min((4 * quad_rows - kTaps - 3) / window_.y.stride + 1, ceil_div(out_rows, chunks));
    rows_ =
        std::max<std::int64_t>(ceil_div(std::min(rows_, window_.y.out), packed_.period), 1) * packed_.period;
    per_image_ = ceil_div(window_.y.out, rows_);
    chunks_ = per_image_ * x_.dim(0);
    // The last two groups may write the same channels, so they are for one task.
    parts_ = std::clamp<std::int64_t>(ceil_div(tasks, std::max<std::int64_t>(chunks_, 1)), 1,
                                      std::max<std::int64_t>(packed_.groups - 1, 1));
  }

  std::size_t scratch(int threads) const { return static_cast<std::size_t>(threads * copy_bytes()); }

  void run(const KernelArgs& args) const {
    const std::int8_t zero = lhs_zero(args);
    const Epilogue epilogue = read_epilogue(args.node, args.input("out_scale"));
    simd::Int8Target whole = int8_target(args, epilogue);
    whole.stride = channels_;
    // What sums start from takes back what an x_zero other than 0 adds to them.
    std::vector<std::int32_t> starts = packed_.init;
    for (std::size_t i = 0; i < starts.size(); ++i) starts[i] -= zero * packed_.sums[i];
    const std::vector<std::int8_t> padding(static_cast<std::size_t>(lanes_), zero);
    args.pool.parallel_for(chunks_ * parts_, [&](std::int64_t task, int thread) {
      auto* quads = reinterpret_cast<std::int8_t*>(args.scratch.data()) + thread * copy_bytes();
      const std::int64_t image = task / parts_ / per_image_, y = task / parts_ % per_image_ * rows_;
      const std::int64_t rows = std::min(rows_, window_.y.out - y);
      const std::int64_t part = task % parts_, last = packed_.groups - 1;
      const std::int64_t end = part + 1 == parts_ ? packed_.groups : (part + 1) * last / parts_;
      for (std::int64_t group = part * last / parts_; group < end; ++group) {
        const std::int64_t channel = packed_.first(group, channels_, lanes_);
        fill(image, y, rows, channel, zero, padding.data(), quads);
        multiply(quads, rows, group, starts,
                 advance(whole, (image * window_.y.out + y) * window_.x.out * channels_ + channel));
      }
    });
  }

 private:
  std::int64_t quad_rows(std::int64_t rows) const { return ((rows - 1) * window_.y.stride) / 4 + kQuadRows; }
  std::int64_t copy_bytes() const { return quad_rows(rows_) * width_ * quad_; }

  // The quads for `rows` rows of outputs from `y` on.
  void fill(std::int64_t image, std::int64_t y, std::int64_t rows, std::int64_t channel, std::int8_t zero,
            const std::int8_t* padding, std::int8_t* to) const {
    const ops::WindowAxis &wx = window_.x, &wy = window_.y;
    const std::int8_t* x = x_.data<std::int8_t>().data() + image * wy.in * wx.in * channels_ + channel;
    const std::int64_t begin = std::min(wx.before, width_),
                       end = std::clamp(wx.in + wx.before, begin, width_);
    auto pad = [&](std::int8_t* at, std::int64_t pixels) {
      std::memset(at, zero + packed_.shift, static_cast<std::size_t>(pixels * quad_));
    };
    std::int64_t first = y * wy.stride - wy.before;
    for (std::int64_t i = quad_rows(rows); i > 0; --i, first += 4, to += width_ * quad_) {
      const std::int8_t* row[4];
      std::int64_t step[4];
      for (std::int64_t r = 0; r < 4; ++r) {
        const bool inside = first + r >= 0 && first + r < wy.in;
        row[r] = inside ? x + ((first + r) * wx.in + begin - wx.before) * channels_ : padding;
        step[r] = inside ? channels_ : 0;
      }
      pad(to, begin);
      simd_.quads(row, step, end - begin, packed_.shift, to + begin * quad_);
      pad(to + end * quad_, width_ - end);
    }
  }

  void multiply(const std::int8_t* quads, std::int64_t rows, std::int64_t group,
                const std::vector<std::int32_t>& starts, const simd::Int8Target& target) const {
    const std::int64_t period = packed_.period, bytes = PackedQuads::bytes(lanes_);
    const auto at = static_cast<std::size_t>(group * lanes_);
    simd::Int8Panel panel = {.kind = simd::Int8Kind::kDot,
                             .vectors = 1,
                             .columns = lanes_,
                             .shift = packed_.shift,
                             .init = &starts[at],
                             .multiplier = &packed_.multiplier[at],
                             .bias = &packed_.bias[at],
                             .weights = nullptr,
                             .again = nullptr};
    for (std::int64_t y = 0; y < std::min(period, rows); ++y) {
      panel.weights = packed_.weights.data<std::int8_t>().data() + (group * period + y) * bytes;
      const std::int64_t row = width_ * quad_;
      simd_.depthwise_quads({.data = quads + y * window_.y.stride / 4 * row,
                             .next = row,
                             .stride = window_.x.stride,
                             .rows = ceil_div(rows - y, period),
                             .columns = window_.x.out,
                             .row = period * window_.y.stride / 4 * row,
                             .target_row = period * window_.x.out},
                            panel, advance(target, y * window_.x.out * channels_));
    }
  }

  const PackedQuads& packed_;
  const Tensor& x_;
  const simd::Int8Routines& simd_;
  std::int64_t channels_, lanes_;
  std::int64_t quad_;  // bytes
  ops::Window window_;
  std::int64_t width_;  // pixels in a row of quads
  std::int64_t rows_;   // of outputs in a chunk
  std::int64_t per_image_, chunks_;
  std::int64_t parts_;  // of the groups of a chunk
};

}  // namespace

std::shared_ptr<const Prepared> prepare_quads(const PrepareArgs& args) {
  const Tensor weight = args.constant("weight");
  const simd::Int8Features& features = args.simd->i8.features;
  const std::int64_t channels = weight.dim(0), lanes = features.lanes;
  if (!features.quads || weight.dtype() != DType::kInt8 || weight.dim(2) != kTaps || weight.dim(3) != kTaps ||
      channels != attr<std::int64_t>(args.node, "groups") || channels < lanes || args.value("residual"))
    return nullptr;
  const ops::Window window = ops::conv_window(args.node, kUnknown, kUnknown, kTaps, kTaps);
  if (window.y.dilation != 1 || window.x.dilation != 1 || window.x.stride > 2) return nullptr;
  const auto w = weight.data<std::int8_t>();
  const LhsRange range = lhs_range(args.node);

  auto packed = std::make_shared<PackedQuads>();
  packed->groups = ceil_div(channels, lanes);
  packed->period = 4 / std::gcd<std::int64_t>(4, window.y.stride);
  packed->shift = static_cast<std::int8_t>(PairLimits(features, range).shift);
  const std::int64_t bytes = PackedQuads::bytes(lanes);
  packed->weights = Tensor(DType::kInt8, {packed->groups * packed->period * bytes});
  std::int8_t* to = packed->weights.mutable_data<std::int8_t>().data();
  std::fill_n(to, packed->weights.size(), std::int8_t{0});
  const Rescaling rescaling(args);
  const auto multipliers = rescaling.multiplier.data<float>();
  for (std::int64_t group = 0; group < packed->groups; ++group)
    for (std::int64_t c = 0; c < lanes; ++c) {
      const std::int64_t channel = packed->first(group, channels, lanes) + c;
      const auto at = static_cast<std::size_t>(channel);
      const std::int8_t* kernel = w.data() + channel * kTaps * kTaps;
      const std::int32_t sum = std::accumulate(kernel, kernel + kTaps * kTaps, 0);
      packed->sums.push_back(sum);
      packed->init.push_back(-static_cast<std::uint8_t>(packed->shift) * sum);
      packed->multiplier.push_back(multipliers[multipliers.size() == 1 ? 0 : at]);
      packed->bias.push_back(rescaling.bias.empty() ? 0.0f : rescaling.bias.data<float>()[at]);
      for (std::int64_t y = 0; y < packed->period; ++y)
        for (std::int64_t ky = 0; ky < kTaps; ++ky)
          for (std::int64_t kx = 0; kx < kTaps; ++kx) {
            const std::int64_t row = place_of(y, window.y.stride) + ky;
            to[(group * packed->period + y) * bytes + ((kx * kQuadRows + row / 4) * lanes + c) * 4 +
               row % 4] = kernel[ky * kTaps + kx];
          }
    }
  return packed;
}

std::size_t quads_scratch(const KernelArgs& args, const Prepared& prepared) {
  return Quads(args, static_cast<const PackedQuads&>(prepared)).scratch(args.pool.threads());
}

void run_quads(const KernelArgs& args, const Prepared& prepared) {
  Quads(args, static_cast<const PackedQuads&>(prepared)).run(args);
}

}  // namespace octet::fast
