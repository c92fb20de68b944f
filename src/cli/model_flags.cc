#include "cli/model_flags.h"

#include <filesystem>

#include "base/error.h"
#include "base/threads.h"
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
      "the program's file in the directory; without it inference.pdmodel, model.pdmodel, __model__ or the "
      "only *.pdmodel");
  args.add("params-filename", &flags->files.weights_file, "NAME",
           "the parameters' file; without it the one that belongs to the program");
}

void add_model_flags(Args& args, ModelFlags* flags, const std::string& name) {
  args.group("Model");
  Flag& flag =
      args.add(name, &flags->path, "MODEL", "a directory with a Paddle or ONNX model, or a model file");
  flag.aliases = {"model", "model-dir", "model-path"};
  flag.required = true;
  add_file_flags(args, flags);
}

void take_shapes(Flag& flag, ModelFlags* flags, bool also) {
  flag.set = [set = flag.set, flags, also](const std::string& text) {
    const std::optional<NamedShape> shape = find_shape(text);
    if (shape) flags->files.input_shapes[shape->name] = shape->shape;
    if (!shape || also) set(text);
  };
}

void add_shape_flag(Args& args, ModelFlags* flags) {
  Flag& flag = args.add("input", &flags->shapes, "[NAME=]SHAPE",
                        "the shape of an input, as 1x3x224x224, in place of what the file declares");
  flag.set = [flags](const std::string& text) {
    const NamedShape shape = parse_shape(text);
    flags->files.input_shapes[shape.name] = shape.shape;
    flags->shapes.push_back(text);
  };
}

void add_save_flags(Args& args, SaveFlags* flags) {
  args.add("format", &flags->format, "paddle|onnx", "the format to write").default_text =
      "onnx for a name that ends in .onnx, else paddle";
  args.add("opset", &flags->opset, {0, 99}, "of ONNX; 0: that of a file that did not change, else 17");
  args.add("target", &flags->target, "cpu|tensorrt|common",
           "of ONNX: the runtimes that a quantized model is for; common: what all of them take");
}

Destination destination(const std::string& output, const SaveFlags& flags, const std::string& model,
                        const std::string& params) {
  const std::filesystem::path path(output);
  const bool names_file = path.extension() == ".onnx";
  const std::string format = !flags.format.empty() ? flags.format : names_file ? "onnx" : "paddle";
  if (names_file && format != "onnx") fail("--format {}: {} is the name of an ONNX model", format, output);
  Destination result{.directory = path, .options = {.format = format, .opset = flags.opset, .target = flags.target}};
  if (names_file) {
    result.directory = path.parent_path().empty() ? "." : path.parent_path();
    result.options.model_file = path.filename().string();
  } else if (format == "paddle") {
    check_saved_names(model, params);
    result.options.model_file = model;
    result.options.weights_file = params;
  } else {
    result.options.model_file = find_format(format).model_file;
  }
  return result;
}

std::vector<std::filesystem::path> Destination::files() const {
  std::vector<std::filesystem::path> paths = {directory / options.model_file};
  if (!options.weights_file.empty()) paths.push_back(directory / options.weights_file);
  return paths;
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

void check_saved_names(const std::string& model, const std::string& params) {
  const auto check = [](const char* flag, const std::string& name) {
    if (std::filesystem::path(name).filename() != name || name == "." || name == "..")
      fail("{}: '{}' is not the name of a file; give the directory as the output", flag, name);
    if (name == "deploy.yaml" || name == "ptq_report.json")
      fail("{}: '{}' is written as well, with something else in it", flag, name);
  };
  check("--save-model-filename", model);
  check("--save-params-filename", params);
  if (model == params) fail("--save-params-filename: '{}' is the program's name already", params);
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
  config.set_cpu_math_library_num_threads(flags.threads.value_or(default_threads()));
  config.set_isa(std::string(choose_isa(flags.isa).name));
  config.switch_ir_optim(flags.ir_optim);
  return config;
}

}  // namespace octet::cli
