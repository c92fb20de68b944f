#pragma once
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "support/paths.h"

// What is known of PaddleSeg's own networks: paddleseg_parameters.txt and paddleseg_answers.txt.
namespace octet::testing {

inline std::ifstream open_beside(const char* name) {
  std::ifstream file(fmt::format("{}/tests/models/{}", kSourceDir, name));
  check(file.good(), "a file of the tests is there");
  return file;
}

inline bool is_on_resnet(const std::string& type) {
  return type.starts_with("DeepLab") || type == "GCNet" || type == "PSPNet";
}

struct Parameter {
  std::string name, shape;
};

// In the order of the network's state dictionary. `type` is PaddleSeg's name of the network.
inline std::vector<Parameter> paddleseg_parameters(const std::string& type) {
  std::vector<Parameter> result;
  if (is_on_resnet(type)) result = paddleseg_parameters("ResNet50_vd");
  std::ifstream file = open_beside("paddleseg_parameters.txt");
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) inside = line.substr(3) == type;
    if (!inside || line.empty() || line[0] == '#') continue;
    const std::size_t space = line.find(' ');
    result.push_back({line.substr(0, space), line.substr(space + 1)});
  }
  return result;
}

// A line of paddleseg_answers.txt.
struct Answer {
  std::string type;
  std::int64_t height = 0, width = 0;
  std::size_t output = 0;
  double mean = 0, mean_magnitude = 0;
  struct Point {
    std::int64_t channel, row, column;
    double score;
  };
  std::vector<Point> points;
  std::vector<std::int64_t> pixels;  // of each class
};
inline std::vector<Answer> paddleseg_answers(const std::string& type) {
  std::vector<Answer> result;
  std::ifstream file = open_beside("paddleseg_answers.txt");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(type + " |")) continue;
    // BiSeNetV2 | in 64x64 | out0 mean 0.2 absmean 0.3 | [0,0,0]=0.1 [1,0,63]=0.2 | argmax histogram [3168,
    // 928]
    for (char& c : line)
      if (std::string("|[],=x").find(c) != std::string::npos) c = ' ';
    std::istringstream text(line);
    Answer answer;
    std::string word, out;
    text >> answer.type >> word >> answer.height >> answer.width >> out >> word >> answer.mean >> word >>
        answer.mean_magnitude;
    answer.output = static_cast<std::size_t>(out.at(3) - '0');
    for (Answer::Point p{}; text >> p.channel >> p.row >> p.column >> p.score;) answer.points.push_back(p);
    text.clear();
    text >> word >> word;
    for (std::int64_t count = 0; text >> count;) answer.pixels.push_back(count);
    result.push_back(std::move(answer));
  }
  return result;
}

// Numbers between -1 and 1 that hang on two others alone.
inline double scrambled(std::uint32_t t, std::uint32_t i) {
  std::uint32_t h = i * 2654435761u + t * 40503u + 12345u;
  h ^= h >> 16;
  h *= 2246822519u;
  h ^= h >> 13;
  return h / 2147483648.0 - 1;
}

// Fills a network's parameters with them, parameter t by its place in the list.
inline void fill_scrambled(Graph& graph, const std::vector<Parameter>& parameters) {
  std::uint32_t t = 0;
  for (const Parameter& parameter : parameters) {
    const std::uint32_t number = t++;
    const ValueId id = graph.find_value(parameter.name);
    if (id == kNoValue || parameter.name.ends_with("._scale")) continue;
    const Shape shape = graph.value(id).shape;
    const bool is_kernel = shape.size() == 4, is_variance = parameter.name.ends_with("_variance");
    const bool is_shift = parameter.name.ends_with("_mean") || parameter.name.ends_with("bias");
    const double fan_in = is_kernel ? static_cast<double>(shape[1] * shape[2] * shape[3]) : 1;
    Tensor tensor(DType::kFloat32, shape);
    std::uint32_t i = 0;
    for (float& x : tensor.mutable_data<float>()) {
      const double s = scrambled(number, i++);
      x = static_cast<float>(is_kernel     ? std::sqrt(6 / fan_in) * s
                             : is_variance ? 1 + 0.5 * std::abs(s)
                             : is_shift    ? 0.1 * s
                                           : 1 + 0.1 * s);
    }
    graph.value(id).constant = std::move(tensor);
  }
}
inline Tensor scrambled_picture(std::int64_t height, std::int64_t width) {
  Tensor tensor(DType::kFloat32, {1, 3, height, width});
  std::uint32_t i = 0;
  for (float& x : tensor.mutable_data<float>()) x = static_cast<float>(scrambled(1000, i++));
  return tensor;
}

}  // namespace octet::testing
