#include "train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/format.h"
#include "models/models.h"
#include "models/names.h"
#include "support/graph_runner.h"
#include "support/temp_dir.h"
#include "train/convert.h"

namespace octet::train {

namespace {

namespace fs = std::filesystem;
using octet::testing::error_of;
using ::testing::HasSubstr;
using ::testing::Not;

const CheckpointNames kNames{.model = "resnet18"};

Graph tiny_graph(std::int64_t classes = 3, std::uint64_t seed = 1) {
  return models::build_model("resnet18",
                             {.num_classes = classes, .img_size = 32, .width = 0.0625, .seed = seed});
}

// A network in training.
struct Training {
  explicit Training(const TrainOptions& options = {}, Graph graph = tiny_graph())
      : options(options),
        network(std::move(graph), at::kCPU),
        optimizer(network.parameters(), this->options) {}

  void step() {
    network.training = true;
    optimizer.clear_gradients();
    network.forward(at::sin(at::arange(2 * 3 * 32 * 32, at::kFloat)).view({2, 3, 32, 32}))
        .square()
        .sum()
        .backward();
    optimizer.step(0.01);
  }

  const TrainOptions options;
  Network network;
  Optimizer optimizer;
};

void expect_same_tensors(Training& a, Training& b) {
  const Graph x = a.network.bake(), y = b.network.bake();
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    if (!x.values[i].is_constant()) continue;
    EXPECT_TRUE(at::equal(view_in_torch(x.values[i].constant), view_in_torch(y.values[i].constant)))
        << x.values[i].name;
  }
  for (auto& [kind, flat] : a.optimizer.state())
    EXPECT_TRUE(at::equal(flat, b.optimizer.state().at(kind))) << kind;
  EXPECT_EQ(a.optimizer.steps_done, b.optimizer.steps_done);
}

void save(const fs::path& prefix, Training& run, const Position& position = {},
          const CheckpointNames& names = kNames) {
  save_checkpoint(prefix.parent_path(), {prefix.filename().string()}, run.network, run.optimizer, position,
                  names);
}

bool load(Graph& graph, const fs::path& path, const CheckpointNames& names, bool new_head) {
  return load_parameters(graph, load_state_dict(path), path, names, new_head);
}

TEST(TrainCheckpoint, ComesBackAsItWas) {
  for (const char* opt : {"sgd", "rmsprop", "adamw"}) {
    for (const char* naming : {"reference", "paddle.vision"}) {
      SCOPED_TRACE(fmt::format("{} {}", opt, naming));
      const CheckpointNames names{"resnet18", naming};
      const TempDir dir;
      Training run({.opt = opt});
      run.step();
      run.step();
      const Position position{.epoch = 4, .iteration = 17, .best = 0.75, .loss_scale = 512, .good_steps = 33};
      save(dir / "latest", run, position, names);

      Graph graph = tiny_graph(3, 2);
      const fs::path file = find_checkpoint(dir.path());
      EXPECT_EQ(file, dir / "latest.pdparams");
      EXPECT_FALSE(load(graph, file, names, false));
      Training other({.opt = opt}, std::move(graph));
      const Position back = load_optimizer(file, other.network, other.optimizer, names);
      EXPECT_EQ(back.epoch, 4);
      EXPECT_EQ(back.iteration, 17);
      EXPECT_EQ(back.best, 0.75);
      EXPECT_EQ(back.loss_scale, 512);
      EXPECT_EQ(back.good_steps, 33);
      expect_same_tensors(run, other);
    }
  }
}

TEST(TrainCheckpoint, GoesOnAsIfNothingHadHappened) {
  const TempDir dir;
  Training run({.opt = "adamw"});
  run.step();
  save(dir / "latest", run);
  run.step();

  Graph graph = tiny_graph(3, 2);
  load(graph, dir / "latest.pdparams", kNames, false);
  Training other({.opt = "adamw"}, std::move(graph));
  load_optimizer(dir / "latest.pdparams", other.network, other.optimizer, kNames);
  other.step();
  expect_same_tensors(run, other);
}

TEST(TrainCheckpoint, HasPaddlesNames) {
  const TempDir dir;
  Training run;
  run.step();
  save(dir / "a", run);
  const StateDict parameters = load_state_dict(dir / "a.pdparams");
  const StateDict optimizer = load_state_dict(dir / "a.pdopt");
  EXPECT_NE(parameters.find("conv1.weight"), nullptr);
  EXPECT_NE(optimizer.find("conv2d_0.w_0_velocity_0"), nullptr);
  bool has_schedule = false;
  for (const auto& item : optimizer.items) has_schedule |= item.name == "LR_Scheduler";
  EXPECT_TRUE(has_schedule);
}

TEST(TrainCheckpoint, IsFoundByFileFolderAndPrefix) {
  const TempDir dir;
  Training run;
  save(dir / "best", run);
  save(dir / "model_3", run);
  const fs::path best = dir / "best.pdparams";
  EXPECT_EQ(find_parameters(dir / "best.pdparams", {"latest"}), best);
  EXPECT_EQ(find_parameters(dir / "best.pdopt", {"latest"}), best);
  EXPECT_EQ(find_parameters(dir / "best", {"latest"}), best);
  EXPECT_EQ(find_parameters(dir.path(), {"latest", "best"}), best);
  EXPECT_THAT(error_of([&] { find_parameters(dir.path(), {"latest"}); }), HasSubstr("no latest.pdparams"));
  EXPECT_THAT(error_of([&] { find_parameters(dir / "nothing", {"latest"}); }), HasSubstr("nothing.pdparams"));
  EXPECT_THAT(error_of([&] { find_parameters(dir / "nothing.pdopt", {"latest"}); }),
              HasSubstr("no such checkpoint"));
}

// A prefix with a dot in it is no extension.
TEST(TrainCheckpoint, APrefixMayHaveADot) {
  const TempDir dir;
  Training run;
  save(dir / "mobilenet_v1.0", run);
  EXPECT_EQ(find_checkpoint(dir / "mobilenet_v1.0"), dir / "mobilenet_v1.0.pdparams");
}

// A run that was killed between the two files of latest.
TEST(TrainCheckpoint, FilesThatDoNotBelongTogetherAreNotResumed) {
  const TempDir dir;
  Training run;
  run.step();
  for (const char* stem : {"model_2", "model_10", "latest"}) save(dir / stem, run);
  run.step();
  save(dir / "new", run);
  fs::rename(dir / "new.pdparams", dir / "latest.pdparams");
  EXPECT_EQ(find_checkpoint(dir.path()), dir / "model_10.pdparams");
  fs::remove(dir / "model_10.pdopt");
  EXPECT_EQ(find_checkpoint(dir / "latest"), dir / "model_2.pdparams");
  fs::remove(dir / "latest.pdparams");
  EXPECT_EQ(find_checkpoint(dir.path()), dir / "model_2.pdparams");
  save(dir / "latest", run);
  fs::remove(dir / "latest.pdparams");
  fs::copy(dir / "new.pdopt", dir / "latest.pdopt", fs::copy_options::overwrite_existing);
  fs::copy(dir / "model_2.pdparams", dir / "latest.pdparams");
  write_file(dir / "model_2.pdopt", "cut off");
  EXPECT_THAT(error_of([&] { find_checkpoint(dir.path()); }), HasSubstr("do not belong to the same step"));
}

TEST(TrainCheckpoint, WithoutTheOptimiserItCannotBeResumed) {
  const TempDir dir;
  Training run;
  save(dir / "latest", run);
  fs::remove(dir / "latest.pdopt");
  EXPECT_THAT(error_of([&] { find_checkpoint(dir.path()); }), HasSubstr("--pretrained"));
}

TEST(TrainCheckpoint, SaysWhatIsMissing) {
  const TempDir dir;
  Training run({.opt = "sgd"});
  save(dir / "latest", run);
  Training other({.opt = "adamw"});
  EXPECT_THAT(
      error_of([&] { load_optimizer(dir / "latest.pdparams", other.network, other.optimizer, kNames); }),
      HasSubstr("--opt"));

  StateDict state = load_state_dict(dir / "latest.pdopt");
  std::erase_if(state.items, [](const auto& item) { return item.name == "octet"; });
  save_state_dict(dir / "foreign.pdopt", state);
  EXPECT_THAT(error_of([&] { load_optimizer(dir / "foreign.pdparams", run.network, run.optimizer, kNames); }),
              HasSubstr("not written by octet train"));

  state = load_state_dict(dir / "latest.pdparams");
  std::erase_if(state.items, [](const auto& item) { return item.name == "layer1.0.conv1.weight"; });
  save_state_dict(dir / "less.pdparams", state);
  Graph graph = tiny_graph();
  EXPECT_THAT(error_of([&] { load(graph, dir / "less.pdparams", kNames, false); }),
              HasSubstr("layer1.0.conv1.weight"));
}

TEST(TrainCheckpoint, TheHeadMayBeOfAnotherNumberOfClasses) {
  const TempDir dir;
  Training run;
  save(dir / "latest", run);
  EXPECT_EQ(models::num_classes_of(load_state_dict(dir / "latest.pdparams"), "resnet18", "latest"), 3);
  Graph graph = tiny_graph(5);
  EXPECT_TRUE(load(graph, dir / "latest.pdparams", kNames, true));
  EXPECT_THAT(error_of([&] { load(graph, dir / "latest.pdparams", kNames, false); }), HasSubstr("fc.weight"));
}

// An imported model has the names of its file.
TEST(TrainCheckpoint, OfAnImportedModel) {
  const TempDir dir;
  const CheckpointNames imported;
  Training run;
  run.step();
  save(dir / "latest", run, {}, imported);
  Graph graph = tiny_graph(3, 2);
  EXPECT_FALSE(load(graph, dir / "latest.pdparams", imported, false));
  Training other({}, std::move(graph));
  load_optimizer(dir / "latest.pdparams", other.network, other.optimizer, imported);
  expect_same_tensors(run, other);
  Graph wider = tiny_graph(5);
  EXPECT_THAT(error_of([&] { load(wider, dir / "latest.pdparams", imported, false); }),
              HasSubstr("another network"));
}

}  // namespace

}  // namespace octet::train
