// Segments a picture with an exported model, float or int8, through the public interface alone.
//
//   segment MODEL_DIR PICTURE.ppm MASK.pgm
//
// PICTURE.ppm is a binary PPM file (P6), as `convert photo.jpg photo.ppm` makes it, so that the example needs no
// library for pictures. MASK.pgm gets the class of each pixel. The model was exported from a PaddleSeg config with
// `octet export`, and its pictures are normalised with mean 0.5 and std 0.5.
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "octet/predictor.h"

namespace {

struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> pixels;  // RGB, interleaved
};

Picture read_ppm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string magic;
  Picture picture;
  int most = 0;
  file >> magic >> picture.width >> picture.height >> most;
  file.get();  // the blank behind the header
  constexpr int kMostPixels = 1 << 14;
  if (!file || magic != "P6" || most != 255 || picture.width < 1 || picture.height < 1 ||
      picture.width > kMostPixels || picture.height > kMostPixels)
    throw std::runtime_error(path + ": not a PPM file (P6) of 8-bit colours");
  picture.pixels.resize(std::size_t{3} * static_cast<std::size_t>(picture.width) *
                        static_cast<std::size_t>(picture.height));
  file.read(reinterpret_cast<char*>(picture.pixels.data()), static_cast<std::streamsize>(picture.pixels.size()));
  if (!file) throw std::runtime_error(path + ": the file ends early");
  return picture;
}

// What the model sees of a pixel of 0, 1, ... 255, of each colour: (x / 255 - 0.5) / 0.5.
std::vector<float> normalised() {
  std::vector<float> values;
  for (int colour = 0; colour < 3; ++colour)
    for (int x = 0; x < 256; ++x) values.push_back((static_cast<float>(x) / 255.0f - 0.5f) / 0.5f);
  return values;
}

// What the model gives for each pixel: its class as int64, or as int32 since PaddleSeg 2.7.
std::vector<std::int64_t> classes_of(const octet::TensorHandle& output) {
  const auto size = static_cast<std::size_t>(output.size());
  std::vector<std::int64_t> classes(size);
  if (output.type() == octet::DType::kInt64) {
    output.copy_to_cpu(classes.data());
  } else {
    std::vector<std::int32_t> narrow(size);
    output.copy_to_cpu(narrow.data());
    classes.assign(narrow.begin(), narrow.end());
  }
  return classes;
}

void run(const std::string& model, const std::string& picture_path, const std::string& mask_path) {
  const Picture picture = read_ppm(picture_path);
  const auto predictor = octet::create_predictor(octet::Config(model));
  const auto input = predictor->get_input_handle(predictor->get_input_names().at(0));
  input->reshape({1, 3, picture.height, picture.width});
  input->copy_pixels_from_cpu(picture.pixels.data(), normalised().data());
  predictor->run();
  const auto output = predictor->get_output_handle(predictor->get_output_names().at(0));
  const std::vector<std::int64_t> classes = classes_of(*output);
  const std::vector<std::int64_t> shape = output->shape();  // 1, height, width

  std::ofstream mask(mask_path, std::ios::binary);
  mask << "P5\n" << shape.at(2) << " " << shape.at(1) << "\n255\n";
  for (const std::int64_t id : classes) mask.put(static_cast<char>(id));
  if (!mask.flush()) throw std::runtime_error(mask_path + ": can't be written");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: segment MODEL_DIR PICTURE.ppm MASK.pgm\n";
    return 2;
  }
  try {
    run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& error) {
    std::cerr << "segment: " << error.what() << "\n";
    return 1;
  }
}
