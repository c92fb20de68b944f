#pragma once
#include <optional>
#include <string>
#include <vector>

#include "octet/model.h"
#include "tensor/tensor.h"

namespace octet::cli {

struct NamedShape {
  std::string name;  // "" for the model's next input
  Shape shape;
};

// [NAME=]1x3x224x224, as --input takes it.
NamedShape parse_shape(const std::string& word);
std::optional<NamedShape> find_shape(const std::string& word);  // nothing: it is something else

// The shape of a model's one input: 1x3x512x1024, or the same as several words (1 3 512 1024), as PaddleSeg
// has it. -1 stands for any size. No words: an empty shape.
Shape parse_input_shape(const std::vector<std::string>& words);

// Shapes for the model's inputs: by name, then in their order, then what is declared, with a picture of a
// usual size where only a run decides.
std::vector<Shape> choose_shapes(const std::string& path, const std::vector<TensorInfo>& inputs,
                                 const std::vector<NamedShape>& given);

}  // namespace octet::cli
