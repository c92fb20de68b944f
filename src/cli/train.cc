#include "cli/command.h"
#include "cli/quant_flags.h"
#include "cli/start_train.h"
#include "data/classification.h"
#include "models/models.h"
#include "train/options.h"

namespace octet::cli {

namespace {

struct Options {
  train::TrainOptions train;
  TrainingPictures pictures;
  std::optional<int> workers, start_epoch, num_classes, threads;
  std::optional<std::array<float, 3>> mean, std;
  std::string interpolation = "bilinear";
  int seed = 0;
  QuantFlags quant;
};

int run(Options& options) {
  train::TrainOptions& train = options.train;
  if (train.model_dir.empty()) models::check_model_name(train.model);
  if (!train.pretrained.empty() && !train.resume.empty())
    fail("--pretrained and --resume can't go together: a resumed run has its weights already");
  if (train.momentum >= 1) fail("--momentum {}: expected less than 1", train.momentum);
  if (train.label_smoothing >= 1) fail("--label-smoothing {}: expected less than 1", train.label_smoothing);
  if (train.amp_level == "O0") train.amp_level.clear();
  train.num_classes = options.num_classes.value_or(0);
  train.workers = options.workers.value_or(-1);
  train.start_epoch = options.start_epoch.value_or(-1);
  train.threads = options.threads.value_or(0);
  train.seed = static_cast<std::uint64_t>(options.seed);

  TrainingPictures& pictures = options.pictures;
  pictures.size = train.img_size;
  pictures.interpolation = parse_interpolation(options.interpolation);
  if (options.mean) pictures.colors.mean = *options.mean;
  if (options.std) pictures.colors.std = *options.std;
  train.train_transforms = training_transforms(pictures);
  train.val_transforms = evaluation_transforms(pictures);
  check_transforms(train.train_transforms);
  train.quant = options_of(options.quant);
  return start_train("train", train::write_options(train));
}

}  // namespace

std::function<int()> declare_train(Args& args) {
  auto options = std::make_shared<Options>();
  train::TrainOptions& train = options->train;
  args.group("Network");
  args.add("model", &train.model, "NAME", "a network of the zoo; an unknown name lists them");
  args.add("model-dir", &train.model_dir, "MODEL",
           "train this inference model in place of a network of the zoo");
  args.add("num-classes", &options->num_classes, {1, 1 << 20}, "classes").default_text =
      "what the checkpoint or the data has";
  args.add("img-size", &train.img_size, {8, 4096}, "height and width of the input");
  args.add("width", &train.width, "multiplies the channels of every layer");
  args.add("pretrained", &train.pretrained, "FILE_OR_DIR",
           "start from the weights of this checkpoint: a file, a prefix without .pdparams, or a folder");
  args.add("resume", &train.resume, "FILE_OR_DIR",
           "go on with this run exactly where it was: a prefix, or a folder, which means its latest.*");
  args.add("start-epoch", &options->start_epoch, {0, 1 << 20}, "count epochs from this one").default_text =
      "0, or where the resumed run was";
  args.add("test-only", &train.test_only, "only evaluate");

  args.group("Data");
  args.add("data-path", &train.data_path, "DIR",
           "train and val with one folder a class each, or train_list.txt and val_list.txt, or MNIST's idx "
           "files")
      .aliases = {"data-dir"};
  Flag& workers = args.add("workers", &options->workers, {0, 256}, "threads that read and decode pictures");
  workers.aliases = {"j"};
  workers.default_text = "as many as threads";
  args.add("crop-pad", &options->pictures.pad, {0, 1024},
           "in place of random parts of the picture, random squares of it that reach so many pixels over the "
           "edge");
  args.add("interpolation", &options->interpolation, "bilinear|bicubic|nearest", "how pictures are scaled");
  args.add("flip", &options->pictures.flip, "mirror every other picture");
  args.add("color-jitter", &options->pictures.color_jitter,
           "change brightness, contrast and saturation by up to this share");
  args.add("auto-augment", &options->pictures.auto_augment, "AutoAugment, with its policy for ImageNet");
  args.add("random-erase", &options->pictures.random_erase,
           "how often a random rectangle is erased, from 0 to 1");
  args.add("mean", &options->mean, "subtracted from pixels between 0 and 1").default_text =
      "0.485,0.456,0.406";
  args.add("std", &options->std, "divided by after that").default_text = "0.229,0.224,0.225";

  args.group("Training");
  args.add("batch-size", &train.batch_size, {1, 1 << 20}, "pictures a step, in each process").aliases = {"b"};
  args.add("epochs", &train.epochs, {0, 1 << 20}, "how often to go through the data");
  args.add("opt", &train.opt, "sgd|rmsprop|adamw", "optimiser");
  args.add("lr", &train.lr, "learning rate");
  args.add("momentum", &train.momentum, "of sgd and rmsprop");
  args.add("weight-decay", &train.weight_decay, "of all parameters").aliases = {"wd"};
  args.add("lr-schedule", &train.lr_schedule, "step|cosine|poly", "how the learning rate falls");
  args.add("lr-step-size", &train.lr_step_size, {1, 1 << 20}, "step: it falls every so many epochs");
  args.add("lr-gamma", &train.lr_gamma, "step: by this factor");
  args.add("warmup-epochs", &train.warmup_epochs, "the learning rate grows from 0 for so long");
  args.add("label-smoothing", &train.label_smoothing, "share of the target that goes to all classes alike");
  args.add("amp-level", &train.amp_level, "O0|O1|O2",
           "mixed precision: O1 computes convolutions and products in 16 bits, O2 nearly everything");
  args.add("amp-dtype", &train.amp_dtype, "bfloat16|float16", "the 16 bits").default_text =
      "bfloat16 on the CPU, float16 on a GPU";
  args.add("seed", &options->seed, {0, 1 << 30}, "of all that is random");

  args.group("Quantization");
  args.add("pact-quant", &options->quant.options.enabled,
           "train with the int8 arithmetic of the deployed model in mind");
  add_quant_flags(args, &options->quant);
  args.add("freeze-bn-share", &options->quant.options.freeze_share,
           "share of the epochs, at the end, in which batch norms keep their statistics");

  args.group("Device");
  args.add("device", &train.device, "auto|cpu|gpu|gpu:N", "auto: a GPU if one is usable").set =
      [&train](const std::string& text) { train.device = text; };
  args.add("threads", &options->threads, {1, 1024}, "CPU threads").default_text = "all cores";
  args.add("sync-bn", &train.sync_bn, "batch norms take their statistics over all processes");

  args.group("Output");
  args.add("output-dir", &train.output_dir, "DIR", "checkpoints go there");
  args.add("names", &train.names, "reference|paddle.vision", "names of the parameters in checkpoints");
  args.add("print-freq", &train.print_freq, {1, 1 << 20}, "a line every so many steps");
  args.add("use-vdl", &train.use_vdl, "write a log for VisualDL, vdlrecords.*.log, too");
  args.add_config();
  args.note(
      "After each epoch the network is evaluated, and model_N.pdparams and .pdopt, latest.* and, if it is "
      "the best so "
      "far, best.* are written. Ctrl-C and SIGTERM write latest.* and stop; --resume goes on there. Several "
      "processes: "
      "`octet launch --nproc 2 train ...`.");
  args.example("octet train --data-path ILSVRC2012 --model mobilenet_v3_small --output-dir out");
  args.example("octet train --data-path ILSVRC2012 --resume out --output-dir out");
  args.example("octet train --config configs/fashion_mnist/mobilenet_v3_small.yaml");
  return [options] { return run(*options); };
}

}  // namespace octet::cli
