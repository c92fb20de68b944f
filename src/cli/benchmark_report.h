#pragma once
#include <cstdint>
#include <string>

namespace octet::cli {

// What `octet infer --benchmark True` measured.
struct Benchmark {
  std::string model, precision, device, isa, input_shape;
  bool ir_optim = true;
  int threads = 0, batch_size = 0;
  std::int64_t pictures = 0, batches = 0;
  double preprocess_ms = 0, inference_ms = 0, postprocess_ms = 0;  // of all batches
  double wall_seconds = 0;                                         // since the program began
};

// The report that test pipelines collect, with the names of Paddle's AutoLog: a heading for each group, then
// lines of ` name: value`. Times are means over the batches.
std::string format_benchmark(const Benchmark& benchmark);

}  // namespace octet::cli
