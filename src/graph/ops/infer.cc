#include "graph/ops/infer.h"

#include <algorithm>

namespace octet::ops {

void check_shape(const Shape& shape, std::string_view what) {
  constexpr std::int64_t kMaxDim = std::int64_t{1} << 40;  // sums of a few dims cannot overflow
  if (shape.size() > kMaxRank)
    fail("{} has {} dimensions, octet takes at most {}", what, shape.size(), kMaxRank);
  for (std::int64_t dim : shape)
    if (dim < kUnknown || dim > kMaxDim) fail("{} has shape {}, which cannot be", what, to_string(shape));
  product(shape);
}

std::int64_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view what) {
  auto n = static_cast<std::int64_t>(rank);
  if (axis < -n || axis >= n) fail("{} {} is out of range for {} dimensions", what, axis, rank);
  return axis < 0 ? axis + n : axis;
}

void require_dtype(const ValueInfo& value, std::string_view what, std::initializer_list<DType> allowed) {
  if (std::find(allowed.begin(), allowed.end(), value.dtype) != allowed.end()) return;
  std::string names;
  for (DType dtype : allowed) names.append(names.empty() ? "" : " or ").append(name_of(dtype));
  fail("{} is {}, expected {}", what, name_of(value.dtype), names);
}

void require_number(const ValueInfo& value, std::string_view what) {
  require_dtype(value, what,
                {DType::kFloat32, DType::kFloat64, DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32,
                 DType::kInt64});
}

void require_rank(const ValueInfo& value, std::string_view what, std::size_t rank) {
  if (value.shape.size() != rank)
    fail("{} has shape {}, expected {} dimensions", what, to_string(value.shape), rank);
}

void require_vector(const ValueInfo& value, std::string_view what, std::int64_t size) {
  bool fits =
      value.shape.size() == 1 && (size == kUnknown || value.shape[0] == kUnknown || value.shape[0] == size);
  if (!fits) fail("{} has shape {}, expected {}", what, to_string(value.shape), to_string(Shape{size}));
}

AttrSpec number_attr(std::string_view name, double value) {
  return {name, value, anything()};
}

AttrSpec dtype_spec(const char* value) {
  Allowed names;
  for (int i = 0; i <= static_cast<int>(DType::kFloat64); ++i)
    names.words.push_back(name_of(static_cast<DType>(i)));
  return {"dtype", std::string(value), std::move(names)};
}

DType dtype_attr(const Node& node, std::string_view name) {
  std::string text = attr<std::string>(node, name);
  DType dtype{};
  check(parse_dtype(text, &dtype), "check_attributes lets only names of dtypes pass");
  return dtype;
}

std::int64_t merge_dims(std::int64_t a, std::int64_t b, std::string_view what) {
  if (a == kUnknown) return b;
  if (b != kUnknown && a != b) fail("{}: {} and {} differ", what, a, b);
  return a;
}

std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end) {
  Shape known(shape.begin() + static_cast<std::ptrdiff_t>(begin),
              shape.begin() + static_cast<std::ptrdiff_t>(end));
  auto rest = std::remove(known.begin(), known.end(), kUnknown);
  bool all = rest == known.end();
  known.erase(rest, known.end());
  std::int64_t count = element_count(known);
  return all || count == 0 ? count : kUnknown;
}

std::optional<MaybeInts> ints_of(const ValueInfo& value, std::string_view what) {
  // Shapes, axes and the like; more is no sensible list of them.
  constexpr std::int64_t kMaxInts = 64;
  require_dtype(value, what, {DType::kInt32, DType::kInt64});
  if (value.shape.size() > 1) fail("{} has shape {}, expected a vector", what, to_string(value.shape));
  std::int64_t count = product(value.shape);
  if (count == kUnknown) return std::nullopt;
  if (count > kMaxInts) fail("{} has {} elements, expected at most {}", what, count, kMaxInts);
  if (!value.data) return MaybeInts(static_cast<std::size_t>(count));
  MaybeInts ints;
  for (std::int64_t i : to_int64s(*value.data)) ints.emplace_back(i);
  return ints;
}

std::optional<std::int64_t> int_of(const ValueInfo& value, std::string_view what) {
  require_dtype(value, what, {DType::kInt32, DType::kInt64});
  std::int64_t count = product(value.shape);
  if (count != 1 && count != kUnknown)
    fail("{} has shape {}, expected one element", what, to_string(value.shape));
  if (!value.data) return std::nullopt;
  check(value.data->size() == 1, "a value's data has the shape that goes with it");
  return to_int64s(*value.data)[0];
}

std::optional<MaybeInts> ints_from(Inputs items, const ValueInfo* vector,
                                   const std::vector<std::int64_t>& attribute, std::string_view what) {
  if (!items.empty()) {
    MaybeInts ints;
    for (const ValueInfo* item : items) ints.push_back(int_of(*item, what));
    return ints;
  }
  if (vector) return ints_of(*vector, what);
  return MaybeInts(attribute.begin(), attribute.end());
}

void check_made(const Shape& shape) {
  constexpr std::int64_t kMaxMade = std::int64_t{1} << 28;
  if (product(shape) > kMaxMade) fail("shape {} has more than {} elements", to_string(shape), kMaxMade);
}

std::int64_t broadcast_dims(std::int64_t a, std::int64_t b) {
  if (a == b || b == 1) return a;
  if (a == 1 || a == kUnknown) return b;
  if (b == kUnknown) return a;
  fail("dimensions {} and {} do not broadcast", a, b);
}

namespace {

// `shape` with ones around it, standing at `axis` of a shape of `rank` dimensions.
Shape place(Shape shape, std::size_t rank, std::int64_t axis) {
  if (axis == -1) {
    shape.insert(shape.begin(), rank - shape.size(), 1);
    return shape;
  }
  if (axis < 0 || axis > static_cast<std::int64_t>(rank))
    fail("axis {} is out of range for {} dimensions", axis, rank);
  auto before = static_cast<std::size_t>(axis);
  while (before + shape.size() > rank && !shape.empty() && shape.back() == 1) shape.pop_back();
  if (before + shape.size() > rank)
    fail("{} from axis {} on goes beyond {} dimensions", to_string(shape), axis, rank);
  shape.insert(shape.begin(), before, 1);
  shape.resize(rank, 1);
  return shape;
}

}  // namespace

Broadcast broadcast(const Shape& x, const Shape& y, std::int64_t axis) {
  if (x == y) return {x, y, x};  // whatever the axis
  Broadcast result{x, y, {}};
  try {
    if (x.size() < y.size())
      result.x = place(x, y.size(), axis);
    else
      result.y = place(y, x.size(), axis);
    for (std::size_t i = 0; i < result.x.size(); ++i)
      result.out.push_back(broadcast_dims(result.x[i], result.y[i]));
  } catch (const Error& error) {
    fail("shapes {} and {} (axis {}) do not fit: {}", to_string(x), to_string(y), axis, error.what());
  }
  return result;
}

}  // namespace octet::ops
