// What the tests against real PaddleSeg drive: networks of the zoo as inference models.
#include <fmt/format.h>

#include <sstream>
#include <string>

#include "base/error.h"
#include "formats/format.h"
#include "models/inference.h"
#include "models/models.h"
#include "models/names.h"

namespace {

octet::Shape parse_shape(const std::string& text) {
  octet::Shape shape;
  std::istringstream numbers(text);
  for (std::string number; std::getline(numbers, number, 'x');) shape.push_back(std::stol(number));
  return shape;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace octet;
  try {
    if (argc < 5) {
      fmt::print(stderr,
                 "usage: {} MODEL CHECKPOINT FOLDER none|softmax|argmax [int32] [aux] [deconv] [SHAPE]\n",
                 argv[0]);
      return 2;
    }
    const std::string model = argv[1], checkpoint = argv[2], output = argv[4];
    models::ModelOptions options = {.fresh_weights = false};
    models::InferenceOptions inference = {.output = output == "argmax"    ? models::OutputOp::kArgmax
                                                    : output == "softmax" ? models::OutputOp::kSoftmax
                                                                          : models::OutputOp::kNone};
    std::string shape;
    for (int i = 5; i < argc; ++i) {
      const std::string word = argv[i];
      if (word == "int32")
        inference.class_dtype = DType::kInt32;
      else if (word == "aux")
        inference.keep_aux = true;
      else if (word == "deconv")
        options.segmentation.use_deconv = true;
      else
        shape = word;
    }
    const StateDict state = load_state_dict(checkpoint);
    options.num_classes = models::num_classes_of(state, model, checkpoint);
    Graph graph = models::build_model(model, options);
    check_all_used(models::read_parameters(graph, state, model, checkpoint), state, model, checkpoint);
    models::to_inference(graph, inference);
    if (!shape.empty()) models::fix_input_shape(graph, parse_shape(shape));
    Model(std::make_shared<const Graph>(std::move(graph))).save(argv[3]);
  } catch (const Error& error) {
    fmt::print(stderr, "octet: error: {}\n", error.what());
    return error.kind() == Error::Kind::kUser ? 2 : 1;
  }
  return 0;
}
