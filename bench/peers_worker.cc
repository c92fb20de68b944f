// octet as one of the engines of bench/peers: octet_peers_worker MODEL X.npy Y.npy THREADS
// It speaks the protocol of bench/peers/worker.py.
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "metrics/compare.h"
#include "octet/predictor.h"
#include "octet/version.h"
#include "tensor/npy.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::int64_t memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::int64_t kilobytes = 0; word == field + ":" && status >> kilobytes) return kilobytes * 1024;
  return 0;
}

long preemptions() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

double cpu_ms() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) * 1e-6;
}

void say(const Json& json) {
  std::cout << json.dump() << std::endl;
}

double cosine(const TensorHandle& output, const Tensor& expected) {
  std::vector<float> values(static_cast<std::size_t>(output.size()));
  output.copy_to_cpu(values.data());
  Tensor aligned = expected.aligned();
  if (aligned.size() != output.size()) return 0;
  return compare(aligned.data<float>(), values).cosine;
}

void work(const std::string& model, const Tensor& x, const Tensor& expected, int threads) {
  std::int64_t before = memory("VmRSS");
  Clock::time_point start = Clock::now();
  Config config(model);
  config.set_cpu_math_library_num_threads(threads);
  auto predictor = create_predictor(config);
  auto input = predictor->get_input_handle(predictor->get_input_names().front());
  input->reshape(x.shape());
  input->copy_from_cpu(x.data<float>().data());
  predictor->run();
  double load_ms = ms_since(start);
  auto output = predictor->get_output_handle(predictor->get_output_names().front());
  say({{"version", version()},
       {"cosine", cosine(*output, expected)},
       {"load_ms", load_ms},
       {"loaded_bytes", memory("VmHWM") - before}});

  for (int runs = 0; std::cin >> runs;) {
    Json times = Json::array();
    for (int i = 0; i < runs; ++i) {
      long preempted = preemptions();
      double cpu_start = cpu_ms();
      start = Clock::now();
      predictor->run();
      double ms = ms_since(start);
      times.push_back({ms, cpu_ms() - cpu_start, preemptions() - preempted});
    }
    say(times);
  }
  say({{"peak_bytes", memory("VmHWM") - before}, {"process_peak_bytes", memory("VmHWM")}});
}

}  // namespace
}  // namespace octet

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: octet_peers_worker MODEL X.npy Y.npy THREADS\n");
    return 2;
  }
  try {
    octet::work(argv[1], octet::load_npy(argv[2]).aligned(), octet::load_npy(argv[3]), std::stoi(argv[4]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 0;
}
