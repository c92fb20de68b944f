#include "cli/benchmark_report.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <fstream>

#include "base/cpu.h"
#include "base/error.h"
#include "octet/version.h"

namespace octet::cli {

namespace {

// "Debian GNU/Linux 12 (bookworm)", or the kernel's name where the system has no other.
std::string system_name() {
  std::ifstream file("/etc/os-release");
  constexpr std::string_view kKey = "PRETTY_NAME=\"";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(kKey) && line.ends_with('"'))
      return printable(line.substr(kKey.size(), line.size() - kKey.size() - 1));
  utsname name{};
  ::uname(&name);
  return fmt::format("{} {}", name.sysname, name.release);
}

std::string heading(std::string_view title) {
  constexpr std::size_t kWidth = 57;
  const std::string text = fmt::format(" {} info ", title);
  const std::size_t left = (kWidth - text.size() + 1) / 2;
  return std::string(left, '-') + text + std::string(kWidth - text.size() - left, '-') + "\n";
}

const char* text(bool value) {
  return value ? "True" : "False";
}

}  // namespace

std::string format_benchmark(const Benchmark& benchmark) {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  const double cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  const auto batches = static_cast<double>(benchmark.batches);
  const double total_ms = benchmark.preprocess_ms + benchmark.inference_ms + benchmark.postprocess_ms;

  std::string out = heading("Env");
  out += fmt::format(" OS_version: {}\n CPU: {}\n", system_name(), cpu_info().model);
  out += heading("octet") + fmt::format(" octet_version: {}\n", version());
  out += heading("Conf");
  out += fmt::format(
      " runtime_device: {}\n isa: {}\n ir_optim: {}\n enable_memory_optim: True\n enable_tensorrt: False\n"
      " enable_mkldnn: False\n cpu_math_library_num_threads: {}\n",
      benchmark.device, benchmark.isa, text(benchmark.ir_optim), benchmark.threads);
  out += heading("Model");
  out += fmt::format(" model_name: {}\n precision: {}\n", printable(benchmark.model), benchmark.precision);
  out += heading("Data");
  out += fmt::format(" batch_size: {}\n input_shape: {}\n data_num: {}\n", benchmark.batch_size,
                     benchmark.input_shape, benchmark.pictures);
  out += heading("Perf");
  out += fmt::format(" cpu_rss(MB): {:.4f}, gpu_rss(MB): None, gpu_util: None%\n cpu_usage(%): {:.1f}\n",
                     static_cast<double>(usage.ru_maxrss) / 1024, 100 * cpu_seconds / benchmark.wall_seconds);
  out += fmt::format(" total time spent(s): {:.4f}\n", total_ms / 1000);
  out +=
      fmt::format(" preprocess_time(ms): {:.4f}, inference_time(ms): {:.4f}, postprocess_time(ms): {:.4f}\n",
                  benchmark.preprocess_ms / batches, benchmark.inference_ms / batches,
                  benchmark.postprocess_ms / batches);
  out += fmt::format(" ips: {:.2f} pictures a second, inference alone {:.2f}\n",
                     1000 * static_cast<double>(benchmark.pictures) / total_ms,
                     1000 * static_cast<double>(benchmark.pictures) / benchmark.inference_ms);
  return out;
}

}  // namespace octet::cli
