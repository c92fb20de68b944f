#include "cli/model_flags.h"

#include "base/error.h"
#include "base/threads.h"
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
      "model-filename", &flags->files.model_filename, "NAME",
      "the program's file in the directory; without it inference.pdmodel, model.pdmodel, __model__ or the "
      "only *.pdmodel");
  args.add("params-filename", &flags->files.params_filename, "NAME",
           "the parameters' file; without it the one that belongs to the program");
}

void add_model_flags(Args& args, ModelFlags* flags, const std::string& name) {
  args.group("Model");
  Flag& flag =
      args.add(name, &flags->path, "MODEL", "a directory with a Paddle inference model, or a model file");
  flag.aliases = {"model", "model-dir", "model-path"};
  flag.required = true;
  add_file_flags(args, flags);
}

void add_runtime_flags(Args& args, RuntimeFlags* flags) {
  args.group("How it runs");
  args.add("threads", &flags->threads, {1, 1024}, "CPU threads").default_text =
      "OCTET_NUM_THREADS, or the number of cores";
  args.add("isa", &flags->isa, "NAME", "the kernels to use; `octet info` lists them").default_text =
      "the fastest that the CPU has";
  args.add("ir-optim", &flags->ir_optim, "rewrite the graph to run faster, with the same results");
  args.add("use-gpu", &flags->use_gpu, "run on the first GPU");
  args.add("device", &flags->device, "DEVICE", "where to run: cpu, gpu or gpu:N");
}

Config make_config(const RuntimeFlags& flags) {
  std::string gpu = requested_gpu(flags);
  if (!gpu.empty())
    fail("{}: no usable CUDA device, this octet runs on the CPU; use --use-gpu False{}", gpu,
         flags.device == "cpu" ? "" : " --device cpu");
  Config config;
  config.set_cpu_math_library_num_threads(flags.threads.value_or(default_threads()));
  config.set_isa(std::string(choose_isa(flags.isa).name));
  config.switch_ir_optim(flags.ir_optim);
  return config;
}

}  // namespace octet::cli
