#include "train/reducer.h"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#ifdef OCTET_CUDA
#include "train/nccl.h"
#endif

namespace octet::train {

namespace {

constexpr std::int64_t kPieceFloats = 1 << 20;  // 4 MB

struct Piece {
  std::int64_t begin = 0, end = 0;
  int parameters = 0;
  int missing = 0;  // whose gradients are not there yet
};

}  // namespace

// Pieces go out in one order, the same in every process, whichever is complete first.
struct Reducer::State {
  at::Tensor gradients;
  std::unique_ptr<Comm> comm;
#ifdef OCTET_CUDA
  std::unique_ptr<Nccl> nccl;  // for gradients on GPUs, one a process
#endif
  std::vector<Piece> pieces;
  std::vector<std::size_t> piece_of;  // for each parameter

  std::mutex mutex;
  std::condition_variable changed;
  std::size_t sent = 0;
  bool active = false, stopping = false;
  std::exception_ptr error;
  std::thread thread;

  void gradient_ready(std::size_t parameter) {
    const std::lock_guard lock(mutex);
    if (active && --pieces[piece_of[parameter]].missing == 0) changed.notify_all();
  }

  void average(at::Tensor part) {
    const at::NoGradGuard no_gradients;
#ifdef OCTET_CUDA
    if (nccl) return nccl->average(part);
#endif
    const at::Tensor host = part.to(at::kCPU);
    comm->all_reduce(std::span<float>(host.data_ptr<float>(), static_cast<std::size_t>(host.numel())));
    part.copy_(host).mul_(1.0 / comm->size());
  }

  void exchange() {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock,
                   [&] { return stopping || (active && sent < pieces.size() && pieces[sent].missing == 0); });
      if (stopping) return;
      const Piece piece = pieces[sent];
      lock.unlock();
      std::exception_ptr failure;
      try {
        average(gradients.slice(0, piece.begin, piece.end));
      } catch (...) {
        failure = std::current_exception();  // for finish()
      }
      lock.lock();
      if (failure) error = failure;
      sent = failure ? pieces.size() : sent + 1;
      changed.notify_all();
    }
  }
};

namespace {

struct TellReady : torch::autograd::PostAccumulateGradHook {
  explicit TellReady(std::function<void()> tell) : tell(std::move(tell)) {}
  void operator()(const torch::autograd::Variable&) override { tell(); }
  std::function<void()> tell;
};

}  // namespace

Reducer::Reducer(std::vector<Weight>& parameters, Optimizer& optimizer, std::unique_ptr<Comm> comm)
    : state_(std::make_shared<State>()) {
  state_->gradients = optimizer.gradients();
  state_->comm = std::move(comm);
#ifdef OCTET_CUDA
  const at::Device device = optimizer.gradients().device();
  if (device.is_cuda()) state_->nccl = Nccl::connect(*state_->comm, device);
#endif
  state_->piece_of.resize(parameters.size());
  // From the last parameter to the first, as the backward pass makes them.
  std::int64_t end = optimizer.gradients().numel();
  for (std::size_t i = parameters.size(); i-- > 0;) {
    std::vector<Piece>& pieces = state_->pieces;
    if (pieces.empty() || pieces.back().end - pieces.back().begin >= kPieceFloats)
      pieces.push_back({.begin = end, .end = end});
    pieces.back().begin = end = optimizer.offset(i);
    state_->piece_of[i] = pieces.size() - 1;
    if (parameters[i].is_frozen) continue;
    ++pieces.back().parameters;
    torch::autograd::impl::set_post_acc_grad_hooks(
        parameters[i].tensor, std::make_unique<TellReady>([state = std::weak_ptr(state_), i] {
          if (auto alive = state.lock()) alive->gradient_ready(i);
        }));
  }
  state_->thread = std::thread([state = state_.get()] { state->exchange(); });
}

Reducer::~Reducer() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

void Reducer::start() {
  const std::lock_guard lock(state_->mutex);
  for (Piece& piece : state_->pieces) piece.missing = piece.parameters;
  state_->sent = 0;
  state_->active = true;
}

void Reducer::finish() {
  std::unique_lock lock(state_->mutex);
  // A parameter that the loss does not depend on has no gradient in any process.
  for (Piece& piece : state_->pieces) piece.missing = 0;
  state_->changed.notify_all();
  state_->changed.wait(lock, [&] { return state_->sent == state_->pieces.size(); });
  state_->active = false;
  if (state_->error) std::rethrow_exception(state_->error);
#ifdef OCTET_CUDA
  if (state_->nccl) state_->nccl->finish();
#endif
}

}  // namespace octet::train
