#include "train/device.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <charconv>
#include <cstdlib>

#include "base/error.h"

namespace octet::train {

namespace {

int usable_gpus() {
  return at::hasCUDA() ? static_cast<int>(at::detail::getCUDAHooks().deviceCount()) : 0;
}

std::string why_no_gpu() {
#ifdef OCTET_CUDA
  return "no CUDA device is usable on this machine";
#else
  return "this octet-train is built without CUDA (-DOCTET_CUDA=ON)";
#endif
}

// The place of this process among those of its machine.
int local_rank(const Comm& comm) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"})
    if (const char* rank = std::getenv(name)) return std::atoi(rank);
  return comm.rank();
}

bool cpu_has_bfloat16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") || __builtin_cpu_supports("amx-bf16");
#else
  return false;
#endif
}

}  // namespace

at::Device choose_device(const std::string& text, const Comm& comm, Reporter* reporter) {
  if (text == "cpu") return at::kCPU;
  const int gpus = usable_gpus();
  if (text == "auto") {
    if (gpus > 0) return {at::kCUDA, static_cast<at::DeviceIndex>(local_rank(comm) % gpus)};
    if (comm.rank() == 0 && reporter) reporter->notice("training on the CPU; " + why_no_gpu());
    return at::kCPU;
  }
  int index = local_rank(comm) % std::max(gpus, 1);
  const std::string number = text.starts_with("gpu:") ? text.substr(4) : "";
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), index);
  if (text != "gpu" && (number.empty() || error != std::errc() || end != number.data() + number.size()))
    fail("--device {}: expected auto, cpu, gpu or gpu:N", text);
  if (gpus == 0) fail("--device {}: {}; try --device cpu", text, why_no_gpu());
  if (index < 0 || index >= gpus) fail("--device {}: there are {} GPUs, 0 to {}", text, gpus, gpus - 1);
  return {at::kCUDA, static_cast<at::DeviceIndex>(index)};
}

Precision choose_precision(const TrainOptions& options, at::Device device) {
  Precision precision;
  if (options.amp_level.empty() || options.amp_level == "O0") return precision;
  precision.level = options.amp_level == "O1" ? Amp::kO1 : Amp::kO2;
  const std::string dtype = !options.amp_dtype.empty() ? options.amp_dtype
                            : device.is_cuda()         ? "float16"
                                                       : "bfloat16";
  precision.dtype = dtype == "float16" ? at::kHalf : at::kBFloat16;
  precision.rounded = device.is_cpu() && !(precision.dtype == at::kBFloat16 && cpu_has_bfloat16());
  return precision;
}

}  // namespace octet::train
