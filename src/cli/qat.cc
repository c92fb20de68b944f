#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/preprocess_flags.h"
#include "cli/quant_flags.h"
#include "cli/start_train.h"

namespace octet::cli {

namespace {

struct Options {
  ModelFlags model;
  PreprocessFlags preprocess;
  QuantFlags quant;
  train::DistillOptions distill;
  std::optional<int> threads;
  int seed = 0;
  double lr = 0;  // 0: by the number of bits
};

// Rounding to 8 bits does little harm, which small steps undo; with fewer bits there is more to learn.
double default_rate(const train::QuantOptions& quant) {
  return quant.weight_bits == 8 && quant.activation_bits == 8 ? 1e-5 : 1e-4;
}

int run(Options& options) {
  train::DistillOptions& distill = options.distill;
  check_saved_names(distill.save_model_filename, distill.save_params_filename);
  distill.model = options.model.path;
  distill.model_filename = options.model.files.model_filename;
  distill.params_filename = options.model.files.params_filename;
  distill.transforms = transforms_of(options.preprocess, options.model.path);
  distill.threads = options.threads.value_or(0);
  distill.seed = static_cast<std::uint64_t>(options.seed);
  distill.quant = options_of(options.quant);
  distill.lr = options.lr > 0 ? options.lr : default_rate(distill.quant);
  return start_train("qat", train::write_options(distill));
}

}  // namespace

std::function<int()> declare_qat(Args& args) {
  auto options = std::make_shared<Options>();
  train::DistillOptions& distill = options->distill;
  options->quant.activation = options->quant.weight = "LSQ";
  options->quant.options.rate_factor = 10;
  options->quant.options.decay = 0;
  add_model_flags(args, &options->model, "model-dir");
  args.group("Data");
  Flag& data = args.add("data-dir", &distill.data_dir, "FILE_OR_DIR",
                        "pictures; labels are not needed, but used where there are some");
  data.aliases = {"data-path"};
  data.required = true;
  add_preprocess_flags(args, &options->preprocess);
  args.group("Training");
  args.add("epochs", &distill.epochs, {0, 1 << 20}, "how often to go through the pictures");
  args.add("batch-size", &distill.batch_size, {1, 4096}, "pictures a step").aliases = {"b"};
  args.add("lr", &options->lr, "learning rate").default_text = "1e-05, or 0.0001 with fewer than 8 bits";
  args.add("inner-weight", &distill.inner_weight,
           "how much the difference of inner tensors counts beside that of the outputs");
  args.add("inner", &distill.inner, "NAME_OR_GLOB", "those tensors").default_text =
      "the sums of residual blocks";
  args.add("label-weight", &distill.label_weight, "how much labels count, where there are some");
  args.add("seed", &options->seed, {0, 1 << 30}, "of the order of pictures");
  args.add("threads", &options->threads, {1, 1024}, "CPU threads").default_text = "all cores";
  args.group("Quantization");
  add_quant_flags(args, &options->quant);
  args.group("Output");
  Flag& output = args.add("output-dir", &distill.output_dir, "DIR", "the quantized model goes there");
  output.aliases = {"quantize-model-path"};
  output.required = true;
  args.add("save-model-filename", &distill.save_model_filename, "NAME", "its program's file");
  args.add("save-params-filename", &distill.save_params_filename, "NAME", "its parameters' file");
  args.add("onnx-format", &distill.onnx_format,
           "the newer generation of Paddle's quantized files, with true int8 weights; False: the older");
  args.note(
      "The quantized model learns to answer as the float one does. Every eighth picture is kept back (with "
      "fewer than "
      "32 none is), and the epoch that does best on those is written, or the model as it was before the "
      "first if none "
      "does better.");
  args.example("octet qat --model-dir float --data-dir photos --output-dir int8");
  args.example("octet qat --model-dir float --data-dir photos --output-dir int4 --weight-bits 4 --epochs 20");
  return [options] { return run(*options); };
}

}  // namespace octet::cli
