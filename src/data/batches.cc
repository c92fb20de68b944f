#include "data/batches.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/threads.h"
#include "data/image.h"
#include "tensor/npy.h"

namespace octet {

namespace {

// A sample that has been read: a picture of its final size, or an array.
struct Loaded {
  std::int64_t label = -1;
  Shape shape = {};  // C x H x W
  Image image = {};
  Tensor array = {};
  std::string error = {};  // not empty: it can't be read
};

// Makes one batch after the other.
class Assembler {
 public:
  Assembler(Dataset dataset, const Preprocess& preprocess, const BatchOptions& options)
      : dataset_(std::move(dataset)),
        preprocess_(preprocess),
        batch_size_(static_cast<std::size_t>(options.batch_size)),
        shard_(options.shard),
        pool_(options.workers) {}

  // Without pixels: there are no more.
  Batch next() {
    Batch batch;
    std::vector<Loaded> chosen;
    while (chosen.size() < batch_size_) {
      if (loaded_.empty()) {
        if (shard_ && !chosen.empty()) break;
        load(batch_size_ - chosen.size());
        if (loaded_.empty()) break;
      }
      Loaded& first = loaded_.front();
      if (first.error.empty() && !chosen.empty() && first.shape != chosen.front().shape) break;
      count(first.error);
      if (first.error.empty())
        chosen.push_back(std::move(first));
      else
        batch.broken.push_back(std::move(first.error));
      loaded_.pop_front();
    }
    if (chosen.empty()) {
      if (2 * broken_ > read_) fail_broken();
      return batch;
    }
    batch.index = shard_ ? chunk_ : batches_++;
    batch.pixels = join(chosen);
    for (const Loaded& sample : chosen) batch.labels.push_back(sample.label);
    return batch;
  }

 private:
  // Reads at most `count` samples on; in a shard, the samples of its next batch.
  void load(std::size_t count) {
    if (shard_) {
      std::size_t chunk = (at_ + batch_size_ - 1) / batch_size_;
      while (chunk % static_cast<std::size_t>(shard_->size) != static_cast<std::size_t>(shard_->rank))
        ++chunk;
      chunk_ = static_cast<std::int64_t>(chunk);
      at_ = std::min(chunk * batch_size_, dataset_.samples.size());
      count = batch_size_;
    }
    count = std::min(count, dataset_.samples.size() - at_);
    loaded_.resize(count);
    // Arrays only have to be found, pictures are worth several threads.
    for (std::size_t i = 0; i < count; ++i)
      if (dataset_.is_array(dataset_.samples[at_ + i])) loaded_[i] = load_array(dataset_.samples[at_ + i]);
    pool_.parallel_for(static_cast<std::int64_t>(count), [&](std::int64_t i) {
      const Sample& sample = dataset_.samples[at_ + static_cast<std::size_t>(i)];
      if (!dataset_.is_array(sample)) loaded_[static_cast<std::size_t>(i)] = load_picture(sample);
    });
    at_ += count;
  }

  Loaded load_picture(const Sample& sample) const {
    Loaded loaded{.label = sample.label};
    try {
      loaded.image = resize_and_crop(dataset_.load(sample), preprocess_);
      loaded.shape = {Image::kChannels, loaded.image.height, loaded.image.width};
    } catch (const Error& error) {
      loaded.error = problem_with(sample, error);
    }
    return loaded;
  }

  Loaded load_array(const Sample& sample) {
    if (sample.path != file_path_) {
      file_ = std::make_shared<const Tensor>(load_npy(sample.path));
      file_path_ = sample.path;
    }
    if (file_->dtype() != DType::kFloat32 || file_->rank() != 4 || sample.row >= file_->dim(0))
      fail("{}: has changed since it was listed", sample.path.string());
    const Shape shape(file_->shape().begin() + 1, file_->shape().end());
    const std::size_t bytes = file_->size_bytes() / static_cast<std::size_t>(file_->dim(0));
    const std::byte* data = file_->bytes().data() + static_cast<std::size_t>(sample.row) * bytes;
    return {
        .label = sample.label, .shape = shape, .array = Tensor::view(DType::kFloat32, shape, data, file_)};
  }

  Tensor join(const std::vector<Loaded>& samples) {
    Shape shape = samples.front().shape;
    shape.insert(shape.begin(), static_cast<std::int64_t>(samples.size()));
    Tensor batch(DType::kFloat32, shape);
    const std::span<float> values = batch.mutable_data<float>();
    const std::size_t size = values.size() / samples.size();
    pool_.parallel_for(static_cast<std::int64_t>(samples.size()), [&](std::int64_t i) {
      const Loaded& sample = samples[static_cast<std::size_t>(i)];
      const std::span<float> to = values.subspan(static_cast<std::size_t>(i) * size, size);
      if (sample.array.empty())
        normalize(sample.image, preprocess_, to);
      else
        std::memcpy(to.data(), sample.array.bytes().data(), to.size_bytes());
    });
    return batch;
  }

  // Where most pictures are broken something else is wrong; it is better to hear of it soon.
  void count(const std::string& error) {
    constexpr std::int64_t kFew = 8;
    ++read_;
    if (error.empty()) return;
    if (broken_++ == 0) first_error_ = error;
    if (broken_ >= kFew && 2 * broken_ > read_) fail_broken();
  }

  [[noreturn]] void fail_broken() const {
    fail("{} of {} pictures can't be read; the first: {}", broken_, read_, first_error_);
  }

  const Dataset dataset_;
  const Preprocess preprocess_;
  const std::size_t batch_size_;
  const std::optional<Shard> shard_;
  ThreadPool pool_;
  std::size_t at_ = 0;         // the sample to read next
  std::deque<Loaded> loaded_;  // read, but in no batch yet
  std::int64_t chunk_ = 0;     // in a shard, the batch that they belong to
  std::int64_t batches_ = 0;   // given without a shard
  std::filesystem::path file_path_;
  std::shared_ptr<const Tensor> file_;  // the array that was read last
  std::int64_t read_ = 0, broken_ = 0;
  std::string first_error_;
};

}  // namespace

struct BatchReader::State {
  State(Dataset dataset, const Preprocess& preprocess, const BatchOptions& options)
      : assembler(std::move(dataset), preprocess, options) {}

  Assembler assembler;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::optional<Batch> ready;
  std::exception_ptr error;
  bool waiting = false;  // with the next batch, for `ready` to be taken
  bool ended = false, stop = false;
  std::thread thread;

  // False when nobody wants the batch any more.
  bool push(Batch batch) {
    std::unique_lock lock(mutex);
    waiting = true;
    changed.notify_all();
    changed.wait(lock, [&] { return !ready || stop; });
    waiting = false;
    ready = std::move(batch);
    changed.notify_all();
    return !stop;
  }

  // A batch is kept back until the next one is made, for what is broken behind the last one to be told with
  // it. So one is in `ready` and one is kept: two ahead.
  void make_batches() {
    Batch kept = assembler.next();
    while (!kept.pixels.empty()) {
      Batch batch = assembler.next();
      if (batch.pixels.empty())
        kept.broken.insert(kept.broken.end(), batch.broken.begin(), batch.broken.end());
      if (!push(std::exchange(kept, std::move(batch)))) return;
    }
  }

  void run() {
    std::exception_ptr problem;
    try {
      make_batches();
    } catch (...) {
      problem = std::current_exception();
    }
    std::lock_guard lock(mutex);
    error = problem;
    ended = true;
    changed.notify_all();
  }
};

BatchReader::BatchReader(Dataset dataset, const Preprocess& preprocess, const BatchOptions& options) {
  check(options.batch_size > 0, "a batch has at least one sample");
  check(!options.shard || (options.shard->rank >= 0 && options.shard->rank < options.shard->size),
        "a shard's rank is below its size");
  validate(preprocess);
  state_ = std::make_unique<State>(std::move(dataset), preprocess, options);
  state_->thread = std::thread([s = state_.get()] { s->run(); });
}

BatchReader::~BatchReader() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

std::optional<Batch> BatchReader::next() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->ready || state_->ended; });
  if (!state_->ready && state_->error) std::rethrow_exception(state_->error);
  std::optional<Batch> batch = std::exchange(state_->ready, std::nullopt);
  state_->changed.notify_all();
  return batch;
}

void BatchReader::wait_until_idle() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return (state_->ready && state_->waiting) || state_->ended; });
}

}  // namespace octet
