#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/threads.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/preprocess_flags.h"
#include "data/deploy_yaml.h"
#include "data/loader.h"
#include "formats/format.h"
#include "quant/ptq.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
  ModelFlags model;
  std::string output;
  std::string model_name = "__model__", params_name = "__params__";
  std::string data_dir;
  int batch_size = 10, batch_num = 10, seed = 0;
  PreprocessFlags preprocess;
  RuntimeFlags runtime;
  QuantizeOptions quantize;
  std::optional<std::string> fold_batch_norm;
  std::string activation_quantize_type = "range_abs_max";
  int worst = 10;
};

// "a,b" and "a" "b" are the same list.
std::vector<std::string> split_lists(const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& word : words)
    for (std::string& part : split(word, ",")) result.push_back(std::move(part));
  return result;
}

// The pictures to calibrate with: val, as in PaddleSlim's scripts. Of MNIST's files, which hold the pictures
// for training always, those.
Dataset open_pictures(const std::string& data_dir) {
  Dataset dataset = open_dataset(data_dir, "val");
  return dataset.idx ? open_dataset(data_dir, "train") : dataset;
}

// The pictures of --data_dir, batch after batch.
class Pictures {
 public:
  Pictures(const Options& options, const Transforms& transforms, Shard shard)
      : options_(options), shard_(shard) {
    Dataset dataset = open_pictures(options.data_dir);
    // A folder is sorted by class, and a few batches of it would be of one class only. A list or an array has
    // the order that someone gave it.
    bool shuffled =
        options.seed >= 0 && fs::is_directory(options.data_dir) && dataset.entries.front().row < 0;
    if (shuffled) shuffle(dataset.entries);
    loader_ =
        std::make_unique<Loader>(std::move(dataset), transforms,
                                 LoaderOptions{.batching = Batching::kFixed,
                                               .batch_size = options.batch_size,
                                               .workers = options.runtime.threads.value_or(default_threads()),
                                               .shard = shard});
  }

  bool next(std::int64_t index, std::vector<Tensor>* inputs) {
    if (index == shard_.rank) loader_->start_epoch(0);  // a first or second pass begins
    std::optional<Batch> batch = loader_->next();
    if (!batch) return false;
    for (const std::string& line : batch->broken)
      if (std::find(warned_.begin(), warned_.end(), line) == warned_.end()) warned_.push_back(line);
    *inputs = {std::move(batch->pixels)};
    return true;
  }

  // A line for each picture that can't be read.
  const std::vector<std::string>& broken() const { return warned_; }

 private:
  void shuffle(std::vector<Entry>& entries) const {
    std::mt19937 random(static_cast<std::uint32_t>(options_.seed));
    for (std::size_t i = entries.size(); i > 1; --i) std::swap(entries[i - 1], entries[random() % i]);
  }

  const Options& options_;
  Shard shard_;
  std::unique_ptr<Loader> loader_;
  std::vector<std::string> warned_;
};

nlohmann::json to_json(const QuantizeReport& report, const Options& options) {
  nlohmann::json json = {{"algo", options.quantize.algo},
                         {"deploy", options.quantize.deploy},
                         {"batches", report.batches},
                         {"samples", report.samples},
                         {"kept_float", report.kept_float}};
  auto finite = [](double x) { return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json(); };
  for (const LayerQuality& layer : report.layers)
    json["layers"].push_back({{"name", layer.name},
                              {"op", layer.op},
                              {"input", layer.input},
                              {"algo", layer.algorithm},
                              {"threshold", layer.threshold},
                              {"min", layer.min},
                              {"max", layer.max},
                              {"clipped", layer.clipped},
                              {"sqnr_db", finite(layer.sqnr_db)},
                              {"cosine", layer.cosine}});
  for (const LayerQuality& output : report.outputs)
    json["outputs"].push_back(
        {{"name", output.name}, {"sqnr_db", finite(output.sqnr_db)}, {"cosine", output.cosine}});
  return json;
}

void print_report(const QuantizeReport& report, int worst) {
  std::vector<LayerQuality> layers = report.layers;
  std::stable_sort(layers.begin(), layers.end(),
                   [](const LayerQuality& a, const LayerQuality& b) { return a.sqnr_db < b.sqnr_db; });
  std::size_t shown = std::min(layers.size(), static_cast<std::size_t>(worst));
  std::size_t width = 5;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, printable(layers[i].name).size());
  say("The {} layers with the largest error, of {}:\n\n", shown, layers.size());
  say("| {:<{}} | {:<16} | {:>7} | {:>8} | {:>8} | {:<19} | {:<7} |\n", "layer", width, "op", "SQNR",
      "cosine", "clipped", "range of its input", "algo");
  say("|{:-<{}}|{:-<18}|{:->8}:|{:->9}:|{:->9}:|{:-<21}|{:-<9}|\n", "", width + 2, "", "", "", "", "", "");
  for (std::size_t i = 0; i < shown; ++i) {
    const LayerQuality& l = layers[i];
    say("| {:<{}} | {:<16} | {:>4.1f} dB | {:>8.6f} | {:>6.3f} % | {:<19} | {:<7} |\n", printable(l.name),
        width, l.op, l.sqnr_db, l.cosine, 100 * l.clipped, fmt::format("{:.4g} .. {:.4g}", l.min, l.max),
        l.algorithm);
  }
  say("\n");
  for (const LayerQuality& output : report.outputs)
    say("output {}: SQNR {:.1f} dB, cosine {:.6f}\n", printable(output.name), output.sqnr_db, output.cosine);
  constexpr std::size_t kMaxNames = 5;
  const std::vector<std::string>& kept = report.kept_float;
  if (!kept.empty() && kept.size() <= kMaxNames)
    say("left in float: {}\n", printable(fmt::format("{}", fmt::join(kept, ", "))));
  else if (!kept.empty())
    say("left in float: {} layers\n", kept.size());
}

int run(Options& options) {
  // Batches come and go in several threads. From their heaps, little of that memory would come back.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  if (options.output.empty()) fail("--output_dir is missing: where should the int8 model go?");
  check_saved_names(options.model_name, options.params_name);
  check_writable(options.output);
  if (!options.quantize.save_stats.empty())
    check_writable(fs::path(options.quantize.save_stats).parent_path());
  Config config = make_config(options.runtime);
  std::unique_ptr<Comm> comm = connect();
  QuantizeOptions& quantize_options = options.quantize;
  for (auto* list : {&quantize_options.quantizable_op_type, &quantize_options.skip_tensor_list,
                     &quantize_options.keep_float})
    *list = split_lists(*list);
  quantize_options.fold_batch_norm = quantize_options.deploy != "paddle";
  if (options.fold_batch_norm) {
    std::optional<bool> value = parse_bool(*options.fold_batch_norm);
    if (!value) fail("--optimize_model {}: expected True or False", *options.fold_batch_norm);
    quantize_options.fold_batch_norm = *value;
  }
  quantize_options.device = config.device();
  quantize_options.threads = config.cpu_math_library_num_threads();
  quantize_options.batch_num = options.batch_num;

  Model model = Model::load(options.model.path, options.model.files);
  std::vector<TensorInfo> inputs = model.inputs();
  if (inputs.size() != 1 || inputs[0].dtype != DType::kFloat32)
    fail(
        "{}: octet ptq needs a model with one float32 input, this one has {}; the library's quantize() takes "
        "any",
        options.model.path, inputs.size());
  const Transforms transforms = transforms_of(options.preprocess, options.model.path);
  std::unique_ptr<Pictures> pictures;
  if (quantize_options.load_stats.empty()) {
    if (options.data_dir.empty())
      fail("--data_dir is missing: a folder of pictures, a list of them, or .npy batches");
    pictures = std::make_unique<Pictures>(options, transforms, Shard{comm->rank(), comm->size()});
  }

  std::unique_ptr<Progress> progress;
  std::string stage;
  quantize_options.progress = [&](const std::string& name, std::int64_t done, std::int64_t total) {
    if (comm->rank() != 0) return;
    if (name != stage) {
      progress.reset();
      if (total > 0) progress = std::make_unique<Progress>(name, total);
      stage = name;
    }
    if (progress) progress->update(done);
  };
  QuantizeReport report;
  std::optional<Model> quantized = quant::quantize_together(
      model,
      [&](std::int64_t index, std::vector<Tensor>* inputs) {
        return pictures && pictures->next(index, inputs);
      },
      quantize_options, &report, *comm);
  progress.reset();
  if (pictures)
    for (const std::string& line : pictures->broken()) print_warning(line + "; skipped");
  if (!quantized) return 0;  // the first process has it
  if (pictures && options.batch_num > report.batches)
    print_warning(fmt::format("--batch_num {}: {} has only {} batches of {}; all of them were used",
                              options.batch_num, options.data_dir, report.batches, options.batch_size));

  fs::path folder(options.output);
  make_directory(folder);
  AtomicFiles files;
  add_model(files, *quantized->graph(), folder,
            {.model_file = options.model_name, .weights_file = options.params_name});
  files.add(folder / "deploy.yaml", write_deploy_yaml(transforms, options.model_name, options.params_name,
                                                      load_class_names(options.model.path)));
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // names may hold anything
  files.add(folder / "ptq_report.json", to_json(report, options).dump(1, ' ', false, kReplace) + "\n");
  files.commit();
  print_report(report, options.worst);
  auto bytes = [](const fs::path& path) { return static_cast<double>(fs::file_size(path)); };
  say("{} + {}: {:.2f} MB, calibrated on {} pictures; all layers are in {}\n",
      (folder / options.model_name).string(), options.params_name,
      (bytes(folder / options.params_name) + bytes(folder / options.model_name)) / 1e6, report.samples,
      (folder / "ptq_report.json").string());
  return 0;
}

}  // namespace

std::function<int()> declare_ptq(Args& args) {
  auto options = std::make_shared<Options>();
  QuantizeOptions& q = options->quantize;
  constexpr int kMany = 1 << 20;
  add_model_flags(args, &options->model, "model-path");
  args.group("Output");
  args.add("output-dir", &options->output, "DIR", "where the int8 model goes").aliases = {
      "quantize-model-path"};
  args.add("save-model-filename", &options->model_name, "NAME", "its program");
  args.add("save-params-filename", &options->params_name, "NAME", "its parameters");
  args.add(
      "onnx-format", &q.onnx_format,
      "write quantize_linear/dequantize_linear and int8 weights; False: Paddle's older fake_quantize ops");
  args.group("Calibration data");
  args.add("data-dir", &options->data_dir, "DIR_OR_FILE",
           "a folder of pictures (or with val/ in it), a list file, or .npy batches")
      .aliases = {"data-path"};
  args.add("batch-size", &options->batch_size, {1, 4096}, "pictures a batch");
  args.add("batch-num", &options->batch_num, {0, kMany}, "batches to look at, 0: all").aliases = {
      "batch-nums"};
  args.add("seed", &options->seed, {-1, kMany}, "which pictures of a folder are taken; -1: the first ones");
  add_preprocess_flags(args, &options->preprocess);
  args.group("Thresholds of activations");
  args.add(
      "algo", &q.algo, "auto|KL|hist|mse|emd|avg|abs_max|min_max|ptf",
      "how they are found; auto tries all, for each tensor, and takes what changes the layer's output least");
  args.add("hist-percent", &q.hist_percent, "hist: the share of values that are kept");
  args.add("two-pass", &q.two_pass,
           "KL and hist exactly as PaddleSlim computes them, with two passes over the data");
  args.add("save-stats", &q.save_stats, "FILE", "keep the statistics, and a few of the pictures");
  args.add("load-stats", &q.load_stats, "FILE", "use what was kept, in place of --data-dir");
  args.group("What is quantized");
  args.add(
      "deploy", &q.deploy, "octet|paddle",
      "octet: activations stay int8 between layers; paddle: the inputs of layers only, as PaddleSlim does");
  args.add("quantizable-op-type", &q.quantizable_op_type, "OP",
           "these ops [conv2d,depthwise_conv2d,conv2d_transpose,mul,matmul,matmul_v2]");
  args.add("is-full-quantize", &q.is_full_quantize, "the inputs of all other ops, too");
  args.add("skip-tensor-list", &q.skip_tensor_list, "NAME", "ops that read these tensors stay in float");
  args.add("keep-float", &q.keep_float, "NAME_OR_GLOB",
           "layers with this output, weight or op type stay in float");
  args.add("float-share", &q.float_share,
           "auto: layers that make much of the output's error stay in float, up to this share of the "
           "multiplications");
  args.add("weight-quantize-type", &q.weight_quantize_type, "channel_wise_abs_max|abs_max",
           "a scale for each output channel of a weight, or one for all");
  args.add("activation-quantize-type", &options->activation_quantize_type,
           "range_abs_max|moving_average_abs_max|abs_max",
           "accepted for PaddleSlim's sake: all of them are the same at inference");
  args.add("weight-bits", &q.weight_bits, {2, 8}, "bits of a weight");
  args.add("activation-bits", &q.activation_bits, {2, 8}, "bits of an activation");
  args.group("Accuracy");
  args.add("bias-correction", &q.bias_correction,
           "take out what quantization adds to the mean of each channel");
  args.add("weight-correction", &q.weight_correction,
           "PaddleSlim's bias_correction: move mean and deviation of the weights");
  args.add("round-type", &q.round_type, "round|adaround",
           "adaround: round each weight up or down so that the layer's output changes least");
  args.add("equalize", &q.equalize,
           "cross-layer equalization: balance the ranges of channels between convolutions");
  args.add("optimize-model", &options->fold_batch_norm, "True|False",
           "fold batch norms into the weights first [True; False with --deploy paddle]");
  args.group("How it runs");
  args.add("threads", &options->runtime.threads, {1, 1024}, "CPU threads").default_text =
      "OCTET_NUM_THREADS, or the number of cores";
  add_device_flags(args, &options->runtime);
  args.add("worst", &options->worst, {0, kMany}, "layers in the table at the end");
  args.note(
      "Writes the int8 model, deploy.yaml with the preprocessing, and ptq_report.json with the error of "
      "every layer. "
      "A picture that can't be read is skipped with a warning.");
  args.example("octet ptq --model-path mobilenet_v3_small_infer --data-dir ILSVRC2012 --output-dir int8");
  args.example(
      "octet ptq --model-path resnet50 --data-dir photos --output-dir int8 --algo KL --batch-num 32");
  return [options] { return run(*options); };
}

}  // namespace octet::cli
