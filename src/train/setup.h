#pragma once
#include <filesystem>
#include <memory>

#include "base/reporter.h"
#include "comm/comm.h"
#include "data/loader.h"
#include "train/checkpoint.h"
#include "train/network.h"
#include "train/options.h"

// What a run begins with, as its options say.
namespace octet::train {

struct TrainingData {
  Dataset validation;
  std::unique_ptr<Loader> loader;             // none with test_only
  std::int64_t classes = 0;                   // in the data
  std::vector<std::string> class_names = {};  // those of its folders; none: it has no names
};

TrainingData open_data(const TrainOptions& options, const Comm& comm, int workers);

struct Start {
  std::unique_ptr<Network> network;
  std::filesystem::path checkpoint;  // the *.pdparams that is resumed; empty: none
};

// The network, with the weights of a checkpoint where one is given. `classes` is what the data has.
Start build_network(const TrainOptions& options, std::int64_t classes, at::Device device, const Comm& comm,
                    const CheckpointNames& names, Reporter& reporter);

// The weights of classes in the loss for a network of so many; undefined: all alike.
at::Tensor class_weights_of(const TrainOptions& options, const Dataset& training, std::int64_t classes);

// The names that checkpoints of this run have inside.
CheckpointNames names_of(const TrainOptions& options);

}  // namespace octet::train
