#include "cli/qat.h"

#include "cli/command.h"
#include "cli/recipe.h"
#include "cli/start_train.h"

namespace octet::cli {

namespace {

// Rounding to 8 bits does little harm, which small steps undo; with fewer bits there is more to learn.
double default_rate(const train::QuantOptions& quant) {
  return quant.weight_bits == 8 && quant.activation_bits == 8 ? 1e-5 : 1e-4;
}

}  // namespace

QatFlags::QatFlags() {
  quant.activation = quant.weight = "LSQ";
  quant.options.rate_factor = 10;
  quant.options.decay = 0;
}

train::DistillOptions options_of(const QatFlags& flags) {
  train::DistillOptions distill = flags.distill;
  take_file_name(&distill.output_dir, &distill.save);
  distill.save = saved_files(distill.save, train::DistillOptions().save);
  distill.model = flags.model.path;
  distill.files = flags.model.files;
  distill.transforms = transforms_of(flags.preprocess, flags.model.path, distill.transforms);
  distill.threads = flags.threads.value_or(0);
  distill.seed = static_cast<std::uint64_t>(flags.seed);
  distill.quant = options_of(flags.quant);
  distill.lr = flags.lr > 0 ? flags.lr : default_rate(distill.quant);
  return distill;
}

std::string make_recipe(Args& args, QatFlags* flags) {
  flags->distill.transforms = options_of(*flags).transforms;
  return write_recipe(args);
}

train::DistillOptions read_distill_options(const std::string& recipe, const std::string& name) {
  QatFlags flags;
  Args args("qat", "");
  add_qat_flags(args, &flags);
  read_recipe(args, recipe, name);
  return options_of(flags);
}

void add_qat_flags(Args& args, QatFlags* flags) {
  train::DistillOptions& distill = flags->distill;
  add_model_flags(args, &flags->model, "model-dir");
  args.at("model-dir").path = "model.model_dir";
  args.at("model-filename").path = "model.model_filename";
  args.at("params-filename").path = "model.params_filename";
  add_shape_flag(args, &flags->model);
  args.at("input").path = "model.input";
  args.group("Data");
  Flag& data = args.add("data-dir", &distill.data_dir, "FILE_OR_DIR",
                        "pictures; labels are used if there are any, but not needed");
  data.aliases = {"data-path"};
  data.required = true;
  data.path = "train_dataset.dataset_root";
  add_preprocess_flags(args, &flags->preprocess);
  add_transforms(args, "train_dataset.transforms", &distill.transforms, /*random_allowed=*/false,
                 "what happens to pictures, in place of the model's deploy.yaml");
  args.group("Training");
  args.add("epochs", &distill.epochs, {0, 1 << 20}, "how many times to go through the pictures").path =
      "epochs";
  Flag& batch = args.add("batch-size", &distill.batch_size, {1, 4096}, "pictures per step");
  batch.aliases = {"b"};
  batch.path = "batch_size";
  Flag& rate = args.add("lr", &flags->lr, "learning rate");
  rate.default_text = "1e-05, or 0.0001 with fewer than 8 bits";
  rate.path = "lr_scheduler.learning_rate";
  rate.other_paths = {"learning_rate"};
  args.add("inner-weight", &distill.inner_weight,
           "how much the difference of inner tensors counts beside that of the outputs")
      .path = "distill.inner_weight";
  Flag& inner = args.add("inner", &distill.inner, "NAME_OR_GLOB", "which inner tensors");
  inner.default_text = "the sums of residual blocks";
  inner.path = "distill.inner";
  args.add("label-weight", &distill.label_weight, "how much the labels count, if there are any").path =
      "distill.label_weight";
  args.add("seed", &flags->seed, {0, 1 << 30}, "seed for the order of the pictures").path = "seed";
  Flag& threads = args.add("threads", &flags->threads, {1, 1024}, "CPU threads");
  threads.default_text = "all cores";
  threads.path = "threads";
  args.group("Quantization");
  add_quant_flags(args, &flags->quant);
  args.group("Output");
  Flag& output = args.add("output-dir", &distill.output_dir, "DIR_OR_FILE",
                          "the directory where the quantized model goes, or an ONNX file, whose name ends in "
                          ".onnx");
  output.aliases = {"quantize-model-path"};
  output.required = true;
  output.path = "output_dir";
  add_format_flags(args, &distill.save);
  args.add("save-model-filename", &distill.save.model_file, "NAME", "file name of its program").path =
      "save_model_filename";
  args.add("save-params-filename", &distill.save.weights_file, "NAME", "file name of its parameters").path =
      "save_params_filename";
  args.add("onnx-format", &distill.onnx_format,
           "the newer generation of Paddle's quantized files, with true int8 weights; False: the older")
      .path = "onnx_format";
  args.add_config();
}

std::function<int()> declare_qat(Args& args) {
  auto flags = std::make_shared<QatFlags>();
  add_qat_flags(args, flags.get());
  args.note(
      "The quantized model learns to answer as the float one does. Every eighth picture is kept back (with "
      "fewer than 32 none is), and the epoch that does best on those is written, or the model as it was "
      "before the first if none does better.");
  args.example("octet qat --model-dir float --data-dir photos --output-dir int8");
  args.example("octet qat --model-dir float --data-dir photos --output-dir int4 --weight-bits 4 --epochs 20");
  return [flags, &args] { return start_train("qat", make_recipe(args, flags.get())); };
}

}  // namespace octet::cli
