#pragma once
#include <string>
#include <vector>

#include "kernels/ref/random.h"
#include "support/graph_runner.h"

// Nodes to try the training ops on: each op with the forms that its attributes and inputs can take.
namespace octet::testing {

struct OpCase {
  std::string name;
  std::string op;
  std::vector<Tensor> inputs;  // Tensor(): absent
  Attrs attrs = {};
  int outputs = 1;
};

inline void PrintTo(const OpCase& c, std::ostream* out) {
  *out << c.op << ": " << c.name;
}

// Random floats, no two alike, so that a maximum is no close call.
inline Tensor floats(Shape shape, float low = -2, float high = 2) {
  static std::uint32_t seed = 100;
  return random_floats(std::move(shape), ++seed, low, high);
}

inline Tensor ints(const std::vector<std::int32_t>& values) {
  return Tensor::of<std::int32_t>({static_cast<std::int64_t>(values.size())}, values);
}

inline std::vector<OpCase> convolution_cases() {
  const auto x = [] { return floats({2, 4, 7, 6}); };
  std::vector<OpCase> cases = {
      {"plain", "conv2d", {x(), floats({3, 4, 3, 3})}},
      {"bias, paddings",
       "conv2d",
       {x(), floats({3, 4, 3, 3}), floats({3})},
       {{"paddings", Ints{1, 1, 1, 1}}}},
      {"other paddings on each side",
       "conv2d",
       {x(), floats({3, 4, 3, 2}), floats({3})},
       {{"paddings", Ints{0, 2, 1, 3}}, {"strides", Ints{2, 1}}}},
      {"strides, dilations",
       "conv2d",
       {x(), floats({2, 4, 2, 3})},
       {{"strides", Ints{2, 3}}, {"dilations", Ints{3, 2}}, {"paddings", Ints{1, 2, 2, 1}}}},
      {"groups", "conv2d", {x(), floats({6, 2, 3, 3}), floats({6})}, {{"groups", std::int64_t{2}}}},
      {"depthwise",
       "conv2d",
       {x(), floats({4, 1, 5, 5})},
       {{"groups", std::int64_t{4}}, {"paddings", Ints{2, 2, 2, 2}}, {"strides", Ints{2, 2}}}},
      {"same", "conv2d", {x(), floats({3, 4, 3, 2})}, {{"auto_pad", "same"}, {"strides", Ints{2, 2}}}},
      {"same with dilations",
       "conv2d",
       {x(), floats({3, 4, 3, 3})},
       {{"auto_pad", "same"}, {"dilations", Ints{2, 2}}}},
      {"valid",
       "conv2d",
       {x(), floats({3, 4, 3, 2})},
       {{"auto_pad", "valid"}, {"paddings", Ints{1, 1, 1, 1}}}},
      {"plain", "conv2d_transpose", {x(), floats({4, 3, 3, 3})}},
      {"bias, stride",
       "conv2d_transpose",
       {x(), floats({4, 3, 3, 3}), floats({3})},
       {{"strides", Ints{2, 2}}}},
      {"stride larger than kernel",
       "conv2d_transpose",
       {x(), floats({4, 3, 2, 2}), floats({3})},
       {{"strides", Ints{3, 4}}}},
      {"other paddings on each side",
       "conv2d_transpose",
       {x(), floats({4, 3, 3, 4}), floats({3})},
       {{"paddings", Ints{0, 1, 2, 1}}, {"strides", Ints{2, 1}}}},
      {"dilations, groups",
       "conv2d_transpose",
       {x(), floats({4, 2, 3, 2}), floats({4})},
       {{"dilations", Ints{2, 3}}, {"groups", std::int64_t{2}}, {"paddings", Ints{1, 1, 1, 1}}}},
      {"output padding",
       "conv2d_transpose",
       {x(), floats({4, 3, 3, 3}), floats({3})},
       {{"strides", Ints{2, 2}}, {"output_padding", Ints{1, 1}}}},
      {"output padding, paddings, no bias",
       "conv2d_transpose",
       {x(), floats({4, 3, 3, 3})},
       {{"strides", Ints{3, 2}}, {"output_padding", Ints{2, 0}}, {"paddings", Ints{1, 1, 1, 1}}}},
      {"output size",
       "conv2d_transpose",
       {x(), floats({4, 3, 3, 3}), floats({3})},
       {{"strides", Ints{2, 2}}, {"output_size", Ints{16, 13}}}},
      {"same",
       "conv2d_transpose",
       {x(), floats({4, 3, 3, 3})},
       {{"strides", Ints{2, 2}}, {"auto_pad", "same"}}},
  };
  return cases;
}

inline std::vector<OpCase> matmul_cases() {
  return {
      {"2-D", "matmul", {floats({3, 4}), floats({4, 5})}},
      {"2-D with bias", "matmul", {floats({3, 4}), floats({4, 5}), floats({5})}},
      {"transposed x", "matmul", {floats({4, 3}), floats({4, 5})}, {{"transpose_x", true}}},
      {"transposed y, alpha, bias",
       "matmul",
       {floats({3, 4}), floats({5, 4}), floats({5})},
       {{"transpose_y", true}, {"alpha", 0.5}}},
      {"batches", "matmul", {floats({2, 3, 4}), floats({2, 4, 5}), floats({5})}},
      {"batches that broadcast", "matmul", {floats({2, 1, 3, 4}), floats({3, 4, 2})}, {{"alpha", -1.5}}},
      {"both transposed",
       "matmul",
       {floats({2, 4, 3}), floats({2, 5, 4})},
       {{"transpose_x", true}, {"transpose_y", true}}},
      {"1-D x", "matmul", {floats({4}), floats({4, 5})}},
      {"1-D y", "matmul", {floats({2, 3, 4}), floats({4})}},
      {"two 1-D", "matmul", {floats({4}), floats({4})}},
      {"plain", "matmul_flat", {floats({3, 4}), floats({4, 5})}},
      {"image", "matmul_flat", {floats({2, 3, 2, 2}), floats({12, 5}), floats({5})}},
      {"two leading dims",
       "matmul_flat",
       {floats({2, 3, 4}), floats({4, 5}), floats({5})},
       {{"x_num_col_dims", std::int64_t{2}}}},
      {"y of rank 3",
       "matmul_flat",
       {floats({2, 6}), floats({2, 3, 5})},
       {{"y_num_col_dims", std::int64_t{2}}}},
      {"y whose last dims stay", "matmul_flat", {floats({2, 3}), floats({3, 2, 2})}},
  };
}

inline std::vector<OpCase> normalisation_cases() {
  return {
      {"plain", "layer_norm", {floats({3, 4, 5})}},
      {"scale and bias", "layer_norm", {floats({3, 4, 5}), floats({20}), floats({20})}, {{"epsilon", 1e-3}}},
      {"last dim",
       "layer_norm",
       {floats({3, 4, 5}), floats({5}), floats({5})},
       {{"begin_norm_axis", std::int64_t{2}}}},
      {"counted from behind",
       "layer_norm",
       {floats({3, 4, 5}), floats({5}), floats({5})},
       {{"begin_norm_axis", std::int64_t{-1}}}},
      {"bias alone", "layer_norm", {floats({3, 4}), Tensor(), floats({4})}},
      {"scale alone", "layer_norm", {floats({3, 4}), floats({4})}},
      {"not centered",
       "layer_norm",
       {floats({3, 4, 5}), floats({5})},
       {{"begin_norm_axis", std::int64_t{2}}, {"centered", false}}},
      {"two groups",
       "group_norm",
       {floats({2, 4, 3}), floats({4}), floats({4})},
       {{"groups", std::int64_t{2}}}},
      {"one a channel", "group_norm", {floats({2, 4, 3, 2})}},
      {"last axis", "log_softmax", {floats({2, 3, 4})}},
      {"last axis", "softmax", {floats({2, 3, 4})}},
      {"first axis", "softmax", {floats({2, 3, 4})}, {{"axis", std::int64_t{0}}}},
      {"axis -2", "softmax", {floats({2, 3, 4})}, {{"axis", std::int64_t{-2}}}},
      {"large numbers", "softmax", {floats({2, 3}, 80, 100)}},
  };
}

inline std::vector<OpCase> activation_cases() {
  const auto x = [](float range = 2) { return floats({2, 3, 4}, -range, range); };
  return {
      {"", "relu", {x()}},
      {"", "sigmoid", {x()}},
      {"", "tanh", {x()}},
      {"", "exp", {x()}},
      {"", "sqrt", {floats({2, 3, 4}, 0.1f, 3)}},
      {"", "abs", {x()}},
      {"", "relu6", {x(9)}},
      {"threshold", "relu6", {x(3)}, {{"threshold", 1.5}}},
      {"", "leaky_relu", {x()}},
      {"alpha", "leaky_relu", {x()}, {{"alpha", 0.3}}},
      {"", "hard_sigmoid", {x(4)}},
      {"a sixth", "hard_sigmoid", {x(4)}, {{"slope", 1.0 / 6}, {"offset", 0.5}}},
      {"nearly a sixth, as files have it",
       "hard_sigmoid",
       {x(4)},
       {{"slope", 0.1666666716337204}, {"offset", 0.5}}},
      {"other slope", "hard_sigmoid", {x(4)}, {{"slope", 0.4}, {"offset", 0.3}}},
      {"", "hard_swish", {x(5)}},
      {"other bounds", "hard_swish", {x(5)}, {{"threshold", 4.0}, {"scale", 5.0}, {"offset", 1.0}}},
      {"", "swish", {x()}},
      {"beta", "swish", {x()}, {{"beta", 1.7}}},
      {"", "gelu", {x()}},
      {"approximate", "gelu", {x()}, {{"approximate", true}}},
      {"", "elu", {x()}},
      {"alpha", "elu", {x()}, {{"alpha", 0.5}}},
      {"", "softplus", {x()}},
      {"", "mish", {x()}},
      {"", "erf", {x()}},
      {"", "log", {floats({2, 3, 4}, 0.1f, 3)}},
      {"nothing to clip at", "clip", {x()}},
      {"attributes", "clip", {x()}, {{"min", -0.5}, {"max", 0.75}}},
      {"inputs",
       "clip",
       {x(), Tensor::of<float>({1}, {-1}), Tensor::of<float>({1}, {0.25f})},
       {{"min", -0.5}, {"max", 0.75}}},
      {"one input", "clip", {x(), Tensor(), Tensor::of<float>({1}, {0.25f})}, {{"min", -0.5}}},
      {"as it runs", "dropout", {x()}},
      {"downgrade", "dropout", {x()}, {{"p", 0.3}, {"mode", "downgrade_in_infer"}}},
  };
}

inline std::vector<OpCase> elementwise_cases() {
  std::vector<OpCase> cases;
  for (const char* op : {"add", "sub", "mul", "div", "max", "min", "pow"}) {
    const std::string name = op;
    // Away from 0, where div and pow have no derivative.
    const auto a = [](Shape shape) { return floats(std::move(shape), 0.5f, 2); };
    cases.push_back({"same shapes", name, {a({2, 3, 4}), a({2, 3, 4})}});
    cases.push_back({"as numpy", name, {a({2, 1, 4}), a({3, 1})}});
    cases.push_back({"y in the middle", name, {a({2, 3, 4, 5}), a({3, 4})}, {{"axis", std::int64_t{1}}}});
    cases.push_back({"y in front", name, {a({2, 3, 4}), a({2})}, {{"axis", std::int64_t{0}}}});
    cases.push_back({"x is the lower one", name, {a({3}), a({2, 3, 4})}, {{"axis", std::int64_t{1}}}});
    cases.push_back(
        {"equal ranks and 1s at the end", name, {a({2, 3, 4}), a({3, 1, 1})}, {{"axis", std::int64_t{1}}}});
    cases.push_back({"too many 1s at the end", name, {a({2, 3, 4}), a({4, 1})}, {{"axis", std::int64_t{2}}}});
    cases.push_back({"1s in both", name, {a({2, 1, 4}), a({3, 1})}, {{"axis", std::int64_t{1}}}});
    cases.push_back({"equal ranks and an axis", name, {a({2, 3}), a({1, 3})}, {{"axis", std::int64_t{0}}}});
    cases.push_back({"integers", name, {ints({7, -9, 3, 5}), ints({2, 2, 1, 3})}});
  }
  const auto x = [] { return floats({2, 3}); };
  cases.insert(cases.end(),
               {{"one slope a channel", "prelu", {floats({2, 3, 4}), floats({3, 1})}},
                {"nothing", "scale", {x()}},
                {"scale and bias", "scale", {x()}, {{"scale", 2.5}, {"bias", -1.0}}},
                {"bias first", "scale", {x()}, {{"scale", 2.5}, {"bias", -1.0}, {"bias_after_scale", false}}},
                {"input", "scale", {x(), Tensor::of<float>({1}, {3})}, {{"scale", 2.5}, {"bias", 0.5}}},
                {"integers", "scale", {ints({1, -2, 3})}, {{"scale", 2.9}, {"bias", 1.9}}},
                {"integers, bias first",
                 "scale",
                 {ints({1, -2, 3})},
                 {{"scale", 3.0}, {"bias", -1.0}, {"bias_after_scale", false}}},
                {"to int32", "cast", {floats({5}, -4, 4)}, {{"dtype", "int32"}}},
                {"to int64", "cast", {floats({5}, -4, 4)}, {{"dtype", "int64"}}},
                {"to float32", "cast", {ints({1, -2, 3})}, {{"dtype", "float32"}}},
                {"to bool", "cast", {ints({1, 0, 3})}, {{"dtype", "bool"}}},
                {"beyond int32",
                 "cast",
                 {Tensor::of<float>({5}, {3e9f, -3e9f, 1e30f, 2.9f, -2.9f})},
                 {{"dtype", "int32"}}},
                {"NaN to int32", "cast", {Tensor::of<float>({2}, {NAN, 1})}, {{"dtype", "int32"}}},
                {"NaN and beyond to int64",
                 "cast",
                 {Tensor::of<float>({4}, {NAN, 1e30f, -1e30f, 7})},
                 {{"dtype", "int64"}}},
                {"low bits", "cast", {ints({300, -200})}, {{"dtype", "int8"}}},
                {"", "identity", {x()}},
                {"", "observe", {x()}},
                {"with a scale", "observe", {x(), floats({1}, 1, 2)}}});
  return cases;
}

inline std::vector<OpCase> pool_cases() {
  std::vector<OpCase> cases;
  for (const char* type : {"max", "avg"}) {
    for (bool exclusive : {true, false}) {
      if (std::string(type) == "max" && !exclusive) continue;
      const auto add = [&](const std::string& name, Attrs attrs, Shape shape = {2, 3, 7, 6}) {
        attrs["type"] = type;
        attrs["exclusive"] = exclusive;
        cases.push_back({std::string(type) + (exclusive ? " " : " inclusive ") + name,
                         "pool2d",
                         {floats(std::move(shape))},
                         std::move(attrs)});
      };
      add("plain", {{"kernel", Ints{2, 3}}, {"strides", Ints{2, 2}}});
      add("paddings", {{"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"paddings", Ints{1, 1, 1, 1}}});
      add("other paddings on each side",
          {{"kernel", Ints{3, 3}}, {"strides", Ints{2, 1}}, {"paddings", Ints{0, 2, 1, 0}}});
      add("more padding behind",
          {{"kernel", Ints{3, 3}}, {"strides", Ints{1, 1}}, {"paddings", Ints{0, 2, 0, 2}}});
      add("more padding before",
          {{"kernel", Ints{3, 3}}, {"strides", Ints{1, 1}}, {"paddings", Ints{2, 0, 2, 0}}});
      add("ceil_mode", {{"kernel", Ints{2, 2}}, {"strides", Ints{2, 4}}, {"ceil_mode", true}});
      add("ceil_mode, paddings", {{"kernel", Ints{3, 3}},
                                  {"strides", Ints{3, 2}},
                                  {"paddings", Ints{1, 1, 1, 1}},
                                  {"ceil_mode", true}});
      add("a window outside of the picture",
          {{"kernel", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"paddings", Ints{0, 3, 2, 0}}});
      add("same", {{"kernel", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"auto_pad", "same"}});
      add("valid", {{"kernel", Ints{3, 2}}, {"strides", Ints{2, 2}}, {"auto_pad", "valid"}});
      add("a window larger than the picture", {{"kernel", Ints{8, 7}}, {"strides", Ints{2, 2}}});
      add("global", {{"global", true}, {"kernel", Ints{2, 2}}});
      add("adaptive", {{"adaptive", true}, {"kernel", Ints{3, 4}}});
      add("adaptive to more than there is", {{"adaptive", true}, {"kernel", Ints{9, 1}}});
      add("adaptive and global", {{"adaptive", true}, {"global", true}, {"kernel", Ints{3, 4}}});
    }
  }
  return cases;
}

inline std::vector<OpCase> resize_cases() {
  std::vector<OpCase> cases;
  for (const char* mode : {"nearest", "bilinear"}) {
    for (const bool align : {false, true}) {
      for (const std::int64_t align_mode : {0, 1}) {
        const auto add = [&](const std::string& name, Attrs attrs, std::vector<Tensor> more = {}) {
          attrs["mode"] = mode;
          attrs["align_corners"] = align;
          attrs["align_mode"] = align_mode;
          std::vector<Tensor> inputs = {floats({2, 3, 5, 4})};
          inputs.insert(inputs.end(), more.begin(), more.end());
          cases.push_back({fmt::format("{}{} mode {} {}", mode, align ? " aligned" : "", align_mode, name),
                           "resize", std::move(inputs), std::move(attrs)});
        };
        const auto size = [](std::int64_t h, std::int64_t w) { return Attrs{{"out_h", h}, {"out_w", w}}; };
        add("up", size(10, 8));
        add("by odd factors", size(7, 11));
        add("by factors that floats round", size(49, 41));
        add("down", size(3, 2));
        add("to one row", size(1, 6));
        add("to the same", size(5, 4));
        add("one factor", {{"scale", std::vector<double>{2.0}}});
        add("two factors", {{"scale", std::vector<double>{1.3, 0.7}}});
        add("factor as input", {}, {Tensor(), Tensor::of<float>({1}, {1.7f})});
        add("size as input", {}, {ints({9, 3})});
        add("size as input and a factor", {{"scale", std::vector<double>{1.9}}}, {ints({9, 7})});
        add("sizes as tensors", {{"scale", std::vector<double>{1.9}}},
            {Tensor(), Tensor(), ints({8}), ints({5})});
      }
    }
  }
  return cases;
}

inline std::vector<OpCase> pad_cases() {
  std::vector<OpCase> cases;
  for (const char* mode : {"constant", "reflect", "replicate", "circular"}) {
    const auto add = [&](const std::string& name, Ints pads, Shape shape = {2, 3, 4, 5}) {
      cases.push_back({std::string(mode) + " " + name,
                       "pad",
                       {floats(std::move(shape))},
                       {{"mode", mode}, {"paddings", std::move(pads)}, {"value", 1.5}}});
    };
    add("four", {1, 2, 2, 1});
    add("six for a picture", {2, 1, 0, 3, 0, 0});
    add("none", {0, 0, 0, 0});
    add("three dimensions", {1, 2, 2, 1, 1, 1}, {1, 2, 3, 4, 5});
    cases.push_back({std::string(mode) + " as input",
                     "pad",
                     {floats({2, 3, 4, 5}), ints({1, 0, 2, 1})},
                     {{"mode", mode}, {"paddings", Ints{3, 3, 3, 3}}}});
    add("negative", {-1, 2, 1, -2});
  }
  return cases;
}

inline std::vector<OpCase> shape_cases() {
  const auto x = [] { return floats({2, 3, 4}); };
  const std::int64_t one = 1, two = 2, minus_one = -1;
  return {
      {"attribute", "reshape", {x()}, {{"shape", Ints{0, -1}}}},
      {"as input", "reshape", {x(), ints({4, -1, 2})}, {{"shape", Ints{24}}}},
      {"as tensors", "reshape", {x(), Tensor(), ints({6}), ints({4})}, {{"shape", Ints{24}}}},
      {"picture", "reshape", {floats({2, 4, 3, 5})}, {{"shape", Ints{0, 2, 2, 3, 5}}}},
      {"", "flatten", {floats({2, 3, 4, 5})}},
      {"some", "flatten", {floats({2, 3, 4, 5})}, {{"start_axis", one}, {"stop_axis", two}}},
      {"from behind",
       "flatten",
       {floats({2, 3, 4, 5})},
       {{"start_axis", std::int64_t{-3}}, {"stop_axis", std::int64_t{-2}}}},
      {"all", "squeeze", {floats({1, 3, 1, 4})}},
      {"some", "squeeze", {floats({1, 3, 1, 4})}, {{"axes", Ints{-2, 1}}}},
      {"as input", "squeeze", {floats({1, 3, 1, 4}), ints({0})}},
      {"", "unsqueeze", {x()}, {{"axes", Ints{0, 2}}}},
      {"from behind", "unsqueeze", {x()}, {{"axes", Ints{-1}}}},
      {"as input", "unsqueeze", {x(), ints({1, -1})}},
      {"", "transpose", {floats({2, 3, 4, 5})}, {{"perm", Ints{0, 2, 3, 1}}}},
      {"of two", "transpose", {floats({2, 3})}, {{"perm", Ints{1, 0}}}},
      {"", "concat", {Tensor(), floats({2, 3}), floats({1, 3})}},
      {"last axis",
       "concat",
       {Tensor(), floats({2, 3}), floats({2, 1}), floats({2, 2})},
       {{"axis", minus_one}}},
      {"axis as input", "concat", {ints({1}), floats({2, 3}), floats({2, 1})}, {{"axis", std::int64_t{0}}}},
      {"one", "concat", {Tensor(), floats({2, 3})}},
      {"integers", "concat", {Tensor(), ints({1, 2}), ints({3})}},
      {"num", "split", {floats({2, 6})}, {{"axis", one}, {"num", std::int64_t{3}}}, 3},
      {"sections", "split", {floats({2, 6})}, {{"axis", minus_one}, {"sections", Ints{1, 3, 2}}}, 3},
      {"the rest", "split", {floats({6, 2})}, {{"sections", Ints{1, -1, 2}}}, 3},
      {"axis as input", "split", {floats({2, 6}), ints({1})}, {{"num", two}}, 2},
      {"",
       "slice",
       {floats({4, 5, 6})},
       {{"axes", Ints{0, 2}}, {"starts", Ints{1, -3}}, {"ends", Ints{3, 100}}}},
      {"dropped axes",
       "slice",
       {floats({4, 5, 6})},
       {{"axes", Ints{0, 1}}, {"starts", Ints{2, 1}}, {"ends", Ints{3, 4}}, {"decrease_axes", Ints{0}}}},
      {"two dropped axes",
       "slice",
       {floats({4, 5, 6})},
       {{"axes", Ints{0, 2}}, {"starts", Ints{-1, 1}}, {"ends", Ints{4, 2}}, {"decrease_axes", Ints{0, 2}}}},
      {"nothing left",
       "slice",
       {ints({1, 2, 3})},
       {{"axes", Ints{0}}, {"starts", Ints{1}}, {"ends", Ints{2}}, {"decrease_axes", Ints{0}}}},
      {"inputs",
       "slice",
       {floats({4, 5}), ints({1}), ints({3})},
       {{"axes", Ints{1}}, {"starts", Ints{0}}, {"ends", Ints{1}}}},
      {"items",
       "slice",
       {floats({4, 5}), Tensor(), Tensor(), ints({1}), ints({0}), ints({3}), ints({2})},
       {{"axes", Ints{0, 1}}, {"starts_items", two}}},
      {"in steps",
       "slice",
       {floats({7, 5})},
       {{"axes", Ints{0, 1}}, {"starts", Ints{1, 4}}, {"ends", Ints{6, 0}}, {"steps", Ints{2, -3}}}},
      {"rows", "gather", {floats({4, 3}), ints({2, 0, -1, 2})}},
      {"another axis",
       "gather",
       {floats({2, 4, 3}), Tensor::of<std::int64_t>({2, 1}, {3, -4})},
       {{"axis", std::int64_t{1}}}},
      {"", "shape", {x()}},
      {"wide", "shape", {x()}, {{"dtype", "int64"}}},
      {"attributes", "full", {}, {{"shape", Ints{2, 3}}, {"value", 1.5}}},
      {"shape and value as inputs",
       "full",
       {ints({3, 1}), Tensor::of<float>({1}, {-2})},
       {{"shape", Ints{2, 3}}, {"value", 1.5}}},
      {"integers", "full", {}, {{"shape", Ints{2}}, {"value", 7.0}, {"dtype", "int64"}}},
      {"dims as tensors", "full", {Tensor(), Tensor(), ints({2}), ints({2})}, {{"value", 0.5}}},
      {"", "arg_max", {x()}},
      {"first axis", "arg_max", {x()}, {{"axis", std::int64_t{0}}, {"keepdims", true}}},
      {"flat", "arg_max", {x()}, {{"flatten", true}, {"dtype", "int32"}}},
      {"flat, dims kept", "arg_max", {x()}, {{"flatten", true}, {"keepdims", true}}},
      {"axis as input", "arg_max", {x(), ints({1})}},
      {"the last of equal ones",
       "arg_max",
       {Tensor::of<float>({2, 4}, {1, 3, 3, 0, 2, 2, 2, 2})},
       {{"last", true}}},
      {"the first of equal ones", "arg_max", {Tensor::of<float>({2, 4}, {1, 3, 3, 0, 2, 2, 2, 2})}},
  };
}

inline std::vector<OpCase> reduction_cases() {
  std::vector<OpCase> cases;
  for (const char* op : {"reduce_mean", "reduce_sum", "reduce_max", "reduce_min"}) {
    const auto x = [] { return floats({2, 3, 4}); };
    cases.push_back({"all without axes", op, {x()}});
    cases.push_back({"one axis", op, {x()}, {{"axes", Ints{1}}}});
    cases.push_back({"axes from behind, kept", op, {x()}, {{"axes", Ints{-1, 0}}, {"keepdims", true}}});
    cases.push_back({"all", op, {x()}, {{"axes", Ints{1}}, {"all", true}}});
    cases.push_back({"all, kept", op, {x()}, {{"all", true}, {"keepdims", true}}});
    cases.push_back({"axes as input", op, {x(), ints({-1})}});
    cases.push_back({"picture", op, {floats({2, 3, 4, 5})}, {{"axes", Ints{2, 3}}}});
    if (std::string(op) != "reduce_mean") cases.push_back({"integers", op, {ints({4, -5, 6})}});
  }
  return cases;
}

inline const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> all = [] {
    std::vector<OpCase> cases;
    for (const auto& some :
         {convolution_cases(), matmul_cases(), normalisation_cases(), activation_cases(), elementwise_cases(),
          pool_cases(), resize_cases(), pad_cases(), shape_cases(), reduction_cases()})
      cases.insert(cases.end(), some.begin(), some.end());
    return cases;
  }();
  return all;
}

}  // namespace octet::testing
