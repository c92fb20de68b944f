#include <gmock/gmock.h>

#include <cmath>

#include "graph/ops/infer.h"
#include "support/graph_runner.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::run_node;
using testing::values;

Tensor counting(Shape shape, float first = 1) {
  Tensor tensor(DType::kFloat32, std::move(shape));
  for (float& v : tensor.mutable_data<float>()) v = first++;
  return tensor;
}

// x and y of the same rank, index by index: slow and obviously right.
std::vector<float> subtract(const Tensor& x, const Shape& x_shape, const Tensor& y, const Shape& y_shape,
                            const Shape& out) {
  std::vector<float> result;
  for (std::int64_t i = 0; i < element_count(out); ++i) {
    std::int64_t rest = i, x_at = 0, y_at = 0, x_step = 1, y_step = 1;
    for (std::size_t d = out.size(); d-- > 0; rest /= out[d]) {
      x_at += x_shape[d] == 1 ? 0 : rest % out[d] * x_step;
      y_at += y_shape[d] == 1 ? 0 : rest % out[d] * y_step;
      x_step *= x_shape[d];
      y_step *= y_shape[d];
    }
    result.push_back(x.data<float>()[static_cast<std::size_t>(x_at)] -
                     y.data<float>()[static_cast<std::size_t>(y_at)]);
  }
  return result;
}

TEST(RefElementwise, BroadcastsEveryWay) {
  struct Case {
    Shape x, y;
    std::int64_t axis;
    Shape x_full, y_full, out;
  };
  const Case cases[] = {
      {{}, {}, -1, {}, {}, {}},
      {{7}, {7}, -1, {7}, {7}, {7}},
      {{2, 3, 4, 5}, {2, 3, 4, 5}, -1, {2, 3, 4, 5}, {2, 3, 4, 5}, {2, 3, 4, 5}},
      {{2, 3, 4, 5}, {5}, -1, {2, 3, 4, 5}, {1, 1, 1, 5}, {2, 3, 4, 5}},
      {{2, 3, 4, 5}, {3}, 1, {2, 3, 4, 5}, {1, 3, 1, 1}, {2, 3, 4, 5}},
      {{2, 3, 4, 5}, {3, 4}, 1, {2, 3, 4, 5}, {1, 3, 4, 1}, {2, 3, 4, 5}},
      {{2, 3, 4, 5}, {2, 3, 1, 1}, -1, {2, 3, 4, 5}, {2, 3, 1, 1}, {2, 3, 4, 5}},
      {{2, 3, 1, 1}, {2, 3, 4, 5}, -1, {2, 3, 1, 1}, {2, 3, 4, 5}, {2, 3, 4, 5}},
      {{2, 1, 4, 1}, {1, 3, 1, 5}, -1, {2, 1, 4, 1}, {1, 3, 1, 5}, {2, 3, 4, 5}},
      {{4}, {3, 1}, -1, {1, 4}, {3, 1}, {3, 4}},
      {{2, 3}, {}, -1, {2, 3}, {1, 1}, {2, 3}},
      {{1, 1}, {1}, -1, {1, 1}, {1, 1}, {1, 1}},
      {{3, 4}, {2, 3, 4, 5}, 1, {1, 3, 4, 1}, {2, 3, 4, 5}, {2, 3, 4, 5}},
      {{0, 3}, {3}, -1, {0, 3}, {1, 3}, {0, 3}},
      {{2, 40000}, {40000}, -1, {2, 40000}, {1, 40000}, {2, 40000}},  // blocks end inside rows
      {{40000, 2}, {40000, 1}, -1, {40000, 2}, {40000, 1}, {40000, 2}},
  };
  for (const Case& c : cases) {
    Tensor x = counting(c.x), y = counting(c.y, 1000);
    Tensor z = run_node("sub", {x, y}, {{"axis", c.axis}}, 3);
    EXPECT_EQ(z.shape(), c.out);
    EXPECT_EQ(values<float>(z), subtract(x, c.x_full, y, c.y_full, c.out))
        << to_string(c.x) << " - " << to_string(c.y);
  }
}

TEST(RefElementwise, Floats) {
  Tensor x = Tensor::of<float>({3}, {1, -2, 9}), y = Tensor::of<float>({3}, {4, 3, 0.5f});
  auto run = [&](const std::string& op) { return values<float>(run_node(op, {x, y})); };
  EXPECT_THAT(run("add"), ElementsAre(5, 1, 9.5f));
  EXPECT_THAT(run("sub"), ElementsAre(-3, -5, 8.5f));
  EXPECT_THAT(run("mul"), ElementsAre(4, -6, 4.5f));
  EXPECT_THAT(run("div"), ElementsAre(0.25f, -2 / 3.0f, 18));
  EXPECT_THAT(run("max"), ElementsAre(4, 3, 9));
  EXPECT_THAT(run("min"), ElementsAre(1, -2, 0.5f));
  EXPECT_THAT(run("pow"), ElementsAre(1, -8, 3));
}

template <class T>
void test_integers() {
  constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  Tensor x = Tensor::of<T>({4}, {7, -7, kMin, kMax}), y = Tensor::of<T>({4}, {2, 2, -1, 1});
  auto run = [&](const std::string& op) { return values<T>(run_node(op, {x, y})); };
  EXPECT_THAT(run("add"), ElementsAre(9, -5, kMax, kMin)) << "wraps around";
  EXPECT_THAT(run("sub"), ElementsAre(5, -9, kMin + 1, kMax - 1));
  EXPECT_THAT(run("mul"), ElementsAre(14, -14, kMin, kMax));
  EXPECT_THAT(run("div"), ElementsAre(3, -3, kMin, kMax)) << "towards zero";
  EXPECT_THAT(run("max"), ElementsAre(7, 2, -1, kMax));
  EXPECT_THAT(run("min"), ElementsAre(2, -7, kMin, 1));
  Tensor base = Tensor::of<T>({6}, {3, -2, 2, 1, -1, 0}),
         exponent = Tensor::of<T>({6}, {4, 3, -1, -5, -3, 0});
  EXPECT_THAT(values<T>(run_node("pow", {base, exponent})), ElementsAre(81, -8, 0, 1, -1, 1));
  Tensor zero = Tensor::of<T>({1}, {0}), minus = Tensor::of<T>({1}, {-1});
  EXPECT_THAT(error_of([&] { run_node("div", {x, zero}); }), HasSubstr("divided by 0"));
  EXPECT_THAT(error_of([&] { run_node("pow", {zero, minus}); }), HasSubstr("negative power"));
}

TEST(RefElementwise, Integers) {
  test_integers<std::int32_t>();
  test_integers<std::int64_t>();
}

TEST(RefElementwise, Scale) {
  Tensor x = Tensor::of<float>({2}, {1, 3});
  EXPECT_THAT(values<float>(run_node("scale", {x}, {{"scale", 2.0}, {"bias", 0.5}})),
              ElementsAre(2.5f, 6.5f));
  EXPECT_THAT(
      values<float>(run_node("scale", {x}, {{"scale", 2.0}, {"bias", 0.5}, {"bias_after_scale", false}})),
      ElementsAre(3, 7));
  EXPECT_THAT(values<float>(run_node("scale", {x, Tensor::of<float>({1}, {10})}, {{"scale", 2.0}})),
              ElementsAre(10, 30));
  Tensor n = Tensor::of<std::int64_t>({2}, {5, -5});
  EXPECT_THAT(values<std::int64_t>(run_node("scale", {n}, {{"scale", 3.0}, {"bias", 1.0}})),
              ElementsAre(16, -14));
}

TEST(RefElementwise, CastAndIdentity) {
  Tensor x = Tensor::of<float>({3}, {1.9f, -1.9f, 0});
  EXPECT_THAT(values<std::int32_t>(run_node("cast", {x}, {{"dtype", "int32"}})), ElementsAre(1, -1, 0));
  EXPECT_THAT(values<bool>(run_node("cast", {x}, {{"dtype", "bool"}})), ElementsAre(true, true, false));
  Tensor bytes = Tensor::of<std::int8_t>({2, 1}, {-5, 6}), same = run_node("identity", {bytes});
  EXPECT_EQ(same.shape(), (Shape{2, 1}));
  EXPECT_THAT(values<std::int8_t>(same), ElementsAre(-5, 6));
}

TEST(RefElementwise, SmallIntegersWrapAround) {
  Tensor x = Tensor::of<std::uint8_t>({2}, {200, 7}), y = Tensor::of<std::uint8_t>({2}, {100, 3});
  EXPECT_THAT(values<std::uint8_t>(run_node("add", {x, y})), ElementsAre(44, 10));
  EXPECT_THAT(values<std::uint8_t>(run_node("mul", {x, y})), ElementsAre(32, 21));
  EXPECT_THAT(values<std::uint8_t>(run_node("div", {x, y})), ElementsAre(2, 2));
  Tensor least = Tensor::of<std::int8_t>({1}, {-128}), minus = Tensor::of<std::int8_t>({1}, {-1});
  EXPECT_THAT(values<std::int8_t>(run_node("div", {least, minus})), ElementsAre(-128));
  EXPECT_THAT(values<double>(run_node("sub", {Tensor::scalar(1.0), Tensor::scalar(1e-12)})),
              ElementsAre(1.0 - 1e-12));
}

TEST(RefElementwise, Mod) {
  Tensor x = Tensor::of<std::int32_t>({4}, {-4, 7, 5, -7}), y = Tensor::of<std::int32_t>({4}, {2, -3, 8, 3});
  EXPECT_THAT(values<std::int32_t>(run_node("mod", {x, y})), ElementsAre(0, -2, 5, 2));
  EXPECT_THAT(values<std::int32_t>(run_node("mod", {x, y}, {{"truncated", true}})), ElementsAre(0, 1, 5, -1));
  Tensor a = Tensor::of<float>({2}, {-4.5f, 5}), b = Tensor::of<float>({2}, {2, -3});
  EXPECT_THAT(values<float>(run_node("mod", {a, b}, {{"truncated", true}})), ElementsAre(-0.5f, 2));
  EXPECT_THAT(values<float>(run_node("mod", {a, b})), ElementsAre(1.5f, -1));
  EXPECT_THROW(run_node("mod", {x, Tensor::scalar<std::int32_t>(0)}), Error);
}

TEST(RefElementwise, Prelu) {
  Tensor x = Tensor::of<float>({1, 2, 2}, {-1, 2, -3, 4}), slope = Tensor::of<float>({2, 1}, {0.5f, 2});
  EXPECT_THAT(values<float>(run_node("prelu", {x, slope})), ElementsAre(-0.5f, 2, -6, 4));
  EXPECT_THROW(run_node("prelu", {Tensor::of<float>({1}, {1}), slope}), Error) << "the slope is the larger";
}

TEST(RefElementwise, CastToSixteenBits) {
  Tensor x = Tensor::of<float>({6}, {1, 65519, 65520, 5.9604645e-8f, 1.00048828125f, -0.1f});
  Tensor half = run_node("cast", {x}, {{"dtype", "float16"}});
  const auto* bits = reinterpret_cast<const std::uint16_t*>(half.bytes().data());
  EXPECT_THAT(std::vector<std::uint16_t>(bits, bits + 6),
              ElementsAre(0x3c00, 0x7bff, 0x7c00, 0x0001, 0x3c00, 0xae66));
  Tensor back = run_node("cast", {half}, {{"dtype", "float32"}});
  EXPECT_EQ(values<float>(back)[3], 5.9604645e-8f);
  Tensor bfloat = run_node("cast", {x}, {{"dtype", "bfloat16"}});
  EXPECT_EQ(*reinterpret_cast<const std::uint16_t*>(bfloat.bytes().data()), 0x3f80);
}

}  // namespace
}  // namespace octet
