#pragma once
#include "formats/format.h"
#include "models/models.h"
#include "models/names.h"
#include "support/pictures.h"
#include "support/temp_dir.h"
#include "support/tiny_model.h"
#include "tensor/npy.h"

namespace octet {

inline Image plain_image(int width, int height, std::array<std::uint8_t, 3> color) {
  Image image(width, height);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = color[i % 3];
  return image;
}

// A folder in which the commands of docs/commands/ work:
//   model/            a classifier of three classes that answers with probabilities
//   scores/           the same without its softmax
//   checkpoint/       best.pdparams of a mobilenet_v3_small of width 0.25 and three classes
//   images/demo.jpg   red
//   photos/           blue.png, green.png, red.png, and their classes in val_list.txt
//   x.npy             float32 2x3x4x4: red and blue pictures, already normalised
//   labels.txt        red, green, blue
//   ptq.txt           a config for `octet tipc` that quantizes scores
struct Sandbox : TempDir {
  Sandbox() {
    namespace fs = std::filesystem;
    tiny_classifier(true).save(*this / "model");
    tiny_classifier(false).save(*this / "scores");
    fs::create_directory(*this / "checkpoint");
    save_state_dict(
        *this / "checkpoint/best.pdparams",
        models::to_state_dict(models::build_model("mobilenet_v3_small", {.num_classes = 3, .width = 0.25}),
                              "mobilenet_v3_small"));
    fs::create_directory(*this / "images");
    fs::create_directory(*this / "photos");
    write_file(*this / "images/demo.jpg", encode_jpeg(plain_image(40, 30, {255, 0, 0})));
    write_file(*this / "photos/blue.png", encode_png(plain_image(30, 40, {0, 0, 255})));
    write_file(*this / "photos/green.png", encode_png(plain_image(33, 44, {0, 255, 0})));
    write_file(*this / "photos/red.png", encode_png(plain_image(40, 40, {255, 0, 0})));
    write_file(*this / "photos/val_list.txt", "red.png 0\ngreen.png 1\nblue.png 2\n");
    std::vector<float> x(2 * 3 * 16);
    std::fill_n(x.begin(), 16, 2.0f);
    std::fill_n(x.begin() + 5 * 16, 16, 2.0f);
    save_npy(*this / "x.npy", Tensor::of<float>({2, 3, 4, 4}, x));
    write_file(*this / "labels.txt", "red\ngreen\nblue\n");
    write_file(
        *this / "ptq.txt",
        "======ptq_params======\nmodel_name:colors\npython:octet\n--use_gpu:False\n--model_path:scores\n"
        "--output_dir:int8\n--data_dir:photos\n--batch_num:1\n--batch_size:3\n##\ntrainer:PTQ\n"
        "PTQ:ptq --resize-size=4 --crop-size=4\n##\n======infer_params======\ninference:infer\n"
        "--use-gpu:True|False\n--batch-size:1\n--model-dir:int8\n--img-path:./images/demo.jpg\n"
        "--benchmark:True\n");
  }
};

}  // namespace octet
