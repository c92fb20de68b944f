#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/preprocess.h"
#include "tensor/tensor.h"

namespace octet {

struct Batch {
  std::int64_t index = 0;
  Tensor pixels;                     // float32 [N, C, H, W]
  std::vector<std::int64_t> labels;  // one a sample; -1: not known
  std::vector<std::string>
      broken;  // for each picture on the way here that can't be read, a line that says why
};

// One of several processes that share the work: it reads the batches whose index is `rank` modulo `size`.
struct Shard {
  int rank = 0;
  int size = 1;
};

struct BatchOptions {
  int batch_size = 32;
  int workers = 1;  // threads that read and decode
  // Without a shard a batch is filled up with the pictures behind it when some of its own are broken. With
  // one, also with 0 of 1, batch b is the samples b * batch_size and on, and smaller if need be: so the
  // batches are the same for any number of processes, none of which knows what the others can read.
  std::optional<Shard> shard = {};
};

// Gives the samples of a dataset in their order, preprocessed, in batches; the next two are made ahead by
// other threads. The batches are the same for any number of workers.
//
//   BatchReader reader(open_dataset("ILSVRC2012", "val"), preprocess, {.batch_size = 32, .workers = 4});
//   while (std::optional<Batch> batch = reader.next()) run(batch->pixels);
//
// Pictures that come out at different sizes, which only happens without a crop, don't share a batch: the
// batch ends early, and in a shard what is left of it follows under the same index.
class BatchReader {
 public:
  BatchReader(Dataset dataset, const Preprocess& preprocess, const BatchOptions& options);
  ~BatchReader();
  BatchReader(const BatchReader&) = delete;
  BatchReader& operator=(const BatchReader&) = delete;

  // Nothing: there are no more. An Error when more than half of the pictures so far are broken, if that is
  // more than a few or the end.
  std::optional<Batch> next();

  // Returns when the batches ahead are made and the workers idle, for a measurement that nothing disturbs.
  void wait_until_idle();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace octet
