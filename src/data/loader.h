#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "data/batch.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "data/transform.h"

namespace octet {

struct LoaderOptions {
  Batching batching = Batching::kFilled;
  int batch_size = 32;  // of this process
  int workers = 1;      // threads that read, decode and transform; 0: next() does it itself
  std::optional<std::uint64_t> seed = {};  // of order and chance; none: in the order of the data set
  Shard shard = {};
  bool drop_last = true;    // data/sampler.h says what becomes of what is left over
  bool balanced = false;    // with full batches and a seed: classes come equally often
  bool keep_masks = false;  // masks stay as they are in the files, for an evaluation at their own size
  // What 8-bit pixels become in batches of int8, in place of what the transforms' Normalize makes of them.
  std::optional<PixelIntegers> integers = {};
  int prefetch = 3;  // batches that are made ahead; 0: none is begun before next() is called
};

// Gives the examples of a data set in batches: reads them in the order of a sampler, transforms them, and
// puts those of the same size together. What comes is decided by the options, the epoch and the batch alone:
// it is the same for any number of workers, and a run that begins in the middle of an epoch continues as if
// it had not been interrupted.
//
//   Loader loader(open_dataset("ILSVRC2012", "train"), training_transforms({}),
//                 {.batching = Batching::kFull, .batch_size = 64, .workers = 4, .seed = 0});
//   for (int epoch = 0; epoch < 90; ++epoch) {
//     loader.start_epoch(epoch);
//     while (std::optional<Batch> batch = loader.next()) step(batch->pixels, batch->labels);
//   }
//
// Arrays are given as they are. Pictures that come out at different sizes don't share a batch: the batch ends
// early, and what is left of a fixed one follows under the same index; full batches of them are an Error.
class Loader {
 public:
  // An Error when transforms are wrong, or when full batches are wanted of what can't be trained on.
  Loader(Dataset dataset, const Transforms& transforms, const LoaderOptions& options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  std::int64_t batches() const;  // in an epoch; with kFilled, at most
  const Dataset& dataset() const;

  // The batches of this epoch are next, from first_batch on. What was left of another epoch is dropped.
  // Without it the first epoch begins with the first call of next().
  void start_epoch(std::int64_t epoch, std::int64_t first_batch = 0);

  // Nothing: the epoch is over. An Error when more than half of the pictures so far are broken, if that is
  // more than a few or the end.
  std::optional<Batch> next();

  // Returns when the batches ahead are made and the workers idle, for a measurement that nothing disturbs.
  void wait_until_idle();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octet
