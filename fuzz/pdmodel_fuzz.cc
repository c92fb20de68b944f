#include "formats/paddle/model_io.h"
#include "model_files.h"
#include "run_model.h"
#include "survive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const octet::ModelFiles files = octet::model_files(data, size);
  return octet::survive([&] {
    octet::Graph graph = octet::paddle::load_model(files.paths());
    octet::dump(graph);
    octet::prepare_and_run(graph);
    octet::paddle::write_model(graph, [](octet::Bytes) {});
  });
}
