#include "formats/paddle3/model_io.h"
#include "model_files.h"
#include "run_model.h"
#include "survive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const octet::ModelFiles files = octet::model_files(data, size);
  return octet::survive([&] {
    octet::Graph graph = octet::paddle3::load_model(files.paths());
    octet::dump(graph);
    octet::prepare_and_run(graph);
    const auto write = [&] { octet::paddle3::write_model(graph, [](octet::Bytes) {}); };
    write();
    // With some ops written anew, then with all of them.
    octet::survive([&] {
      for (std::size_t i = 0; i < graph.nodes.size(); i += 2) graph.nodes[i].source = -1;
      write();
    });
    graph.source = nullptr;
    write();
  });
}
