#include <cstddef>
#include <cstdint>

#include "formats/onnx/model_io.h"
#include "formats/onnx/proto.h"
#include "model_files.h"
#include "run_model.h"
#include "survive.h"

// A model without external data: what is beside a file in memory is nothing.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octet::MemoryFile file({data, size});
  return octet::survive([&] {
    octet::Graph graph = octet::onnx::load_model({file.path(), {}});
    octet::dump(graph);
    octet::prepare_and_run(graph);
  });
}
