#include "kernels/fast/layouts.h"

namespace octet {
namespace {

using testing::expect_in_both_layouts;
using testing::random_floats;
using testing::random_int8s;

struct Case {
  Shape x, y;
  std::int64_t axis = -1;
};

// The kernel for operands of these shapes: of more than 4 dimensions the reference takes care.
const char* kernel_for(const Case& c) {
  return std::max(c.x.size(), c.y.size()) > 4 ? "ref" : "vector";
}

const std::vector<Case> kCases = {
    {{5}, {5}},
    {{1}, {1}},
    {{}, {}},
    {{40000}, {40000}},
    {{40000}, {}},
    {{1}, {33}},  // x grows, and may not lie where z lies
    {{2, 3}, {3}},
    {{2, 3}, {2, 1}},
    {{3}, {2, 3}},
    {{2, 19, 5, 7}, {2, 19, 5, 7}},
    {{2, 19, 5, 7}, {2, 19, 1, 1}},  // squeeze and excite
    {{2, 64, 9, 9}, {2, 64, 1, 1}},
    {{1, 16, 60, 61}, {1, 16, 1, 1}},
    {{2, 19, 1, 1}, {2, 19, 5, 7}},
    {{1, 8, 1, 1}, {1, 1, 1, 2}},
    {{2, 19, 5, 7}, {1, 19, 1, 1}},
    {{2, 19, 5, 7}, {19, 1, 1}},
    {{2, 19, 5, 7}, {19}, 1},
    {{2, 19, 5, 7}, {2, 19}, 0},
    {{19}, {2, 19, 5, 7}, 1},
    {{2, 19, 5, 7}, {5, 7}, 2},
    {{2, 19, 5, 7}, {19, 5}, 1},
    {{2, 19, 5, 7}, {7}},
    {{2, 19, 5, 7}, {5, 1}},
    {{2, 19, 5, 7}, {19, 5, 7}},
    {{19, 5, 7}, {1, 19, 5, 7}},
    {{1, 19, 5, 7}, {2, 1, 5, 1}},
    {{2, 19, 5, 7}, {2, 1, 1, 1}},
    {{2, 19, 5, 7}, {2, 1, 5, 7}},
    {{2, 19, 5, 7}, {1}},
    {{2, 19, 5, 7}, {}},
    {{1, 1, 5, 7}, {2, 19, 1, 1}},
    {{2, 3, 4, 5, 6}, {4, 1, 6}},
    {{0, 3}, {3}},
};

TEST(FastBinary, BroadcastsAsTheReferenceDoes) {
  for (const Case& c : kCases)
    for (const char* op : {"add", "mul"})
      for (bool constant : {false, true})
        expect_in_both_layouts(
            op, kernel_for(c), {random_floats(c.x, 3, -8, 8), random_floats(c.y, 4, -8, 8)},
            {{"axis", c.axis}}, constant ? std::vector<std::size_t>{1} : std::vector<std::size_t>{});
  for (const char* op : {"sub", "div", "max", "min"})
    for (const Case& c : {kCases[9], kCases[10], kCases[13], kCases[24]})
      expect_in_both_layouts(op, kernel_for(c), {random_floats(c.x, 3, -8, 8), random_floats(c.y, 4, -8, 8)});
}

TEST(FastBinary, PreluHasTheBitsOfTheReference) {
  for (const Shape& slope : {Shape{19, 1, 1}, Shape{1}, Shape{2, 19, 5, 7}, Shape{7}})
    expect_in_both_layouts("prelu", "vector",
                           {random_floats({2, 19, 5, 7}, 3, -8, 8), random_floats(slope, 4, -1, 1)});
}

TEST(FastBinary, LeavesIntegersAndPowersToTheReference) {
  Tensor x = Tensor::of<std::int32_t>({2, 2}, {7, -8, 9, 10}), y = Tensor::of<std::int32_t>({2}, {2, 3});
  for (const char* op : {"add", "sub", "mul", "div", "max", "min", "pow"})
    expect_in_both_layouts(op, "ref", {x, y});
  expect_in_both_layouts("pow", "ref", {random_floats({2, 3, 4, 5}, 3, 0, 8), random_floats({3, 1, 1}, 4)});
}

TEST(FastBinary, AppliesTheEpilogue) {
  Tensor out_scale = Tensor::of<float>({1}, {9.5f});
  for (const Case& c : {kCases[9], kCases[10], kCases[12], kCases[17], kCases[28]})
    for (const std::string& activation : testing::activation_names())
      for (const char* rounding : {"even", "away"}) {
        Tensor x = random_floats(c.x, 3, -4, 4), y = random_floats(c.y, 4, -4, 4);
        Attrs attrs = {
            {"axis", c.axis}, {"activation", std::string(activation)}, {"rounding", std::string(rounding)}};
        expect_in_both_layouts("add", "vector", {x, y}, attrs);
        for (int outputs : {1, 2})
          expect_in_both_layouts("mul", "vector", {x, y, out_scale}, attrs, {2}, outputs);
        expect_in_both_layouts("add", "vector", {x, y, out_scale}, attrs, {},
                               2);  // the scale comes with the run
      }
}

TEST(FastBinary, CombinesIntegers) {
  Tensor x_step = Tensor::of<float>({1}, {0.02f}), y_step = Tensor::of<float>({1}, {0.03f});
  Tensor out_scale = Tensor::of<float>({1}, {4.5f});
  for (const Case& c : kCases)
    for (const char* op : {"qadd", "qmul"}) {
      Tensor x = random_int8s(c.x, 3), y = random_int8s(c.y, 4);
      Attrs attrs = {{"axis", c.axis}, {"activation", std::string("relu")}};
      expect_in_both_layouts(op, kernel_for(c), {x, y, x_step, y_step}, attrs, {2, 3});
      for (int outputs : {1, 2})
        expect_in_both_layouts(op, kernel_for(c), {x, y, x_step, y_step, out_scale}, attrs, {2, 3, 4},
                               outputs);
    }
}

}  // namespace
}  // namespace octet
