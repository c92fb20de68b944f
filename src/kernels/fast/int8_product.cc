#include "kernels/fast/int8_product.h"

#include <algorithm>

#include "kernels/simd/simd.h"

namespace octet::fast {
namespace {

constexpr std::int64_t kTasksPerThread = 4;  // so that a thread that is held up does not hold up all
constexpr std::int64_t kMinRows = 40;        // less is not worth its pointers

std::int64_t most_segments(const PackedProduct& packed) {
  return std::max(packed.narrow.segments, packed.wide.segments);
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

std::int64_t task_count(int threads) {
  return threads == 1 ? 1 : threads * kTasksPerThread;
}

simd::Int8Target int8_target(const KernelArgs& args, const Epilogue& epilogue) {
  simd::Int8Target target;
  target.epilogue = &epilogue;
  if (args.input(5)) target.residual = args.input(5)->data<float>().data();
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
  if (target.floats) target.floats += elements;
  if (target.integers) target.integers += elements;
  return target;
}

void LeftImage::point(std::int64_t first, std::int64_t count, std::int64_t stride,
                      const std::int8_t** pointers) const {
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
          std::fill_n(to, run, zeros);
          continue;
        }
        // Output ox + i reads column x + i * wx.stride, for i in [begin, end) inside of the image.
        std::int64_t x = ox * wx.stride - wx.before + kx * wx.dilation;
        std::int64_t begin = x < 0 ? std::min(ceil_div(-x, wx.stride), run) : 0;
        std::int64_t end = x < wx.in ? std::clamp(ceil_div(wx.in - x, wx.stride), begin, run) : begin;
        std::fill_n(to, begin, zeros);
        const std::int8_t* from = base + iy * row + x * pixel;
        for (std::int64_t i = begin; i < end; ++i) to[i] = from + i * wx.stride * pixel;
        std::fill(to + end, to + run, zeros);
      }
    }
    done += run;
  }
}

std::int64_t chunk_rows(const PackedProduct& packed, std::int64_t rows, int threads) {
  constexpr std::int64_t kBytes = 96 << 10, kMaxRows = 1000;
  std::int64_t row_bytes = std::max(packed.narrow.segments * packed.narrow.units(false),
                                    packed.wide.segments * packed.wide.units(true)) *
                           4;
  std::int64_t count = std::clamp(kBytes / std::max<std::int64_t>(row_bytes, 1), kMinRows, kMaxRows);
  count = std::min(count, std::max(ceil_div(rows, task_count(threads)), kMinRows));
  return std::max<std::int64_t>(std::min(count, rows), 1);
}

std::size_t product_scratch(const PackedProduct& packed, std::int64_t chunk_rows, int threads) {
  return static_cast<std::size_t>(task_count(threads) * most_segments(packed) * chunk_rows) * sizeof(void*);
}

void run_product(const KernelArgs& args, const Product& product, std::byte* scratch) {
  const PackedProduct& packed = product.packed;
  Epilogue epilogue = read_epilogue(args.node, args.input(4));
  simd::Int8Target whole = int8_target(args, epilogue);

  // Where there are too few chunks for the threads, the panels are split as well.
  auto panels = static_cast<std::int64_t>(packed.panels.size());
  std::int64_t limit = task_count(args.pool.threads());
  std::int64_t parts = std::clamp(limit / std::max<std::int64_t>(product.chunks, 1), std::int64_t{1}, panels);
  std::int64_t pieces = product.chunks * parts, tasks = std::min(pieces, limit);
  args.pool.parallel_for(tasks, [&](std::int64_t task) {
    auto* pointers =
        reinterpret_cast<const std::int8_t**>(scratch) + task * most_segments(packed) * product.chunk_rows;
    for (std::int64_t piece = task; piece < pieces; piece += tasks) {
      std::int64_t index = piece / parts, part = piece % parts;
      Chunk chunk = product.chunk(index);
      if (chunk.rows == 0) continue;
      for (bool wide : {false, true}) {
        const LeftForm& form = packed.form(wide);
        bool pointed = false;
        for (std::int64_t p = part * panels / parts; p < (part + 1) * panels / parts; ++p) {
          const PackedPanel& panel = packed.panels[static_cast<std::size_t>(p)];
          if (panel.wide() != wide) continue;
          if (!pointed) product.point(index, wide, pointers);
          pointed = true;
          simd::Int8Rows rows = {.pointers = pointers,
                                 .stride = product.chunk_rows,
                                 .offset = panel.offset * (wide ? 2 : 1),
                                 .rows = chunk.rows,
                                 .segments = form.segments,
                                 .units = form.units(wide)};
          simd::Int8Target target = advance(whole, chunk.at + panel.first);
          target.stride = chunk.stride;
          args.simd->i8.multiply(rows, panel.panel, target);
        }
      }
    }
  });
}

}  // namespace octet::fast
