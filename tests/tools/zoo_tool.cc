// What the tests against real Paddle drive: checkpoints of the zoo's networks under other names of their
// parameters.
#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "formats/format.h"
#include "models/models.h"
#include "models/names.h"

int main(int argc, char** argv) {
  using namespace octet;
  try {
    if (argc != 6) {
      fmt::print(stderr, "usage: {} MODEL WIDTH IN reference|paddle OUT; IN - stands for fresh weights\n",
                 argv[0]);
      return 2;
    }
    const std::string model = argv[1], in = argv[3];
    models::ModelOptions options = {.num_classes = 7, .img_size = 32, .width = std::stod(argv[2])};
    Graph graph = models::build_model(model, options);
    if (in != "-") {
      StateDict state = load_state_dict(in);
      check_all_used(models::read_parameters(graph, state, model, in), state, model, in);
    }
    models::Naming naming =
        argv[4] == std::string("paddle") ? models::Naming::kPaddleVision : models::Naming::kReference;
    save_state_dict(argv[5], models::to_state_dict(graph, model, naming));
  } catch (const Error& error) {
    fmt::print(stderr, "octet: error: {}\n", error.what());
    return error.kind() == Error::Kind::kUser ? 2 : 1;
  }
  return 0;
}
