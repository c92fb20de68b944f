#include <algorithm>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/threads.h"
#include "cli/array_batches.h"
#include "cli/batch_runner.h"
#include "cli/command.h"
#include "cli/eval_segmentation.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/output_comparison.h"
#include "cli/picture_model.h"
#include "cli/preprocess_flags.h"
#include "cli/segmentation_model.h"
#include "cli/stopwatch.h"
#include "cli/tensors.h"
#include "data/deploy_yaml.h"
#include "data/loader.h"
#include "formats/format.h"
#include "quant/calibration_sample.h"
#include "tasks/confusion.h"
#include "tasks/task.h"

namespace octet::cli {

namespace {

struct Options {
  ModelFlags model;
  ModelFlags baseline;  // without a path: none
  std::string data_dir;
  std::vector<std::string> inputs;  // as given: [NAME=]FILE
  int batch_size = 32;
  std::optional<int> batch_num;
  PreprocessFlags preprocess;
  RuntimeFlags runtime;
  std::string json;
  bool per_class = false;
  std::string confusion_matrix;               // a PNG file; empty: none
  std::optional<train::TrainOptions> config;  // of a segmentation network; none: something else
  SegmentFlags segment;
  std::string num_workers, data_format;  // for compatibility with PaddleSeg
};

// A model, what it answered so far and how long that took.
struct Subject {
  Subject(const ModelFlags& flags, const Config& config, const Task& task, ThreadPool& pool)
      : model(flags, config, pool),
        runner(model, pool),
        disk_bytes(bytes_on_disk(flags)),
        metric(task.metric({})) {}

  double ms() const { return time.ms() / static_cast<double>(images); }  // a picture
  std::size_t peak_bytes() const { return std::max(model.peak_bytes(), runner.peak_bytes()); }

  ModelRunner model;
  BatchRunner runner;  // of pictures
  std::uint64_t disk_bytes;
  Stopwatch time;  // of the runs alone
  std::unique_ptr<Metric> metric;
  std::int64_t images = 0;
  Agreement agreement;  // with the first model
};

class Evaluation {
 public:
  explicit Evaluation(const Options& options)
      : options_(options),
        config_(make_config(options.runtime)),
        pool_(config_.cpu_math_library_num_threads()) {
    if (has_baseline()) subjects_.emplace_back(options.baseline, config_, task_, pool_);
    subjects_.emplace_back(options.model, config_, task_, pool_);
  }

  int run() {
    const std::vector<TensorInfo> inputs = model().model.model().inputs();
    if (options_.data_dir.empty() && options_.inputs.empty())
      fail("--data-dir is required, or with a baseline --input, an array for each input of the model");
    if (!options_.data_dir.empty() && !options_.inputs.empty()) fail("give either --data-dir or --input");
    if (!options_.inputs.empty())
      compare_arrays({bind_files("--input", options_.inputs, inputs, *model().model.model().graph()), inputs,
                      options_.batch_size});
    else if (ArrayBatches::are_in(options_.data_dir, inputs))
      compare_arrays({options_.data_dir, inputs, options_.batch_size});
    else
      evaluate_pictures();
    if (has_baseline()) print_table();
    print_end();
    if (options_.per_class) write_output(per_class_table(confusion_, class_names_));
    AtomicFiles files;
    if (!options_.confusion_matrix.empty())
      files.add(options_.confusion_matrix, encode_png(confusion_picture(confusion_)));
    if (!options_.json.empty()) files.add(options_.json, as_json());
    files.commit();
    if (reads_pictures_) say_what_is_assumed(options_.preprocess, options_.model.path);
    return 0;
  }

 private:
  bool has_baseline() const { return !options_.baseline.path.empty(); }
  const Subject& model() const { return subjects_.back(); }

  // Arrays have no labels.
  void compare_arrays(ArrayBatches batches) {
    if (!has_baseline()) fail("arrays have no labels; give another model to compare with, as --baseline");
    is_task_ = false;
    const std::int64_t most = options_.batch_num.value_or(std::numeric_limits<int>::max());
    for (std::int64_t id = 0; id < most; ++id) {
      const std::optional<std::vector<Tensor>> inputs = batches.next();
      if (!inputs) break;
      compare(run_all(*inputs, quant::pictures_in(*inputs)));
    }
  }

  void evaluate_pictures() {
    for (const Subject& subject : subjects_) check_takes_pictures(subject.model, task_);
    Dataset dataset = open_dataset(options_.data_dir, "val");
    has_labels_ = dataset.has_labels();
    if (!has_labels_ && !has_baseline())
      fail(
          "{}: no labels to hold the answers against; give a folder with one folder per class, a list with "
          "lines of "
          "`path label`, or another model as --baseline",
          options_.data_dir);
    highest_ = *std::ranges::max_element(dataset.entries, {}, &Entry::label);
    folders_ = dataset.classes.size();
    class_names_ = dataset.classes.empty() ? load_class_names(options_.model.path) : dataset.classes;
    read(std::move(dataset));
  }

  void read(Dataset dataset) {
    constexpr std::int64_t kPrintEvery = 10;
    // Pictures are counted, not batches: those of different sizes don't share one.
    if (options_.batch_num) {
      const auto asked_for =
          static_cast<std::size_t>(*options_.batch_num) * static_cast<std::size_t>(options_.batch_size);
      dataset.entries.resize(std::min(dataset.entries.size(), asked_for));
    }
    const auto pictures = static_cast<std::int64_t>(dataset.entries.size());
    reads_pictures_ = !dataset.is_array(dataset.entries.front());
    const Transforms transforms = transforms_of(options_.preprocess, options_.model.path);
    LoaderOptions options = {.batch_size = options_.batch_size, .workers = pool_.threads()};
    if (!has_baseline())
      options.integers = model().model.integers_of(PreparedTransforms(transforms).pixel_values());
    Loader loader(std::move(dataset), transforms, options);
    Progress progress("pictures", pictures);
    for (std::int64_t id = 0;; ++id) {
      const std::optional<Batch> batch = loader.next();
      if (!batch) break;
      progress.clear();
      for (const std::string& message : batch->broken) print_warning(message + "; skipped");
      broken_ += static_cast<std::int64_t>(batch->broken.size());
      loader.wait_until_idle();
      evaluate(*batch);
      if (is_task_ && id % kPrintEvery == 0) {
        say("batch_id {}, {}{}avg time {:.5f} sec/img\n", id, results("", 3),
            has_baseline() ? fmt::format("agreement {:.3f}, ", model().agreement.share()) : "",
            model().ms() / 1000);
        flush_output();
      }
      progress.update(model().images + broken_);
    }
  }

  // The models take turns on each batch, so that whatever else the machine does hits both.
  std::vector<std::vector<Tensor>> run_all(const std::vector<Tensor>& inputs, std::int64_t count) {
    return run_all(count, [&](Subject& subject, bool) { return subject.model.run(inputs); });
  }

  std::vector<std::vector<Tensor>> run_all(const Batch& batch) {
    return run_all(batch.size(), [&](Subject& subject, bool prepares) {
      if (prepares) subject.runner.prepare(batch.pixels);
      return prepares ? std::vector<Tensor>() : subject.runner.run(batch.pixels);
    });
  }

  // `run(subject, prepares)`: memory is planned in the first run, or by what prepares it.
  template <class Run>
  std::vector<std::vector<Tensor>> run_all(std::int64_t count, const Run& run) {
    std::vector<std::vector<Tensor>> outputs;
    for (Subject& subject : subjects_) {
      if (subject.images == 0) run(subject, true);
      subject.time.start();
      outputs.push_back(run(subject, false));
      subject.time.stop();
      subject.images += count;
    }
    return outputs;
  }

  void compare(const std::vector<std::vector<Tensor>>& outputs) {
    if (!has_baseline()) return;
    std::vector<std::string> names;
    for (const TensorInfo& output : model().model.model().outputs()) names.push_back(output.name);
    comparison_.add(names, outputs[0], outputs[1]);
  }

  void evaluate(const Batch& batch) {
    const bool is_first = model().images == 0;
    const std::vector<std::vector<Tensor>> outputs = run_all(batch);
    if (is_first) is_task_ = !has_baseline() || task_.accepts(outputs[0].at(0), batch.size());
    if (!is_task_) return compare(outputs);
    std::vector<std::int64_t> first;
    for (std::size_t i = 0; i < subjects_.size(); ++i) {
      Subject& subject = subjects_[i];
      const Tensor& output = outputs[i].at(0);
      check_answers(subject.model, task_, output, batch.size());
      if (is_first) check_classes(subject, output.dim(1));
      if (has_labels_) subject.metric->update(output, batch);

      const std::vector<std::int64_t> answers = task_.decide(output);
      if (&subject == &model() && confusion_.classes() > 0) confusion_.add(answers, batch.labels);
      if (first.empty()) first = answers;
      for (std::size_t k = 0; k < answers.size(); ++k)
        subject.agreement.add(answers[k] >= 0 && answers[k] == first[k]);
    }
    compare(outputs);
  }

  void check_classes(const Subject& subject, std::int64_t classes) {
    const std::string& path = subject.model.path();
    if (highest_.label >= classes)
      fail("{}: {} has the label {}, but {} has {} classes, 0 to {}", options_.data_dir,
           printable(highest_.path.string()), highest_.label, path, classes, classes - 1);
    if (classes_ > 0 && classes != classes_)
      fail("{} has {} classes, and the baseline {} has {}", path, classes, options_.baseline.path, classes_);
    if (classes_ == 0 && folders_ > 0 && folders_ != static_cast<std::size_t>(classes))
      print_warning(fmt::format(
          "{}: {} folders for the {} classes of {}; a folder's label is its place among the folders, so "
          "give a list where that is not the class",
          options_.data_dir, folders_, classes, path));
    classes_ = classes;
    if (!options_.per_class && options_.confusion_matrix.empty()) return;
    if (!has_labels_) fail("{}: no labels to count the answers of each class by", options_.data_dir);
    if (classes > kMaxClasses)
      fail("{} has {} classes, and they are told apart up to {}", path, classes, kMaxClasses);
    if (confusion_.classes() == 0) confusion_ = Confusion(classes);
  }

  std::string number(double value, int digits) const {
    return has_labels_ ? fmt::format("{:.{}f}", value, digits) : "-";
  }

  // "acc1 0.750, acc5 1.000, ", each behind a prefix.
  std::string results(std::string_view prefix, int digits) const {
    std::string text;
    for (const MetricRow& row : task_rows(model()))
      text += fmt::format("{}{} {}, ", prefix, row.key, number(row.value, digits));
    return text;
  }

  void print_table() const {
    std::string columns, line;
    for (const MetricRow& row : task_rows(model())) {
      columns += fmt::format("{} | ", row.column);
      line += "--:|";
    }
    if (is_task_) columns += "agreement | ", line += "--:|";
    say("\n| model | precision | {}size on disk | ms/image | peak memory |\n|---|---|{}--:|--:|--:|\n",
        columns, line);
    for (const Subject& subject : subjects_) {
      std::string values;
      for (const MetricRow& row : task_rows(subject)) values += number(row.value, 4) + " | ";
      if (is_task_) values += fmt::format("{:.4f} | ", subject.agreement.share());
      say("| {} | {} | {}{} | {:.3f} | {} |\n", printable(subject.model.path()), subject.model.precision(),
          values, format_bytes(subject.disk_bytes), subject.ms(), format_bytes(subject.peak_bytes()));
    }
    say("\n| output | cosine | largest difference | of the largest value | agreement "
        "|\n|---|--:|--:|--:|--:|\n");
    for (const OutputRow& row : comparison_.rows()) {
      const Comparison numbers = row.numbers.result();
      say("| {} | {:.6f} | {:.3g} | {:.3g} | {} |\n", printable(row.name), numbers.cosine,
          numbers.max_abs_difference, relative_difference(numbers),
          row.agreement.decisions > 0 ? fmt::format("{:.4f}", row.agreement.share()) : "-");
    }
    say("\n");
  }

  // What the task is judged by; nothing where outputs are compared alone.
  std::vector<MetricRow> task_rows(const Subject& subject) const {
    return is_task_ ? subject.metric->rows() : std::vector<MetricRow>();
  }

  static double relative_difference(const Comparison& numbers) {
    return numbers.max_abs_difference == 0 ? 0 : numbers.max_abs_difference / numbers.max_abs_expected;
  }

  void print_end() const {
    if (broken_ > 0)
      print_warning(fmt::format("{} of {} pictures can't be read and {} left out", broken_,
                                model().images + broken_, broken_ == 1 ? "was" : "were"));
    say("End test: test image {}\n", model().images);
    say("{}avg time {:.5f} sec/img\n", results("test_", 4), model().ms() / 1000);
  }

  std::string as_json() const {
    using Json = nlohmann::ordered_json;
    Json models = Json::array();
    for (const Subject& subject : subjects_) {
      models.push_back({{"model", subject.model.path()}, {"precision", subject.model.precision()}});
      Json& json = models.back();
      if (has_labels_)
        for (const MetricRow& row : task_rows(subject)) json[std::string(row.key)] = row.value;
      if (has_baseline() && is_task_) json["agreement"] = subject.agreement.share();
      json["disk_bytes"] = subject.disk_bytes;
      json["ms_per_image"] = subject.ms();
      json["peak_bytes"] = subject.peak_bytes();
    }
    Json outputs = Json::array();
    for (const OutputRow& row : comparison_.rows()) {
      const Comparison numbers = row.numbers.result();
      outputs.push_back({{"name", row.name},
                         {"cosine", numbers.cosine},
                         {"largest_difference", numbers.max_abs_difference},
                         {"largest_value", numbers.max_abs_expected}});
      if (row.agreement.decisions > 0) outputs.back()["agreement"] = row.agreement.share();
    }
    Json json = {{"data", options_.data_dir},
                 {"images", model().images},
                 {"broken", broken_},
                 {"batch_size", options_.batch_size},
                 {"threads", pool_.threads()},
                 {"isa", config_.isa()},
                 {"models", models}};
    if (has_baseline()) json["outputs"] = std::move(outputs);
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  const Options& options_;
  const Task& task_ = default_task();
  const Config config_;
  ThreadPool pool_;
  std::deque<Subject> subjects_;  // the baseline, if any, and the model
  OutputComparison comparison_;
  bool has_labels_ = false;
  bool is_task_ = true;      // otherwise the outputs are compared and nothing more
  Entry highest_;            // the one with the highest label
  std::size_t folders_ = 0;  // of classes in the data
  std::vector<std::string> class_names_;
  Confusion confusion_;  // of the model, where it is asked for
  std::int64_t classes_ = 0;
  bool reads_pictures_ = false;
  std::int64_t broken_ = 0;
};

}  // namespace

namespace {

int evaluate(Options& options) {
  if (!options.config) {
    const SegmentFlags& flags = options.segment;
    if (flags.aug_eval || flags.is_slide || !flags.scales.empty() || flags.stride[0] > 0)
      fail("--aug-eval, --scales, --is-slide and --stride are for segmentation: give a --config");
    return Evaluation(options).run();
  }
  if (!options.data_dir.empty() || !options.inputs.empty())
    fail(
        "with --config the pictures are those of its val_dataset; --opts val_dataset.dataset_root=DIR "
        "changes them");
  fetch_data(*options.config);
  fetch_model(options.model.path);
  if (!options.baseline.path.empty()) fetch_model(options.baseline.path);
  return evaluate_segmentation({.config = *options.config,
                                .model = options.model,
                                .baseline = options.baseline,
                                .segment = options.segment,
                                .runtime = options.runtime,
                                .pictures = options.batch_num,
                                .json = options.json});
}

}  // namespace

std::function<int()> declare_eval(Args& args) {
  auto options = std::make_shared<Options>();
  add_model_flags(args, &options->model, "model-path");
  add_segmentation_config(args, &options->config);
  args.group("Baseline");
  args.add("baseline", &options->baseline.path, "MODEL",
           "a model to compare with, on the same pictures; prints a table");
  args.add("baseline-model-filename", &options->baseline.files.model_file, "NAME",
           "file name of its program");
  args.add("baseline-params-filename", &options->baseline.files.weights_file, "NAME",
           "file name of its parameters");
  args.group("Data");
  Flag& data = args.add(
      "data-dir", &options->data_dir, "FILE_OR_DIR",
      "a folder with one folder per class, a folder with val_list.txt or val, a list of `path label` "
      "lines, arrays (.npy) with a labels.npy, or .npz files with an array for each input");
  data.aliases = {"data-path"};
  Flag& input = args.add(
      "input", &options->inputs, "[NAME=]FILE",
      "with --baseline, in place of --data-dir: an .npy file for the input NAME, or for the inputs in "
      "their order");
  take_shapes(input, &options->model);
  args.add("batch-size", &options->batch_size, {1, 4096}, "how many pictures to run at a time");
  args.add("batch-num", &options->batch_num, {1, 1 << 30}, "stop after this many batches' worth of pictures")
      .default_text = "all of the data";
  add_preprocess_flags(args, &options->preprocess);
  args.group("Answers");
  args.add("json", &options->json, "FILE", "also write the results to FILE");
  args.add("per-class", &options->per_class,
           "print a table of which class is taken for which, and how often");
  args.add("confusion-matrix", &options->confusion_matrix, "FILE",
           "draw that table as a picture, a PNG file");
  add_segment_flags(args, &options->segment, "aug-eval");
  add_runtime_flags(args, &options->runtime);
  args.add("num-workers", &options->num_workers, "N",
           "for compatibility with PaddleSeg; has no effect, --threads read the pictures");
  args.add("data-format", &options->data_format, "NCHW", "for compatibility with PaddleSeg; the only layout");
  args.note(
      "Prints the share of pictures whose label is the most likely class (acc1), or among the five most "
      "likely (acc5). The time is that of the model alone, without decoding. Agreement is the share of "
      "pictures on which the "
      "model "
      "answers as the baseline does; it needs no labels. With a baseline any model will do: all of its "
      "outputs are compared with the baseline's. A picture that can't be read is skipped with a "
      "warning.");
  args.example("octet eval --model-path mobilenet_v3_small_infer --data-dir ILSVRC2012");
  args.example(
      "octet eval --model-path int8_model --baseline float_model --data-dir ILSVRC2012/val_list.txt");
  args.example(
      "octet eval --config configs/quick_start/bisenet_optic_disc_512x512_1k.yml --model_path int8 "
      "--baseline "
      "output/best_model");
  return [options] { return evaluate(*options); };
}

}  // namespace octet::cli
