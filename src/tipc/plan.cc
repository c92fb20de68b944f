#include "tipc/plan.h"

#include <algorithm>

#include "base/error.h"

namespace octet::tipc {

namespace {

namespace fs = std::filesystem;

constexpr const char* kTrain = "train_params";
constexpr const char* kInfer = "infer_params";
constexpr const char* kPtq = "ptq_params";

bool means_gpu(std::string_view value) {
  return value == "True" || value == "true" || value == "1" || value.starts_with("gpu");
}

// What the program of a config is told in place of a GPU.
std::string on_cpu(std::string_view value) {
  if (!means_gpu(value)) return std::string(value);
  return value.starts_with("gpu") ? "cpu" : value == "1" ? "0" : value == "true" ? "false" : "False";
}

// A row of gpu_list: `-1`, `0`, `0,1` or `ip,ip;0,1`.
struct Devices {
  std::string gpus, machines;

  bool is_cpu() const { return gpus == "-1"; }
  std::size_t processes() const {
    const std::size_t nodes = machines.empty() ? 1 : split(machines, ',').size();
    return nodes * split(gpus, ',').size();
  }
  // What starts a program on them.
  std::string launcher() const {
    if (!machines.empty())
      return fmt::format("-m paddle.distributed.launch --ips={} --gpus={}", machines, gpus);
    return processes() > 1 ? "-m paddle.distributed.launch --gpus=" + gpus : "";
  }
};

class Planner {
 public:
  Planner(const Config& config, std::string_view mode, bool has_gpu)
      : config_(config), mode_(mode), has_gpu_(has_gpu) {
    plan_.model_name = config.model_name();
    plan_.mode = mode;
    check_is_name("model_name", config.model_name());
    // "./log": as the documents have it.
    plan_.folder = fs::path(".") / "log" / config.model_name() / mode;
  }

  Plan make() {
    if (config_.is_ptq() && mode_ != "whole_infer")
      fail("{}: quantizing trains nothing, so its mode is whole_infer, not {}", config_.name(), mode_);
    if (config_.is_ptq())
      quantize();
    else if (mode_ == "whole_infer")
      infer_only();
    else
      train();
    if (plan_.steps.empty())
      fail("{}: nothing to run in the mode {}: every command is null", config_.name(), mode_);
    return std::move(plan_);
  }

 private:
  const Line& field(const char* section, const char* name) const { return config_.get(section, name); }
  std::vector<std::string> values(const Line& line) const { return config_.values(line, mode_); }

  // The program, its command and those of the arguments that are not empty.
  std::string command(const Line& line, std::vector<std::string> arguments,
                      const std::string& launcher = "") const {
    std::string text = config_.program();
    arguments.insert(arguments.begin(), {launcher, line.value});
    for (const std::string& argument : arguments)
      if (!argument.empty()) text += " " + argument;
    return text;
  }

  // Names become parts of paths below ./log, where folders of earlier runs are emptied.
  void check_is_name(std::string_view what, const std::string& name) const {
    if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos)
      fail("{}: {}: '{}' can't be a part of a file's name; leave out '/' and '..'", config_.name(), what,
           printable(name));
  }

  int add(Step step) {
    constexpr std::size_t kMaxSteps = 1000;  // alternatives multiply
    if (plan_.steps.size() == kMaxSteps)
      fail("{}: more than {} commands; give fewer alternatives", config_.name(), kMaxSteps);
    for (const Step& earlier : plan_.steps) step.appends = step.appends || earlier.log == step.log;
    plan_.steps.push_back(std::move(step));
    return static_cast<int>(plan_.steps.size()) - 1;
  }

  void notice(const std::string& text) {
    if (std::ranges::find(plan_.notices, text) == plan_.notices.end()) plan_.notices.push_back(text);
  }

  static Devices parse_devices(const std::string& text) {
    const std::size_t semicolon = text.find(';');
    if (semicolon == std::string::npos) return {text, ""};
    return {text.substr(semicolon + 1), text.substr(0, semicolon)};
  }

  void check_devices(const Line& line, const Devices& devices) const {
    auto is_number = [](const std::string& text) {
      return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    };
    const std::vector<std::string> gpus = split(devices.gpus, ',');
    if (!devices.is_cpu() && !std::ranges::all_of(gpus, is_number))
      fail("{}:{}: {}: '{}' is neither -1 (the CPU), nor 0, nor 0,1, nor ip,ip;0,1", config_.name(),
           line.number, line.key, printable(devices.gpus));
  }

  // use-gpu has one value for all rows of gpu_list, or one for each.
  std::string use_gpu(const Line& line, std::size_t row, std::size_t rows) const {
    const std::vector<std::string> all = values(line);
    if (all.size() != 1 && all.size() != rows)
      fail("{}:{}: {} has {} values, but gpu_list has {}; give one for each, or one for all", config_.name(),
           line.number, line.key, all.size(), rows);
    const std::string& value = all[all.size() == 1 ? 0 : row];
    return line.flag(has_gpu_ ? value : on_cpu(value));
  }

  void train() {
    const Line& list = field(kTrain, "gpu-list");
    const std::vector<std::string> rows = values(list);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const Devices devices = parse_devices(rows[row]);
      check_devices(list, devices);
      if (!has_gpu_ && !devices.is_cpu())
        notice(fmt::format("no CUDA device: gpu_list {} trains on the CPU, with {} process{}", rows[row],
                           devices.processes(), devices.processes() > 1 ? "es" : ""));
      for (const Config::Trainer& trainer : config_.trainers())
        if (!is_null(trainer.command->value))
          train_on(devices, trainer, use_gpu(field(kTrain, "use-gpu"), row, rows.size()));
    }
  }

  void train_on(const Devices& devices, const Config::Trainer& trainer, const std::string& use_gpu) {
    const std::vector<std::string> batch_sizes = values(field(kTrain, "batch-size")),
                                   epochs = values(field(kTrain, "epochs")),
                                   pretrained = values(field(kTrain, "pretrained"));
    for (const std::string& weights : pretrained)
      for (const std::string& count : epochs)
        for (const std::string& batch_size : batch_sizes) {
          std::string row = fmt::format("{}_gpus_{}", trainer.name, devices.gpus);
          if (!devices.machines.empty()) row += fmt::format("_nodes_{}", split(devices.machines, ',').size());
          if (pretrained.size() > 1) row += "_pretrained_" + fs::path(weights).stem().string();
          if (epochs.size() > 1) row += "_epochs_" + count;
          if (batch_sizes.size() > 1) row += "_batchsize_" + batch_size;
          chain(row, devices, trainer, use_gpu, {count, weights, batch_size});
        }
  }

  struct Setting {
    std::string epochs, pretrained, batch_size;
  };

  // Trains, evaluates, exports, infers.
  void chain(const std::string& row, const Devices& devices, const Config::Trainer& trainer,
             const std::string& use_gpu, const Setting& setting) {
    const fs::path output = plan_.folder / row;
    const Line& pretrained = field(kTrain, "pretrained");
    const std::string data = data_flag(kTrain, "data-path");
    Step step = new_step(row, "train", *trainer.command);
    std::vector<std::string> flags = {field(kTrain, "output-dir").flag(output.string()),
                                      field(kTrain, "epochs").flag(setting.epochs),
                                      pretrained.flag(setting.pretrained),
                                      field(kTrain, "batch-size").flag(setting.batch_size),
                                      data,
                                      use_gpu};
    for (const std::string& other : config_.other_flags(kTrain)) flags.push_back(other);
    step.command = command(*trainer.command, flags, devices.launcher());
    step.environment = visible(devices, true);
    step.folder = output;
    step.makes = output / field(kTrain, "train-model-name").value;
    const std::string checkpoint = step.makes.string();
    const int trained = add(step);

    if (const Line& eval = field("eval_params", "eval"); !is_null(eval.value)) {
      step = new_step(row, "eval", eval);
      step.command = command(eval, {pretrained.flag(checkpoint), data, use_gpu});
      step.environment = visible(devices, false);
      step.needs = trained;
      add(step);
    }
    const Line& exporter = field(kInfer, "norm-export");
    if (is_null(exporter.value)) return;
    step = export_step(row, exporter, checkpoint, output);
    step.needs = trained;
    infer(row, output, add(step), visible(devices, false));
  }

  Step export_step(const std::string& row, const Line& exporter, const std::string& checkpoint,
                   const fs::path& output) const {
    Step step = new_step(row, "export", exporter);
    std::vector<std::string> flags = {field(kInfer, "pretrained").flag(checkpoint),
                                      field(kInfer, "save-inference-dir").flag(output.string())};
    for (const std::string& other : config_.other_flags(kInfer)) flags.push_back(other);
    step.command = command(exporter, flags);
    return step;
  }

  void infer_only() {
    const std::string row = "whole_infer";
    const fs::path output = field(kInfer, "save-inference-dir").value;
    const Line& exporter = field(kInfer, "infer-export");
    int exported = -1;
    if (!is_null(exporter.value))
      exported = add(export_step(row, exporter, field(kInfer, "train-model").value, output));
    infer(row, output, exported, {});
  }

  void quantize() {
    const Line &output = field(kPtq, "output-dir"), &use_gpu = field(kPtq, "use-gpu");
    for (const Config::Trainer& trainer : config_.trainers()) {
      if (is_null(trainer.command->value)) continue;
      const std::string device = config_.value(use_gpu, mode_);
      if (!has_gpu_ && means_gpu(device)) notice("no CUDA device: the model is quantized on the CPU");
      std::vector<std::string> flags = {
          use_gpu.flag(has_gpu_ ? device : on_cpu(device)),
          field(kPtq, "model-path").flag(),
          field(kPtq, "batch-num").flag(config_.value(field(kPtq, "batch-num"), mode_)),
          field(kPtq, "batch-size").flag(config_.value(field(kPtq, "batch-size"), mode_)),
          data_flag(kPtq, "data-dir"),
          output.flag()};
      for (const std::string& other : config_.other_flags(kPtq)) flags.push_back(other);
      Step step = new_step(trainer.name, "quantize", *trainer.command);
      step.command = command(*trainer.command, flags);
      infer(trainer.name, output.value, add(step), {});
    }
  }

  void infer(const std::string& row, const fs::path& model, int needs,
             const std::vector<std::string>& environment) {
    const Line &inference = field(kInfer, "inference"), &use_gpu = field(kInfer, "use-gpu"),
               &batch_size = field(kInfer, "batch-size"), &pictures = field(kInfer, "img-path"),
               &benchmark = field(kInfer, "benchmark");
    if (is_null(inference.value)) return;
    for (const std::string& device : values(use_gpu))
      for (const std::string& size : values(batch_size))
        for (const std::string& path : values(pictures)) {
          Step step = new_step(row, "infer", inference);
          std::vector<std::string> flags = {
              use_gpu.flag(device), field(kInfer, "model-dir").flag(model.string()), batch_size.flag(size),
              pictures.flag(path), benchmark.flag(config_.value(benchmark, mode_))};
          for (const std::string& other : config_.other_flags(kInfer, Config::To::kInference))
            flags.push_back(other);
          step.command = command(inference, flags);
          step.log =
              plan_.folder / fmt::format("python_infer_{}_batchsize_{}.log",
                                         means_gpu(device) ? "gpu" : "cpu", is_null(size) ? "1" : size);
          step.shows_log = true;
          step.environment = environment;
          step.needs = needs;
          if (means_gpu(device) && !has_gpu_) step.skip = "no CUDA device";
          add(step);
        }
  }

  Step new_step(const std::string& row, const std::string& stage, const Line& line) const {
    check_is_name(fmt::format("line {}", line.number), row);
    Step step;
    step.row = row;
    step.stage = stage;
    step.line = line.number;
    step.log = plan_.folder / fmt::format("{}_{}.log", row, stage);
    return step;
  }

  // Where a config gives no data, programs take ./data, which `prepare` makes.
  std::string data_flag(const char* section, const char* name) const {
    const Line* line = config_.find(section, name);
    return line ? line->flag(config_.value(*line, mode_)) : "";
  }

  // For training on several GPUs the launcher says which; what follows takes the first.
  std::vector<std::string> visible(const Devices& devices, bool trains) const {
    if (!has_gpu_) return {};
    if (devices.is_cpu()) return {"CUDA_VISIBLE_DEVICES=-1"};
    if (trains && devices.processes() > 1) return {};
    return {"CUDA_VISIBLE_DEVICES=" + split(devices.gpus, ',').front()};
  }

  const Config& config_;
  std::string_view mode_;
  bool has_gpu_;
  Plan plan_;
};

}  // namespace

std::string Step::reported() const {
  return shows_log ? fmt::format("{} {} {} 2>&1 ", command, appends ? ">>" : ">", log.string()) : command;
}

Plan make_plan(const Config& config, std::string_view mode, bool has_gpu) {
  return Planner(config, mode, has_gpu).make();
}

}  // namespace octet::tipc
