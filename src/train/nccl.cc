#include "train/nccl.h"

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <nccl.h>
#include <unistd.h>

#include <set>

#include "base/error.h"

namespace octet::train {

struct Nccl::State {
  at::Device device;
  c10::cuda::CUDAStream stream;  // beside the main one
  ncclComm_t comm = nullptr;
};

namespace {

void check_nccl(ncclResult_t result, const char* what) {
  if (result != ncclSuccess) fail("NCCL: {} failed: {}", what, ncclGetErrorString(result));
}

// Which GPU of which machine a process has.
std::string name_of(at::Device device) {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  return fmt::format("{} {}", host, static_cast<int>(device.index()));
}

// `after` goes on when `before` has done what it has been given so far.
void wait_for(const c10::cuda::CUDAStream& before, const c10::cuda::CUDAStream& after) {
  at::cuda::CUDAEvent event;
  event.record(before);
  event.block(after);
}

}  // namespace

std::unique_ptr<Nccl> Nccl::connect(Comm& comm, at::Device device) {
  const std::vector<std::string> names = comm.gather(name_of(device));
  ncclUniqueId id{};
  std::string text;
  if (comm.rank() == 0 && std::set(names.begin(), names.end()).size() == names.size()) {
    check_nccl(ncclGetUniqueId(&id), "a new id");
    text.assign(id.internal, sizeof id.internal);
  }
  text = comm.broadcast(text);
  if (text.empty()) return nullptr;
  text.copy(id.internal, sizeof id.internal);
  const c10::cuda::CUDAGuard guard(device);
  auto state = std::make_unique<State>(State{device, c10::cuda::getStreamFromPool(false, device.index())});
  check_nccl(ncclCommInitRank(&state->comm, comm.size(), id, comm.rank()), "connecting the processes");
  return std::unique_ptr<Nccl>(new Nccl(std::move(state)));
}

Nccl::Nccl(std::unique_ptr<State> state) : state_(std::move(state)) {}

Nccl::~Nccl() {
  ncclCommDestroy(state_->comm);
}

void Nccl::average(const at::Tensor& tensor) {
  const c10::cuda::CUDAGuard guard(state_->device);
  wait_for(c10::cuda::getDefaultCUDAStream(state_->device.index()), state_->stream);
  float* data = tensor.data_ptr<float>();
  check_nccl(ncclAllReduce(data, data, static_cast<std::size_t>(tensor.numel()), ncclFloat, ncclAvg,
                           state_->comm, state_->stream.stream()),
             "averaging gradients");
}

void Nccl::finish() {
  const c10::cuda::CUDAGuard guard(state_->device);
  wait_for(state_->stream, c10::cuda::getDefaultCUDAStream(state_->device.index()));
}

}  // namespace octet::train
