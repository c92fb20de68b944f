#include "data/loader.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/random.h"

namespace octet {

namespace {

// So many broken pictures in a row, in random order, are no accident.
constexpr std::size_t kMaxBrokenRun = 64;

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

void check_trainable(const Dataset& dataset) {
  if (!dataset.empty_folders.empty())
    fail("class folder {} holds no pictures (*.jpg, *.jpeg, *.png); {} of {} class folders {} empty",
         dataset.empty_folders.front().string(), dataset.empty_folders.size(), dataset.classes.size(),
         dataset.empty_folders.size() == 1 ? "is" : "are");
  if (dataset.samples.empty()) fail("there are no pictures to train on");
  const std::string first = dataset.samples.front().path.string();
  if (!dataset.has_labels())
    fail("{}: training needs labels: one folder a class, or a list with lines of `relative/path label`",
         first);
  if (dataset.is_array(dataset.samples.front()))
    fail("{}: an array of pictures that are preprocessed already; training needs the pictures", first);
}

// An epoch's order of the samples.
struct Epoch {
  std::uint64_t number = 0;
  std::vector<std::uint32_t> order;
};

Epoch shuffled(std::size_t samples, std::uint64_t seed, std::uint64_t number) {
  Epoch epoch{number, std::vector<std::uint32_t>(samples)};
  std::iota(epoch.order.begin(), epoch.order.end(), 0u);
  Random random({seed, number});
  for (std::size_t i = samples; i > 1; --i)
    std::swap(epoch.order[i - 1], epoch.order[index(random.below(static_cast<std::int64_t>(i)))]);
  return epoch;
}

// A batch in the making. Its pieces are made by whoever has time.
struct Work {
  std::shared_ptr<const Epoch> epoch;
  TrainBatch batch;
  std::vector<std::string> errors;  // of each piece; empty: it could be read
  std::int64_t claimed = 0;         // pieces that someone makes or has made
  std::int64_t done = 0;
  std::exception_ptr failure = {};
};

}  // namespace

struct TrainLoader::State {
  State(Dataset all, const TrainTransform& how, const LoaderOptions& chosen)
      : dataset(std::move(all)), transform(how), options(chosen), is_broken(dataset.samples.size()) {
    const auto samples = static_cast<std::int64_t>(dataset.samples.size());
    step = std::int64_t{options.batch_size} * options.world;
    batches = options.drop_last ? samples / step : (samples + step - 1) / step;
    if (batches == 0)
      fail("{} pictures are fewer than the {} of one batch{}; try a smaller batch size", samples, step,
           options.world > 1 ? fmt::format(" ({} in each of {} processes)", options.batch_size, options.world)
                             : "");
  }

  // Set once.
  const Dataset dataset;
  const TrainTransform transform;
  const LoaderOptions options;
  std::int64_t step = 0;                     // samples of a batch of all processes
  std::int64_t batches = 0;                  // in an epoch
  std::vector<std::atomic<bool>> is_broken;  // saves reading a broken picture again for its neighbours

  // Of the calling thread.
  std::shared_ptr<const Epoch> epoch;
  std::int64_t planned = 0;  // the batch that is put into the window next
  std::int64_t read = 0, broken = 0;
  std::string first_error;

  std::mutex mutex;  // guards what follows, and the counters of each work
  std::condition_variable has_work, has_batch;
  std::deque<std::shared_ptr<Work>> window;  // the next batches
  bool stop = false;
  std::vector<std::thread> threads;

  std::shared_ptr<Work> plan() {
    auto work = std::make_shared<Work>();
    work->epoch = epoch;
    work->batch.index = planned++;
    work->batch.pixels =
        Tensor(DType::kFloat32, {options.batch_size, Image::kChannels, transform.size, transform.size});
    work->batch.labels.resize(index(options.batch_size));
    work->errors.resize(index(options.batch_size));
    return work;
  }

  // Makes the piece `i` of a batch: the sample whose turn it is, or else the next that can be read.
  void make(Work& work, std::int64_t i) {
    const std::vector<std::uint32_t>& order = work.epoch->order;
    const std::size_t turn = index(work.batch.index * step + i * options.world + options.rank);
    for (std::size_t run = 0; run < std::min(order.size(), kMaxBrokenRun); ++run) {
      const std::size_t number = order[(turn + run) % order.size()];
      if (run > 0 && is_broken[number]) continue;
      const Sample& sample = dataset.samples[number];
      try {
        const Image image = dataset.load(sample);
        // Of the turn, not of the sample: who steps in for another one is not seen twice in the same version.
        Random random({options.seed, work.epoch->number, order[turn % order.size()]});
        const std::size_t size = index(work.batch.pixels.size() / options.batch_size);
        augment(image, transform, random,
                work.batch.pixels.mutable_data<float>().subspan(index(i) * size, size));
        work.batch.labels[index(i)] = sample.label;
        return;
      } catch (const Error& error) {
        if (error.kind() == Error::Kind::kInternal) throw;
        is_broken[number] = true;
        if (run == 0) work.errors[index(i)] = problem_with(sample, error);
      }
    }
    fail("{} pictures in a row can't be read; the first: {}", std::min(order.size(), kMaxBrokenRun),
         work.errors[index(i)]);
  }

  // The first piece that nobody makes yet; nothing: there is none.
  std::shared_ptr<Work> claim(std::int64_t* piece) {
    for (const std::shared_ptr<Work>& work : window) {
      if (work->claimed == options.batch_size) continue;
      *piece = work->claimed++;
      return work;
    }
    return nullptr;
  }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      std::int64_t piece = 0;
      std::shared_ptr<Work> work;
      has_work.wait(lock, [&] { return stop || (work = claim(&piece)); });
      if (stop) return;
      lock.unlock();
      std::exception_ptr failure;
      try {
        make(*work, piece);
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !work->failure) work->failure = failure;
      if (++work->done == options.batch_size) has_batch.notify_all();
    }
  }

  // Where most pictures are broken something else is wrong; it is better to hear of it soon.
  void count(Work& work) {
    constexpr std::int64_t kFew = 8;
    for (std::string& error : work.errors) {
      ++read;
      if (error.empty()) continue;
      if (broken++ == 0) first_error = error;
      work.batch.broken.push_back(std::move(error));
      if (broken >= kFew && 2 * broken > read) fail_broken();
    }
    if (work.batch.index == batches - 1 && 2 * broken > read) fail_broken();
  }

  [[noreturn]] void fail_broken() const {
    fail("{} of {} pictures can't be read; the first: {}", broken, read, first_error);
  }
};

TrainLoader::TrainLoader(Dataset dataset, const TrainTransform& transform, const LoaderOptions& options) {
  check(options.batch_size > 0 && options.workers >= 0 && options.prefetch > 0,
        "a loader's options are in range");
  check(options.rank >= 0 && options.rank < options.world, "a process' rank is below their number");
  check_trainable(dataset);
  validate(transform);
  state_ = std::make_unique<State>(std::move(dataset), transform, options);
  for (int i = 0; i < options.workers; ++i) state_->threads.emplace_back([s = state_.get()] { s->run(); });
}

TrainLoader::~TrainLoader() {
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->has_work.notify_all();
  for (std::thread& thread : state_->threads) thread.join();
}

std::int64_t TrainLoader::batches() const {
  return state_->batches;
}

const Dataset& TrainLoader::dataset() const {
  return state_->dataset;
}

void TrainLoader::start_epoch(std::int64_t epoch, std::int64_t first_batch) {
  State& s = *state_;
  check(epoch >= 0 && first_batch >= 0, "epochs and batches are counted from 0");
  const auto number = static_cast<std::uint64_t>(epoch);
  s.epoch = std::make_shared<const Epoch>(shuffled(s.dataset.samples.size(), s.options.seed, number));
  s.planned = first_batch;
  s.read = s.broken = 0;
  std::lock_guard lock(s.mutex);
  s.window.clear();  // who makes a piece of these keeps its batch alive
  if (s.threads.empty()) return;
  while (s.planned < s.batches && s.window.size() < static_cast<std::size_t>(s.options.prefetch))
    s.window.push_back(s.plan());
  s.has_work.notify_all();
}

std::optional<TrainBatch> TrainLoader::next() {
  State& s = *state_;
  check(s.epoch != nullptr, "an epoch has been started");
  std::shared_ptr<Work> work;
  if (s.threads.empty()) {
    if (s.planned >= s.batches) return std::nullopt;
    work = s.plan();
    for (std::int64_t i = 0; i < s.options.batch_size; ++i) s.make(*work, i);
  } else {
    std::unique_lock lock(s.mutex);
    if (s.window.empty()) return std::nullopt;
    work = s.window.front();
    s.has_batch.wait(lock, [&] { return work->done == s.options.batch_size; });
    s.window.pop_front();
    if (s.planned < s.batches) {
      s.window.push_back(s.plan());
      s.has_work.notify_all();
    }
  }
  if (work->failure) std::rethrow_exception(work->failure);
  s.count(*work);
  return std::move(work->batch);
}

}  // namespace octet
