#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace octet {

// One of several processes that share the work.
struct Shard {
  int rank = 0;
  int size = 1;
};

// What makes up a batch.
enum class Batching {
  // For training: batch_size pictures always. The processes share each batch in turns, so that what they
  // see together is the same for any number of them. The place of a picture that can't be read is taken by
  // the next one that can.
  kFull,
  // A picture that can't be read is left out, and the batch is filled up with those behind it: only the
  // last batch may be smaller. For one process.
  kFilled,
  // Batch b is the pictures b * batch_size and on without those that can't be read. A process reads the
  // batches whose number is its rank modulo the number of processes, so the batches are the same for any
  // number of them.
  kFixed,
  // As kFixed; a batch of which nothing can be read is given as well, and no number of such pictures is an
  // error.
  kEach,
};

// An epoch's order of the entries.
struct Epoch {
  std::uint64_t number = 0;
  std::vector<std::uint32_t> order;
  bool has_repeats = false;  // an entry may have several turns
};

// Decides which entries are read when: which turns of an epoch make up a batch, and which entry's turn it is.
class Sampler {
 public:
  // `seed`: the order is drawn from it and from the epoch; none: as they are listed.
  // `drop_last`: of kFull, what is left over at the end of an epoch, less than a batch of all processes, is
  // left out; otherwise that batch is filled up with the entries that the epoch began with. An Error when
  // there are too few entries for a full batch.
  // `balanced`: the class of each entry, so that classes have their turn equally often, whatever the number
  // of their entries, with a seed; an epoch stays as long as it is. None: each entry has one turn.
  Sampler(std::size_t entries, Batching batching, int batch_size, Shard shard,
          std::optional<std::uint64_t> seed, bool drop_last, const std::vector<std::int64_t>& balanced = {});

  Epoch epoch(std::uint64_t number) const;
  std::int64_t batches() const { return batches_; }  // of this process, in an epoch
  std::int64_t number_of(std::int64_t batch) const;  // among those of all processes
  // Places in the order of an epoch, which begins anew behind its end.
  std::vector<std::size_t> turns(std::int64_t batch) const;

 private:
  std::int64_t entries_, batch_size_, batches_ = 0;
  Batching batching_;
  Shard shard_;
  std::optional<std::uint64_t> seed_;
  std::vector<std::vector<std::uint32_t>> classes_;  // the entries of each, where they are balanced
};

}  // namespace octet
