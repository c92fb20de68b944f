#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "graph/op_table.h"
#include "support/run_program.h"
#include "support/segmentation_box.h"

// The commands for segmentation: export, eval, predict, infer, ptq.
namespace octet {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string output_of(const Sandbox& box, const std::vector<std::string>& words) {
  const ProgramResult result = run_octet(words, box.path());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return result.out;
}

std::string error_of(const Sandbox& box, const std::vector<std::string>& words) {
  const ProgramResult result = run_octet(words, box.path());
  EXPECT_EQ(result.exit_code, 2) << result.out;
  EXPECT_THAT(result.err, StartsWith("octet: error: "));
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
  return result.err;
}

nlohmann::json json_of(const fs::path& path) {
  return nlohmann::json::parse(read_file(path));
}

TEST(SegmentationExport, WritesPaddleSegsFiles) {
  SegmentationBox box;
  output_of(
      box, {"export", "--config", "disc.yml", "--model_path", "bisenet/model.pdparams", "--save_dir", "out"});
  EXPECT_EQ(
      read_file(box / "out/deploy.yaml").find("Deploy:\n  model: model.pdmodel\n  params: model.pdiparams\n"),
      0u);
  EXPECT_THAT(read_file(box / "out/deploy.yaml"), Not(HasSubstr("output_op")));
  Graph graph = load_model(box / "out");
  infer_shapes(graph);
  ASSERT_EQ(graph.outputs.size(), 1u);
  EXPECT_EQ(graph.value(graph.outputs[0]).dtype, DType::kInt64);
  EXPECT_EQ(graph.value(graph.inputs[0]).shape, (Shape{kUnknown, 3, kUnknown, kUnknown}));

  output_of(box, {"export", "--config", "disc.yml", "--model_path", "bisenet", "--save_dir", "new",
                  "--paddleseg_version", "2.9"});
  EXPECT_THAT(read_file(box / "new/deploy.yaml"), HasSubstr("output_dtype: int32\n  output_op: argmax\n"));
  graph = load_model(box / "new");
  infer_shapes(graph);
  EXPECT_EQ(graph.value(graph.outputs[0]).dtype, DType::kInt32);

  for (const auto& input : {std::vector<std::string>{"--input", "1x3x64x96"},
                            std::vector<std::string>{"--input_shape", "1", "3", "64", "96"}}) {
    std::vector<std::string> words = {"export",     "--config", "disc.yml",    "--model_path", "bisenet",
                                      "--save_dir", "fixed",    "--output_op", "none",         "--keep_aux"};
    words.insert(words.end(), input.begin(), input.end());
    output_of(box, words);
    graph = load_model(box / "fixed");
    infer_shapes(graph);
    ASSERT_EQ(graph.outputs.size(), 5u);
    EXPECT_EQ(graph.value(graph.inputs[0]).shape, (Shape{1, 3, 64, 96}));
    for (ValueId output : graph.outputs)
      EXPECT_THAT(graph.value(output).shape, testing::ElementsAre(testing::_, 2, 64, 96));
  }
}

TEST(SegmentationExport, SaysWhatIsWrong) {
  SegmentationBox box;
  const auto error = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"export", "--save_dir", "out"});
    const std::string text = error_of(box, words);
    EXPECT_FALSE(fs::exists(box / "out"));
    return text;
  };
  EXPECT_THAT(error({"--config", "disc.yml", "--model_path", "checkpoint"}),
              HasSubstr("does not fit bisenetv2: "));
  EXPECT_THAT(
      error({"--config", "disc.yml", "--model_path", "bisenet", "--opts", "model.num_classes=3",
             "train_dataset.num_classes=3"}),
      HasSubstr(
          "of another shape (aux_head1.conv_1x1.weight is float32 2x16x1x1, expected float32 3x16x1x1"));
  write_file(box / "none.yml", "batch_size: 2\niters: 4\n");
  EXPECT_THAT(error({"--config", "none.yml", "--model_path", "bisenet"}),
              HasSubstr("none.yml: the config has no `model`"));
  EXPECT_THAT(error({"--config", "disc.yml", "--model_path", "bisenet", "--input", "1x3x64"}),
              HasSubstr("--input 1x3x64: a batch of pictures has four sizes"));
  EXPECT_THAT(error({"--config", "disc.yml", "--model_path", "bisenet", "--input", "1x4x64x64"}),
              HasSubstr("the network takes ?x3x?x?"));
  EXPECT_THAT(error({"--model", "bisenetv2", "--model_path", "bisenet"}), HasSubstr("give its --config"));
  EXPECT_THAT(error({"--pretrained", "checkpoint", "--keep_aux"}), HasSubstr("give the network's --config"));
}

TEST(SegmentationEval, CountsPixels) {
  SegmentationBox box;
  // Both know the classes of all pixels, whether the model gives scores or classes.
  for (const char* model : {"scorer", "segmenter"}) {
    const std::string text = output_of(box, {"eval", "--config", "disc.yml", "--model_path", model});
    EXPECT_THAT(text, HasSubstr("[INFO]\tStart evaluating (total_samples: 2, total_iters: 2)...\n"));
    EXPECT_THAT(text, HasSubstr("[EVAL] #Images: 2 mIoU: 1.0000 Acc: 1.0000 Kappa: 1.0000 \n"));
    EXPECT_THAT(text, HasSubstr("[EVAL] Class IoU: \n[1. 1.]\n"));
    EXPECT_THAT(text, HasSubstr("[EVAL] Class Acc: \n[1. 1.]\n"));
  }
  const std::string text = output_of(box, {"eval",
                                           "--config",
                                           "disc.yml",
                                           "--model_path",
                                           "scorer",
                                           "--paddleseg_version",
                                           "2.9",
                                           "--aug_eval",
                                           "--scales",
                                           "0.5",
                                           "1.0",
                                           "--flip_horizontal",
                                           "--flip_vertical",
                                           "--is_slide",
                                           "--crop_size",
                                           "32",
                                           "24",
                                           "--stride",
                                           "16",
                                           "16"});
  EXPECT_THAT(text, HasSubstr("INFO: [EVAL] #Images: 2 mIoU: "));
  EXPECT_THAT(text, HasSubstr(" Dice: "));
  EXPECT_THAT(text, HasSubstr("[EVAL] Class Recall: \n"));
}

TEST(SegmentationEval, HoldsModelsAgainstEachOther) {
  SegmentationBox box;
  const std::string text = output_of(box, {"eval", "--config", "disc.yml", "--model_path", "bisenet",
                                           "--baseline", "segmenter", "--json", "out.json"});
  EXPECT_THAT(text, HasSubstr("| segmenter | fp32 | 1.0000 | 1.0000 | - | - | "));
  EXPECT_THAT(text, HasSubstr("| class | IoU of the baseline | IoU | change |"));
  const nlohmann::json models = json_of(box / "out.json")["models"];
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0]["miou"], 1.0);
  EXPECT_LT(models[1]["miou"], 1.0);
  // The baseline is right everywhere, so that agreeing with it is being right.
  EXPECT_NEAR(models[1]["agreement"].get<double>(), models[1]["acc"].get<double>(), 1e-12);
  EXPECT_LT(models[1]["agreement_near_boundaries"], 1.0);
  EXPECT_EQ(models[1]["disk_bytes"], fs::file_size(box / "bisenet/model.pdparams"));
}

// A checkpoint and what is exported of it give the same answers.
TEST(SegmentationEval, CheckpointsAreAsGoodAsTheirExports) {
  SegmentationBox box;
  output_of(box, {"export", "--config", "disc.yml", "--model_path", "bisenet", "--save_dir", "float"});
  output_of(box, {"eval", "--config", "disc.yml", "--model_path", "float", "--baseline", "bisenet", "--json",
                  "out.json"});
  const nlohmann::json models = json_of(box / "out.json")["models"];
  EXPECT_EQ(models[1]["agreement"], 1.0);
  EXPECT_EQ(models[0]["class_iou"], models[1]["class_iou"]);
}

TEST(SegmentationEval, SaysWhatIsWrong) {
  SegmentationBox box;
  const auto error = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"eval", "--config", "disc.yml"});
    return error_of(box, words);
  };
  EXPECT_THAT(error({"--model_path", "model"}), HasSubstr("is it a segmentation model?"));
  EXPECT_THAT(
      error({"--model_path", "scorer", "--opts", "train_dataset.num_classes=3", "val_dataset.num_classes=3"}),
      HasSubstr("scorer has 2 classes, and the config 3"));
  EXPECT_THAT(error({"--model_path", "scorer", "--is_slide"}), HasSubstr("is_slide needs a crop_size"));
  EXPECT_THAT(error({"--model_path", "segmenter", "--data_dir", "photos"}), HasSubstr("val_dataset"));
  EXPECT_THAT(error_of(box, {"eval", "--model_path", "segmenter", "--data_dir", "photos", "--aug_eval"}),
              HasSubstr("give a --config"));
  write_file(box / "discs/val_list.txt", "");
  EXPECT_THAT(error({"--model_path", "scorer"}), HasSubstr("val_list.txt: an empty list"));
}

TEST(SegmentationPredict, WritesMasksAndOverlays) {
  SegmentationBox box;
  const std::string text = output_of(box, {"predict", "--config", "disc.yml", "--model_path", "segmenter",
                                           "--image_path", "discs/JPEGImages", "--save_dir", "result"});
  EXPECT_THAT(text, HasSubstr("result/added_prediction/"));
  for (int i = 0; i < 6; ++i) {
    const std::string name = fmt::format("H{}.png", i);
    EXPECT_EQ(load_mask(box / ("result/pseudo_color_prediction/" + name)).pixels,
              load_mask(box / ("discs/Annotations/" + name)).pixels);
  }
  // Class 0 is 128,0,0, class 1 is 0,128,0; the picture has 60,90,70 and 200,90,70.
  const Image mixed = load_image(box / "result/added_prediction/H0.png");
  EXPECT_THAT(std::vector(mixed.row(0), mixed.row(0) + 3), testing::ElementsAre(87, 54, 42));
  const std::uint8_t* inside = mixed.row(20) + std::ptrdiff_t{3} * 14;
  EXPECT_THAT(std::vector(inside, inside + 3), testing::ElementsAre(120, 105, 42));

  write_file(box / "list.txt", "discs/JPEGImages/H1.png 0\n");
  output_of(box, {"predict", "--config", "disc.yml", "--model_path", "scorer", "--image_path", "list.txt",
                  "--save_dir", "custom", "--custom_color", "0", "0", "0", "255", "255", "255", "--aug_pred",
                  "--flip_horizontal"});
  const Image palette = load_image(box / "custom/pseudo_color_prediction/discs/JPEGImages/H1.png");
  EXPECT_EQ(palette.row(0)[0], 0);
  EXPECT_EQ(palette.row(20)[3 * 18], 255);

  // The network sees it in another size than the answer has.
  output_of(box, {"predict", "--config", "disc.yml", "--model_path", "scorer", "--image_path",
                  "discs/JPEGImages/H1.png", "--save_dir", "resized", "--opts",
                  "val_dataset.transforms=[{type: Resize, target_size: [24, 20]}, {type: Normalize}]"});
  const Mask small = load_mask(box / "resized/pseudo_color_prediction/H1.png"),
             truth = load_mask(box / "discs/Annotations/H1.png");
  EXPECT_EQ(std::pair(small.width, small.height), std::pair(truth.width, truth.height));
  std::size_t same = 0;
  for (std::size_t i = 0; i < truth.pixels.size(); ++i) same += small.pixels[i] == truth.pixels[i];
  EXPECT_GT(static_cast<double>(same), 0.9 * static_cast<double>(truth.pixels.size()));
}

TEST(SegmentationPredict, SaysWhatIsWrong) {
  SegmentationBox box;
  const auto error = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"predict", "--model_path", "segmenter"});
    return error_of(box, words);
  };
  EXPECT_THAT(error({"--image_path", "images"}), HasSubstr("--config is missing"));
  EXPECT_THAT(error({"--config", "disc.yml", "--image_path", "nothing"}), HasSubstr("nothing"));
  EXPECT_THAT(error({"--config", "disc.yml", "--image_path", "images", "--custom_color", "1", "2"}),
              HasSubstr("--custom-color: 2 numbers"));
  write_file(box / "list.txt", "gone.png\n");
  EXPECT_THAT(error({"--config", "disc.yml", "--image_path", "list.txt"}),
              HasSubstr("list.txt:1: there is no picture gone.png"));
  write_file(box / "broken.png", "no picture");
  EXPECT_THAT(error({"--config", "disc.yml", "--image_path", "broken.png"}), HasSubstr("broken.png"));
}

TEST(SegmentationInfer, WritesMasksOfAnExportedModel) {
  SegmentationBox box;
  for (const char* model : {"segmenter", "scorer"}) {
    const std::string text =
        output_of(box, {"infer", "--config", std::string(model) + "/deploy.yaml", "--image_path",
                        "discs/JPEGImages", "--save_dir", "masks", "--batch_size", "2"});
    EXPECT_THAT(text, StartsWith("image_name: discs/JPEGImages/H0.png, mask: masks/H0.png\n"));
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(load_mask(box / fmt::format("masks/H{}.png", i)).pixels,
                load_mask(box / fmt::format("discs/Annotations/H{}.png", i)).pixels);
    fs::remove_all(box / "masks");
  }
  // A classifier's deploy.yaml does as well.
  write_file(box / "model/deploy.yaml", "Deploy: {transforms: [{type: Normalize}]}\n");
  EXPECT_THAT(output_of(box, {"infer", "--config", "model/deploy.yaml", "--image_path", "images/demo.jpg"}),
              StartsWith("image_name: images/demo.jpg, class_id: 0, prob: "));
  EXPECT_THAT(error_of(box, {"infer", "--config", "gone.yaml", "--image_path", "images"}),
              HasSubstr("gone.yaml: no such file"));
}

TEST(SegmentationPtq, QuantizesByTheScoresOfPixels) {
  SegmentationBox box;
  // No masks are needed.
  fs::remove_all(box / "discs/Annotations");
  write_file(box / "discs/train_list.txt",
             "JPEGImages/H0.png\nJPEGImages/H1.png\nJPEGImages/H2.png\nJPEGImages/H3.png\n");
  const std::string text = output_of(box, {"ptq", "--config", "disc.yml", "--model_path", "segmenter",
                                           "--output_dir", "int8", "--batch_num", "3"});
  EXPECT_THAT(text, HasSubstr("output y: SQNR "));
  EXPECT_THAT(text, HasSubstr("the same answer as fp32 in 100.0 %"));
  EXPECT_TRUE(fs::exists(box / "int8/model.pdmodel"));
  const Model model = Model::load((box / "int8").string());
  EXPECT_TRUE(model.is_quantized());
  EXPECT_EQ(model.outputs().at(0).name, "y");
  EXPECT_EQ(model.outputs().at(0).dtype, DType::kInt64);
  EXPECT_THAT(
      output_of(box, {"infer", "--config", "int8/deploy.yaml", "--image_path", "discs/JPEGImages/H0.png"}),
      HasSubstr("mask: ./output/H0.png"));
}

TEST(SegmentationScripts, AreCommands) {
  SegmentationBox box;
  output_of(box, {"export.py", "--config", "disc.yml", "--model_path", "bisenet/model.pdparams", "--save_dir",
                  "a"});
  output_of(box, {"slim/quant/qat_export.py", "--config", "disc.yml", "--model_path",
                  "bisenet/model.pdparams", "--save_dir", "b"});
  EXPECT_EQ(read_file(box / "a/model.pdiparams"), read_file(box / "b/model.pdiparams"));
  output_of(box, {"tools/val.py", "--config", "disc.yml", "--model_path", "a", "--num_workers", "2"});
  output_of(box, {"deploy/slim/quant/qat_val.py", "--config", "disc.yml", "--model_path", "a"});
  output_of(box, {"predict.py", "--config", "disc.yml", "--model_path", "segmenter", "--image_path",
                  "discs/JPEGImages/H0.png", "--save_dir", "output/result"});
  output_of(box, {"deploy/python/infer.py", "--config", "segmenter/deploy.yaml", "--image_path",
                  "discs/JPEGImages/H0.png", "--device", "cpu", "--use_trt", "False", "--precision", "int8"});
  output_of(box, {"slim/quant/ptq.py", "--config", "disc.yml", "--model_dir", "segmenter", "--batch_nums",
                  "2", "--batch_size", "1"});
  EXPECT_TRUE(fs::exists(box / "quant_model/deploy.yaml"));
}

// examples/segment.cc, which has nothing but the public interface.
TEST(SegmentationExample, SegmentsAPicture) {
  SegmentationBox box;
  output_of(box, {"ptq", "--config", "disc.yml", "--model_path", "segmenter", "--output_dir", "int8"});
  const Image image = load_image(box / "discs/JPEGImages/H3.png");
  std::string ppm = fmt::format("P6\n{} {}\n255\n", image.width, image.height);
  ppm.append(reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size());
  write_file(box / "picture.ppm", ppm);
  const Mask mask = load_mask(box / "discs/Annotations/H3.png");
  for (const char* model : {"segmenter", "int8"}) {
    const ProgramResult result = run_command({kSegmentExample, model, "picture.ppm", "mask.pgm"}, box.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const std::string pgm = read_file(box / "mask.pgm");
    const std::string header = fmt::format("P5\n{} {}\n255\n", mask.width, mask.height);
    EXPECT_EQ(pgm, header + std::string(mask.pixels.begin(), mask.pixels.end()));
  }
  EXPECT_EQ(run_command({kSegmentExample, "segmenter", "gone.ppm", "mask.pgm"}, box.path()).exit_code, 1);
}

}  // namespace
}  // namespace octet
