#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/augment.h"
#include "data/dataset.h"
#include "tensor/tensor.h"

namespace octet {

struct TrainBatch {
  std::int64_t index = 0;            // in its epoch
  Tensor pixels;                     // float32 [batch_size, 3, size, size]
  std::vector<std::int64_t> labels;  // one a sample
  std::vector<std::string> broken;   // for each of its pictures that can't be read, a line that says why
};

struct LoaderOptions {
  int batch_size = 32;  // of this process
  int workers = 1;      // threads that read and decode ahead; 0: next() does it itself
  std::uint64_t seed = 0;
  int rank = 0;   // which one of `world` processes this is: in each step they share a batch of
  int world = 1;  // world * batch_size samples, which are the same for any such product
  // What is left over at the end of an epoch, less than a batch of all processes, is left out. Otherwise that
  // batch is filled up with the samples that the epoch began with.
  bool drop_last = true;
  int prefetch = 3;  // batches that are made ahead
};

// Gives the samples of a dataset in random order, each in a random version, in batches of equal size. What
// comes is decided by the seed, the epoch and the batch alone: it is the same for any number of workers, and
// a run that begins in the middle of an epoch continues as if it had not been interrupted.
//
//   TrainLoader loader(open_dataset("ILSVRC2012", "train"), {}, {.batch_size = 64, .workers = 4});
//   for (int epoch = 0; epoch < 90; ++epoch) {
//     loader.start_epoch(epoch);
//     while (std::optional<TrainBatch> batch = loader.next()) step(batch->pixels, batch->labels);
//   }
//
// The place of a picture that can't be read is taken by the next one that can.
class TrainLoader {
 public:
  // An Error when the dataset can't be trained on: without labels, with a class that has no pictures, with
  // arrays in place of pictures, or smaller than a batch.
  TrainLoader(Dataset dataset, const TrainTransform& transform, const LoaderOptions& options);
  ~TrainLoader();
  TrainLoader(const TrainLoader&) = delete;
  TrainLoader& operator=(const TrainLoader&) = delete;

  std::int64_t batches() const;  // in an epoch
  const Dataset& dataset() const;

  // The batches of this epoch are next, from first_batch on. What was left of another epoch is dropped.
  void start_epoch(std::int64_t epoch, std::int64_t first_batch = 0);

  // Nothing: the epoch is over. An Error when more than half of the pictures so far are broken, if that is
  // more than a few or the end.
  std::optional<TrainBatch> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octet
