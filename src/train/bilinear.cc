#include "train/bilinear.h"

#include <algorithm>

#include "base/clones.h"
#include "train/bfloat16.h"

namespace octet::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Points = std::vector<ref::ResizePoint>;

// A tensor as pictures of rows. In each row a pixel has `inner` numbers: its channels, or 1 where channels
// are pictures of their own.
struct Rows {
  std::int64_t pictures, height, width, inner;

  std::int64_t row() const { return width * inner; }
  std::int64_t picture() const { return height * row(); }
};

Rows rows_of(const at::Tensor& x, bool is_last) {
  if (is_last) return {x.size(0), x.size(2), x.size(3), x.size(1)};
  return {x.size(0) * x.size(1), x.size(2), x.size(3), 1};
}

template <class T>
OCTET_CLONES void blend(const T* a, float first, const T* b, float second, float* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = first * widened(a[i]) + second * widened(b[i]);
}

template <class T>
OCTET_CLONES void add_scaled(const T* __restrict x, float factor, float* __restrict out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] += factor * widened(x[i]);
}

// A row of pixels to one of another width.
template <class T>
OCTET_CLONES void widen(const float* row, const ref::ResizePoint* columns, std::int64_t width,
                        std::int64_t inner, T* out) {
  if (inner == 1) {
    for (std::int64_t x = 0; x < width; ++x)
      out[x] = narrowed<T>(columns[x].first_weight * row[columns[x].first] +
                           columns[x].second_weight * row[columns[x].second]);
    return;
  }
  for (std::int64_t x = 0; x < width; ++x, out += inner) {
    const float *a = row + columns[x].first * inner, *b = row + columns[x].second * inner;
    const float first = columns[x].first_weight, second = columns[x].second_weight;
    for (std::int64_t i = 0; i < inner; ++i) out[i] = narrowed<T>(first * a[i] + second * b[i]);
  }
}

// The transposed of it. `row` holds zeros.
OCTET_CLONES void add_back(const float* gradient, const ref::ResizePoint* columns, std::int64_t width,
                           std::int64_t inner, float* row) {
  if (inner == 1) {
    for (std::int64_t x = 0; x < width; ++x) {
      row[columns[x].first] += columns[x].first_weight * gradient[x];
      row[columns[x].second] += columns[x].second_weight * gradient[x];
    }
    return;
  }
  for (std::int64_t x = 0; x < width; ++x, gradient += inner) {
    float *a = row + columns[x].first * inner, *b = row + columns[x].second * inner;
    const float first = columns[x].first_weight, second = columns[x].second_weight;
    for (std::int64_t i = 0; i < inner; ++i) a[i] += first * gradient[i];
    for (std::int64_t i = 0; i < inner; ++i) b[i] += second * gradient[i];
  }
}

template <class T>
OCTET_CLONES void narrow(const float* x, T* out, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) out[i] = narrowed<T>(x[i]);
}

at::MemoryFormat order(bool is_last) {
  return is_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
}

// For each row of the input the rows of the output that it is in, and with which weights.
std::vector<std::vector<std::pair<std::int64_t, float>>> readers_of(const Points& rows, std::int64_t height) {
  std::vector<std::vector<std::pair<std::int64_t, float>>> readers(static_cast<std::size_t>(height));
  for (std::size_t y = 0; y < rows.size(); ++y) {
    const auto place = static_cast<std::int64_t>(y);
    readers[static_cast<std::size_t>(rows[y].first)].emplace_back(place, rows[y].first_weight);
    readers[static_cast<std::size_t>(rows[y].second)].emplace_back(place, rows[y].second_weight);
  }
  return readers;
}

template <class T>
void resize_rows(const at::Tensor& x, at::Tensor& y, const ref::ResizePlan& plan, bool is_last) {
  const Rows in = rows_of(x, is_last), out = rows_of(y, is_last);
  const std::int64_t height = out.height;
  const T* from = x.const_data_ptr<T>();
  T* to = y.data_ptr<T>();
  at::parallel_for(0, out.pictures * height, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> between(static_cast<std::size_t>(in.row()));
    for (std::int64_t i = begin; i < end; ++i) {
      const ref::ResizePoint& row = plan.rows[static_cast<std::size_t>(i % height)];
      const T* picture = from + i / height * in.picture();
      blend(picture + row.first * in.row(), row.first_weight, picture + row.second * in.row(),
            row.second_weight, between.data(), in.row());
      widen(between.data(), plan.columns.data(), out.width, in.inner, to + i * out.row());
    }
  });
}

// Across the rows first: that is one addition after the other, and leaves fewer rows where pictures grow.
template <class T>
void resize_gradient(const at::Tensor& gradient, at::Tensor& result, const ref::ResizePlan& plan,
                     bool is_last) {
  const Rows in = rows_of(result, is_last), out = rows_of(gradient, is_last);
  const T* from = gradient.const_data_ptr<T>();
  T* to = result.data_ptr<T>();
  const auto readers = readers_of(plan.rows, in.height);
  at::parallel_for(0, in.pictures * in.height, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> sum(static_cast<std::size_t>(out.row())), row(static_cast<std::size_t>(in.row()));
    for (std::int64_t i = begin; i < end; ++i) {
      std::ranges::fill(sum, 0.0f);
      const T* picture = from + i / in.height * out.picture();
      for (const auto& [y, weight] : readers[static_cast<std::size_t>(i % in.height)])
        if (weight != 0) add_scaled(picture + y * out.row(), weight, sum.data(), out.row());
      std::ranges::fill(row, 0.0f);
      add_back(sum.data(), plan.columns.data(), out.width, in.inner, row.data());
      narrow(row.data(), to + i * in.row(), in.row());
    }
  });
}

struct Bilinear : torch::autograd::Function<Bilinear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const ref::ResizePlan* plan,
                            bool is_last) {
    context->saved_data["is_last"] = is_last;
    context->saved_data["sizes"] = input.sizes().vec();
    const auto height = static_cast<std::int64_t>(plan->rows.size()),
               width = static_cast<std::int64_t>(plan->columns.size());
    auto points = std::make_shared<ref::ResizePlan>(*plan);
    context->saved_data["plan"] = c10::IValue::make_capsule(c10::make_intrusive<Plan>(points));
    const at::Tensor x = input.contiguous(order(is_last));
    at::Tensor y =
        at::empty({x.size(0), x.size(1), height, width}, x.options().memory_format(order(is_last)));
    x.scalar_type() == at::kFloat ? resize_rows<float>(x, y, *plan, is_last)
                                  : resize_rows<BFloat16>(x, y, *plan, is_last);
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const bool is_last = context->saved_data["is_last"].toBool();
    const auto capsule = c10::dynamic_intrusive_pointer_cast<Plan>(context->saved_data["plan"].toCapsule());
    const at::Tensor gradient = gradients[0].contiguous(order(is_last));
    at::Tensor result = at::empty(context->saved_data["sizes"].toIntVector(),
                                  gradient.options().memory_format(order(is_last)));
    gradient.scalar_type() == at::kFloat
        ? resize_gradient<float>(gradient, result, *capsule->plan, is_last)
        : resize_gradient<BFloat16>(gradient, result, *capsule->plan, is_last);
    return {result, {}, {}};
  }

 private:
  struct Plan : torch::CustomClassHolder {
    explicit Plan(std::shared_ptr<const ref::ResizePlan> p) : plan(std::move(p)) {}
    std::shared_ptr<const ref::ResizePlan> plan;
  };
};

// Along one axis the first or the second neighbours and their weights.
struct Line {
  at::Tensor first, second, weight;
};

Line line_of(const Points& points, const at::Tensor& like) {
  std::vector<std::int64_t> first, second;
  std::vector<float> weight;
  for (const ref::ResizePoint& point : points) {
    first.push_back(point.first);
    second.push_back(point.second);
    weight.push_back(point.second_weight);
  }
  return {at::tensor(first, at::kLong).to(like.device()), at::tensor(second, at::kLong).to(like.device()),
          at::tensor(weight, at::kFloat).to(like.options())};
}

}  // namespace

at::Tensor bilinear(const at::Tensor& x, const ref::ResizePlan& plan) {
  constexpr std::int64_t kManyChannels = 32;
  if (x.is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16))
    return Bilinear::apply(x, &plan, x.size(1) >= kManyChannels);
  const Line rows = line_of(plan.rows, x), columns = line_of(plan.columns, x);
  const at::Tensor y =
      at::lerp(x.index_select(2, rows.first), x.index_select(2, rows.second), rows.weight.view({-1, 1}));
  return at::lerp(y.index_select(3, columns.first), y.index_select(3, columns.second), columns.weight);
}

}  // namespace octet::train
