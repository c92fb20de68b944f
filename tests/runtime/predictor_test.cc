#include "octet/predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/graph_runner.h"
#include "support/small_models.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using namespace octet::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Model small_model() {
  return Model(std::make_shared<const Graph>(small_network()));
}

std::vector<float> predict(Predictor& predictor, const Tensor& x) {
  auto input = predictor.get_input_handle("x");
  input->reshape(x.shape());
  input->copy_from_cpu(x.data<float>().data());
  predictor.run();
  auto output = predictor.get_output_handle(predictor.get_output_names()[0]);
  std::vector<float> scores(static_cast<std::size_t>(output->size()));
  output->copy_to_cpu(scores.data());
  return scores;
}

// What the graph computes as it is, up to the rounding of rewrites such as batch norms in weights.
void expect_scores(const std::vector<float>& scores, const Tensor& x) {
  std::vector<float> expected = values<float>(run_graph(small_network(), {x})[0]);
  ASSERT_EQ(scores.size(), expected.size());
  for (std::size_t i = 0; i < scores.size(); ++i) EXPECT_NEAR(scores[i], expected[i], 2e-5f);
}

TEST(Predictor, RunsAModelFromFiles) {
  TempDir dir;
  small_model().save(dir.path().string());
  for (const Config& config : {Config(dir.path().string()), Config((dir / "inference.pdmodel").string(),
                                                                   (dir / "inference.pdiparams").string())}) {
    auto predictor = create_predictor(config);
    EXPECT_THAT(predictor->get_input_names(), ElementsAre("x"));
    Tensor x = ramp({1, 3, 8, 8});
    expect_scores(predict(*predictor, x), x);
  }
}

TEST(Predictor, ShapesMayChangeBetweenRuns) {
  auto predictor = create_predictor(small_model());
  for (Shape shape : {Shape{1, 3, 8, 8}, Shape{4, 3, 8, 8}, Shape{2, 3, 5, 11}}) {
    Tensor x = ramp(shape);
    std::vector<float> scores = predict(*predictor, x);
    EXPECT_EQ(static_cast<std::int64_t>(scores.size()), shape[0] * 5);
    expect_scores(scores, x);
  }
}

TEST(Predictor, TheNumberOfThreadsChangesNothing) {
  Tensor x = ramp({2, 3, 8, 8});
  std::vector<std::vector<float>> results;
  for (int threads : {1, 2, 3}) {
    Config config;
    config.set_cpu_math_library_num_threads(threads);
    results.push_back(predict(*create_predictor(small_model(), config), x));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

// A convolution in integers: 3x7x9 to 5 channels. Its input is quantized, to steps or as Paddle does it.
Model quantized_model(bool by_step, bool has_other_reader = false) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 3, 7, 9});
  ValueId scale = b.constant("s", Tensor::of<float>({1}, {by_step ? 0.021f : 2.6f}));
  Attrs attrs;
  std::vector<ValueId> inputs = {x, scale};
  if (by_step) {
    attrs["unit"] = std::string("step");
    inputs.push_back(b.constant("z", Tensor::of<std::int8_t>({1}, {-7})));
  }
  Tensor weights(DType::kInt8, {5, 3, 3, 3});
  std::int8_t next = -100;
  for (std::int8_t& weight : weights.mutable_data<std::int8_t>()) weight = next += 11;
  ValueId integers = b.op("quantize", inputs, attrs);
  inputs[0] = integers;
  ValueId weight =
      b.op("dequantize", {b.constant("w", weights), b.constant("ws", Tensor::of<float>({1}, {0.3f}))});
  ValueId conv =
      b.conv2d(b.op("dequantize", inputs, attrs), weight, {.strides = {2, 2}, .paddings = {1, 1, 1, 1}});
  std::vector<ValueId> outputs = {conv};
  if (has_other_reader) outputs.push_back(b.relu(x));
  return Model(std::make_shared<const Graph>(b.build(outputs)));
}

// Pixels, and what they are to be as floats.
struct Pictures {
  explicit Pictures(Shape shape) : floats(DType::kFloat32, shape) {
    const std::int64_t channels = shape[1], plane = shape[2] * shape[3];
    for (std::int64_t c = 0; c < channels; ++c)
      for (int i = 0; i < 256; ++i)
        values.push_back((static_cast<float>(i) / 255.0f - 0.4f) / (0.2f + 0.01f * static_cast<float>(c)));
    std::uint32_t state = 5;
    for (std::int64_t i = 0; i < floats.size(); ++i) {
      state = state * 1664525u + 1013904223u;
      pixels.push_back(static_cast<std::uint8_t>(state >> 24));
      const std::int64_t c = i % channels, pixel = i / channels;
      floats.mutable_data<float>()[static_cast<std::size_t>(pixel / plane * plane * channels + c * plane +
                                                            pixel % plane)] =
          values[static_cast<std::size_t>(c * 256 + pixels.back())];
    }
  }

  Tensor floats;
  std::vector<std::uint8_t> pixels;
  std::vector<float> values;
};

std::vector<float> predict_pixels(Predictor& predictor, const Pictures& pictures) {
  auto input = predictor.get_input_handle("x");
  input->reshape(pictures.floats.shape());
  input->copy_pixels_from_cpu(pictures.pixels.data(), pictures.values.data());
  predictor.run();
  auto output = predictor.get_output_handle(predictor.get_output_names()[0]);
  std::vector<float> scores(static_cast<std::size_t>(output->size()));
  output->copy_to_cpu(scores.data());
  return scores;
}

TEST(Predictor, PixelsAreWhatTheirFloatsAre) {
  std::vector<Model> models = {small_model()};
  for (bool by_step : {false, true})
    for (bool has_other_reader : {false, true}) models.push_back(quantized_model(by_step, has_other_reader));
  for (const Model& model : models) {
    for (bool ir_optim : {true, false})
      for (const char* isa : {"", "ref"}) {
        Config config;
        config.switch_ir_optim(ir_optim);
        config.set_isa(isa);
        auto predictor = create_predictor(model, config);
        // In turns, since the two ways share the plan of their shape.
        for (std::int64_t count : {1, 3, 1}) {
          const Pictures pictures({count, 3, model.inputs()[0].shape[2], model.inputs()[0].shape[3]});
          const std::vector<float> expected = predict(*create_predictor(model, config), pictures.floats);
          EXPECT_EQ(predict_pixels(*predictor, pictures), expected) << model.dump();
          EXPECT_EQ(predict(*predictor, pictures.floats), expected) << model.dump();
          EXPECT_EQ(predict_pixels(*predictor->clone(), pictures), expected);
        }
      }
  }
}

TEST(Predictor, OfPixelsAQuantizedModelTakesTheIntegers) {
  for (bool by_step : {false, true}) {
    EXPECT_TRUE(prepare(*quantized_model(by_step).graph(), {})->integer_inputs[0].has_value());
    EXPECT_FALSE(prepare(*quantized_model(by_step, true).graph(), {})->integer_inputs[0].has_value());
  }
  EXPECT_FALSE(prepare(small_network(), {})->integer_inputs[0].has_value());
}

TEST(Predictor, PixelsAreForPictures) {
  const auto error_of = [](const auto& function) -> std::string {
    try {
      function();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const std::uint8_t pixels[4] = {};
  const std::vector<float> values(1024);
  Builder b;
  auto flat = create_predictor(Model(std::make_shared<const Graph>(b.build({b.relu(b.input("x", {1, 4}))}))));
  EXPECT_EQ(error_of([&] { flat->get_input_handle("x")->copy_pixels_from_cpu(pixels, values.data()); }),
            "input x: pixels are for float32 N x C x H x W; this is float32 1x4");
  auto predictor = create_predictor(small_model());
  EXPECT_EQ(error_of([&] { predictor->get_input_handle("x")->copy_pixels_from_cpu(pixels, values.data()); }),
            "input x: its shape is ?x3x8x8; call reshape() first");
  auto output = predictor->get_output_handle(predictor->get_output_names()[0]);
  EXPECT_THAT(error_of([&] { output->copy_pixels_from_cpu(pixels, values.data()); }),
              HasSubstr("data can only be copied to an input"));
}

TEST(Predictor, ClonesRunInThreadsOfTheirOwn) {
  Config config;
  config.set_cpu_math_library_num_threads(2);
  auto first = create_predictor(small_model(), config);
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, clone = std::shared_ptr<Predictor>(first->clone()), t] {
      Tensor x = ramp({1, 3, 8, 8}, t);
      std::vector<float> expected = predict(*clone, x);
      expect_scores(expected, x);
      for (int i = 0; i < 5; ++i) EXPECT_EQ(predict(*clone, x), expected);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Predictor, AnOutputHasNoDataBeforeTheRun) {
  auto predictor = create_predictor(small_model());
  auto output = predictor->get_output_handle("add_0");
  std::vector<float> scores(5);
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string expected = "output add_0 has no data yet; call run() first";
  EXPECT_EQ(message([&] { output->size(); }), expected);
  EXPECT_EQ(message([&] { output->copy_to_cpu(scores.data()); }), expected);
}

TEST(Predictor, HandlesOutliveThePredictor) {
  auto predictor = create_predictor(small_model());
  auto output = predictor->get_output_handle(predictor->get_output_names()[0]);
  predict(*predictor, ramp({1, 3, 8, 8}));
  predictor.reset();
  std::vector<float> scores(5);
  output->copy_to_cpu(scores.data());
  EXPECT_EQ(output->name(), "add_0");
}

TEST(Predictor, SaysWhatDoesNotFit) {
  auto predictor = create_predictor(small_model());
  auto input = predictor->get_input_handle("x");
  EXPECT_THAT(error_of([&] { predictor->get_input_handle("y"); }),
              HasSubstr("y: no such input; the model has: x"));
  EXPECT_THAT(error_of([&] { predictor->run(); }), HasSubstr("input x: has no data"));
  EXPECT_THAT(error_of([&] {
                input->reshape({3, 8, 8});
              }),
              HasSubstr("input x: expected 4 dimensions (?x3x8x8), got 3 (3x8x8)"));
  std::vector<float> data(1000);
  EXPECT_THAT(error_of([&] { input->copy_from_cpu(data.data()); }), HasSubstr("call reshape() first"));
  input->reshape({1, 1, 8, 8});
  std::vector<std::int32_t> integers(1000);
  EXPECT_THAT(error_of([&] { input->copy_from_cpu(integers.data()); }),
              HasSubstr("expected float32, got int32"));
  input->copy_from_cpu(data.data());
  std::string message = error_of([&] { predictor->run(); });
  EXPECT_THAT(message, HasSubstr("conv2d"));
  EXPECT_THAT(message, HasSubstr("input x is declared ?x3x8x8, given 1x1x8x8"));
}

TEST(Predictor, ThereIsNoGpu) {
  Config config;
  config.enable_use_gpu(100, 1);
  std::string message = error_of([&] { create_predictor(small_model(), config); });
  EXPECT_THAT(message, HasSubstr("gpu:1: no usable CUDA device"));
  EXPECT_THAT(message, HasSubstr("disable_gpu()"));
}

TEST(Predictor, AnUnknownIsaListsThoseThatThereAre) {
  Config config;
  config.set_isa("neon");
  EXPECT_THAT(error_of([&] { create_predictor(small_model(), config); }),
              HasSubstr("isa neon: not available here; use one of: ref"));
}

TEST(Executor, ATensorBeyondAllMeasureIsAnError) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 1});
  Graph graph = b.build({b.matmul(x, x, {.transpose_y = true})});
  EXPECT_THAT(error_of([&] { run_graph(graph, {ramp({1 << 17, 1})}); }), HasSubstr("needs more than 4 GB"));
}

}  // namespace
}  // namespace octet
