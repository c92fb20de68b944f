#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/threads.h"
#include "cli/benchmark_report.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/infer_segmentation.h"
#include "cli/lanes.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/picture_model.h"
#include "cli/preprocess_flags.h"
#include "cli/segmentation_model.h"
#include "cli/stopwatch.h"
#include "data/deploy_yaml.h"
#include "data/image.h"
#include "data/loader.h"
#include "tasks/task.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
  ModelFlags model;
  RuntimeFlags runtime;
  std::string img_path = "./images/demo.jpg";
  std::optional<int> batch_size, max_batch_size;
  PreprocessFlags preprocess;
  int topk = 1;
  std::string labels;
  std::string json, csv;  // files
  bool benchmark = false;
  int warmup = 0;
  std::string deploy_yaml;  // of PaddleSeg's, in place of the model's folder
  std::string save_dir = "./output";
  // For compatibility with PaddleSeg.
  bool with_argmax = false, use_trt = false, use_int8 = false, enable_mkldnn = false,
       enable_auto_tune = false, print_detail = true;
  std::string auto_tuned_shape_file, model_name, min_subgraph_size;
};

std::string as_text(const std::vector<Answer>& answers) {
  std::string text;
  for (const Answer& answer : answers) {
    text += fmt::format("image_name: {}, class_id: {}, prob: {}", printable(answer.picture), answer.class_id,
                        answer.score);
    if (!answer.label.empty()) text += ", label: " + answer.label;
    text += '\n';
  }
  return text;
}

std::string as_json(const std::vector<Answer>& answers) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Answer& answer : answers) {
    nlohmann::ordered_json row = {{"image_name", answer.picture}, {"class_id", answer.class_id}};
    row["prob"] =
        std::isfinite(answer.score) ? nlohmann::ordered_json(answer.score) : nlohmann::ordered_json();
    if (!answer.label.empty()) row["label"] = answer.label;
    rows.push_back(std::move(row));
  }
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // names may hold anything
  return rows.dump(1, ' ', false, kReplace) + "\n";
}

// With quotes around what would be taken apart otherwise, as RFC 4180 has it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string as_csv(const std::vector<Answer>& answers) {
  std::string text = "image_name,class_id,prob,label\r\n";
  for (const Answer& answer : answers)
    text += fmt::format("{},{},{},{}\r\n", csv_field(answer.picture), answer.class_id, answer.score,
                        csv_field(answer.label));
  return text;
}

// One label a line. Where each line starts with its own number, as PaddleClas's lists do, that is left out.
std::vector<std::string> load_labels(const std::string& path) {
  std::string text = read_text(path);
  std::vector<std::string> labels;
  for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(printable(line));
    at = end + 1;
  }
  if (labels.empty()) fail("{}: there are no labels in it", path);
  bool numbered = true;
  for (std::size_t i = 0; i < labels.size(); ++i)
    numbered = numbered && labels[i].starts_with(fmt::format("{} ", i));
  for (std::size_t i = 0; numbered && i < labels.size(); ++i) labels[i].erase(0, labels[i].find(' ') + 1);
  return labels;
}

class Inference {
 public:
  Inference(const Options& options, const Config& config, Model model)
      : options_(options),
        config_(config),
        pool_(config_.cpu_math_library_num_threads()),
        model_(options.model.path, std::move(model), config_, task_, pool_),
        transforms_(transforms_of(options.preprocess, options.model.path)) {
    answers_.topk = options.topk;
    if (!options.labels.empty())
      answers_.labels = load_labels(options.labels);
    else
      for (const std::string& name : load_class_names(options.model.path))
        answers_.labels.push_back(printable(name));
  }

  int run() {
    Dataset pictures;
    for (fs::path& path : list_images(options_.img_path)) pictures.entries.push_back({std::move(path)});
    const auto count = static_cast<std::int64_t>(pictures.entries.size());
    batch_size_ = choose_batch_size(count);
    // Pictures are decoded while the model runs; unless each stage is to be measured.
    Loader loader(std::move(pictures), transforms_,
                  {.batching = Batching::kEach,
                   .batch_size = batch_size_,
                   .workers = options_.benchmark ? std::min(pool_.threads(), batch_size_) : pool_.threads(),
                   .integers = model_.integers_of(PreparedTransforms(transforms_).pixel_values()),
                   .prefetch = options_.benchmark ? 0 : batches_ahead()});
    Progress progress("pictures", count);
    std::int64_t broken = 0;
    const auto answer = [&](const Batch& batch, const Tensor& output) {
      progress.clear();
      for (const std::string& message : batch.broken) {
        if (count == 1) fail("{}", message);
        print_warning(message + "; skipped");
      }
      broken += std::ssize(batch.broken);
      if (batch.size() > 0) print_answers(batch, output, loader.dataset());
      progress.update(pictures_ + broken);
    };
    // The first one shows how much memory a run takes.
    if (const std::optional<Batch> batch = next(loader)) {
      for (int i = 0; i < options_.warmup && batch->size() > 0; ++i) model_.run(batch->pixels);
      answer(*batch, infer(model_, *batch));
    }
    const std::vector<std::unique_ptr<Lane>> lanes = make_lanes(loader.batches() - 1);
    run_in_lanes(
        std::max(1, static_cast<int>(lanes.size())), [&] { return next(loader); },
        [&](int lane, const Batch& batch) {
          return infer(lanes.empty() ? model_ : lanes[static_cast<std::size_t>(lane)]->model, batch);
        },
        answer);
    progress.clear();
    if (pictures_ == 0) fail("{}: none of the {} pictures can be read", options_.img_path, count);
    AtomicFiles files;
    if (!options_.json.empty()) files.add(options_.json, as_json(all_));
    if (!options_.csv.empty()) files.add(options_.csv, as_csv(all_));
    files.commit();
    say_what_is_assumed(options_.preprocess, options_.model.path);
    if (options_.benchmark) print_benchmark();
    return 0;
  }

 private:
  // Batches go a little faster than single pictures, but each thread should get some, and a model that says
  // how many pictures it takes may mean it. When stages are measured, it is the usual single picture.
  int choose_batch_size(std::int64_t pictures) const {
    constexpr int kGood = 8, kBatchesPerThread = 4;
    const int most = options_.max_batch_size.value_or(INT32_MAX);
    if (options_.batch_size) return std::min(*options_.batch_size, most);
    const std::vector<std::int64_t> shape = model_.model().inputs().at(0).shape;
    if (options_.benchmark || shape.empty() || shape[0] != kUnknown) return 1;
    const std::int64_t share = pictures / (std::int64_t{kBatchesPerThread} * pool_.threads());
    return std::min(static_cast<int>(std::clamp<std::int64_t>(share, 1, kGood)), most);
  }

  // Enough for every thread to have a picture to work on, whatever the size of a batch.
  int batches_ahead() const { return 2 + pool_.threads() + 4 * pool_.threads() / batch_size_; }

  // A copy of the model that runs in threads of its own.
  struct Lane {
    Lane(const PictureModel& of, int threads) : pool(threads), model(of, pool) {}
    ThreadPool pool;
    PictureModel model;
  };

  // Several batches at once, each in one thread, go faster than one batch after the other in all threads, and
  // give the same answers. Where activations take much memory there are fewer, of more threads each; where
  // each stage is to be measured, none.
  std::vector<std::unique_ptr<Lane>> make_lanes(std::int64_t batches) const {
    constexpr std::size_t kMaxBytes = 256 << 20;
    std::vector<std::unique_ptr<Lane>> lanes;
    if (options_.benchmark || config_.use_gpu()) return lanes;
    const auto fitting =
        static_cast<std::int64_t>(kMaxBytes / std::max<std::size_t>(1, model_.arena_bytes()));
    const auto count = static_cast<int>(std::min({std::int64_t{pool_.threads()}, batches, fitting}));
    if (count < 2) return lanes;
    for (int i = 0; i < count; ++i) lanes.push_back(std::make_unique<Lane>(model_, pool_.threads() / count));
    return lanes;
  }

  std::optional<Batch> next(Loader& loader) {
    preprocess_time_.start();
    std::optional<Batch> batch = loader.next();
    preprocess_time_.stop();
    return batch;
  }

  Tensor infer(PictureModel& model, const Batch& batch) {
    if (batch.size() == 0) return {};
    if (!options_.benchmark) return model.run(batch.pixels);
    inference_time_.start();
    Tensor output = model.run(batch.pixels);
    inference_time_.stop();
    return output;
  }

  void print_answers(const Batch& batch, const Tensor& output, const Dataset& dataset) {
    pictures_ += batch.size();
    ++batches_;
    postprocess_time_.start();
    const std::size_t labels = answers_.labels.size();
    if (labels > 0 && labels != static_cast<std::size_t>(output.dim(1)))
      fail("{}: {} labels, but the model has {} classes",
           options_.labels.empty() ? "class_names in the deploy.yaml of " + options_.model.path
                                   : options_.labels,
           labels, output.dim(1));
    std::vector<std::string> names;
    for (std::size_t entry : batch.entries) names.push_back(dataset.entries[entry].path.string());
    const std::vector<Answer> answers = task_.answers(output, names, answers_);
    const std::string text = as_text(answers);
    postprocess_time_.stop();
    write_output(text);
    flush_output();
    if (!options_.json.empty() || !options_.csv.empty())
      all_.insert(all_.end(), answers.begin(), answers.end());
  }

  void print_benchmark() const {
    write_output(format_benchmark(
        {.model = options_.model.path,
         .precision = model_.precision(),
         .device = config_.use_gpu() ? "gpu" : "cpu",
         .isa = config_.isa(),
         .input_shape = model_.input_shape(),
         .ir_optim = config_.ir_optim(),
         .threads = config_.cpu_math_library_num_threads(),
         .batch_size = batch_size_,
         .pictures = pictures_,
         .batches = batches_,
         .preprocess_ms = preprocess_time_.ms(),
         .inference_ms = inference_time_.ms(),
         .postprocess_ms = postprocess_time_.ms(),
         .wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count()}));
  }

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const Options& options_;
  Config config_;
  ThreadPool pool_;
  const Task& task_ = default_task();
  PictureModel model_;
  Transforms transforms_;
  AnswerOptions answers_;
  Stopwatch preprocess_time_, inference_time_, postprocess_time_;
  int batch_size_ = 1;
  std::int64_t pictures_ = 0, batches_ = 0;
  std::vector<Answer> all_;  // where a file is to have them
};

// The model that a deploy.yaml names, in its folder.
void take_deploy_yaml(Options& options) {
  const fs::path file = options.deploy_yaml;
  if (!options.model.path.empty()) fail("give either --config, a deploy.yaml, or --model-dir");
  if (!fs::is_regular_file(file))
    fail("{}: no such file; --config takes the deploy.yaml of a model", file.string());
  const DeployedFiles files = load_deployed_files(file);
  const fs::path folder = file.parent_path().empty() ? "." : file.parent_path();
  options.model.path = folder.string();
  if (options.model.files.model_file.empty()) options.model.files.model_file = files.model;
  if (options.model.files.weights_file.empty()) options.model.files.weights_file = files.params;
  if (options.preprocess.transforms.empty()) options.preprocess.transforms = file.string();
}

int infer(Options& options) {
  if (!options.deploy_yaml.empty()) take_deploy_yaml(options);
  if (options.model.path.empty()) fail("--model-dir is required: the model, or its deploy.yaml as --config");
  if (options.use_trt || options.use_int8)
    Console().notice(
        "there is no TensorRT here: the model runs on octet's own kernels, in int8 if it is quantized");
  const Config config = make_config(options.runtime);
  Model model = Model::load(options.model.path, options.model.files);
  if (!segments(model)) return Inference(options, config, std::move(model)).run();
  check_segments(model, options.model.path);
  return infer_segmentation(
      {.path = options.model.path,
       .model = std::move(model),
       .config = config,
       .transforms = transforms_of(options.preprocess, options.model.path, {}),
       .img_path = options.img_path,
       .save_dir = options.save_dir,
       .batch_size = std::min(options.batch_size.value_or(1), options.max_batch_size.value_or(4096)),
       .warmup = options.warmup,
       .benchmark = options.benchmark});
}

void add_paddleseg_flags(Args& args, Options* options) {
  args.group("PaddleSeg's deploy/python/infer.py");
  args.add("save-dir", &options->save_dir, "DIR", "where the masks of a segmentation model go");
  const char* kNone = "for compatibility with PaddleSeg; has no effect";
  args.add("with-argmax", &options->with_argmax,
           "for compatibility with PaddleSeg: the argmax is taken wherever the model does not");
  args.add("use-trt", &options->use_trt, kNone);
  args.add("use-int8", &options->use_int8, kNone);
  args.add("enable-mkldnn", &options->enable_mkldnn, kNone);
  args.add("enable-auto-tune", &options->enable_auto_tune, kNone);
  args.add("auto-tuned-shape-file", &options->auto_tuned_shape_file, "FILE", kNone);
  args.add("min-subgraph-size", &options->min_subgraph_size, "N", kNone);
  args.add("model-name", &options->model_name, "NAME", kNone);
  args.add("print-detail", &options->print_detail, kNone);
}

}  // namespace

std::function<int()> declare_infer(Args& args) {
  auto options = std::make_shared<Options>();
  constexpr int kMaxCount = 1 << 20;
  add_model_flags(args, &options->model, "model-dir");
  args.at("model-dir").required = false;
  args.add("config", &options->deploy_yaml, "FILE",
           "in place of --model-dir: a deploy.yaml, beside the model that it names")
      .aliases = {"c"};
  add_shape_flag(args, &options->model);
  args.group("Pictures");
  args.add("img-path", &options->img_path, "FILE_OR_DIR",
           "a JPEG, PNG, WebP or BMP picture, or a folder of pictures, which may have subfolders")
      .aliases = {"image-path"};
  args.add("batch-size", &options->batch_size, {1, 4096}, "how many pictures to run at a time").default_text =
      "up to 8, which go fastest; 1 to segment, and with --benchmark";
  args.add("max-batch-size", &options->max_batch_size, {1, 4096}, "upper limit for --batch-size");
  add_preprocess_flags(args, &options->preprocess);
  args.group("Answers");
  args.add("topk", &options->topk, {1, kMaxCount},
           "how many classes to print for each picture, most likely first");
  args.add("labels", &options->labels, "FILE", "the names of the classes, one per line").default_text =
      "those of the model's deploy.yaml";
  args.add("json", &options->json, "FILE", "also write the answers to FILE, as a list of JSON objects");
  args.add("csv", &options->csv, "FILE", "also write the answers to FILE, one per line");
  args.add("benchmark", &options->benchmark, "at the end, print the setup and how long each stage took");
  args.add("warmup", &options->warmup, {0, kMaxCount}, "runs before timing starts");
  add_runtime_flags(args, &options->runtime);
  args.at("threads").aliases = {"cpu-threads"};
  args.at("precision").synonyms = {{"int8", "fp32"}};  // quantized models are int8 by themselves
  add_paddleseg_flags(args, options.get());
  args.note(
      "A segmentation model writes for each picture an 8-bit palette PNG with the class of each pixel, as "
      "large "
      "as its output, and prints where it is.");
  args.note(
      "Prints one line for each picture and class: image_name: ./images/demo.jpg, class_id: 8, prob: "
      "0.9091972. "
      "Softmax is applied unless the model's output is a probability distribution already. A picture that "
      "can't be "
      "read is skipped with a warning.");
  args.example("octet infer --model-dir mobilenet_v3_small_infer --img-path cat.jpg");
  args.example(
      "octet infer --model-dir resnet50 --img-path photos --batch-size 8 --topk 5 --labels imagenet.txt");
  args.example("octet infer --config float/deploy.yaml --image_path photo.jpg --save_dir masks");
  return [options] { return infer(*options); };
}

}  // namespace octet::cli
