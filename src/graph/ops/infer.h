#pragma once
#include <initializer_list>
#include <optional>
#include <string_view>

#include "graph/op_table.h"
#include "graph/ops/attrs.h"

// What the shape inference of several ops needs. Every function here throws an Error that says what does not
// fit; which node it is about is added by infer_node().
namespace octet::ops {

using Inputs = std::span<const ValueInfo* const>;
using Outputs = std::span<ValueInfo>;

// Fails when a shape is not one that octet handles: too many dimensions, or an absurdly large one.
void check_shape(const Shape& shape, std::string_view what);

// Input i, or null when it is absent.
inline const ValueInfo* input_at(Inputs inputs, std::size_t i) {
  return i < inputs.size() ? inputs[i] : nullptr;
}

// `axis` counted from the front; negative ones count from the end. `what` names the attribute in messages.
std::int64_t normalize_axis(std::int64_t axis, std::size_t rank, std::string_view what = "axis");

void require_dtype(const ValueInfo& value, std::string_view what, std::initializer_list<DType> allowed);
inline void require_float(const ValueInfo& value, std::string_view what) {
  require_dtype(value, what, {DType::kFloat32});
}
// What octet computes with: all dtypes but bool and the 16-bit floats.
void require_number(const ValueInfo& value, std::string_view what);
void require_rank(const ValueInfo& value, std::string_view what, std::size_t rank);
// A vector of `size` elements; kUnknown matches anything.
void require_vector(const ValueInfo& value, std::string_view what, std::int64_t size);

// The dtype that a string attribute names.
DType dtype_attr(const Node& node, std::string_view name);

// a == b, as far as is known; the known one of both. Fails with `what` otherwise.
std::int64_t merge_dims(std::int64_t a, std::int64_t b, std::string_view what);

// The product of dimensions [begin, end): kUnknown when one of them is, unless another is 0. Fails when it is
// absurdly large.
std::int64_t product(const Shape& shape, std::size_t begin, std::size_t end);
inline std::int64_t product(const Shape& shape) {
  return product(shape, 0, shape.size());
}

// A list of integers of which some may not be known before a run.
using MaybeInts = std::vector<std::optional<std::int64_t>>;

// The elements of an integer vector (or of one number): nothing when not even their count is known.
std::optional<MaybeInts> ints_of(const ValueInfo& value, std::string_view what);
// One integer, from a tensor of one element; nothing before a run decides it.
std::optional<std::int64_t> int_of(const ValueInfo& value, std::string_view what);
// A list given by, in this order: one tensor a number, one vector (or null), an attribute.
std::optional<MaybeInts> ints_from(Inputs items, const ValueInfo* vector,
                                   const std::vector<std::int64_t>& attribute, std::string_view what);

// Fails when a shape that a file may ask for with a few bytes has more elements than a gigabyte of floats.
void check_made(const Shape& shape);

// Two shapes brought to the same rank with ones, and what an op element by element makes of them. axis -1
// aligns the last dims, as numpy does; otherwise the dims of the one of lower rank (y, when equal) stand at
// the other's from `axis` on, and ones at its end may be too many.
struct Broadcast {
  Shape x, y, out;
};
Broadcast broadcast(const Shape& x, const Shape& y, std::int64_t axis = -1);

// numpy's rule for a single pair of dimensions.
std::int64_t broadcast_dims(std::int64_t a, std::int64_t b);

}  // namespace octet::ops
