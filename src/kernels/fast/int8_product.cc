#include "kernels/fast/int8_product.h"

#include <algorithm>
#include <cstring>

#include "kernels/simd/simd.h"

namespace octet::fast {
namespace {

constexpr std::int64_t kTasksPerThread = 4;  // so that a thread that is held up does not hold up all
constexpr std::int64_t kMinRows = 40;        // less is not worth its pointers

// Rows are read in units of 4 bytes, so behind each memory that is read there must be a few more.
constexpr std::int64_t kSlack = 64;

std::size_t aligned(std::int64_t bytes) {
  return static_cast<std::size_t>((bytes + 63) / 64 * 64);
}

// The pointers to the rows of a chunk.
std::size_t thread_scratch(const PackedProduct& packed, std::int64_t chunk_rows) {
  return aligned(chunk_rows * packed.form.segments * static_cast<std::int64_t>(sizeof(void*)));
}

}  // namespace

std::int64_t task_count(int threads) {
  return threads == 1 ? 1 : threads * kTasksPerThread;
}

simd::Int8Target int8_target(const KernelArgs& args, const Epilogue& epilogue) {
  simd::Int8Target target;
  target.epilogue = &epilogue;
  if (const Tensor* residual = args.input("residual"); residual && residual->dtype() == DType::kInt8) {
    target.residual_integers = residual->data<std::int8_t>().data();
    target.residual_step = attr<float>(args.node, "residual_step");
  } else if (residual) {
    target.residual = residual->data<float>().data();
  }
  for (Tensor& output : args.outputs) {
    if (output.dtype() == DType::kInt8)
      target.integers = output.mutable_data<std::int8_t>().data();
    else
      target.floats = output.mutable_data<float>().data();
  }
  return target;
}

simd::Int8Target advance(simd::Int8Target target, std::int64_t elements) {
  if (target.residual) target.residual += elements;
  if (target.residual_integers) target.residual_integers += elements;
  if (target.floats) target.floats += elements;
  if (target.integers) target.integers += elements;
  return target;
}

void LhsImage::point(const simd::Int8Routines& routines, std::int64_t first, std::int64_t count,
                     std::int64_t stride, const std::int8_t** pointers) const {
  const ops::WindowAxis &wy = window.y, &wx = window.x;
  for (std::int64_t done = 0; done < count;) {
    std::int64_t index = first + done, ox = index % wx.out, oy = index / wx.out % wy.out;
    const std::int8_t* base = data + index / wx.out / wy.out * image;
    std::int64_t run = std::min(wx.out - ox, count - done);
    for (std::int64_t ky = 0; ky < wy.kernel; ++ky) {
      std::int64_t iy = oy * wy.stride - wy.before + ky * wy.dilation;
      for (std::int64_t kx = 0; kx < wx.kernel; ++kx) {
        const std::int8_t** to = pointers + (ky * wx.kernel + kx) * stride + done;
        if (iy < 0 || iy >= wy.in) {
          std::fill_n(to, run, padding);
          continue;
        }
        // Output ox + i reads column x + i * wx.stride, for i in [begin, end) inside of the image.
        std::int64_t x = ox * wx.stride - wx.before + kx * wx.dilation;
        std::int64_t begin = x < 0 ? std::min(ceil_div(-x, wx.stride), run) : 0;
        std::int64_t end = x < wx.in ? std::clamp(ceil_div(wx.in - x, wx.stride), begin, run) : begin;
        std::fill_n(to, begin, padding);
        const std::int8_t* from = base + iy * row + x * pixel;
        std::int64_t step = wx.stride * pixel;
        routines.point(from + begin * step, step, end - begin, to + begin);
        std::fill(to + end, to + run, padding);
      }
    }
    done += run;
  }
}

LhsBuffer::LhsBuffer(LhsPacking packing, const ops::Window& window, std::int64_t batch, std::int64_t channels)
    : window_(window), batch_(batch), channels_(channels), padding_bytes_(aligned(channels + kSlack)) {
  image.window = window;
  if (packing.merged)
    for (ops::WindowAxis* axis : {&image.window.y, &image.window.x}) {
      axis->in = (axis->out - 1) * axis->stride + (axis->kernel - 1) * axis->dilation + 1;
      axis->before = axis->after = 0;
    }
  image.pixel = channels;
  image.row = image.window.x.in * image.pixel;
  image.image = image.window.y.in * image.row;
  if (packing.merged) image.window.x.kernel = 1;
  if (packing.copied) copy_bytes_ = aligned(batch * image.image + kSlack);
}

std::size_t LhsBuffer::bytes() const {
  return padding_bytes_ + copy_bytes_;
}

void LhsBuffer::fill(const KernelArgs& args, std::byte* memory) {
  auto* padding = reinterpret_cast<std::int8_t*>(memory);
  std::memset(padding, lhs_zero(args), padding_bytes_);
  image.padding = padding;
  image.data = args.inputs[0]->data<std::int8_t>().data();
  if (copy_bytes_ == 0) return;
  copy(args, padding + padding_bytes_);
  image.data = padding + padding_bytes_;
}

void LhsBuffer::copy(const KernelArgs& args, std::int8_t* to) const {
  const std::int8_t* x = args.inputs[0]->data<std::int8_t>().data();
  auto clear = [zero = lhs_zero(args)](std::int8_t* at, std::int64_t bytes) {
    std::memset(at, zero, static_cast<std::size_t>(bytes));
  };
  // The image is rows [top, top + window_.y.in) and columns [left, left + used) of the copy.
  std::int64_t height = image.window.y.in, width = image.window.x.in;
  std::int64_t top = window_.y.before - image.window.y.before;
  std::int64_t left = std::min(window_.x.before - image.window.x.before, width);
  std::int64_t used = std::min(width - left, window_.x.in);
  constexpr std::int64_t kBytes = 1 << 16;
  std::int64_t rows = batch_ * height, task_rows = std::max<std::int64_t>(kBytes / (image.row + 1), 1);
  args.pool.parallel_for(ceil_div(rows, task_rows), [&](std::int64_t task) {
    for (std::int64_t r = task * task_rows; r < std::min((task + 1) * task_rows, rows); ++r) {
      std::int8_t* row = to + r * image.row;
      std::int64_t y = r % height - top;
      if (y < 0 || y >= window_.y.in) {
        clear(row, image.row);
        continue;
      }
      const std::int8_t* from = x + (r / height * window_.y.in + y) * window_.x.in * channels_;
      std::int8_t* begin = row + left * image.pixel;
      clear(row, left * image.pixel);
      std::memcpy(begin, from, static_cast<std::size_t>(used * channels_));
      clear(begin + used * image.pixel, (width - left - used) * image.pixel);
    }
  });
  clear(to + batch_ * image.image, kSlack);
}

std::int64_t chunk_rows(const KernelArgs& args, const PackedProduct& packed, std::int64_t rows) {
  constexpr std::int64_t kBytes = 256 << 10, kMaxRows = 1000;
  std::int64_t row_bytes = packed.form.segments * packed.form.units() * 4;
  std::int64_t columns = args.outputs[0].size() / std::max<std::int64_t>(rows, 1);
  if (args.input("residual")) row_bytes += columns * static_cast<std::int64_t>(sizeof(float));
  for (const Tensor& output : args.outputs)
    row_bytes += columns * static_cast<std::int64_t>(size_of(output.dtype()));
  int threads = args.pool.threads();
  std::int64_t count = std::clamp(kBytes / std::max<std::int64_t>(row_bytes, 1), kMinRows, kMaxRows);
  count = std::min(count, std::max(ceil_div(rows, task_count(threads)), kMinRows));
  return std::max<std::int64_t>(std::min(count, rows), 1);
}

std::size_t product_scratch(const PackedProduct& packed, std::int64_t chunk_rows, int threads) {
  return static_cast<std::size_t>(threads) * thread_scratch(packed, chunk_rows);
}

void run_product(const KernelArgs& args, const Product& product, std::byte* scratch) {
  const PackedProduct& packed = product.packed;
  Epilogue epilogue = read_epilogue(args.node, args.input("out_scale"));
  simd::Int8Target whole = int8_target(args, epilogue);

  // What sums start from takes back what an x_zero other than 0 adds to them: of all panels, one after the
  // other.
  const std::int32_t zero = lhs_zero(args);
  std::vector<std::int32_t> starts;
  std::vector<std::size_t> first_start;
  for (const PackedPanel& panel : packed.panels) {
    first_start.push_back(starts.size());
    const std::int64_t width = panel.panel.vectors * args.simd->i8.features.lanes;
    for (std::int64_t c = 0; zero != 0 && c < width; ++c)
      starts.push_back(panel.panel.init[c] - zero * panel.sums[c]);
  }

  // Where there are too few chunks for the threads, the panels are split as well.
  auto panels = static_cast<std::int64_t>(packed.panels.size());
  std::int64_t parts = ceil_div(task_count(args.pool.threads()), std::max<std::int64_t>(product.chunks, 1));
  parts = std::clamp(parts, std::int64_t{1}, panels);
  args.pool.parallel_for(product.chunks * parts, [&](std::int64_t task, int thread) {
    std::int64_t index = task / parts, part = task % parts;
    Chunk chunk = product.chunk(index);
    if (chunk.rows == 0) return;
    auto* pointers = reinterpret_cast<const std::int8_t**>(
        scratch + static_cast<std::size_t>(thread) * thread_scratch(packed, product.chunk_rows));
    product.point(index, pointers);
    for (std::int64_t p = part * panels / parts; p < (part + 1) * panels / parts; ++p) {
      const PackedPanel& panel = packed.panels[static_cast<std::size_t>(p)];
      simd::Int8Rows rows = {.pointers = pointers,
                             .stride = product.chunk_rows,
                             .offset = panel.offset,
                             .rows = chunk.rows,
                             .segments = packed.form.segments,
                             .units = packed.form.units()};
      simd::Int8Target target = advance(whole, chunk.at + panel.first);
      target.stride = chunk.stride;
      simd::Int8Panel weights = panel.panel;
      if (zero != 0) weights.init = &starts[first_start[static_cast<std::size_t>(p)]];
      args.simd->i8.multiply(rows, weights, target);
    }
  });
}

}  // namespace octet::fast
