// Gives the parity tests what octet makes of pictures. A line on standard input is a request:
//
//   decode PICTURE OUT.npy                                 writes uint8 [height, width, 3]
//   resize PICTURE WIDTH HEIGHT INTERPOLATION OUT.npy      writes uint8 [height, width, 3]
//   part PICTURE LEFT TOP WIDTH HEIGHT SIZE INTERPOLATION OUT.npy   a part of it, scaled to a square
//   apply PICTURE OPERATION AMOUNT OUT.npy                 writes uint8 [height, width, 3]
//   preprocess PICTURE RESIZE CROP INTERPOLATION OUT.npy   writes float32 [1, 3, height, width]
//
// and is answered by a line: "ok" or what went wrong.
#include <cstring>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/classification.h"
#include "data/image.h"
#include "data/pixel_ops.h"
#include "data/resample.h"
#include "support/transformed.h"
#include "tensor/npy.h"

namespace octet {

namespace {

Tensor to_tensor(const Image& image) {
  Tensor tensor(DType::kUInt8, {image.height, image.width, Image::kChannels});
  std::memcpy(tensor.mutable_bytes().data(), image.pixels.data(), image.pixels.size());
  return tensor;
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
