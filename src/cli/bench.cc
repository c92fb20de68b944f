#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "base/cpu.h"
#include "base/error.h"
#include "base/file.h"
#include "base/threads.h"
#include "cli/bench_models.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/shapes.h"
#include "cli/tensors.h"
#include "octet/version.h"
#include "runtime/executor.h"
#include "runtime/roofline.h"

namespace octet::cli {

namespace {

struct Options {
  std::vector<std::string> models;
  ModelFlags files;  // its path is not used
  RuntimeFlags runtime;
  std::vector<std::string> inputs;  // as given: [NAME=]SHAPE
  std::optional<int> warmup;
  int runs = 50;
  int streams = 1;
  std::optional<int> batch;
  bool int8 = false;                     // each model beside its int8 self
  std::vector<std::string> int8_models;  // in the order of the models; none: they are made
  bool profile = false;
  std::string json;
};

// The threads of each stream. Streams run at the same time; a stream makes one run after the other.
using Streams = std::vector<std::unique_ptr<ThreadPool>>;

// One of the models with its inputs, and the times of its runs.
struct Subject {
  std::string path, precision;
  std::vector<std::unique_ptr<Session>> sessions;  // one per stream; they share the weights
  std::vector<std::string> input_names;
  std::vector<Tensor> inputs;
  std::vector<double> ms;       // of a run, or of several streams' runs at the same time
  std::vector<StepTime> steps;  // each with its median time; empty without --profile
  std::int64_t macs = 0;        // multiply-adds of one run
  std::size_t peak_bytes = 0;   // of inputs, outputs and the memory plan
};

struct Summary {
  double min_ms, median_ms, p99_ms, gmacs;  // 10^9 multiply-adds a second, at the least time
  double images_per_second;                 // at the median time
  double share;                             // of the machine's limit; 0 where that is not known
};

// The same numbers on every machine: floats in [-1, 1), as of a normalised picture, and zeros or ones.
Tensor random_tensor(DType dtype, const Shape& shape) {
  Tensor tensor(DType::kFloat32, shape);
  std::mt19937 random(1);
  bool is_float = dtype == DType::kFloat32 || dtype == DType::kFloat64;
  for (float& value : tensor.mutable_data<float>()) {
    auto bits = static_cast<float>(random() >> 8);
    value = is_float ? bits / static_cast<float>(1 << 23) - 1.0f : std::fmod(bits, 2.0f);
  }
  return dtype == DType::kFloat32 ? tensor : tensor.cast(dtype);
}

Subject prepare_subject(const std::string& path, const Model& model, const Config& config,
                        const std::vector<NamedShape>& given, const Options& options,
                        const Streams& streams) {
  Subject subject;
  subject.path = path;
  subject.precision = model.is_quantized() ? "int8" : "fp32";
  std::vector<TensorInfo> inputs = model.inputs();
  std::vector<Shape> shapes = choose_shapes(path, inputs, given);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (options.batch && !shapes[i].empty()) shapes[i][0] = *options.batch;
    subject.input_names.push_back(inputs[i].name);
    subject.inputs.push_back(random_tensor(inputs[i].dtype, shapes[i]));
  }
  const std::shared_ptr<const Executable> executable = prepare(*model.graph(), execute_options(config));
  for (const auto& pool : streams) subject.sessions.push_back(std::make_unique<Session>(executable, *pool));
  std::vector<StepTime> steps;
  std::vector<Tensor> outputs = subject.sessions[0]->run(subject.inputs, &steps);
  for (const auto* tensors : {&subject.inputs, &outputs})
    for (const Tensor& tensor : *tensors) subject.peak_bytes += tensor.size_bytes();
  subject.peak_bytes += subject.sessions[0]->arena_bytes();
  subject.peak_bytes *= streams.size();
  for (const StepTime& step : steps) subject.macs += step.macs;
  return subject;
}

void check_names(const std::vector<NamedShape>& given, const std::vector<Subject>& subjects) {
  for (const NamedShape& shape : given) {
    auto has_it = [&](const Subject& subject) {
      const auto& names = subject.input_names;
      return std::find(names.begin(), names.end(), shape.name) != names.end();
    };
    if (!shape.name.empty() && std::none_of(subjects.begin(), subjects.end(), has_it))
      fail("--input {}={}: the inputs are {}", shape.name, to_string(shape.shape),
           fmt::join(subjects.back().input_names, ", "));
  }
}

// Each stream runs the model `count` times without waiting for the others; the time of one such run.
double run_ms(Subject& subject, ThreadPool& drivers, int count = 1) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  drivers.parallel_for(std::ssize(subject.sessions), [&](std::int64_t stream) {
    Session& session = *subject.sessions[static_cast<std::size_t>(stream)];
    for (int i = 0; i < count; ++i) session.run(subject.inputs);
  });
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count() / count;
}

// The models take turns, so that whatever else the machine does hits all of them. A turn is several runs, the
// first of which only warms the caches that the model before has emptied.
void measure(std::vector<Subject>& subjects, const Options& options) {
  constexpr int kTurns = 10;
  ThreadPool drivers(options.streams);
  for (Subject& subject : subjects)
    for (int i = 0; i < options.warmup.value_or(options.int8 ? 10 : 5); ++i) run_ms(subject, drivers);
  const bool one_turn = subjects.size() == 1 && options.streams == 1;
  int turn = one_turn ? options.runs : (options.runs + kTurns - 1) / kTurns;
  for (int done = 0; done < options.runs; done += turn) {
    const int runs = std::min(turn, options.runs - done);
    for (Subject& subject : subjects) {
      if (!one_turn) run_ms(subject, drivers);
      if (options.streams > 1)
        subject.ms.push_back(run_ms(subject, drivers, runs));
      else
        for (int i = 0; i < runs; ++i) subject.ms.push_back(run_ms(subject, drivers));
    }
  }
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// Runs of their own, since reading the clock at every step takes time too.
void measure_steps(Subject& subject, int runs) {
  std::vector<std::vector<double>> ms;
  for (int i = 0; i < runs; ++i) {
    subject.steps.clear();
    subject.sessions[0]->run(subject.inputs, &subject.steps);
    ms.resize(subject.steps.size());
    for (std::size_t step = 0; step < ms.size(); ++step) ms[step].push_back(subject.steps[step].ms);
  }
  for (std::size_t step = 0; step < ms.size(); ++step) subject.steps[step].ms = median(ms[step]);
}

std::int64_t batch_of(const Subject& subject) {
  const Shape& first = subject.inputs.empty() ? Shape() : subject.inputs[0].shape();
  return first.empty() ? 1 : first[0];
}

Summary summarize(const Subject& subject, const Roofline& roofline) {
  std::vector<double> ms = subject.ms;
  std::sort(ms.begin(), ms.end());
  auto p99 = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(ms.size()))) - 1;
  const auto streams = static_cast<double>(subject.sessions.size());
  double gmacs = streams * static_cast<double>(subject.macs) / (ms.front() * 1e6);
  double most = subject.precision == "int8" ? roofline.int8_gmacs : roofline.fp32_gmacs;
  double images = 1000 * streams * static_cast<double>(batch_of(subject)) / median(ms);
  return {ms.front(), median(ms), ms[p99], gmacs, images, most > 0 ? gmacs / most : 0};
}

std::string input_text(const Subject& subject) {
  std::vector<std::string> shapes;
  for (const Tensor& input : subject.inputs) shapes.push_back(to_string(input.shape()));
  return fmt::format("{}", fmt::join(shapes, ", "));
}

std::string percent(double share) {
  return share > 0 ? fmt::format("{:.0f} %", 100 * share) : "";
}

void print_table(const std::vector<Subject>& subjects, const Roofline& roofline) {
  const bool has_ratio = subjects.size() > 1;
  say("| model | precision | input | min ms | median ms | p99 ms | images/s | GMAC | GMAC/s | of the limit "
      "| peak memory |{}\n",
      has_ratio ? " first / this |" : "");
  say("|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|{}\n", has_ratio ? "--:|" : "");
  const double first_ms = summarize(subjects.front(), roofline).min_ms;
  for (const Subject& subject : subjects) {
    Summary s = summarize(subject, roofline);
    say("| {} | {} | {} | {:.3f} | {:.3f} | {:.3f} | {:.1f} | {:.4f} | {:.1f} | {} | {} |{}\n",
        printable(subject.path), subject.precision, input_text(subject), s.min_ms, s.median_ms, s.p99_ms,
        s.images_per_second, 1e-9 * static_cast<double>(subject.macs), s.gmacs, percent(s.share),
        format_bytes(subject.peak_bytes), has_ratio ? fmt::format(" {:.2f} |", first_ms / s.min_ms) : "");
  }
}

std::string rate(std::int64_t macs, double ms) {
  return macs > 0 && ms > 0 ? fmt::format("{:.1f}", static_cast<double>(macs) / (ms * 1e6)) : "";
}

// All layers of an op that one kernel ran.
struct KernelSum {
  std::string op, kernel;
  int layers = 0;
  double ms = 0;
  std::int64_t macs = 0;
};

// The slowest first.
std::vector<KernelSum> sum_by_kernel(const std::vector<StepTime>& steps) {
  std::vector<KernelSum> sums;
  for (const StepTime& step : steps) {
    auto same = [&](const KernelSum& sum) { return sum.op == step.op && sum.kernel == step.kernel; };
    auto sum = std::find_if(sums.begin(), sums.end(), same);
    if (sum == sums.end()) sum = sums.insert(sum, {step.op, step.kernel});
    ++sum->layers;
    sum->ms += step.ms;
    sum->macs += step.macs;
  }
  std::stable_sort(sums.begin(), sums.end(), [](auto& a, auto& b) { return a.ms > b.ms; });
  return sums;
}

void print_profile(const Subject& subject) {
  double total = 0;
  for (const StepTime& step : subject.steps) total += step.ms;
  auto share = [&](double ms) { return fmt::format("{:.1f} %", total > 0 ? 100 * ms / total : 0); };

  say("\n## {}\n\n| layer | op | kernel | shape | ms | share | GMAC/s |\n|---|---|---|---|--:|--:|--:|\n",
      printable(subject.path));
  for (const StepTime& step : subject.steps)
    say("| {} | {} | {} | {} | {:.4f} | {} | {} |\n", printable(step.name), step.op, step.kernel,
        to_string(step.output), step.ms, share(step.ms), rate(step.macs, step.ms));
  say("\n| op | kernel | layers | ms | share | GMAC/s |\n|---|---|--:|--:|--:|--:|\n");
  for (const KernelSum& sum : sum_by_kernel(subject.steps))
    say("| {} | {} | {} | {:.4f} | {} | {} |\n", sum.op, sum.kernel, sum.layers, sum.ms, share(sum.ms),
        rate(sum.macs, sum.ms));
}

void write_json(const std::string& file, const std::vector<Subject>& subjects, const Roofline& roofline,
                const Config& config, int runs) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Subject& subject : subjects) {
    Summary s = summarize(subject, roofline);
    Json shapes = Json::array();
    for (const Tensor& input : subject.inputs) shapes.push_back(input.shape());
    Json json = {{"model", subject.path},
                 {"precision", subject.precision},
                 {"threads", config.cpu_math_library_num_threads()},
                 {"streams", subject.sessions.size()},
                 {"batch", batch_of(subject)},
                 {"min_ms", s.min_ms},
                 {"median_ms", s.median_ms},
                 {"p99_ms", s.p99_ms},
                 {"images_per_second", s.images_per_second},
                 {"gmacs", s.gmacs},
                 {"peak_bytes", subject.peak_bytes},
                 {"isa", config.isa()},
                 {"runs", runs},
                 {"inputs", shapes},
                 {"macs", subject.macs},
                 {"share_of_limit", s.share}};
    if (subjects.size() > 1)
      json["first_over_this"] = summarize(subjects.front(), roofline).min_ms / s.min_ms;
    for (const StepTime& step : subject.steps)
      json["layers"].push_back({{"name", step.name},
                                {"op", step.op},
                                {"kernel", step.kernel},
                                {"shape", step.output},
                                {"ms", step.ms},
                                {"macs", step.macs}});
    list.push_back(std::move(json));
  }
  save_file(file, list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// A float model and its int8 self.
struct Pair {
  const Subject &fp32, &int8;

  double saved() const { return 1 - mean(int8.ms) / mean(fp32.ms); }
  double saved_of_least() const { return 1 - least(int8.ms) / least(fp32.ms); }
};

std::vector<Pair> pairs_of(const std::vector<Subject>& subjects) {
  std::vector<Pair> pairs;
  for (std::size_t i = 0; i + 1 < subjects.size(); i += 2) pairs.push_back({subjects[i], subjects[i + 1]});
  return pairs;
}

void print_pairs(const std::vector<Subject>& subjects) {
  say("| model | input | fp32 ms | int8 ms | time saved | least fp32 ms | least int8 ms | time saved |\n"
      "|---|---|--:|--:|--:|--:|--:|--:|\n");
  for (const Pair& pair : pairs_of(subjects))
    say("| {} | {} | {:.2f} | {:.2f} | {:.2f} % | {:.2f} | {:.2f} | {:.2f} % |\n", printable(pair.fp32.path),
        input_text(pair.fp32), mean(pair.fp32.ms), mean(pair.int8.ms), 100 * pair.saved(),
        least(pair.fp32.ms), least(pair.int8.ms), 100 * pair.saved_of_least());
}

void write_pairs(const std::string& file, const std::vector<Subject>& subjects, const Config& config) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Pair& pair : pairs_of(subjects))
    list.push_back({{"model", pair.fp32.path},
                    {"input", pair.fp32.inputs.at(0).shape()},
                    {"fp32_ms", mean(pair.fp32.ms)},
                    {"int8_ms", mean(pair.int8.ms)},
                    {"saved_percent", 100 * pair.saved()},
                    {"least_fp32_ms", least(pair.fp32.ms)},
                    {"least_int8_ms", least(pair.int8.ms)},
                    {"saved_percent_of_least", 100 * pair.saved_of_least()},
                    {"fp32_peak_bytes", pair.fp32.peak_bytes},
                    {"int8_peak_bytes", pair.int8.peak_bytes},
                    {"threads", config.cpu_math_library_num_threads()},
                    {"isa", config.isa()},
                    {"runs", pair.fp32.ms.size()}});
  save_file(file, list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

// The model and its int8 self, one after the other, with their times. Large models don't all have room beside
// each other.
std::vector<Subject> measure_pair(std::size_t number, const Options& options, const Config& config,
                                  const std::vector<NamedShape>& given, const Streams& streams) {
  const std::string& path = options.models[number];
  const Model model = named_model(path, options.files.files);
  if (model.is_quantized())
    fail("{}: it is int8 already; give it as --int8-model, and its float model as --model", path);
  const bool is_made = options.int8_models.empty();
  const std::string other = is_made ? path + " (int8)" : options.int8_models[number];
  const Model int8 = is_made ? hasty_int8(model, streams[0]->threads()) : Model::load(other);
  if (!int8.is_quantized()) fail("{}: it is no int8 model", other);
  std::vector<Subject> subjects;
  subjects.push_back(prepare_subject(path, model, config, given, options, streams));
  subjects.push_back(prepare_subject(other, int8, config, given, options, streams));
  check_names(given, subjects);
  measure(subjects, options);
  for (Subject& subject : subjects) {
    if (options.profile) measure_steps(subject, options.runs);
    subject.sessions.clear();
  }
  return subjects;
}

std::vector<Subject> measure_pairs(const Options& options, const Config& config,
                                   const std::vector<NamedShape>& given, const Streams& streams) {
  std::vector<Subject> subjects;
  for (std::size_t i = 0; i < options.models.size(); ++i)
    std::ranges::move(measure_pair(i, options, config, given, streams), std::back_inserter(subjects));
  return subjects;
}

std::vector<Subject> measure_models(const Options& options, const Config& config,
                                    const std::vector<NamedShape>& given, const Streams& streams) {
  std::vector<Subject> subjects;
  for (const std::string& path : options.models)
    subjects.push_back(
        prepare_subject(path, named_model(path, options.files.files), config, given, options, streams));
  check_names(given, subjects);
  measure(subjects, options);
  for (Subject& subject : subjects)
    if (options.profile) measure_steps(subject, options.runs);
  return subjects;
}

int bench(const Options& options) {
  Config config = make_config(options.runtime);
  int threads = config.cpu_math_library_num_threads();
  std::vector<NamedShape> given;
  for (const std::string& word : options.inputs) given.push_back(parse_shape(word));
  if (options.streams > threads)
    fail("--streams {}: more than the {} thread{}; each stream needs one (see --threads)", options.streams,
         threads, threads == 1 ? "" : "s");
  if (options.streams > 1 && (options.int8 || options.profile))
    fail("--streams measures throughput; --int8 and --profile are about single runs");
  Streams streams;
  for (int i = 0; i < options.streams; ++i)
    streams.push_back(std::make_unique<ThreadPool>((threads + i) / options.streams));
  const std::size_t made = options.int8_models.size();
  if (made > 0 && (!options.int8 || made != options.models.size()))
    fail("--int8-model: {} of them; with --int8 there is one for each --model, or none", made);
  const Roofline roofline = measure_roofline(threads);
  const std::vector<Subject> subjects = options.int8 ? measure_pairs(options, config, given, streams)
                                                     : measure_models(options, config, given, streams);
  say("octet {}, {}, isa {}, {} thread{}, {}{} runs\n", version(), cpu_info().model, config.isa(), threads,
      threads == 1 ? "" : "s", options.streams > 1 ? fmt::format("{} streams, ", options.streams) : "",
      options.runs);
  if (roofline.fp32_gmacs > 0)
    say("limit of this machine: {:.1f} GMAC/s in fp32, {:.1f} GMAC/s in int8\n", roofline.fp32_gmacs,
        roofline.int8_gmacs);
  say("\n");
  if (options.int8)
    print_pairs(subjects);
  else
    print_table(subjects, roofline);
  for (const Subject& subject : subjects)
    if (options.profile) print_profile(subject);
  if (options.json.empty()) return 0;
  if (options.int8)
    write_pairs(options.json, subjects, config);
  else
    write_json(options.json, subjects, roofline, config, options.runs);
  return 0;
}

}  // namespace

std::function<int()> declare_bench(Args& args) {
  auto options = std::make_shared<Options>();
  args.group("Models");
  Flag& model =
      args.add("model", &options->models, "MODEL",
               "a model, an ONNX file or a Paddle inference model, or a network of the zoo by its name; "
               "several take turns");
  model.aliases = {"model-dir", "model-path"};
  model.required = true;
  add_file_flags(args, &options->files);
  Flag& input = args.add(
      "input", &options->inputs, "[NAME=]SHAPE",
      "the shape of the input NAME, such as 1x3x224x224; without NAME the inputs in their order. What is "
      "not given is as the model declares it, with batch 1 and 224 x 224 where it does not");
  take_shapes(input, &options->files, true);
  args.group("Measurement");
  args.add(
      "int8", &options->int8,
      "each model beside its int8 self, in turns: what time that saves, as the mean of the runs and by the "
      "fastest ones");
  args.add(
      "int8-model", &options->int8_models, "MODEL",
      "with --int8: the int8 models, in the order of --model; without it they are made of random numbers, "
      "which is enough to measure their time");
  args.add("warmup", &options->warmup, {0, 1'000'000}, "runs before timing starts").default_text =
      "5; with --int8: 10";
  args.add("runs", &options->runs, {1, 1'000'000}, "timed runs of each model");
  args.add(
      "streams", &options->streams, {1, 1024},
      "how many runs go on at the same time, each with its share of the threads, as in a server; they share "
      "the weights");
  args.add("batch", &options->batch, {1, 65536}, "pictures per run: the first dimension of the inputs");
  args.add("profile", &options->profile, "also a table of the layers: kernel, time, share, GMAC/s");
  args.add("json", &options->json, "FILE", "also write the results to FILE");
  add_runtime_flags(args, &options->runtime);
  args.note(
      "GMAC/s are 10^9 multiply-adds of convolutions and matrix products in a second of the fastest run; the "
      "limit is what this machine reaches without touching memory, measured before. Peak memory is that of "
      "inputs, outputs and the memory plan. With several models, the last column says how many times as fast "
      "as the first each one is, by its fastest run. The inputs are random numbers, always the same.");
  args.example("octet bench --model mobilenet_v3_small");
  args.example("octet bench --model float_model --model int8_model --threads 1 --runs 200 --json times.json");
  args.example("octet bench --model bisenetv2 unet --input 1x3x512x1024 --int8 --threads 1");
  args.example("octet bench --model det --input 1x3x640x640 --profile");
  args.example("octet bench --model int8_model --streams 2 --batch 8");
  return [options] { return bench(*options); };
}

}  // namespace octet::cli
