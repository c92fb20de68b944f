// Gives the parity tests what octet makes of pictures. A line on standard input is a request:
//
//   decode PICTURE OUT.npy                                 writes uint8 [height, width, 3]
//   resize PICTURE WIDTH HEIGHT INTERPOLATION OUT.npy      writes uint8 [height, width, 3]
//   part PICTURE LEFT TOP WIDTH HEIGHT SIZE INTERPOLATION OUT.npy   a part of it, scaled to a square
//   apply PICTURE OPERATION AMOUNT OUT.npy                 writes uint8 [height, width, 3]
//   transform PICTURE TRANSFORMS OUT.npy                   writes float32 [height, width, 3], before
//   Normalize transform_mask PICTURE TRANSFORMS OUT.npy              writes uint8 [height, width]; its red is
//   the mask blur PICTURE gaussian|median|blur SIZE OUT.npy         writes uint8 [height, width, 3] hue
//   PICTURE STEPS OUT.npy                              writes uint8 [height, width, 3] rotate PICTURE DEGREES
//   OUT.npy                         writes float32 [height, width, 3] rotate_mask PICTURE DEGREES OUT.npy
//   writes uint8 [height, width] preprocess PICTURE RESIZE CROP INTERPOLATION OUT.npy   writes float32 [1, 3,
//   height, width]
//
// and is answered by a line: "ok" or what went wrong.
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/classification.h"
#include "data/example_ops.h"
#include "data/image.h"
#include "data/opencv_filters.h"
#include "data/pixel_ops.h"
#include "data/resample.h"
#include "data/transform_yaml.h"
#include "data/transforms/random_rotation.h"
#include "support/transformed.h"
#include "tensor/npy.h"

namespace octet {

namespace {

Tensor to_tensor(const Image& image) {
  Tensor tensor(DType::kUInt8, {image.height, image.width, Image::kChannels});
  std::memcpy(tensor.mutable_bytes().data(), image.pixels.data(), image.pixels.size());
  return tensor;
}

Tensor to_tensor(const FloatImage& image) {
  Tensor tensor(DType::kFloat32, {image.height, image.width, FloatImage::kChannels});
  std::memcpy(tensor.mutable_bytes().data(), image.pixels.data(), image.pixels.size() * sizeof(float));
  return tensor;
}

Tensor to_tensor(const Mask& mask) {
  Tensor tensor(DType::kUInt8, {mask.height, mask.width});
  std::memcpy(tensor.mutable_bytes().data(), mask.pixels.data(), mask.pixels.size());
  return tensor;
}

// The picture with a mask that has its red.
Example with_mask(const Image& image) {
  Mask mask(image.width, image.height);
  for (std::size_t i = 0; i < mask.pixels.size(); ++i) mask.pixels[i] = image.pixels[i * Image::kChannels];
  return {.image = image, .target = std::move(mask)};
}

Image blurred(const Image& image, const std::string& type, int size) {
  return type == "gaussian" ? gaussian_blur(image, size)
         : type == "median" ? median_blur(image, size)
                            : box_blur(image, size);
}

PixelOp parse_pixel_op(const std::string& name) {
  for (std::size_t i = 0; i < kPixelOpNames.size(); ++i)
    if (kPixelOpNames[i] == name) return static_cast<PixelOp>(i);
  fail("no operation '{}'", name);
}

void run(const std::vector<std::string>& args) {
  const std::string& command = args.at(0);
  Image image = load_image(args.at(1));
  if (command == "decode") {
    save_npy(args.at(2), to_tensor(image));
  } else if (command == "resize") {
    const Interpolation interpolation = parse_interpolation(args.at(4));
    save_npy(args.at(5),
             to_tensor(resize(image, std::stoi(args.at(2)), std::stoi(args.at(3)), interpolation)));
  } else if (command == "part") {
    const Box box{std::stoi(args.at(2)), std::stoi(args.at(3)), std::stoi(args.at(4)), std::stoi(args.at(5))};
    const int size = std::stoi(args.at(6));
    save_npy(args.at(8), to_tensor(resize(crop(image, box), size, size, parse_interpolation(args.at(7)))));
  } else if (command == "apply") {
    apply(parse_pixel_op(args.at(2)), std::stod(args.at(3)), image);
    save_npy(args.at(4), to_tensor(image));
  } else if (command == "transform" || command == "transform_mask") {
    Example example = transformed_pixels(with_mask(image), read_transforms(args.at(2), "transforms", true));
    make_floats(example);
    save_npy(args.at(3), command == "transform" ? to_tensor(example.floats) : to_tensor(*example.mask()));
  } else if (command == "blur") {
    save_npy(args.at(4), to_tensor(blurred(image, args.at(2), std::stoi(args.at(3)))));
  } else if (command == "hue") {
    add_to_hue(image, std::stod(args.at(2)));
    save_npy(args.at(3), to_tensor(image));
  } else if (command == "rotate" || command == "rotate_mask") {
    Example example = with_mask(image);
    rotate_example(example, std::stod(args.at(2)), {});
    save_npy(args.at(3), command == "rotate" ? to_tensor(example.floats) : to_tensor(*example.mask()));
  } else if (command == "preprocess") {
    const Transforms transforms =
        evaluation_transforms(std::stoi(args.at(2)), std::stoi(args.at(3)), parse_interpolation(args.at(4)));
    save_npy(args.at(5), transformed(image, transforms));
  } else {
    fail("no command '{}'", command);
  }
}

std::string answer(const std::string& line) {
  std::istringstream words(line);
  std::vector<std::string> args;
  for (std::string word; words >> word;) args.push_back(word);
  try {
    run(args);
    return "ok";
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

}  // namespace

}  // namespace octet

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << octet::answer(line) << std::endl;
}
