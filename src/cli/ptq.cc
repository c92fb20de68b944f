#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/threads.h"
#include "cli/array_batches.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/preprocess_flags.h"
#include "cli/segmentation_model.h"
#include "data/deploy_yaml.h"
#include "data/loader.h"
#include "formats/format.h"
#include "quant/equalize.h"
#include "quant/ptq.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

const SaveOptions kUsual = {.model_file = "__model__", .weights_file = "__params__"};
const SaveOptions kUsualOfSegmentation = {.model_file = "model.pdmodel", .weights_file = "model.pdiparams"};

struct Options {
  ModelFlags model;
  std::string output;
  SaveOptions save;  // names that are empty: the usual ones
  std::string data_dir;
  int batch_size = 10, batch_num = 10, seed = 0;
  std::optional<int> given_batch_size, given_batch_num;
  std::optional<train::TrainOptions> config;  // of a segmentation network; none: something else
  PreprocessFlags preprocess;
  RuntimeFlags runtime;
  QuantizeOptions quantize;
  std::optional<std::string> fold_batch_norm;
  std::string activation_quantize_type = "range_abs_max";
  bool fast = false;
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

// Those of a config's train_dataset, in an order of chance: they may be sorted by where they were taken.
Dataset open_training_pictures(const train::TrainOptions& config) {
  MaskData data = config.train_masks;
  data.needs_masks = false;
  Dataset dataset = open_masks(data);
  for (const std::string& note : dataset.notes) print_warning(note);
  return dataset;
}

// Those to calibrate with, or those behind them.
enum class Part { kCalibration, kOthers };

// The pictures or arrays of --data_dir, batch after batch.
class Pictures {
 public:
  Pictures(const Options& options, const std::vector<TensorInfo>& inputs, const Transforms& transforms,
           Part part, Shard shard)
      : options_(options), shard_(shard) {
    const bool is_from_config = options.data_dir.empty();
    if (!is_from_config && ArrayBatches::are_in(options.data_dir, inputs)) {
      are_prepared_ = true;
      if (part == Part::kOthers) return;  // some of the first ones are held out
      arrays_.emplace(options.data_dir, inputs, options.batch_size);
      reads_all_ = true;
      return;
    }
    if (inputs.size() != 1 || inputs[0].dtype != DType::kFloat32)
      fail(
          "{}: pictures are for a model with one float32 input, this one has {}; give .npz files with an "
          "array for each",
          options.model.path, inputs.size());
    Dataset dataset =
        is_from_config ? open_training_pictures(*options.config) : open_pictures(options.data_dir);
    // Pictures of different sizes share no batch, so how batches fall is known only to who has read them all.
    reads_all_ = shard.size > 1 && !gives_one_size(transforms);
    // A folder is sorted by class, and a few batches of it would be of one class only. A list or an array has
    // the order that someone gave it.
    const bool shuffled =
        options.seed >= 0 &&
        (is_from_config || (fs::is_directory(options.data_dir) && dataset.entries.front().row < 0));
    if (shuffled) shuffle(dataset.entries);
    found_ = std::ssize(dataset.entries);
    are_prepared_ = dataset.is_array(dataset.entries.front());
    const auto end =
        dataset.entries.begin() + (options.batch_num > 0 ? std::min(asked_for(), found_) : found_);
    dataset.entries = part == Part::kCalibration ? std::vector(dataset.entries.begin(), end)
                                                 : std::vector(end, dataset.entries.end());
    count_ = std::ssize(dataset.entries);
    if (count_ == 0) return;
    loader_ =
        std::make_unique<Loader>(std::move(dataset), transforms,
                                 LoaderOptions{.batching = Batching::kFixed,
                                               .batch_size = options.batch_size,
                                               .workers = options.runtime.threads.value_or(default_threads()),
                                               .shard = reads_all_ ? Shard{} : shard});
  }

  bool next(std::int64_t index, std::vector<Tensor>* inputs) {
    if (!loader_ && !arrays_) return false;
    const bool is_first = index == shard_.rank;
    if (is_first) start();  // a first or second pass begins
    const int turns = !reads_all_ ? 1 : is_first ? shard_.rank + 1 : shard_.size;
    for (int turn = 0; turn < turns; ++turn)
      if (!read(inputs)) return false;
    return true;
  }

  // A line for each picture that can't be read.
  const std::vector<std::string>& broken() const { return warned_; }
  bool are_arrays() const { return arrays_.has_value(); }  // of which only given() is known
  bool are_prepared() const { return are_prepared_; }      // arrays, which nothing is done to
  std::int64_t asked_for() const { return std::int64_t{options_.batch_size} * options_.batch_num; }
  std::int64_t found() const { return found_; }  // in the data
  std::int64_t count() const { return count_; }  // of those, to look at
  std::int64_t given() const { return given_; }  // in this pass so far

 private:
  void start() {
    given_ = 0;
    if (arrays_)
      arrays_->start_again();
    else
      loader_->start_epoch(0);
  }

  bool read(std::vector<Tensor>* inputs) {
    if (arrays_) {
      const bool is_enough = options_.batch_num > 0 && given_ >= asked_for();
      std::optional<std::vector<Tensor>> batch = is_enough ? std::nullopt : arrays_->next();
      if (!batch) return false;
      *inputs = *std::move(batch);
      given_ += quant::pictures_in(*inputs);
      return true;
    }
    std::optional<Batch> batch = loader_->next();
    if (!batch) return false;
    given_ += batch->size() + std::ssize(batch->broken);
    for (const std::string& line : batch->broken)
      if (std::find(warned_.begin(), warned_.end(), line) == warned_.end()) warned_.push_back(line);
    *inputs = {std::move(batch->pixels)};
    return true;
  }

  void shuffle(std::vector<Entry>& entries) const {
    std::mt19937 random(static_cast<std::uint32_t>(options_.seed));
    for (std::size_t i = entries.size(); i > 1; --i) std::swap(entries[i - 1], entries[random() % i]);
  }

  const Options& options_;
  Shard shard_;
  bool reads_all_ = false, are_prepared_ = false;
  std::int64_t found_ = 0, count_ = 0, given_ = 0;
  std::unique_ptr<Loader> loader_;
  std::optional<ArrayBatches> arrays_;  // in place of the loader
  std::vector<std::string> warned_;
};

std::string_view word_of(JudgedOn judged_on) {
  return judged_on == JudgedOn::kOthers    ? "others"
         : judged_on == JudgedOn::kHeldOut ? "held_out"
                                           : "calibration";
}

nlohmann::json to_json(const QuantizeReport& report, const Options& options) {
  nlohmann::json json = {{"algo", options.quantize.algo},
                         {"deploy", options.quantize.deploy},
                         {"batches", report.batches},
                         {"samples", report.samples},
                         {"judged_on", word_of(report.judged_on)},
                         {"judged_samples", report.judged_samples},
                         {"equalized", report.equalized},
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
                              {"channel_spread", layer.channel_spread},
                              {"own_sqnr_db", finite(layer.own_sqnr_db)},
                              {"sqnr_db", finite(layer.sqnr_db)},
                              {"cosine", layer.cosine}});
  for (const OutputQuality& output : report.outputs)
    json["outputs"].push_back({{"name", output.name},
                               {"sqnr_db", finite(output.sqnr_db)},
                               {"cosine", output.cosine},
                               {"agreement", finite(output.agreement)}});
  return json;
}

// The layers whose own error is largest; those without one come last.
std::vector<LayerQuality> worst_first(std::vector<LayerQuality> layers) {
  std::stable_sort(layers.begin(), layers.end(), [](const LayerQuality& a, const LayerQuality& b) {
    return a.own_sqnr_db < b.own_sqnr_db || (std::isnan(b.own_sqnr_db) && !std::isnan(a.own_sqnr_db));
  });
  return layers;
}

// "31.2 dB"; of what is not known nothing.
std::string decibels(double x) {
  return std::isnan(x) ? "" : fmt::format("{:.1f} dB", x);
}

void print_report(const QuantizeReport& report, int worst) {
  const std::vector<LayerQuality> layers = worst_first(report.layers);
  const std::size_t shown = std::min(layers.size(), static_cast<std::size_t>(worst));
  std::size_t width = 5;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, printable(layers[i].name).size());
  say("The {} of {} layer{} with the largest error of {} own:\n\n", shown, layers.size(),
      layers.size() == 1 ? "" : "s", shown == 1 ? "its" : "their");
  say("| {:<{}} | {:<16} | {:>8} | {:>11} | {:>8} | {:<19} | {:<7} |\n", "layer", width, "op", "own SQNR",
      "accumulated", "clipped", "range of its input", "algo");
  say("|{:-<{}}|{:-<18}|{:->9}:|{:->12}:|{:->9}:|{:-<21}|{:-<9}|\n", "", width + 2, "", "", "", "", "", "");
  for (std::size_t i = 0; i < shown; ++i) {
    const LayerQuality& l = layers[i];
    say("| {:<{}} | {:<16} | {:>8} | {:>11} | {:>6.3f} % | {:<19} | {:<7} |\n", printable(l.name), width,
        l.op, decibels(l.own_sqnr_db), decibels(l.sqnr_db), 100 * l.clipped,
        fmt::format("{:.4g} .. {:.4g}", l.min, l.max), l.algorithm);
  }
  say("\n");
  for (const OutputQuality& output : report.outputs) {
    say("output {}: SQNR {:.1f} dB, cosine {:.6f}", printable(output.name), output.sqnr_db, output.cosine);
    if (!std::isnan(output.agreement)) say(", the same answer as fp32 in {:.1f} %", 100 * output.agreement);
    say("\n");
  }
  constexpr std::size_t kMaxNames = 5;
  const std::vector<std::string>& kept = report.kept_float;
  if (!kept.empty() && kept.size() <= kMaxNames)
    say("left in float: {}\n", printable(fmt::format("{}", fmt::join(kept, ", "))));
  else if (!kept.empty())
    say("left in float: {} layers\n", kept.size());
  if (report.equalized > 0)
    say("channels that differed greatly were balanced in {} place{} (equalization)\n", report.equalized,
        report.equalized == 1 ? "" : "s");
}

// What the numbers of the report were measured on.
std::string judged_on(const QuantizeReport& report) {
  const std::string pictures =
      fmt::format("{} picture{}", report.judged_samples, report.judged_samples == 1 ? "" : "s");
  if (report.judged_on == JudgedOn::kOthers) return fmt::format("judged on {} others", report.judged_samples);
  if (report.judged_on == JudgedOn::kHeldOut) return "judged on " + pictures + " held out of the data";
  return "judged on " + pictures + " of the same, so other pictures may fare worse";
}

// Says when the outputs have suffered, which layer is the likely cause, and what helps.
void warn_if_bad(const QuantizeReport& report, const Options& options) {
  constexpr double kRuined = 0;         // dB: as much noise as signal
  constexpr double kBad = 10;           // dB: noise of a tenth of the signal's power
  constexpr double kHealthyLayer = 20;  // dB, alone: below what 8 bits do to any tensor that suits one scale
  const auto output = std::ranges::min_element(report.outputs, {}, &OutputQuality::sqnr_db);
  if (output == report.outputs.end() || !(output->sqnr_db < kBad)) return;
  const QuantizeOptions& q = options.quantize;
  const bool few_bits = q.weight_bits < 8 || q.activation_bits < 8;
  const std::string differs =
      fmt::format("output {} has an SQNR of {:.1f} dB", printable(output->name), output->sqnr_db);
  std::string cause, remedy;
  const std::vector<LayerQuality> layers = worst_first(report.layers);
  if (!layers.empty()) {
    const LayerQuality& l = layers.front();
    if (q.algo == "auto" && !few_bits && l.own_sqnr_db >= kHealthyLayer) {
      // No layer is at fault, and none that is left in float would help.
      const std::string text = fmt::format(
          "the int8 model answers differently: {}, although no layer alone has less than {} ({}). The "
          "network "
          "makes small differences large, as networks with random weights do",
          differs, decibels(l.own_sqnr_db), printable(l.name));
      if (output->sqnr_db < kRuined)
        print_warning(text + ". Try `octet qat`");
      else
        Console().notice(text);
      return;
    }
    cause = fmt::format(" The layer {} alone has {}", printable(l.name), decibels(l.own_sqnr_db));
    if (l.channel_spread > quant::kGreatSpread)
      cause += fmt::format(
          ": of its input {} the largest channel reaches {:.0f} times as far as most, so one scale "
          "for all leaves little of the others",
          printable(l.input), l.channel_spread);
    cause += ".";
    if (l.channel_spread > quant::kGreatSpread && !q.equalize && report.equalized == 0)
      remedy = "--equalize, or ";
    remedy += fmt::format("--keep-float '{}'", printable(l.name));
  }
  if (q.algo != "auto") remedy = "--algo auto" + (remedy.empty() ? "" : ", or " + remedy);
  if (few_bits)
    remedy = fmt::format("more than {} bits", std::min(q.weight_bits, q.activation_bits)) +
             (remedy.empty() ? "" : ", or " + remedy);
  print_warning(fmt::format("the int8 model answers differently: {}.{} Try {}", differs, cause,
                            remedy.empty() ? "other pictures, or `octet qat`" : remedy));
}

int run(Options& options) {
  // Batches come and go in several threads. From their heaps, little of that memory would come back.
  mallopt(M_MMAP_THRESHOLD, 4 << 20);
  if (options.output.empty()) fail("--output_dir is missing: where should the int8 model go?");
  const SaveOptions& usual = options.config ? kUsualOfSegmentation : kUsual;
  take_file_name(&options.output, &options.save);
  const SaveOptions save = saved_files(options.save, usual);
  // Pictures of different sizes share no batch, and those of segmentation are large.
  options.batch_size = options.given_batch_size.value_or(options.config ? 1 : options.batch_size);
  options.batch_num = options.given_batch_num.value_or(options.config ? 100 : options.batch_num);
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
  if (options.fast) {
    if (quantize_options.algo == "auto") quantize_options.algo = "hist";
    if (quantize_options.round_type == "auto") quantize_options.round_type = "round";
  }
  quantize_options.device = config.device();
  quantize_options.threads = config.cpu_math_library_num_threads();
  quantize_options.windows = options.config.has_value();
  quantize_options.batch_num = 0;  // all that there is: pictures are counted, not batches

  if (options.config) {
    fetch_model(options.model.path);
    if (options.data_dir.empty()) fetch_data(*options.config);
  }
  Model model = options.config ? load_segmentation_model(*options.config, options.model)
                               : Model::load(options.model.path, options.model.files);
  Transforms transforms = transforms_of(options.preprocess, options.model.path,
                                        options.config ? options.config->val_transforms : Transforms());
  std::unique_ptr<Pictures> pictures, others;
  if (quantize_options.load_stats.empty()) {
    if (options.data_dir.empty() && !options.config)
      fail("--data_dir is missing: a folder of pictures, a list of them, or .npy or .npz batches");
    const Shard shard{comm->rank(), comm->size()};
    pictures = std::make_unique<Pictures>(options, model.inputs(), transforms, Part::kCalibration, shard);
    others = std::make_unique<Pictures>(options, model.inputs(), transforms, Part::kOthers, shard);
    // Nobody knows what was done to arrays, unless the model or the command says it.
    if (pictures->are_prepared() && is_assumed(options.preprocess, options.model.path)) transforms.clear();
    quantize_options.preprocessing = write_deploy_yaml(transforms);
  }

  std::unique_ptr<Progress> progress;
  std::string stage;
  quantize_options.progress = [&](const std::string& name, std::int64_t done, std::int64_t total) {
    if (comm->rank() != 0) return;
    if (pictures && !pictures->are_arrays() && name == "calibration") {
      done = pictures->given();
      total = (pictures->count() + comm->size() - 1) / comm->size();
    }
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
      [&](std::int64_t index, std::vector<Tensor>* inputs) { return others && others->next(index, inputs); },
      quantize_options, &report, *comm);
  progress.reset();
  if (pictures)
    for (const std::string& line : pictures->broken()) print_warning(line + "; skipped");
  if (!quantized) return 0;  // the first process has it
  if (pictures && !pictures->are_arrays() && pictures->asked_for() > pictures->found())
    print_warning(fmt::format("--batch_num {} of {}: {} pictures were asked for, {} has {}",
                              options.batch_num, options.batch_size, pictures->asked_for(),
                              options.data_dir.empty() ? "train_dataset" : options.data_dir,
                              pictures->found()));

  // What was done to the pictures that the statistics are of.
  if (!pictures)
    transforms =
        report.preprocessing.empty()
            ? Transforms()
            : read_deploy_yaml(report.preprocessing, quantize_options.load_stats).value_or(Transforms());
  if (pictures && !pictures->are_prepared()) say_what_is_assumed(options.preprocess, options.model.path);
  if (transforms.empty())
    Console().notice(
        fmt::format("what was done to the pictures is not known, so {} does not say it; `octet eval` and "
                    "`octet infer` need --resize-size, --crop-size, --mean and --std",
                    (fs::path(options.output) / "deploy.yaml").string()));

  std::optional<DeployedForm> form;
  if (options.config) {
    // Calibration may look at pictures otherwise than the deployed model will.
    transforms = load_deploy_yaml(options.model.path).value_or(deployed_transforms(*options.config));
    form = deployed_form(*options.config, *quantized->graph());
  }

  fs::path folder(options.output);
  make_directory(folder);
  AtomicFiles files;
  add_model(files, *quantized->graph(), folder, save);
  files.add(folder / "deploy.yaml", write_deploy_yaml(transforms, save.model_file, save.weights_file,
                                                      load_class_names(options.model.path), form));
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;  // names may hold anything
  files.add(folder / "ptq_report.json", to_json(report, options).dump(1, ' ', false, kReplace) + "\n");
  files.commit();
  print_report(report, options.worst);
  warn_if_bad(report, options);
  double bytes = 0;
  std::vector<std::string> names;
  for (const std::string& name : {save.model_file, save.weights_file}) {
    if (name.empty()) continue;  // ONNX has one file
    bytes += static_cast<double>(fs::file_size(folder / name));
    names.push_back(names.empty() ? (folder / name).string() : name);
  }
  const std::size_t skipped = pictures ? pictures->broken().size() : 0;
  say("{}: {:.2f} MB, calibrated on {} pictures{}, {}; all layers are in {}\n", fmt::join(names, " + "),
      bytes / 1e6, report.samples, skipped > 0 ? fmt::format(" ({} skipped: can't be read)", skipped) : "",
      judged_on(report), (folder / "ptq_report.json").string());
  return 0;
}

}  // namespace

std::function<int()> declare_ptq(Args& args) {
  auto options = std::make_shared<Options>();
  QuantizeOptions& q = options->quantize;
  constexpr int kMany = 1 << 20;
  add_model_flags(args, &options->model, "model-path");
  add_segmentation_config(args, &options->config);
  add_shape_flag(args, &options->model);
  args.group("Output");
  args.add("output-dir", &options->output, "DIR_OR_FILE",
           "the directory where the int8 model goes, or an ONNX file, whose name ends in .onnx")
      .aliases = {"quantize-model-path"};
  add_format_flags(args, &options->save);
  args.add("save-model-filename", &options->save.model_file, "NAME", "file name of its program")
      .default_text = "__model__; with --config: model.pdmodel";
  args.add("save-params-filename", &options->save.weights_file, "NAME", "file name of its parameters")
      .default_text = "__params__; with --config: model.pdiparams";
  args.add(
      "onnx-format", &q.onnx_format,
      "write quantize_linear/dequantize_linear and int8 weights; False: Paddle's older fake_quantize ops");
  args.group("Calibration data");
  args.add("data-dir", &options->data_dir, "DIR_OR_FILE",
           "a folder of pictures (or with val/ in it), a list file, .npy batches, or .npz files with an "
           "array for "
           "each input")
      .aliases = {"data-path"};
  args.at("data-dir").default_text = "with --config: its train_dataset, of which masks are not needed";
  args.add("batch-size", &options->given_batch_size, {1, 4096}, "pictures per batch").default_text =
      "10; with --config: 1";
  Flag& batches = args.add("batch-num", &options->given_batch_num, {0, kMany},
                           "calibrate on N x --batch-size pictures; 0: on all");
  batches.aliases = {"batch-nums"};
  batches.default_text = "10; with --config: 100";
  args.add("seed", &options->seed, {-1, kMany},
           "seed for choosing pictures from a folder; -1: take the first ones");
  add_preprocess_flags(args, &options->preprocess);
  args.group("Thresholds of activations");
  args.add("algo", &q.algo, "auto|KL|hist|mse|emd|avg|abs_max|min_max|ptf",
           "how thresholds are found; auto tries every method on each tensor and takes the one that changes "
           "the layer's output least");
  args.add("hist-percent", &q.hist_percent, "hist: the share of values that are not clipped");
  args.add("two-pass", &q.two_pass,
           "KL and hist exactly as PaddleSlim computes them, with two passes over the data");
  args.add("save-stats", &q.save_stats, "FILE", "save the statistics and a few of the pictures to FILE");
  args.add("load-stats", &q.load_stats, "FILE", "use saved statistics in place of --data-dir");
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
           "for compatibility with PaddleSlim: all of them mean the same at inference");
  args.add("weight-bits", &q.weight_bits, {2, 8}, "bits per weight");
  args.add("activation-bits", &q.activation_bits, {2, 8}, "bits per activation");
  args.group("Accuracy");
  args.add("bias-correction", &q.bias_correction,
           "correct the shift that quantization causes in the mean of each channel");
  args.add("weight-correction", &q.weight_correction,
           "PaddleSlim's bias_correction: move mean and deviation of the weights");
  args.add(
      "round-type", &q.round_type, "auto|round|adaround",
      "adaround: round each weight up or down so that the layer's output changes least; auto: with --algo "
      "auto");
  args.add("fast", &options->fast, "skip the search: --algo hist, and weights rounded to nearest");
  args.add("equalize", &q.equalize,
           "cross-layer equalization: balance the ranges of channels between convolutions");
  args.add("optimize-model", &options->fold_batch_norm, "True|False",
           "fold batch norms into the weights first [True; False with --deploy paddle]");
  args.group("How it runs");
  args.add("threads", &options->runtime.threads, {1, 1024}, "CPU threads").default_text =
      "OCTET_NUM_THREADS, or the number of cores";
  add_device_flags(args, &options->runtime);
  args.add("worst", &options->worst, {0, kMany}, "how many layers the table at the end shows");
  args.note(
      "Writes the int8 model, deploy.yaml with the preprocessing, and ptq_report.json with the error of "
      "every layer. "
      "A picture that can't be read is skipped with a warning.");
  args.example("octet ptq --model-path mobilenet_v3_small_infer --data-dir ILSVRC2012 --output-dir int8");
  args.example(
      "octet ptq --config configs/quick_start/bisenet_optic_disc_512x512_1k.yml --model_path float "
      "--output_dir "
      "int8");
  args.example(
      "octet ptq --model-path resnet50 --data-dir photos --output-dir int8 --algo KL --batch-num 32");
  return [options] { return run(*options); };
}

}  // namespace octet::cli
