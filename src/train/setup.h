#pragma once
#include <filesystem>
#include <memory>

#include "base/reporter.h"
#include "comm/comm.h"
#include "data/loader.h"
#include "train/checkpoint.h"
#include "train/loss.h"
#include "train/network.h"
#include "train/options.h"

// What a run begins with, as its options say.
namespace octet::train {

struct TrainingData {
  Dataset validation;                         // none where the run is not evaluated
  std::unique_ptr<Loader> loader;             // none with test_only
  std::int64_t classes = 0;                   // in the data
  std::vector<std::string> class_names = {};  // those of its folders; none: it has no names
  std::vector<std::string> notes = {};        // what a person may want to know of it
};

TrainingData open_data(const TrainOptions& options, const Comm& comm, int workers);

struct Start {
  std::unique_ptr<Network> network;
  std::filesystem::path checkpoint;  // the *.pdparams that is resumed; empty: none
};

// The network, with the weights of a checkpoint where one is given. `classes` is what the data has.
Start build_network(const TrainOptions& options, std::int64_t classes, at::Device device, const Comm& comm,
                    const CheckpointNames& names, Reporter& reporter);

// The loss of a network with so many classes and outputs.
LossOptions loss_options(const TrainOptions& options, const Task& task, const Dataset& training,
                         std::int64_t classes, std::size_t outputs, at::Device device);

// What the network is for.
const Task& task_of(const TrainOptions& options);
// How many classes there are scores for; kUnknown: the shape does not say.
std::int64_t class_dimension(const Task& task, const Shape& scores);

// How many of `wanted` threads training may start; a notice says so when there are fewer.
int usable_threads(int wanted, Reporter& reporter);

// The names that checkpoints of this run have inside.
CheckpointNames names_of(const TrainOptions& options);

}  // namespace octet::train
