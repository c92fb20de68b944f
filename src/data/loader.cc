#include "data/loader.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "tensor/npy.h"

namespace octet {

namespace {

// So many broken pictures in a row, in random order, are no accident.
constexpr std::size_t kMaxBrokenRun = 64;

// One example on its way into a batch.
struct Piece {
  std::size_t turn = 0;   // whose turn it is in the epoch
  std::size_t entry = 0;  // which one was read
  Example example = {};
  Tensor array = {};  // in place of a picture
  Random random{{}};
  bool is_read = false;
  std::string error = {};  // why the one whose turn it was can't be read; empty: it can

  Shape shape() const {
    return array.empty() ? Shape{Image::kChannels, example.height(), example.width()} : array.shape();
  }
  bool is_bytes() const { return array.empty() && !example.is_float(); }
  // Whether the two can be in one batch.
  bool fits(const Piece& other) const {
    const Mask *mask = example.mask(), *mask_of_other = other.example.mask();
    const bool same_masks = !mask || !mask_of_other ||
                            (mask->width == mask_of_other->width && mask->height == mask_of_other->height);
    return shape() == other.shape() && same_masks && example.changes == other.example.changes;
  }
};

// Pieces that are worked on by whoever has time.
struct Work {
  std::vector<Piece> pieces;
  std::size_t claimed = 0;  // pieces that someone works on or has worked on
  std::size_t done = 0;
  std::exception_ptr failure = {};

  bool has_free() const { return claimed < pieces.size(); }
  bool is_done() const { return done == pieces.size(); }
};

// What the sampler put together: is read and transformed to 8-bit pictures of their final size.
struct Chunk : Work {
  std::shared_ptr<const Epoch> epoch;
  std::int64_t number = 0;
};

// A batch whose pieces are normalised to their places in it.
struct Filling : Work {
  Batch batch;
};

std::vector<std::int64_t> labels_of(const Dataset& dataset) {
  std::vector<std::int64_t> labels;
  for (const Entry& entry : dataset.entries) labels.push_back(entry.label);
  return labels;
}

// The .npy file that was read last.
class ArrayFile {
 public:
  Tensor row(const Entry& entry) {
    std::lock_guard lock(mutex_);
    if (entry.path != path_) {
      file_ = std::make_shared<const Tensor>(load_npy(entry.path));
      path_ = entry.path;
    }
    if (file_->dtype() != DType::kFloat32 || file_->rank() != 4 || entry.row >= file_->dim(0))
      fail("{}: has changed since it was listed", entry.path.string());
    const std::size_t bytes = file_->size_bytes() / static_cast<std::size_t>(file_->dim(0));
    const Tensor row =
        Tensor::view(DType::kFloat32, Shape(file_->shape().begin() + 1, file_->shape().end()),
                     file_->bytes().data() + static_cast<std::size_t>(entry.row) * bytes, file_);
    for (std::size_t at = 0; at < bytes; at += sizeof(float)) {  // a file has them where it likes
      float value;
      std::memcpy(&value, row.bytes().data() + at, sizeof value);
      if (!std::isfinite(value))
        fail("{}: picture {} has a number that is {}", entry.path.string(), entry.row, value);
    }
    return row;
  }

 private:
  std::mutex mutex_;
  std::filesystem::path path_;
  std::shared_ptr<const Tensor> file_;
};

}  // namespace

struct Loader::State {
  State(Dataset all, const Transforms& list, const LoaderOptions& chosen)
      : dataset(std::move(all)),
        transforms(list),
        needed(transforms.needed_part()),
        options(chosen),
        sampler(dataset.entries.size(), options.batching, options.batch_size, options.shard, options.seed,
                options.drop_last, options.balanced ? labels_of(dataset) : std::vector<std::int64_t>()),
        is_broken(dataset.entries.size()) {}

  // Set once.
  const Dataset dataset;
  const PreparedTransforms transforms;
  const NeededPart needed;  // refers to them
  const LoaderOptions options;
  const Sampler sampler;
  std::vector<std::atomic<bool>> is_broken;  // saves reading a broken picture again for its neighbours
  ArrayFile arrays;

  std::mutex mutex;  // guards what follows
  std::condition_variable has_work, has_changed;
  std::shared_ptr<const Epoch> epoch;
  std::int64_t planned = 0;                      // the chunk that is put into the window next
  std::deque<std::shared_ptr<Chunk>> chunks;     // the window
  Filling open;                                  // the batch that pieces are collected for
  std::deque<std::shared_ptr<Filling>> batches;  // the next ones
  std::int64_t given = 0;                        // batches of this epoch, where they are filled up
  std::int64_t read = 0, broken = 0;
  std::string first_error;
  bool ended = false;
  std::exception_ptr failure;
  int active = 0;  // workers
  bool stop = false;
  std::vector<std::thread> threads;

  const PixelIntegers* integers() const { return options.integers ? &*options.integers : nullptr; }

  // Reading.

  // The example whose turn it is, or else, for a full batch, the next that can be read.
  void make(const Epoch& of, Piece& piece) {
    const std::vector<std::uint32_t>& order = of.order;
    const bool is_full = options.batching == Batching::kFull;
    const std::size_t tries = is_full ? std::min(order.size(), kMaxBrokenRun) : 1;
    for (std::size_t run = 0; run < tries; ++run) {
      piece.entry = order[(piece.turn + run) % order.size()];
      if (run > 0 && is_broken[piece.entry]) continue;
      const Entry& entry = dataset.entries[piece.entry];
      if (dataset.is_array(entry)) {
        piece.array = arrays.row(entry);
        piece.is_read = true;
        return;
      }
      try {
        Example example = dataset.load(entry, needed);
        // Of the turn, not of the entry: who steps in for another one is not seen twice in the same version.
        const std::size_t turn = piece.turn % order.size();
        Random random({options.seed.value_or(0), of.number,
                       of.has_repeats ? order.size() + turn : static_cast<std::size_t>(order[turn])});
        Target kept;
        if (options.keep_masks) kept = std::exchange(example.target, {});
        transforms.apply_to_pixels(example, random);
        if (options.keep_masks) example.target = std::move(kept);
        if (is_full) example.changes.clear();  // in training they are random, and nobody undoes them
        piece.example = std::move(example);
        piece.random = random;
        piece.is_read = true;
        return;
      } catch (const WrongTarget&) {
        throw;
      } catch (const OutOfMemory&) {  // which says nothing about the picture
        throw;
      } catch (const Error& error) {
        if (error.kind() == Error::Kind::kInternal) throw;
        is_broken[piece.entry] = true;
        if (run == 0) piece.error = problem_with(entry, error);
      }
    }
    if (is_full) fail("{} pictures in a row can't be read; the first: {}", tries, piece.error);
  }

  // Batches out of what was read. All of this is called with the mutex locked, and is quick.

  void plan() {
    auto chunk = std::make_shared<Chunk>();
    chunk->epoch = epoch;
    chunk->number = sampler.number_of(planned);
    for (std::size_t turn : sampler.turns(planned)) chunk->pieces.push_back({.turn = turn});
    ++planned;
    chunks.push_back(std::move(chunk));
    has_work.notify_all();
  }

  bool has_more() const { return planned < sampler.batches() && !ended; }

  void plan_ahead() {
    while (has_more() && std::ssize(chunks) + std::ssize(batches) < options.prefetch) plan();
  }

  void collect() {
    while (!ended && !chunks.empty() && chunks.front()->is_done()) {
      const std::shared_ptr<Chunk> chunk = std::exchange(chunks.front(), nullptr);
      chunks.pop_front();
      try {
        if (chunk->failure) std::rethrow_exception(chunk->failure);
        for (Piece& piece : chunk->pieces) add(std::move(piece), chunk->number);
        if (options.batching != Batching::kFilled) close(chunk->number);
        if (chunks.empty() && !has_more()) end();
      } catch (...) {
        failure = std::current_exception();
        ended = true;
        chunks.clear();
      }
    }
    plan_ahead();
    has_changed.notify_all();
  }

  void add(Piece piece, std::int64_t number) {
    const bool is_first = !piece.is_read || open.pieces.empty();
    const bool has_other_shape = !is_first && !piece.fits(open.pieces.front());
    const bool has_other_type =
        !is_first && options.integers && piece.is_bytes() != open.pieces.front().is_bytes();
    if (has_other_shape && options.batching == Batching::kFull)
      fail("pictures of {} and {} do not fit in one batch; the transforms of training must end in one size",
           to_string(open.pieces.front().shape()), to_string(piece.shape()));
    if (has_other_shape || has_other_type) close(number);
    count(piece.error);
    if (!piece.error.empty()) open.batch.broken.push_back(std::exchange(piece.error, {}));
    if (piece.is_read) open.pieces.push_back(std::move(piece));
    if (std::ssize(open.pieces) == options.batch_size) close(number);
  }

  void close(std::int64_t number) {
    const bool is_told = options.batching == Batching::kEach && !open.batch.broken.empty();
    if (open.pieces.empty() && !is_told) return;
    auto filling = std::make_shared<Filling>(std::exchange(open, {}));
    Batch& batch = filling->batch;
    batch.index = options.batching == Batching::kFilled ? given++ : number;
    for (const Piece& piece : filling->pieces) {
      batch.labels.push_back(dataset.entries[piece.entry].label);
      batch.entries.push_back(piece.entry);
    }
    if (!filling->pieces.empty())
      allocate(batch, filling->pieces[0].example, filling->pieces[0].array, batch.size(),
               transforms.channels(), integers());
    batches.push_back(std::move(filling));
    has_work.notify_all();
  }

  // What is broken behind the last batch is told with it.
  void end() {
    close(0);
    if (2 * broken > read && options.batching != Batching::kEach) {
      if (!batches.empty()) batches.pop_back();
      fail_broken();
    }
    if (!batches.empty())
      std::ranges::move(open.batch.broken, std::back_inserter(batches.back()->batch.broken));
    ended = true;
  }

  // Where most pictures are broken something else is wrong; it is better to hear of it soon.
  void count(const std::string& error) {
    constexpr std::int64_t kFew = 8;
    ++read;
    if (error.empty()) return;
    if (broken++ == 0) first_error = error;
    if (broken >= kFew && 2 * broken > read && options.batching != Batching::kEach) fail_broken();
  }

  [[noreturn]] void fail_broken() const {
    fail("{} of {} pictures can't be read; the first: {}", broken, read, first_error);
  }

  // Whether the next batch can be given. One is kept back until the next is there, for what is broken behind
  // the last.
  bool is_ready() const {
    const bool is_complete = options.batching == Batching::kFull || options.batching == Batching::kEach;
    return !batches.empty() && batches.front()->is_done() && (is_complete || ended || batches.size() > 1);
  }

  // Workers.

  bool has_piece() const {
    const auto has_free = [](const auto& work) { return work->has_free(); };
    return std::ranges::any_of(batches, has_free) || std::ranges::any_of(chunks, has_free);
  }

  // Works on the piece that is needed first, without the lock.
  void work(std::unique_lock<std::mutex>& lock) {
    for (std::shared_ptr<Filling> filling : batches)
      if (filling->has_free())
        return work_on(std::move(filling), lock, [this](Filling& to, std::size_t i) {
          Piece piece = std::exchange(to.pieces[i], {});  // whose memory is needed for others
          put(to.batch, i, piece.example, piece.array, piece.random, transforms, integers());
        });
    for (std::shared_ptr<Chunk> chunk : chunks)
      if (chunk->has_free())
        return work_on(std::move(chunk), lock,
                       [this](Chunk& of, std::size_t i) { make(*of.epoch, of.pieces[i]); });
  }

  // Keeps it alive when an epoch is given up meanwhile.
  template <class T, class Function>
  void work_on(std::shared_ptr<T> work, std::unique_lock<std::mutex>& lock, const Function& function) {
    const std::size_t i = work->claimed++;
    ++active;
    lock.unlock();
    std::exception_ptr problem;
    try {
      function(*work, i);
    } catch (...) {
      problem = std::current_exception();
    }
    lock.lock();
    --active;
    if (problem && !work->failure) work->failure = problem;
    ++work->done;
    if (work->is_done() || active == 0) collect();
  }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      has_work.wait(lock, [&] { return stop || has_piece(); });
      if (stop) return;
      work(lock);
    }
  }
};

Loader::Loader(Dataset dataset, const Transforms& transforms, const LoaderOptions& options) {
  check(options.workers >= 0 && options.prefetch >= 0, "a loader's options are in range");
  if (options.batching == Batching::kFull) check_trainable(dataset);
  check(!options.integers || PreparedTransforms(transforms).pixel_values(),
        "integers of pixels take the place of what Normalize alone does");
  state_ = std::make_unique<State>(std::move(dataset), transforms, options);
  start_threads(state_->threads, options.workers, [s = state_.get()](int) { s->run(); });
}

Loader::~Loader() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->has_work.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

std::int64_t Loader::batches() const {
  return state_->sampler.batches();
}

const Dataset& Loader::dataset() const {
  return state_->dataset;
}

void Loader::start_epoch(std::int64_t epoch, std::int64_t first_batch) {
  State& s = *state_;
  check(epoch >= 0 && first_batch >= 0, "epochs and batches are counted from 0");
  auto order = std::make_shared<const Epoch>(s.sampler.epoch(static_cast<std::uint64_t>(epoch)));
  std::lock_guard lock(s.mutex);
  s.epoch = std::move(order);
  s.planned = first_batch;
  s.given = s.read = s.broken = 0;
  s.chunks.clear();  // who works on a piece of these keeps it alive
  s.batches.clear();
  s.open = {};
  s.failure = nullptr;
  s.ended = first_batch >= s.sampler.batches();
  s.plan_ahead();
}

std::optional<Batch> Loader::next() {
  State& s = *state_;
  if (!s.epoch) start_epoch(0);
  std::unique_lock lock(s.mutex);
  while (!s.is_ready()) {
    if (s.ended && s.batches.empty()) {
      if (s.failure) std::rethrow_exception(std::exchange(s.failure, nullptr));
      return std::nullopt;
    }
    if (s.chunks.empty() && s.has_more()) s.plan();
    if (s.threads.empty())
      s.work(lock);
    else
      s.has_changed.wait(lock);
  }
  const std::shared_ptr<Filling> filling = std::move(s.batches.front());
  s.batches.pop_front();
  s.plan_ahead();
  if (filling->failure) std::rethrow_exception(filling->failure);
  return std::move(filling->batch);
}

void Loader::wait_until_idle() {
  std::unique_lock lock(state_->mutex);
  if (!state_->threads.empty())
    state_->has_changed.wait(lock, [&] { return state_->active == 0 && !state_->has_piece(); });
}

}  // namespace octet
