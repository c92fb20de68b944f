#include "train/distill.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "base/error.h"
#include "base/file.h"
#include "base/glob.h"
#include "base/threads.h"
#include "data/deploy_yaml.h"
#include "data/loader.h"
#include "formats/format.h"
#include "models/inference.h"
#include "models/inference_model.h"
#include "runtime/executor.h"
#include "train/convert.h"
#include "train/network.h"
#include "train/optimizer.h"
#include "train/setup.h"

namespace octet::train {

namespace {

namespace fs = std::filesystem;

// How well the student answers as the teacher does.
struct Agreement {
  std::int64_t pictures = 0;
  std::int64_t answers = 0, same = 0;  // rows of class scores; none if the model has no such output
  double error = 0;                    // squared, of the outputs, in parts of the teacher's variance

  std::string text() const {
    const std::string share =
        answers == 0
            ? ""
            : fmt::format("agreement {:.4f}, ", static_cast<double>(same) / static_cast<double>(answers));
    return fmt::format("{}error of the outputs {:.6f}, on {} pictures", share, error, pictures);
  }
};

// Values whose difference is a loss of its own: named ones, or else the sums at the ends of residual blocks.
std::vector<ValueId> inner_tensors(const Graph& graph, const std::vector<std::string>& globs) {
  std::vector<ValueId> found;
  for (const Node& node : graph.nodes) {
    const ValueId id = node.outputs.at(0);
    const Value& value = graph.value(id);
    const bool is_block_end =
        node.op == "add" && value.shape.size() == 4 &&
        std::ranges::none_of(node.inputs, [&](ValueId x) { return graph.value(x).is_constant(); });
    const bool is_named =
        std::ranges::any_of(globs, [&](const std::string& glob) { return matches(glob, value.name); });
    if (globs.empty() ? is_block_end : is_named) found.push_back(id);
  }
  if (found.empty() && !globs.empty()) fail("--inner: no tensor of the model has such a name");
  return found;
}

// Those to train on where a data set has a part for that; otherwise what `octet ptq` takes.
Dataset open_pictures(const fs::path& path) {
  const bool has_training = fs::exists(path / "train") || fs::exists(path / "train_list.txt");
  return open_dataset(path, has_training ? "train" : "val");
}

class Distiller {
 public:
  Distiller(const DistillOptions& options, Reporter& reporter)
      : options_(options),
        reporter_(reporter),
        pool_(usable_threads(options.threads > 0 ? options.threads : default_threads(), reporter)),
        model_(models::load_inference_model(options.model, options.files)),
        teacher_(model_.graph, at::kCPU),
        student_(model_.graph, at::kCPU),
        deployed_teacher_(prepare(model_.graph, {}), pool_),
        dataset_(open_pictures(options.data_dir)),
        inner_(options.inner_weight > 0 ? inner_tensors(model_.graph, options.inner)
                                        : std::vector<ValueId>()) {
    at::set_num_threads(pool_.threads());
  }

  void run() {
    split();
    student_.freeze_statistics = true;  // the deployed model has none of its own
    const std::optional<Batch> first = loader(training_, options_.batch_size * 2)->next();
    if (!first) fail("{}: no pictures to learn from", options_.data_dir);
    student_.quantize(options_.quant, view_in_torch(first->pixels));

    TrainOptions train;
    train.opt = "adamw";
    train.weight_decay = 0;
    train.quant = options_.quant;
    Optimizer optimizer(student_.parameters(), train);
    Agreement best = measure();
    Graph best_graph = student_.deployed(options_.onnx_format);
    print("quantized", best);
    const std::int64_t steps =
        options_.epochs * ((static_cast<std::int64_t>(training_.entries.size()) + options_.batch_size - 1) /
                           options_.batch_size);
    std::int64_t step = 0;
    for (int epoch = 0; epoch < options_.epochs; ++epoch) {
      const double loss = learn(epoch, optimizer, step, steps);
      const Agreement now = measure();
      print(fmt::format("epoch {}, loss {:.5f}", epoch, loss), now);
      if (now.error < best.error) {
        best = now;
        best_graph = student_.deployed(options_.onnx_format);
      }
    }
    save(std::move(best_graph));
  }

 private:
  std::unique_ptr<Loader> loader(const Dataset& dataset, int batch_size,
                                 std::optional<std::uint64_t> seed = std::nullopt) const {
    return std::make_unique<Loader>(
        dataset, options_.transforms,
        LoaderOptions{.batch_size = batch_size, .workers = pool_.threads(), .seed = seed});
  }

  // Every eighth picture is kept back, to tell whether what is learned holds for others; with few pictures
  // all are used for both.
  void split() {
    constexpr std::size_t kFew = 32, kEvery = 8;
    training_ = held_back_ = dataset_;
    if (dataset_.entries.size() < kFew) return;
    training_.entries.clear();
    held_back_.entries.clear();
    for (std::size_t i = 0; i < dataset_.entries.size(); ++i)
      (i % kEvery == kEvery - 1 ? held_back_ : training_).entries.push_back(dataset_.entries[i]);
  }

  double learn(int epoch, Optimizer& optimizer, std::int64_t& step, std::int64_t steps) {
    const std::unique_ptr<Loader> batches = loader(training_, options_.batch_size, options_.seed);
    batches->start_epoch(epoch);
    double total = 0;
    std::int64_t count = 0;
    student_.training = true;
    while (const std::optional<Batch> batch = batches->next()) {
      for (const std::string& message : batch->broken) reporter_.warning(message + "; skipped");
      if (batch->labels.empty()) continue;
      optimizer.clear_gradients();
      const at::Tensor loss = loss_of(*batch);
      const double value = loss.item<double>();
      if (!std::isfinite(value)) fail("the loss is {} in epoch {}; try a smaller --lr", value, epoch);
      loss.backward();
      const double done = static_cast<double>(step++) / static_cast<double>(std::max<std::int64_t>(steps, 1));
      optimizer.step(options_.lr * 0.5 * (1 + std::cos(std::numbers::pi * std::min(done, 1.0))));
      total += value;
      ++count;
    }
    student_.training = false;
    return count == 0 ? 0 : total / static_cast<double>(count);
  }

  at::Tensor loss_of(const Batch& batch) {
    const at::Tensor x = view_in_torch(batch.pixels);
    std::vector<ValueId> wanted = {model_.graph.outputs[0]};
    wanted.insert(wanted.end(), inner_.begin(), inner_.end());
    std::vector<at::Tensor> goal;
    {
      const at::NoGradGuard no_gradients;
      goal = teacher_.forward({x}, wanted);
    }
    const std::vector<at::Tensor> answer = student_.forward({x}, wanted);
    const auto relative = [](const at::Tensor& a, const at::Tensor& b) {
      return at::mse_loss(a, b) / b.var().clamp_min(1e-12);
    };
    at::Tensor loss = relative(answer[0], goal[0]);
    if (model_.had_softmax || goal[0].dim() == 2)
      loss = loss + at::kl_div(at::log_softmax(answer[0], -1), at::log_softmax(goal[0], -1),
                               at::Reduction::Sum, true) /
                        goal[0].size(0);
    for (std::size_t i = 1; i < wanted.size(); ++i)
      loss =
          loss + relative(answer[i], goal[i]) * (options_.inner_weight / static_cast<double>(inner_.size()));
    if (dataset_.has_labels() && options_.label_weight > 0 && goal[0].dim() == 2)
      loss = loss +
             at::cross_entropy_loss(answer[0], at::tensor(batch.labels, at::kLong)) * options_.label_weight;
    return loss;
  }

  // Both as they run when deployed, in octet's runtime.
  Agreement measure() {
    Session student(prepare(student_.deployed(), {}), pool_);
    Agreement agreement;
    double variance = 0, squares = 0;
    const std::unique_ptr<Loader> batches = loader(held_back_, options_.batch_size);
    while (const std::optional<Batch> batch = batches->next()) {
      if (batch->labels.empty()) continue;
      const at::Tensor a = to_torch(deployed_teacher_.run({batch->pixels}).at(0)),
                       b = to_torch(student.run({batch->pixels}).at(0));
      squares += (a - b).square().sum().item<double>();
      variance += (a - a.mean()).square().sum().item<double>();
      const std::int64_t pictures = a.size(0);
      agreement.pictures += pictures;
      if (a.dim() != 2) continue;
      agreement.answers += pictures;
      agreement.same += a.argmax(1).eq(b.argmax(1)).sum().item<std::int64_t>();
    }
    agreement.error = squares / std::max(variance, 1e-30);
    return agreement;
  }

  void print(const std::string& what, const Agreement& agreement) const {
    reporter_.line(what + ": " + agreement.text());
  }

  void save(Graph graph) const {
    models::to_inference(
        graph, {.output = model_.had_softmax ? models::OutputOp::kSoftmax : models::OutputOp::kNone});
    const fs::path folder = options_.output_dir;
    make_directory(folder);
    AtomicFiles files;
    const std::string &model = options_.save.model_file, &params = options_.save.weights_file;
    add_model(files, graph, folder, options_.save);
    files.add(folder / "deploy.yaml",
              write_deploy_yaml(options_.transforms, model, params, load_class_names(options_.model)));
    files.commit();
    reporter_.line(
        fmt::format("wrote {}{}", (folder / model).string(), params.empty() ? "" : " and " + params));
  }

  const DistillOptions& options_;
  Reporter& reporter_;
  ThreadPool pool_;
  const models::InferenceModel model_;
  Network teacher_, student_;
  Session deployed_teacher_;
  Dataset dataset_, training_, held_back_;
  const std::vector<ValueId> inner_;
};

}  // namespace

void distill(const DistillOptions& options, Reporter& reporter) {
  Distiller(options, reporter).run();
}

}  // namespace octet::train
