#include <cstring>

#include "kernels/fast/layout.h"
#include "kernels/ref/interpolate.h"
#include "kernels/ref/pad.h"
#include "kernels/ref/pool.h"

// Pooling, resizing and padding of images in channels-last.
namespace octet::fast {
namespace {

// Calls work(i) for each i in [0, tasks); what is small stays together. `elements`: how many a task touches.
template <class Work>
void for_tasks(ThreadPool& pool, std::int64_t tasks, std::int64_t elements, const Work& work) {
  for_blocks(
      pool, tasks,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) work(i);
      },
      std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(elements, 1)));
}

struct PoolNode : Prepared {
  bool max = false, exclusive = false, global = false;
};

std::shared_ptr<const Prepared> prepare_pool(const PrepareArgs& args) {
  auto node = std::make_shared<PoolNode>();
  node->max = attr<std::string>(args.node, "type") == "max";
  node->exclusive = attr<bool>(args.node, "exclusive");
  node->global = attr<bool>(args.node, "global");
  return node;
}

std::vector<simd::PoolSpan> spans_of(const Node& node, const ops::WindowAxis& axis, bool exclusive) {
  std::vector<simd::PoolSpan> result;
  for (const ref::PoolSpan& span : ref::pool_spans(node, axis))
    result.push_back({span.begin, span.end, exclusive ? span.end - span.begin : span.length});
  return result;
}

template <class T>
void pool(const KernelArgs& args, void (*routine)(const simd::PoolRow&)) {
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  const auto& node = *static_cast<const PoolNode*>(args.prepared);
  std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  std::vector<simd::PoolSpan> rows = {{0, height, height}}, columns = {{0, width, width}};
  if (!node.global) {
    ops::Window window = ops::pool_window(args.node, height, width);
    rows = spans_of(args.node, window.y, node.exclusive);
    columns = spans_of(args.node, window.x, node.exclusive);
  }
  const T* in = x.data<T>().data();
  T* to = args.outputs[0].mutable_data<T>().data();
  // A row of outputs is a task; where there are few, some of its channels are.
  std::int64_t images = out[0] * out[2], piece = images >= 8 ? channels : 64;
  std::int64_t pieces = piece == 0 ? 0 : (channels + piece - 1) / piece;
  std::int64_t touched = images == 0 ? 0 : x.size() / std::max<std::int64_t>(images * pieces, 1);
  for_tasks(args.pool, images * pieces, touched, [&](std::int64_t task) {
    std::int64_t row = task / pieces % out[2], image = task / pieces / out[2], first = task % pieces * piece;
    simd::PoolRow r = {};
    r.max = node.max;
    r.image = in + image * height * width * channels + first;
    r.width = width;
    r.pixel = r.out_pixel = channels;
    r.channels = std::min(piece, channels - first);
    r.y = rows[static_cast<std::size_t>(row)];
    r.columns = columns.data();
    r.count = out[3];
    r.out = to + (image * out[2] + row) * out[3] * channels + first;
    routine(r);
  });
}

void pool2d(const KernelArgs& args) {
  pool<float>(args, args.simd->image.pool_row);
}

void qpool2d(const KernelArgs& args) {
  pool<std::int8_t>(args, args.simd->image.pool_row_int8);
}

template <class T>
void resize_as(const KernelArgs& args, void (*bilinear)(const simd::ResizeRow&)) {
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  ref::ResizePlan plan = ref::plan_resize(args);
  std::vector<simd::ResizePoint> columns;
  std::vector<std::int64_t> sources;
  for (const ref::ResizePoint& p : plan.columns) {
    columns.push_back({p.first, p.second, p.first_weight, p.second_weight});
    sources.push_back(p.first);
  }
  const T* in = x.data<T>().data();
  T* to = args.outputs[0].mutable_data<T>().data();
  for_tasks(args.pool, out[0] * out[2], out[3] * channels, [&](std::int64_t task) {
    const ref::ResizePoint& row = plan.rows[static_cast<std::size_t>(task % out[2])];
    const T* image = in + task / out[2] * height * width * channels;
    const T* above = image + row.first * width * channels;
    T* target = to + task * out[3] * channels;
    if (plan.bilinear) {
      bilinear({above, image + row.second * width * channels, row.first_weight, row.second_weight,
                columns.data(), out[3], channels, target});
    } else {
      args.simd->movement.gather_rows(reinterpret_cast<const std::byte*>(above), sources.data(),
                                      reinterpret_cast<std::byte*>(target),
                                      channels * static_cast<std::int64_t>(sizeof(T)), out[3]);
    }
  });
}

void resize(const KernelArgs& args) {
  resize_as<float>(args, args.simd->image.resize_row);
}

void qresize(const KernelArgs& args) {
  resize_as<std::int8_t>(args, args.simd->image.resize_row_int8);
}

// An image of floats of which no channels are added.
bool pads_image(const PrepareArgs& args) {
  const Value *x = args.value("x"), *given = args.value("paddings");
  if (x->shape.size() != 4 || x->dtype != DType::kFloat32 || args.value("value")) return false;
  if (given) return given->shape == Shape{4};
  auto paddings = attr<std::vector<std::int64_t>>(args.node, "paddings");
  return paddings.size() >= 4 &&
         std::all_of(paddings.begin() + 4, paddings.end(), [](std::int64_t amount) { return amount == 0; });
}

void pad(const KernelArgs& args) {
  const Tensor& x = *args.inputs[0];
  const Shape& out = args.outputs[0].shape();
  std::int64_t channels = x.dim(1), height = x.dim(2), width = x.dim(3);
  std::vector<std::int64_t> paddings = args.input("paddings")
                                           ? to_int64s(*args.input("paddings"))
                                           : attr<std::vector<std::int64_t>>(args.node, "paddings");
  std::string mode = attr<std::string>(args.node, "mode");
  float value = attr<float>(args.node, "value");
  std::vector<std::int64_t> columns = ref::pad_sources(width, out[3], paddings[0], mode);
  std::vector<std::int64_t> rows = ref::pad_sources(height, out[2], paddings[2], mode);
  const float* in = x.data<float>().data();
  float* to = args.outputs[0].mutable_data<float>().data();
  for_tasks(args.pool, out[0] * out[2], out[3] * channels, [&](std::int64_t task) {
    std::int64_t row = rows[static_cast<std::size_t>(task % out[2])];
    float* target = to + task * out[3] * channels;
    if (row < 0) {
      std::fill_n(target, out[3] * channels, value);
      return;
    }
    const float* from = in + (task / out[2] * height + row) * width * channels;
    for (std::size_t i = 0, next; i < columns.size(); i = next) {
      // Neighbours that stay neighbours are copied at once.
      next = i + 1;
      if (columns[i] < 0) {
        target = std::fill_n(target, channels, value);
        continue;
      }
      while (next < columns.size() && columns[next] == columns[next - 1] + 1) ++next;
      target =
          std::copy_n(from + columns[i] * channels, static_cast<std::int64_t>(next - i) * channels, target);
    }
  });
}

}  // namespace

std::vector<Implementation> image() {
  auto row = [](std::string_view op, Kernel kernel) {
    return Implementation{.op = op, .name = "vector", .layout = LayoutNeed::kChannelsLast, .run = kernel};
  };
  std::vector<Implementation> rows = {row("pool2d", pool2d), row("qpool2d", qpool2d)};
  for (Implementation& pooling : rows) pooling.prepare = prepare_pool;
  rows.push_back(row("resize", resize));
  rows.push_back(row("qresize", qresize));
  rows.push_back(row("pad", pad));
  rows.back().fits = pads_image;
  return rows;
}

}  // namespace octet::fast
