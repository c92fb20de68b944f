#include "kernels/ref/random.h"
#include "kernels/simd/simd.h"
#include "support/fast_runner.h"

namespace octet {
namespace {

using testing::expect_as_reference;
using testing::Ints;
using testing::random_floats;
using testing::random_int8s;

// What the left side of a layer holds, as its attributes x_min and x_max say.
struct Range {
  int low, high;
};
constexpr Range kAll = {-128, 127}, kRelu = {0, 127}, kHardSwish = {-9, 127};

Tensor in_range(Tensor x, Range range) {
  for (std::int8_t& value : x.mutable_data<std::int8_t>())
    value = static_cast<std::int8_t>(std::clamp<int>(value, range.low, range.high));
  return x;
}

// Weights that are mostly small, as trained ones are, so that every way of adding products is taken: `size`
// is about their magnitude, 128 stands for the whole range.
Tensor weights(Shape shape, std::uint32_t seed, int size) {
  Tensor w = random_int8s(std::move(shape), seed);
  for (std::int8_t& value : w.mutable_data<std::int8_t>())
    value = static_cast<std::int8_t>(value * size / 128);
  return w;
}

void with_range(Attrs& attrs, Range range) {
  attrs["x_min"] = std::int64_t{range.low};
  attrs["x_max"] = std::int64_t{range.high};
}

struct Layer {
  Shape x, w;  // w: output channels, input channels of a group, kernel height and width
  Attrs attrs = {};
  bool bias = true;
};

// The kernel for weights of this shape: output channels, input channels of a group, height and width.
const char* kernel_for(const Shape& w) {
  return w[1] == 1 && w[2] * w[3] <= 255 ? "int8 depthwise" : "int8 gemm";
}

// As it is, as int8, and with everything an epilogue can have.
void expect_conv(const Layer& layer, Range range, int size) {
  std::int64_t channels = layer.w[0];
  Tensor x = in_range(random_int8s(layer.x, 1), range), w = weights(layer.w, 2, size);
  Tensor multiplier = random_floats({channels}, 3, 1e-4f, 3e-4f);
  Tensor bias = layer.bias ? random_floats({channels}, 4) : Tensor(), scale = Tensor::of<float>({1}, {2.5f});
  Attrs attrs = layer.attrs;
  with_range(attrs, range);
  expect_as_reference("qconv2d", kernel_for(layer.w), {x, w, multiplier, bias, scale}, attrs, {1, 2, 3, 4});
  if (::testing::Test::HasFatalFailure()) return;
  Graph graph = testing::node_with_constants("qconv2d", {x, w, multiplier}, attrs, {1, 2});
  Shape out = graph.values.back().shape;
  out[0] = layer.x[0];
  attrs["activation"] = std::string("hard_swish");
  expect_as_reference("qconv2d", kernel_for(layer.w), {x, w, multiplier, bias, scale, random_floats(out, 5)},
                      attrs, {1, 2, 3, 4}, 0, 2);
  attrs["activation"] = std::string("relu");
  attrs["residual_step"] = 0.013;
  expect_as_reference("qconv2d", kernel_for(layer.w), {x, w, multiplier, bias, scale, random_int8s(out, 6)},
                      attrs, {1, 2, 3, 4});
}

const std::vector<Layer>& layers() {
  static const std::vector<Layer> list = {
      // 1x1, over all widths of panels and rows that don't fill a tile
      {{1, 8, 5, 7}, {8, 8, 1, 1}},
      {{2, 16, 3, 3}, {16, 16, 1, 1}},
      {{1, 24, 9, 9}, {24, 24, 1, 1}},
      {{1, 12, 7, 6}, {32, 12, 1, 1}, {}, false},
      {{1, 40, 4, 4}, {40, 40, 1, 1}},
      {{1, 36, 1, 1}, {100, 36, 1, 1}},
      {{1, 4, 30, 50}, {7, 4, 1, 1}},
      {{1, 7, 6, 5}, {9, 7, 1, 1}},
      {{1, 1, 1, 1}, {1, 1, 1, 1}},
      {{1, 33, 5, 5}, {61, 33, 1, 1}, {{"strides", Ints{2, 2}}}},
      // wide ones, whole and not
      {{1, 16, 7, 7}, {64, 16, 1, 1}},
      {{1, 24, 5, 7}, {144, 24, 1, 1}},
      {{1, 20, 9, 3}, {250, 20, 1, 1}},
      // so few columns that several rows fill a vector
      {{1, 12, 9, 9}, {1, 12, 1, 1}},
      {{2, 24, 11, 13}, {2, 24, 1, 1}},
      {{1, 8, 10, 10}, {4, 8, 3, 3}, {{"paddings", Ints{1, 1, 1, 1}}}},
      // larger kernels
      {{1, 8, 9, 11}, {12, 8, 3, 3}, {{"paddings", Ints{1, 1, 1, 1}}}},
      {{2, 16, 8, 7}, {24, 16, 3, 3}, {{"paddings", Ints{1, 0, 2, 1}}, {"strides", Ints{2, 1}}}},
      {{1, 12, 10, 9}, {8, 12, 3, 2}, {{"dilations", Ints{2, 3}}, {"paddings", Ints{2, 2, 3, 3}}}},
      {{1, 4, 3, 3}, {5, 4, 3, 3}, {{"paddings", Ints{4, 4, 4, 4}}, {"strides", Ints{3, 2}}}},
      {{1, 6, 8, 8}, {8, 6, 3, 3}, {{"auto_pad", std::string("same")}, {"strides", Ints{2, 2}}}},
      {{1, 8, 5, 40}, {16, 8, 1, 5}, {{"paddings", Ints{0, 0, 2, 2}}}},
      // few channels: the first layer
      {{1, 3, 17, 19}, {16, 3, 3, 3}, {{"strides", Ints{2, 2}}, {"paddings", Ints{1, 1, 1, 1}}}},
      {{2, 3, 14, 13}, {10, 3, 7, 7}, {{"strides", Ints{2, 2}}, {"paddings", Ints{3, 3, 3, 3}}}},
      {{1, 1, 9, 9}, {4, 1, 5, 5}, {{"paddings", Ints{2, 2, 2, 2}}}},
      {{1, 3, 12, 12}, {8, 3, 3, 3}, {{"dilations", Ints{2, 2}}, {"paddings", Ints{0, 1, 3, 0}}}},
      {{1, 2, 3, 3}, {3, 2, 2, 2}, {{"paddings", Ints{5, 5, 5, 5}}, {"strides", Ints{4, 4}}}},
      {{1, 5, 9, 4}, {3, 5, 2, 4}},
      {{1, 19, 5, 6}, {11, 19, 3, 2}, {{"paddings", Ints{1, 1, 1, 1}}}},
      // groups
      {{1, 8, 7, 7}, {12, 4, 3, 3}, {{"groups", std::int64_t{2}}, {"paddings", Ints{1, 1, 1, 1}}}},
      {{1, 15, 6, 6}, {20, 3, 3, 3}, {{"groups", std::int64_t{5}}, {"paddings", Ints{1, 1, 1, 1}}}},
      {{1, 6, 5, 5}, {12, 1, 3, 3}, {{"groups", std::int64_t{6}}, {"paddings", Ints{1, 1, 1, 1}}}},
  };
  return list;
}

Layer depthwise(std::int64_t channels, std::int64_t kernel, std::int64_t height, std::int64_t width,
                std::int64_t stride, std::int64_t batch = 1) {
  std::int64_t pad = kernel / 2;
  return {{batch, channels, height, width},
          {channels, 1, kernel, kernel},
          {{"groups", channels}, {"strides", Ints{stride, stride}}, {"paddings", Ints{pad, pad, pad, pad}}}};
}

TEST(FastQConv2d, Depthwise) {
  std::vector<Layer> list;
  for (std::int64_t channels : {1, 3, 8, 16, 24, 31, 32, 33, 72, 128})
    for (std::int64_t kernel : {3, 5})
      for (std::int64_t stride : {1, 2}) list.push_back(depthwise(channels, kernel, 9, 7, stride));
  list.push_back(depthwise(40, 3, 20, 30, 1, 2));
  // 3 x 3 with paddings of its own on each side, beyond the image, and rows that are far apart
  for (std::int64_t channels : {20, 64, 100}) {
    list.push_back({{2, channels, 6, 9},
                    {channels, 1, 3, 3},
                    {{"groups", channels}, {"strides", Ints{1, 2}}, {"paddings", Ints{0, 2, 1, 0}}}});
    list.push_back({{1, channels, 4, 1},
                    {channels, 1, 3, 3},
                    {{"groups", channels}, {"strides", Ints{2, 1}}, {"paddings", Ints{4, 3, 5, 4}}}});
    list.push_back({{1, channels, 9, 7},
                    {channels, 1, 3, 3},
                    {{"groups", channels}, {"dilations", Ints{3, 1}}, {"paddings", Ints{3, 3, 1, 1}}}});
  }
  list.push_back(depthwise(17, 1, 5, 4, 1, 3));
  list.push_back(depthwise(20, 7, 10, 11, 2));
  list.push_back({{1, 12, 9, 9},
                  {12, 1, 3, 2},
                  {{"groups", std::int64_t{12}}, {"dilations", Ints{2, 3}}, {"paddings", Ints{3, 0, 1, 2}}}});
  list.push_back({{1, 5, 3, 3},
                  {5, 1, 3, 3},
                  {{"groups", std::int64_t{5}}, {"strides", Ints{3, 3}}, {"paddings", Ints{4, 4, 4, 4}}}});
  // Several output channels of an input channel.
  for (std::int64_t outputs : {12, 18, 66})
    for (std::int64_t kernel : {1, 3, 5})
      list.push_back({{2, 6, 7, 8},
                      {outputs, 1, kernel, kernel},
                      {{"groups", std::int64_t{6}},
                       {"strides", Ints{2, 1}},
                       {"paddings", Ints{kernel / 2, kernel / 2, kernel / 2, kernel / 2}}}});
  list.push_back({{1, 1, 6, 5}, {40, 1, 3, 3}, {{"paddings", Ints{1, 1, 1, 1}}}});
  list.push_back({{1, 3, 20, 20}, {3, 1, 17, 17}, {{"groups", std::int64_t{3}}}});  // too many taps for it
  for (const Layer& layer : list)
    for (Range range : {kAll, kRelu, kHardSwish})
      for (int size : {20, 70, 128}) {
        expect_conv(layer, range, size);
        if (HasFatalFailure()) return;
      }
}

TEST(FastQConv2d, GivesTheIntegersOfTheReference) {
  for (const Layer& layer : layers())
    for (Range range : {kAll, kRelu, kHardSwish})
      for (int size : {30, 70, 128}) {
        expect_conv(layer, range, size);
        if (HasFatalFailure()) return;
      }
}

// Operands at the ends of their ranges: where 16 bits would not do.
TEST(FastQConv2d, NeverSaturates) {
  for (Range range : {kAll, Range{-127, 127}, kRelu, kHardSwish, Range{-128, -100}})
    for (int weight : {-128, -127, 127, 64, -64, 63})
      for (int x_value : {range.low, range.high})
        for (std::int64_t channels : {4, 8, 12, 20}) {
          std::vector<std::int8_t> x(static_cast<std::size_t>(channels * 6),
                                     static_cast<std::int8_t>(x_value));
          std::vector<std::int8_t> w(static_cast<std::size_t>(channels * 9),
                                     static_cast<std::int8_t>(weight));
          Attrs attrs;
          with_range(attrs, range);
          expect_as_reference("qconv2d", "int8 gemm",
                              {Tensor::of(Shape{1, channels, 2, 3}, x),
                               Tensor::of(Shape{9, channels, 1, 1}, w), random_floats({9}, 3)},
                              attrs, {1, 2});
          if (HasFatalFailure()) return;
          x.assign(static_cast<std::size_t>(channels * 25), static_cast<std::int8_t>(x_value));
          attrs["groups"] = channels;
          expect_as_reference("qconv2d", "int8 depthwise",
                              {Tensor::of(Shape{1, channels, 5, 5}, x),
                               Tensor::of(Shape{channels, 1, 3, 3},
                                          std::vector<std::int8_t>(static_cast<std::size_t>(channels * 9),
                                                                   static_cast<std::int8_t>(weight))),
                               random_floats({channels}, 3)},
                              attrs, {1, 2});
          if (HasFatalFailure()) return;
        }
}

// 5 x 5 taps: on some instruction sets dot products of four of them, which have epilogues of their own.
TEST(FastQConv2d, DepthwiseOfFiveByFive) {
  struct Case {
    std::int64_t batch, channels, height, width;
    Ints strides = {1, 1}, pads = {2, 2, 2, 2};
  };
  const std::vector<Case> cases = {
      // vectors of channels that are filled, that overlap, and too few for one
      {1, 16, 7, 7},
      {2, 40, 14, 14},
      {1, 39, 9, 8},
      {1, 6, 9, 8},
      // rows of every number of outputs beside whole tiles
      {1, 17, 5, 9},
      {1, 17, 6, 10},
      {1, 17, 7, 11},
      {1, 17, 8, 12},
      {1, 17, 3, 13},
      {1, 17, 1, 1},
      // all ways to lie in a row of quads
      {1, 24, 15, 15, {2, 2}},
      {2, 33, 14, 9, {2, 2}, {1, 2, 1, 2}},
      {1, 24, 14, 14, {2, 1}, {2, 1, 0, 3}},
      {1, 24, 17, 14, {3, 2}, {0, 0, 1, 1}},
      {1, 24, 20, 7, {4, 1}, {3, 3, 3, 3}},
      // nothing but padding; many chunks
      {1, 20, 2, 2, {2, 2}, {9, 9, 9, 9}},
      {1, 24, 70, 90},
  };
  for (const Case& c : cases)
    for (Range range : {kAll, kRelu})
      for (std::int64_t zero : {0, -128, 5})
        for (int size : zero == 0 ? std::vector<int>{30, 128} : std::vector<int>{128}) {
          const Tensor x = in_range(random_int8s({c.batch, c.channels, c.height, c.width}, 1), range);
          const Tensor w = weights({c.channels, 1, 5, 5}, 2, size), bias = random_floats({c.channels}, 4);
          const Tensor multiplier = random_floats({c.channels}, 3, 1e-4f, 3e-4f);
          const Tensor scale = Tensor::of<float>({1}, {2.5f});
          const Tensor x_zero =
              zero == 0 ? Tensor() : Tensor::of<std::int8_t>({1}, {static_cast<std::int8_t>(zero)});
          Attrs attrs = {{"groups", c.channels}, {"strides", c.strides}, {"paddings", c.pads}};
          if (zero == 0) with_range(attrs, range);
          for (const char* activation : {"", "relu", "hard_swish", "swish"}) {
            attrs["activation"] = std::string(activation);
            for (int outputs : {1, 2}) {
              expect_as_reference("qconv2d", "int8 depthwise",
                                  {x, w, multiplier, bias, scale, Tensor(), x_zero}, attrs, {1, 2, 3, 4}, 0,
                                  outputs);
              if (HasFatalFailure()) return;
            }
            expect_as_reference("qconv2d", "int8 depthwise",
                                {x, w, multiplier, Tensor(), Tensor(), Tensor(), x_zero}, attrs,
                                {1, 2, 3, 4});
            if (HasFatalFailure()) return;
          }
        }
}

// The same at the ends of their ranges, where 16 bits would not do.
TEST(FastQConv2d, DepthwiseOfFiveByFiveNeverSaturates) {
  for (Range range : {kAll, Range{-127, 127}, kRelu, kHardSwish, Range{-128, -100}})
    for (int weight : {-128, 127, 64, -64, 63})
      for (int x_value : {range.low, range.high}) {
        const std::int64_t channels = 20;
        Tensor x = random_int8s({1, channels, 7, 7}, 1), w = random_int8s({channels, 1, 5, 5}, 2);
        std::ranges::fill(x.mutable_data<std::int8_t>(), static_cast<std::int8_t>(x_value));
        std::ranges::fill(w.mutable_data<std::int8_t>(), static_cast<std::int8_t>(weight));
        Attrs attrs = {{"groups", channels}};
        with_range(attrs, range);
        expect_as_reference("qconv2d", "int8 depthwise", {x, w, random_floats({channels}, 3)}, attrs, {1, 2});
        if (HasFatalFailure()) return;
      }
}

// Whether 3x3 layers run in Winograd's way, which is exact, too.
bool has_winograd(const Isa& isa) {
  return isa.simd && isa.simd->i8.features.winograd;
}

// As expect_as_reference(), of a 3x3 layer that all instruction sets with Winograd run so.
void expect_winograd(const std::vector<Tensor>& inputs, const Attrs& attrs, int outputs = 1) {
  const std::vector<std::size_t> constants = {1, 2, 3, 4};
  Graph graph = testing::node_with_constants("qconv2d", inputs, attrs, constants, outputs);
  std::vector<Tensor> given = {inputs[0]};
  for (std::size_t i = 5; i < inputs.size(); ++i)
    if (!inputs[i].empty()) given.push_back(inputs[i]);
  std::vector<Tensor> expected = testing::run_graph(graph, given, "ref", 1);
  for (const Isa& isa : isa_list()) {
    if (!has_winograd(isa)) continue;
    testing::expect_kernel(graph, "qconv2d", "int8 winograd", std::string(isa.name));
    for (int threads : {1, 2, 3}) {
      SCOPED_TRACE(::testing::Message() << isa.name << ", " << threads << " threads\n" << dump(graph));
      std::vector<Tensor> found = testing::run_graph(graph, given, std::string(isa.name), threads);
      for (std::size_t i = 0; i < expected.size(); ++i) testing::expect_close(found[i], expected[i], 0);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(FastQConv2d, Winograd) {
  struct Case {
    std::int64_t batch, channels, height, width, columns;
    Ints pads = {1, 1, 1, 1};
  };
  const std::vector<Case> cases = {
      // odd sizes, and channels that don't fill vectors, of either number
      {1, 32, 24, 24, 16},
      {2, 33, 13, 19, 17},
      {1, 35, 26, 31, 24, {0, 0, 0, 0}},
      {1, 47, 22, 22, 33, {2, 1, 0, 3}},
      {9, 32, 7, 7, 100},
      {1, 96, 10, 41, 24},
      {1, 64, 17, 29, 72},
      // panels of every number of vectors
      {1, 32, 21, 24, 40},
      {1, 32, 21, 24, 56},
      {1, 32, 21, 24, 130},
      // so small that they run the other way on some instruction sets or on all; nothing but padding
      {2, 32, 14, 14, 16},
      {1, 32, 1, 1, 16},
      {1, 40, 3, 2, 20, {0, 0, 1, 1}},
      {1, 32, 1, 1, 16, {9, 9, 9, 9}},
      // many blocks
      {2, 32, 40, 70, 16},
      {1, 128, 33, 30, 64},
  };
  for (const Case& c : cases)
    for (Range range : {kAll, kRelu})
      for (std::int64_t zero : {0, -128, 127, 5}) {
        SCOPED_TRACE(zero);
        Tensor x = in_range(random_int8s({c.batch, c.channels, c.height, c.width}, 1), range);
        Tensor w = weights({c.columns, c.channels, 3, 3}, 2, 70);
        Tensor multiplier = random_floats({c.columns}, 3, 1e-4f, 3e-4f), bias = random_floats({c.columns}, 4);
        Tensor scale = Tensor::of<float>({1}, {2.5f});
        Tensor x_zero = zero == 0 ? Tensor() : Tensor::of<std::int8_t>({1}, {static_cast<std::int8_t>(zero)});
        const Shape out = {c.batch, c.columns, c.height + c.pads[0] + c.pads[1] - 2,
                           c.width + c.pads[2] + c.pads[3] - 2};
        Attrs attrs = {{"paddings", c.pads}};
        if (zero == 0) with_range(attrs, range);
        expect_winograd({x, w, multiplier, bias, scale, Tensor(), x_zero}, attrs);
        if (HasFatalFailure()) return;
        attrs["activation"] = std::string("hard_swish");
        expect_winograd({x, w, multiplier, bias, scale, random_floats(out, 5), x_zero}, attrs, 2);
        attrs["activation"] = std::string("relu");
        attrs["residual_step"] = 0.013;
        expect_winograd({x, w, multiplier, Tensor(), scale, random_int8s(out, 6), x_zero}, attrs);
        if (HasFatalFailure()) return;
      }
}

// Operands at the ends of their ranges, in every pattern of signs of a kernel's rows and columns, which is
// what makes transformed numbers large; and sums as large as they may be.
TEST(FastQConv2d, WinogradNeverOverflows) {
  for (std::int64_t channels : {32, 227})
    for (int x_pattern = 0; x_pattern < 4; ++x_pattern)
      for (int w_pattern = 0; w_pattern < 4; ++w_pattern)
        for (int large : {-128, 127}) {
          Tensor x(DType::kInt8, {1, channels, 23, 24}), w(DType::kInt8, {16, channels, 3, 3});
          auto fill = [](Tensor& tensor, int pattern, int value) {
            std::int64_t height = tensor.dim(2), width = tensor.dim(3), i = 0;
            for (std::int8_t& at : tensor.mutable_data<std::int8_t>()) {
              bool odd = (pattern & 1 && i % width / 2 % 2) != (pattern & 2 && i / width % height / 2 % 2);
              at = static_cast<std::int8_t>(odd ? -1 - value : value);
              ++i;
            }
          };
          fill(x, x_pattern, large);
          fill(w, w_pattern, 127);
          for (std::int8_t& value : w.mutable_data<std::int8_t>()) value = std::max<std::int8_t>(value, -127);
          expect_winograd({x, w, random_floats({16}, 3, 1e-4f, 3e-4f), Tensor(), Tensor()},
                          {{"paddings", Ints{1, 1, 1, 1}}});
          if (HasFatalFailure()) return;
        }
}

// Sums that 26 bits don't hold are left to the other kernel.
TEST(FastQConv2d, WinogradDeclinesLargeSums) {
  for (std::int64_t channels : {229, 230}) {
    Tensor w(DType::kInt8, {16, channels, 3, 3});
    std::ranges::fill(w.mutable_data<std::int8_t>(), std::int8_t{127});
    Tensor x = random_int8s({1, channels, 8, 9}, 1), multiplier = random_floats({16}, 2);
    Graph graph = testing::node_with_constants("qconv2d", {x, w, multiplier}, {}, {1, 2});
    for (const Isa& isa : isa_list())
      if (has_winograd(isa))
        testing::expect_kernel(graph, "qconv2d", channels == 229 ? "int8 winograd" : "int8 gemm",
                               std::string(isa.name));
  }
}

// Few large weights among small ones, so that what they are too much for 16 bits is added on its own.
TEST(FastQConv2d, TakesAFewLargeWeights) {
  const std::vector<Layer> list = {
      {{1, 32, 5, 5}, {24, 32, 1, 1}},
      {{1, 20, 4, 4}, {33, 20, 1, 1}},  // an odd number of units
      {{1, 14, 7, 6}, {17, 14, 3, 3}, {{"paddings", Ints{1, 1, 1, 1}}}},
      {{1, 3, 9, 9}, {16, 3, 5, 5}, {{"paddings", Ints{2, 2, 2, 2}}}},
      {{1, 64, 3, 4}, {12, 32, 3, 3}, {{"groups", std::int64_t{2}}, {"paddings", Ints{1, 1, 1, 1}}}},
  };
  for (const Layer& layer : list)
    for (int large : {127, -127, -128})
      for (Range range : {kAll, Range{-127, 127}, kRelu, kHardSwish, Range{-128, 0}})
        for (bool ends : {false, true}) {  // of the range, nothing else
          Tensor w = weights(layer.w, 2, 30), x = in_range(random_int8s(layer.x, 1), range);
          auto w_data = w.mutable_data<std::int8_t>();
          for (std::size_t i = 0; i < w_data.size(); ++i)
            if (i % 97 < 2) w_data[i] = static_cast<std::int8_t>(large);
          for (std::int8_t& value : x.mutable_data<std::int8_t>())
            if (ends) value = static_cast<std::int8_t>(value % 8 == 0 ? range.low : range.high);
          Attrs attrs = layer.attrs;
          with_range(attrs, range);
          expect_as_reference("qconv2d", "int8 gemm", {x, w, random_floats({layer.w[0]}, 3)}, attrs, {1, 2});
          if (HasFatalFailure()) return;
        }
}

TEST(FastQConv2d, HasEveryEpilogue) {
  Tensor x = random_int8s({1, 12, 9, 9}, 1), w = weights({21, 12, 3, 3}, 2, 70);
  Tensor multiplier = random_floats({21}, 3, 1e-4f, 3e-4f), bias = random_floats({21}, 4);
  for (const std::string& activation : testing::activation_names())
    for (const char* rounding : {"even", "away"})
      for (std::int64_t bits : {8, 5})
        for (float scale : {0.0f, 0.01f, 3.0f}) {
          Attrs attrs = {
              {"activation", std::string(activation)}, {"rounding", std::string(rounding)}, {"bits", bits}};
          Tensor out_scale = scale == 0 ? Tensor() : Tensor::of<float>({1}, {scale});
          expect_as_reference("qconv2d", "int8 gemm", {x, w, multiplier, bias, out_scale}, attrs,
                              {1, 2, 3, 4});
          if (HasFatalFailure()) return;
        }
  // Numbers that no float holds.
  bias.mutable_data<float>()[0] = NAN;
  bias.mutable_data<float>()[1] = INFINITY;
  bias.mutable_data<float>()[2] = -INFINITY;
  bias.mutable_data<float>()[3] = 3e38f;
  for (const char* activation : {"", "relu", "hard_swish"})
    for (const char* rounding : {"even", "away"})
      expect_as_reference("qconv2d", "int8 gemm", {x, w, multiplier, bias, Tensor::of<float>({1}, {1.0f})},
                          {{"activation", std::string(activation)}, {"rounding", std::string(rounding)}},
                          {1, 2, 3, 4});
}

TEST(FastQMatmul, GivesTheIntegersOfTheReference) {
  struct Case {
    Shape x;
    std::int64_t inner, columns;
  };
  for (const Case& c : std::vector<Case>{{{1, 64}, 64, 10},
                                         {{3, 17}, 17, 33},
                                         {{2, 5, 20}, 20, 7},
                                         {{70, 32}, 32, 48},
                                         {{1, 1}, 1, 1},
                                         {{1, 2, 3, 8}, 8, 9}})
    for (bool transposed : {false, true})
      for (Range range : {kAll, kRelu, kHardSwish})
        for (std::int64_t multipliers : {std::int64_t{1}, c.columns}) {
          Shape shape = transposed ? Shape{c.columns, c.inner} : Shape{c.inner, c.columns};
          Attrs attrs = {{"transpose_y", transposed}, {"activation", std::string("relu")}};
          with_range(attrs, range);
          expect_as_reference("qmatmul", "int8 gemm",
                              {in_range(random_int8s(c.x, 1), range), weights(shape, 2, 80),
                               random_floats({multipliers}, 3, 1e-4f, 2e-4f), random_floats({c.columns}, 4),
                               Tensor::of<float>({1}, {1.5f})},
                              attrs, {1, 2, 3, 4});
          if (HasFatalFailure()) return;
        }
  expect_as_reference("qmatmul", "int8 gemm",
                      {random_int8s({2, 3, 20}, 1), random_int8s({60, 2}, 5), random_floats({1}, 3)},
                      {{"x_num_col_dims", std::int64_t{1}}}, {1, 2});
}

TEST(FastQConv2dTranspose, GivesTheIntegersOfTheReference) {
  struct Case {
    Shape x, w;  // w: input channels, output channels of a group, kernel height and width
    Attrs attrs;
  };
  using Groups = std::int64_t;
  const std::vector<Case> cases = {
      {{1, 8, 5, 6}, {8, 12, 2, 2}, {{"strides", Ints{2, 2}}}},
      {{2, 6, 4, 5}, {6, 9, 3, 3}, {{"strides", Ints{2, 2}}, {"paddings", Ints{1, 1, 1, 1}}}},
      {{1, 16, 7, 3}, {16, 24, 4, 4}, {{"strides", Ints{2, 2}}, {"paddings", Ints{1, 1, 1, 1}}}},
      {{1, 5, 4, 4}, {5, 3, 2, 3}, {{"strides", Ints{3, 4}}, {"output_padding", Ints{1, 2}}}},
      {{1, 4, 6, 5}, {4, 8, 3, 3}, {{"dilations", Ints{2, 3}}, {"paddings", Ints{0, 1, 2, 0}}}},
      {{1, 4, 5, 5}, {4, 7, 3, 2}, {{"dilations", Ints{3, 2}}, {"strides", Ints{2, 3}}}},
      {{1, 12, 4, 4}, {12, 5, 2, 2}, {{"strides", Ints{2, 2}}, {"groups", Groups{3}}}},
      // outputs of a tap each
      {{1, 24, 9, 20}, {24, 1, 2, 2}, {{"strides", Ints{2, 2}}}},
      {{2, 9, 5, 6}, {9, 24, 2, 2}, {{"strides", Ints{2, 2}}}},
      {{1, 8, 6, 5}, {8, 2, 4, 3}, {{"strides", Ints{2, 3}}, {"paddings", Ints{1, 1, 0, 0}}}},
      {{1, 8, 3, 5}, {8, 6, 2, 2}, {{"strides", Ints{2, 2}}, {"output_padding", Ints{1, 1}}}},
      {{1, 8, 3, 5}, {8, 6, 2, 2}, {{"strides", Ints{2, 2}}, {"paddings", Ints{0, 0, 1, 0}}}},
      {{1, 6, 3, 3}, {6, 2, 3, 3}, {{"strides", Ints{2, 1}}, {"groups", Groups{6}}}},
      {{1, 8, 1, 1}, {8, 8, 1, 1}, {}},
      {{1, 3, 4, 60}, {3, 4, 1, 1}, {{"strides", Ints{9, 9}}}},
  };
  for (const Case& c : cases)
    for (Range range : {kAll, kRelu, kHardSwish})
      for (int size : {30, 128}) {
        Attrs attrs = c.attrs;
        with_range(attrs, range);
        attrs["activation"] = std::string("relu");
        auto it = attrs.find("groups");
        std::int64_t channels = c.w[1] * (it == attrs.end() ? 1 : std::get<std::int64_t>(it->second));
        bool declined = c.x[3] == 60;  // strides that leave too many parts
        expect_as_reference("qconv2d_transpose", declined ? "ref" : "int8 gemm",
                            {in_range(random_int8s(c.x, 1), range), weights(c.w, 2, size),
                             random_floats({channels}, 3, 1e-4f, 3e-4f), random_floats({channels}, 4),
                             Tensor::of<float>({1}, {2.0f})},
                            attrs, {1, 2, 3, 4}, 0, 2);
        if (HasFatalFailure()) return;
      }
}

// What is not constant can't be packed; the reference kernel runs it.
TEST(FastQConv2d, TakesWeightsThatAreNotConstant) {
  expect_as_reference("qconv2d", "ref",
                      {random_int8s({1, 4, 5, 5}, 1), random_int8s({6, 4, 3, 3}, 2), random_floats({6}, 3)},
                      {}, {});
}

}  // namespace
}  // namespace octet
