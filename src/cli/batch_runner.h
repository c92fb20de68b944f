#pragma once
#include <memory>
#include <vector>

#include "cli/model_runner.h"

namespace octet::cli {

// Runs a model on batches. Parts of a batch at once, each in one thread, go faster than the whole batch in
// all threads, and give the same answers; so that is done where a model takes batches of any size, gives one
// row for each picture, and takes little memory.
class BatchRunner {
 public:
  BatchRunner(ModelRunner& model, ThreadPool& pool) : model_(model), pool_(pool) {}

  // Plans memory for batches like this one, and decides whether to split them.
  void prepare(const Tensor& pixels);
  std::vector<Tensor> run(const Tensor& pixels);
  std::size_t peak_bytes() const;  // of inputs, outputs and memory plans

 private:
  struct Lane {
    explicit Lane(const ModelRunner& of) : pool(1), model(of, pool) {}
    ThreadPool pool;
    ModelRunner model;
  };

  ModelRunner& model_;
  ThreadPool& pool_;
  std::int64_t part_ = 0;  // pictures; 0: whole batches
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace octet::cli
