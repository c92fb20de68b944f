#include "cli/model_flags.h"

#include <filesystem>

#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cli/output.h"
#include "cli/program.h"
#include "cli/shapes.h"
#include "cli/start_train.h"
#include "formats/format.h"
#include "kernels/dispatch.h"

namespace octet::cli {

namespace {

// "gpu:0" for what asks for a GPU, "" for the CPU.
std::string requested_gpu(const RuntimeFlags& flags) {
  const std::string& device = flags.device;
  bool numbered = device.starts_with("gpu:") && device.size() > 4 && device.size() < 8 &&
                  device.find_first_not_of("0123456789", 4) == std::string::npos;
  if (device != "cpu" && device != "gpu" && !numbered)
    fail("--device: '{}' is not cpu, gpu or gpu:N", device);
  if (numbered) return device;
  return device == "gpu" || flags.use_gpu ? "gpu:0" : "";
}

}  // namespace

void add_file_flags(Args& args, ModelFlags* flags) {
  args.add(
      "model-filename", &flags->files.model_file, "NAME",
      "the program's file in the directory; without it inference.json, inference.pdmodel, model.pdmodel, "
      "__model__ or the only *.json or *.pdmodel that is one");
  args.add("params-filename", &flags->files.weights_file, "NAME",
           "the parameters' file; without it the one that belongs to the program");
  add_memory_flag(args);
}

void add_memory_flag(Args& args) {
  Flag& flag = args.add_key("max-memory", "SIZE",
                            "the most memory to take, such as 1GB or 512MB: a model, picture or run that "
                            "needs more is refused. For files that you don't trust");
  flag.set = [](const std::string& text) { limit_memory(parse_size(text)); };
  flag.get = [] { return std::vector<std::string>(); };
}

void add_model_flags(Args& args, ModelFlags* flags, const std::string& name) {
  args.group("Model");
  Flag& flag = args.add(name, &flags->path, "MODEL",
                        "a model: an ONNX file, or a directory, file or prefix of a Paddle inference model");
  flag.aliases = {"model", "model-dir", "model-path"};
  flag.required = true;
  add_file_flags(args, flags);
}

void add_runtime_flags(Args& args, RuntimeFlags* flags) {
  args.group("How it runs");
  args.add("threads", &flags->threads, {1, 1024}, "CPU threads").default_text =
      "OCTET_NUM_THREADS, or the number of cores";
  args.add("isa", &flags->isa, "NAME", "which kernels to use; `octet info` lists them").default_text =
      "the fastest that the CPU has";
  args.add("ir-optim", &flags->ir_optim, "rewrite the graph to run faster, with the same results");
  add_device_flags(args, flags);
}

namespace {

// `in_order`: those without a name are for one input after the other, and the command gives them out.
void keep_shape(const NamedShape& shape, bool in_order, ModelFlags* flags) {
  const bool is_new = flags->files.input_shapes.emplace(shape.name, shape.shape).second;
  if (is_new || (in_order && shape.name.empty())) return;
  const std::string text = to_string(shape.shape);
  if (shape.name.empty())
    fail("--input {}: the first input has a shape already; write NAME={} for another one", text, text);
  fail("--input {}={}: this input has a shape already", shape.name, text);
}

}  // namespace

void take_shapes(Flag& flag, ModelFlags* flags, bool also) {
  flag.set = [set = flag.set, flags, also](const std::string& text) {
    const std::optional<NamedShape> shape = also ? parse_shape(text) : find_shape(text);
    if (shape) keep_shape(*shape, also, flags);
    if (!shape || also) set(text);
  };
}

void add_shape_flag(Args& args, ModelFlags* flags) {
  Flag& flag = args.add("input", &flags->shapes, "[NAME=]SHAPE",
                        "the shape of an input, as 1x3x224x224, in place of what the file declares");
  flag.set = [flags, &flag](const std::string& text) {
    const NamedShape shape = parse_shape(text);
    if (flag.in_recipe) {  // the command line has the last word
      flags->files.input_shapes.erase(shape.name);
      std::erase_if(flags->shapes,
                    [&](const std::string& old) { return parse_shape(old).name == shape.name; });
    }
    keep_shape(shape, false, flags);
    flags->shapes.push_back(text);
  };
}

void add_format_flags(Args& args, SaveOptions* save) {
  std::vector<std::string_view> names, files;
  for (const Format& row : formats()) {
    names.push_back(row.name);
    files.push_back(row.model_file);
  }
  args.add("format", &save->format, fmt::format("{}", fmt::join(names, "|")),
           fmt::format("the files to write: {}, respectively", fmt::join(files, ", ")))
      .path = "save_format";
  args.add("opset", &save->opset, {0, 99}, "ONNX: the opset, 13 to 21; 0: as it was read, else 17").path =
      "opset";
  args.add("target", &save->target, "cpu|tensorrt|common",
           "ONNX: the runtimes that a quantized model is for; common: what all of them take")
      .path = "target";
}

void take_file_name(std::string* output, SaveOptions* save) {
  const std::filesystem::path path(*output);
  if (path.extension() != ".onnx") return;
  if (save->format == SaveOptions().format) save->format = "onnx";
  if (save->format != "onnx") fail("--format {}: {} is the name of an ONNX model", save->format, *output);
  save->model_file = path.filename().string();
  *output = path.has_parent_path() ? path.parent_path().string() : ".";
}

SaveOptions saved_files(const SaveOptions& wanted, const SaveOptions& usual) {
  const Format& row = find_format(wanted.format);
  SaveOptions save = wanted;
  if (save.model_file.empty()) save.model_file = usual.model_file;
  if (save.weights_file.empty()) save.weights_file = usual.weights_file;
  if (row.name != SaveOptions().format) {
    if (save.model_file == usual.model_file) save.model_file = row.model_file;
    if (save.weights_file == usual.weights_file) save.weights_file = row.weights_file;
    const std::filesystem::path ending = std::filesystem::path(row.model_file).extension();
    if (std::filesystem::path(save.model_file).extension() != ending)
      fail("--save-model-filename: '{}' does not end in {}, by which these files are known", save.model_file,
           ending.string());
  }
  const auto check = [](const char* flag, const std::string& name) {
    if (std::filesystem::path(name).filename() != name || name == "." || name == "..")
      fail("{}: '{}' is not the name of a file; give the directory as the output", flag, name);
    if (name == "deploy.yaml" || name == "ptq_report.json")
      fail("{}: '{}' is written as well, with something else in it", flag, name);
  };
  check("--save-model-filename", save.model_file);
  check("--save-params-filename", save.weights_file);
  if (save.model_file == save.weights_file)
    fail("--save-params-filename: '{}' is the program's name already", save.weights_file);
  return save;
}

void add_device_flags(Args& args, RuntimeFlags* flags) {
  args.add("use-gpu", &flags->use_gpu, "run on the first GPU");
  args.add("device", &flags->device, "DEVICE", "where to run: cpu, gpu or gpu:N");
  args.add("precision", &flags->precision, "fp32|fp16", "precision of float arithmetic; fp16 on GPUs only");
}

Config make_config(const RuntimeFlags& flags) {
  const std::string gpu = requested_gpu(flags);
  if (flags.precision == "fp16" && gpu.empty() && !program_device())
    fail("--precision fp16 is for GPUs; add --use-gpu True, or quantize the model with `octet ptq`");
  if (!gpu.empty() && !program_device()) start_on_device(gpu, flags.precision);
  Config config;
  if (!gpu.empty()) config.enable_use_gpu(0, std::stoi(gpu.substr(4)));
  config.set_device(program_device());
  const int wanted = flags.threads.value_or(default_threads()), threads = available_threads(wanted);
  if (threads < wanted)
    print_warning(
        fmt::format("the system gives this process {} of {} threads; going on with these", threads, wanted));
  config.set_cpu_math_library_num_threads(threads);
  config.set_isa(std::string(choose_isa(flags.isa).name));
  config.switch_ir_optim(flags.ir_optim);
  return config;
}

}  // namespace octet::cli
