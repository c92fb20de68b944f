#include "cli/recipe.h"

#include <gmock/gmock.h>

#include "cli/qat.h"
#include "cli/train.h"
#include "support/graph_runner.h"
#include "support/paths.h"
#include "support/temp_dir.h"

namespace octet::cli {
namespace {

using octet::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;

// The two commands that recipes are for.
struct Train {
  using Options = train::TrainOptions;
  TrainFlags flags;
  void add(Args& args) { add_train_flags(args, &flags); }
  static Options read(const std::string& text) { return read_train_options(text, "text.yaml"); }
};
struct Qat {
  using Options = train::DistillOptions;
  QatFlags flags;
  void add(Args& args) { add_qat_flags(args, &flags); }
  static Options read(const std::string& text) { return read_distill_options(text, "text.yaml"); }
};

// The way that the words of a command line take: to `octet`'s options, to a recipe, to octet-train's options.
template <class Command>
struct Way {
  explicit Way(const std::vector<std::string>& words) {
    Args args("", "");
    command.add(args);
    for (const char* name : {"model-dir", "data-dir", "output-dir"}) args.at(name).required = false;
    EXPECT_TRUE(args.parse(words));
    here = options_of(command.flags);
    recipe = make_recipe(args, &command.flags);
    there = Command::read(recipe);
    forget_recipe(there);
  }
  static void forget_recipe(train::TrainOptions& options) { options.recipe.clear(); }
  static void forget_recipe(train::DistillOptions&) {}

  Command command;
  typename Command::Options here, there;
  std::string recipe;
};

// A value that is not the default.
std::string another_value(const Flag& flag) {
  if (flag.name == "model") return "resnet18";
  if (flag.name == "quantizable-layer-type") return "Linear";
  if (flag.name == "pact-init") return "2";
  if (flag.name == "class-weights") return "1,2.5";
  if (flag.name == "model.backbone.type") return "ResNet50_vd";
  if (flag.name == "model.backbone.output_stride") return "16";
  if (flag.value == "N,N,...") return "4,5";
  if (flag.value == "W,H") return "48,32";
  if (flag.value == "[NAME=]SHAPE") return "x=1x3x32x48";
  if (flag.name == "transforms") return "[{type: ToBGR}, {type: Normalize}]";
  if (flag.boolean) return flag.default_text == "True" ? "False" : "True";
  if (flag.number_list) return "0.25,0.5,0.75";
  if (flag.value == "X") return "0.625";
  if (flag.value == "N") return flag.name.ends_with("size") ? "24" : "3";
  const std::vector<std::string> choices = flag.choices();
  return choices.empty() ? "another" : choices.back() != flag.default_text ? choices.back() : choices.front();
}

template <class Command>
void expect_every_flag_arrives() {
  const Way<Command> plain({});
  EXPECT_TRUE(plain.here == plain.there) << plain.recipe;
  Args args("", "");
  Command command;
  command.add(args);
  for (const Flag& flag : args.flags()) {
    if (flag.name == "config" || flag.name == "opts") continue;  // the recipe itself; tests below read some
    if (flag.name == "activation-quantize-type") continue;       // has one value only
    if (flag.name == "max-memory") continue;  // a limit of the process, which octet-train inherits
    const std::string word = "--" + flag.name + "=" + another_value(flag);
    // Learned ranges of weights have no type.
    std::vector<std::string> words;
    if (flag.name == "weight-quantize-type") words = {"--weight-preprocess-type=none"};
    if (flag.name == "task") continue;  // needs what segmentation needs, as below
    if (flag.name == "lr-schedule") words = {"--lr-schedule=cosine"};
    const Way<Command> without(words);
    words.push_back(word);
    const Way<Command> way(words);
    EXPECT_TRUE(way.here == way.there) << word << " is lost on the way:\n" << way.recipe;
    EXPECT_FALSE(way.there == without.there) << word << " changes nothing";
  }
}

constexpr char kSegmentation[] =
    "model: {type: DeepLabV3P, num_classes: 7, backbone: {type: ResNet50_vd}}\n"
    "train_dataset: {transforms: [{type: Normalize}]}\n"
    "val_dataset: {transforms: [{type: Normalize}]}\n"
    "iters: 10\nlr: 0.5\n";

// One of the keys that only segmentation has.
void expect_key_of_segmentation(const Flag& row, const train::TrainOptions& plain) {
  const bool is_fixed = row.get && row.get() == std::vector{row.value};
  std::string value = is_fixed ? row.value : another_value(row);
  if (row.name.ends_with("num_classes")) value = "7";
  if (row.name.ends_with("output_stride")) value = "16";
  std::vector<std::string> opts = {row.path + "=" + (row.number_list ? "[" + value + "]" : value)};
  if (row.name.ends_with("dataset.type"))
    opts[0] = row.path + "=Cityscapes", opts.push_back("model.num_classes=19");
  if (row.name == "test_config.is_slide")
    opts.insert(opts.end(), {"test_config.crop_size=[8,8]", "test_config.stride=[8,8]"});
  if (row.name == "test_config.flip_horizontal") opts[0] = row.path + "=False";
  TempDir folder;
  write_file(folder / "a.yaml", kSegmentation);
  const train::TrainOptions options = load_config((folder / "a.yaml").string(), opts);
  const bool says_the_same =
      is_fixed || row.name == "model.backbone.type" || row.name.ends_with("dataset.num_classes");
  EXPECT_EQ(options == plain, says_the_same) << opts[0];
}

TEST(Recipe, EveryFlagOfTrainArrivesInOctetTrain) {
  expect_every_flag_arrives<Train>();
}

TEST(Recipe, ShapesOnTheCommandLineTakeThePlaceOfThoseInARecipe) {
  TempDir dir;
  const std::string recipe = dir / "recipe.yaml";
  write_file(recipe, "model: {input: [x=1x3x8x8, y=1x2, 1x3x4x4]}\n");
  const Way<Qat> way({"--config", recipe, "--input", "x=1x3x9x9", "--input", "1x3x5x5"});
  const decltype(LoadOptions::input_shapes) expected = {
      {"", {1, 3, 5, 5}}, {"x", {1, 3, 9, 9}}, {"y", {1, 2}}};
  EXPECT_EQ(way.here.files.input_shapes, expected);
  EXPECT_EQ(way.there.files.input_shapes, expected);
  write_file(recipe, "model: {input: {x: 1}}\n");
  EXPECT_THAT(error_of([&] {
                Way<Qat>({"--config", recipe});
              }),
              HasSubstr("recipe.yaml:1: model.input needs a value, and no keys"));
}

TEST(Recipe, EveryFlagOfQatArrivesInOctetTrain) {
  expect_every_flag_arrives<Qat>();
}

// And every key, also those that are no flags; some are for segmentation only.
TEST(Recipe, EveryKeyChangesSomething) {
  Args args("", "");
  Train command;
  command.add(args);
  const train::TrainOptions of_classifier = Way<Train>({}).there;
  train::TrainOptions of_segmentation = read_train_options(kSegmentation, "text");
  of_segmentation.recipe.clear();
  for (Flag* row : args.rows()) {
    if (row->path.empty() || row->read || row->name == "activation-quantize-type") continue;
    if (row->name == "task") continue;
    const bool segments = row->path.starts_with("train_dataset.") || row->path.starts_with("val_dataset.") ||
                          row->path.starts_with("model.") || row->path.starts_with("test_config.") ||
                          row->path.starts_with("loss.");
    if (segments && row->name.find('.') != std::string::npos) {
      expect_key_of_segmentation(*row, of_segmentation);
      continue;
    }
    const train::TrainOptions& plain = of_classifier;
    const bool is_fixed = row->get && row->get() == std::vector{row->value};
    const std::string value = is_fixed ? row->value : another_value(*row);
    for (std::string path : row->other_paths.empty() ? std::vector{row->path} : row->other_paths) {
      std::string text, indent;
      for (const std::string& key : split(path, ".")) {
        text += text.empty() ? "" : "\n";
        if (key == "0") {
          text += indent + "-";
        } else {
          text += indent + key + ":";
        }
        indent += "  ";
      }
      train::TrainOptions options = read_train_options(text + " [" + value + "]", "text");
      options.recipe.clear();
      EXPECT_EQ(options == plain, is_fixed) << text;
    }
  }
}

struct Files : TempDir {
  // Names and texts.
  explicit Files(const std::vector<std::string>& texts) {
    for (std::size_t i = 0; i < texts.size(); i += 2) {
      std::filesystem::create_directories((*this / texts[i]).parent_path());
      write_file(*this / texts[i], texts[i + 1]);
    }
  }
  train::TrainOptions train(const std::string& name, std::vector<std::string> words = {}) const {
    words.insert(words.begin(), {"--config", (*this / name).string()});
    return Way<Train>(words).there;
  }
  std::string error(const std::string& name) const {
    return error_of([&] { train(name); });
  }
};

constexpr char kNested[] = R"(
batch_size: 32
iters: 700
model:
  type: resnet18
  num_classes: 10
  pretrained: null
train_dataset:
  type: Dataset
  dataset_root: data/flowers
  mode: train
optimizer:
  type: Momentum
  momentum: 0.8
  weight_decay: 4.0e-5
lr_scheduler:
  type: PolynomialDecay
  learning_rate: 0.01
  end_lr: 0
  power: 0.7
loss:
  types:
    - type: CrossEntropyLoss
      label_smoothing: 0.1
  coef: [1]
quant: {pact_quant: True, skip_quant: [fc, "*.se"]}
)";

TEST(Recipe, IsADocumentWithPaddleSegsKeys) {
  const Files files(std::vector<std::string>{"a.yaml", kNested});
  const train::TrainOptions options = files.train("a.yaml");
  EXPECT_EQ(options.batch_size, 32);
  EXPECT_EQ(options.iters, 700);
  EXPECT_EQ(options.model, "resnet18");
  EXPECT_EQ(options.num_classes, 10);
  EXPECT_EQ(options.pretrained, "");
  EXPECT_EQ(options.data_path, "data/flowers");
  EXPECT_EQ(options.opt, "sgd");
  EXPECT_EQ(options.momentum, 0.8);
  EXPECT_EQ(options.weight_decay, 4e-5);
  EXPECT_EQ(options.lr_schedule, "poly");
  EXPECT_EQ(options.lr, 0.01);
  EXPECT_EQ(options.lr_power, 0.7);
  EXPECT_EQ(options.label_smoothing, 0.1);
  EXPECT_TRUE(options.quant.enabled);
  EXPECT_EQ(options.quant.skip, (std::vector<std::string>{"fc", "*.se"}));
}

TEST(Recipe, FlagsWin) {
  const Files files(std::vector<std::string>{"a.yaml", kNested});
  const train::TrainOptions options =
      files.train("a.yaml", {"--lr", "0.5", "--data-path", "other", "--model=mobilenet_v2"});
  EXPECT_EQ(options.lr, 0.5);
  EXPECT_EQ(options.data_path, "other");
  EXPECT_EQ(options.model, "mobilenet_v2");
  EXPECT_EQ(options.batch_size, 32);
}

TEST(Recipe, AFileOfFlagsIsOneToo) {
  const Files files(std::vector<std::string>{
      "a.yaml",
      "model: resnet18\ndata-path: x\nimg_size: 48\ncrop-pad: 4\nmean: 0.286\nlr: 0.2\n"
      "b: 7\nskip-quant: fc\n"});
  const std::vector<std::string> words = {
      "--model", "resnet18", "--data-path", "x",   "--img-size", "48", "--crop-pad",   "4",
      "--mean",  "0.286",    "--lr",        "0.2", "-b",         "7",  "--skip-quant", "fc"};
  EXPECT_TRUE(files.train("a.yaml") == Way<Train>(words).there);
}

// Of before 2.8.
TEST(Recipe, TakesTheLearningRatesOfOlderPaddleSegs) {
  const Files files(std::vector<std::string>{
      "a.yaml", "learning_rate: 0.3\n", "b.yaml",
      "learning_rate: {value: 0.3, decay: {type: poly, power: 0.8, end_lr: 0.01}}\n"});
  EXPECT_EQ(files.train("a.yaml").lr, 0.3);
  const train::TrainOptions options = files.train("b.yaml");
  EXPECT_EQ(options.lr, 0.3);
  EXPECT_EQ(options.lr_schedule, "poly");
  EXPECT_EQ(options.lr_power, 0.8);
  EXPECT_EQ(options.lr_end, 0.01);
}

TEST(Recipe, IsBasedOnOthers) {
  const Files files(std::vector<std::string>{
      "base/one.yaml",
      "batch_size: 1\noptimizer: {type: adamw, weight_decay: 0.5}\nquant: {skip_quant: [a, b]}\n",
      "base/two.yaml",
      "batch_size: 2\nepochs: 2\nseed: 2\nmodel: {type: resnet18, width: 0.5}\n",
      "new.yaml",
      "_base_: base/one.yaml\noptimizer: {weight_decay: 0.25}\nquant: {skip_quant: [c]}\n",
      "list.yaml",
      "_base_: [base/one.yaml, base/two.yaml]\nepochs: 3\n",
      "alone.yaml",
      "_base_: new.yaml\noptimizer: {_inherited_: False, momentum: 0.5}\nbatch_size: null\n",
      "round.yaml",
      "_base_: round.yaml\n",
      "missing.yaml",
      "_base_: nowhere.yaml\n",
  });
  train::TrainOptions options = files.train("new.yaml");
  EXPECT_EQ(options.batch_size, 1);
  EXPECT_EQ(options.opt, "adamw");
  EXPECT_EQ(options.weight_decay, 0.25);
  EXPECT_EQ(options.quant.skip, std::vector<std::string>{"c"});
  options = files.train("list.yaml");
  EXPECT_EQ(options.batch_size, 1);
  EXPECT_EQ(options.epochs, 3);
  EXPECT_EQ(options.seed, 2u);
  EXPECT_EQ(options.width, 0.5);
  options = files.train("alone.yaml");
  EXPECT_EQ(options.opt, "sgd");
  EXPECT_EQ(options.weight_decay, train::TrainOptions().weight_decay);
  EXPECT_EQ(options.momentum, 0.5);
  EXPECT_EQ(options.batch_size, train::TrainOptions().batch_size);
  EXPECT_THAT(files.error("round.yaml"), HasSubstr("deep"));
  EXPECT_THAT(files.error("missing.yaml"), HasSubstr("nowhere.yaml"));
}

TEST(Recipe, ErrorsNameTheFileTheLineAndTheRightKey) {
  const auto error = [](const std::string& text) {
    return Files(std::vector<std::string>{"a.yaml", text}).error("a.yaml");
  };
  EXPECT_THAT(error("seed: 1\nbatch_sise: 3\n"),
              AllOf(HasSubstr("a.yaml:2: "), HasSubstr("'batch_sise'"), HasSubstr("'batch_size'")));
  EXPECT_THAT(error("optimizer:\n  type: sgd\n  momentun: 0.9\n"),
              AllOf(HasSubstr("a.yaml:3: "), HasSubstr("did you mean 'optimizer.momentum'?")));
  EXPECT_THAT(error("optimizer: {something_else: 1}\n"), HasSubstr("optimizer.momentum, optimizer.type"));
  EXPECT_THAT(error("xyzzy: 1\n"), HasSubstr("no key 'xyzzy'"));
  EXPECT_THAT(error("\noptimizer: sgd\n"), AllOf(HasSubstr("a.yaml:2: "), HasSubstr("optimizer needs keys")));
  EXPECT_THAT(error("batch_size: {a: 1}\n"), HasSubstr("batch_size"));
  EXPECT_THAT(error("batch_size: many\n"),
              AllOf(HasSubstr("a.yaml:1: batch_size: 'many' is not a whole number")));
  EXPECT_THAT(error("batch_size: [1, 2]\n"), HasSubstr("'1,2' is not a whole number"));
  EXPECT_THAT(error("optimizer: {momentum: 1}\n"), HasSubstr("optimizer.momentum: '1' is not below 1"));
  EXPECT_THAT(error("optimizer: {type: lion}\n"),
              HasSubstr("'lion' is not one of sgd, rmsprop, adamw, adam"));
  EXPECT_THAT(error("train_dataset: {mode: val}\n"), HasSubstr("'val' is not train"));
  EXPECT_THAT(error("loss: {types: [{type: CrossEntropyLoss}, {type: DiceLoss}]}\n"),
              HasSubstr("loss.types.1"));
  EXPECT_THAT(error("loss: {types: [{type: DiceLoss}]}\n"), HasSubstr("CrossEntropyLoss"));
  EXPECT_THAT(error("- a\n"), HasSubstr("not a recipe"));
  EXPECT_THAT(error("a: [\n"), HasSubstr("a.yaml:2: "));
  EXPECT_THAT(error("? [a]\n: 1\n"), HasSubstr("a key must be a word"));
}

TEST(Recipe, OptsTakeThePlaceOfValues) {
  const Files files(std::vector<std::string>{"a.yaml", std::string(kNested)});
  const auto with = [&](const std::string& opt) { return files.train("a.yaml", {"--opts", opt}); };
  EXPECT_EQ(with("optimizer.momentum=0.5").momentum, 0.5);
  EXPECT_EQ(with("seed=7").seed, 7u);
  EXPECT_EQ(with("loss.types.0.label_smoothing=0.25").label_smoothing, 0.25);
  EXPECT_EQ(with("quant.skip_quant=[x, y]").quant.skip, (std::vector<std::string>{"x", "y"}));
  const train::TrainOptions both = files.train("a.yaml", {"-o", "seed=7", "batch_size=9", "--lr", "2"});
  EXPECT_EQ(both.seed, 7u);
  EXPECT_EQ(both.batch_size, 9);
  EXPECT_EQ(both.lr, 2);
  const auto error = [&](const std::string& opt) { return error_of([&] { with(opt); }); };
  EXPECT_THAT(error("seed"), HasSubstr("KEY=VALUE"));
  EXPECT_THAT(error("optimizer.momentun=1"), HasSubstr("did you mean 'optimizer.momentum'?"));
  EXPECT_THAT(error("loss.types.3.type=x"), HasSubstr("counted from 0"));
  EXPECT_THAT(error("batch_size=many"), HasSubstr("--opts batch_size: batch_size: 'many'"));
}

TEST(Recipe, ReadsASegmentationConfig) {
  const std::string text =
      "model: {type: BiSeNetV2, pretrained: null}\n"
      "batch_size: 4\niters: 1000\n"
      "train_dataset:\n  type: OpticDiscSeg\n  dataset_root: data/discs\n  mode: train\n"
      "  transforms: [{type: Normalize}]\n"
      "val_dataset:\n  type: OpticDiscSeg\n  dataset_root: data/other\n  mode: val\n"
      "  transforms: [{type: Normalize}]\n"
      "optimizer: {type: sgd, weight_decay: 4.0e-5}\n"
      "lr_scheduler: {type: PolynomialDecay, learning_rate: 0.01}\n"
      "loss:\n  types:\n    - type: MixedLoss\n      losses: [{type: CrossEntropyLoss}, {type: DiceLoss}]\n"
      "      coef: [0.8, 0.2]\n  coef: [1, 0.5]\n"
      "test_config: {is_slide: True, crop_size: [64, 32], stride: [48, 24]}\n";
  const Files files(std::vector<std::string>{"a.yaml", text});
  const train::TrainOptions options =
      files.train("a.yaml", {"--do_eval", "--save_dir", "x", "--log_iters", "7"});
  EXPECT_EQ(options.task, train::TaskKind::kSegmentation);
  EXPECT_EQ(options.model, "bisenetv2");
  EXPECT_EQ(options.num_classes, 2);
  EXPECT_EQ(options.train_masks.root, "data/discs");
  EXPECT_EQ(options.val_masks.root, "data/other");
  EXPECT_EQ(options.val_masks.mode, "val");
  EXPECT_EQ(options.momentum, 0.9);
  EXPECT_EQ(options.lr_power, 0.9);
  EXPECT_EQ(options.lr_end, 0);
  EXPECT_TRUE(options.do_eval);
  EXPECT_EQ(options.output_dir, "x");
  EXPECT_EQ(options.print_freq, 7);
  ASSERT_EQ(options.losses.size(), 2u);
  EXPECT_EQ(options.losses[1].coef, 0.5);
  ASSERT_EQ(options.losses[1].losses.size(), 2u);
  EXPECT_EQ(options.losses[1].losses[1].type, "DiceLoss");
  EXPECT_EQ(options.losses[1].losses[1].coef, 0.2);
  EXPECT_EQ(options.test.crop_size, (std::array{64, 32}));
  const train::TrainOptions newer = files.train("a.yaml", {"--paddleseg_version", "2.9"});
  EXPECT_EQ(newer.momentum, 0);
  EXPECT_EQ(newer.lr_power, 1);
  EXPECT_EQ(newer.lr_end, 1e-4);
  // 0 stands for what the config says.
  const train::TrainOptions zeros =
      files.train("a.yaml", {"--iters", "0", "--batch_size", "0", "--learning_rate", "0"});
  EXPECT_EQ(zeros.iters, 1000);
  EXPECT_EQ(zeros.batch_size, 4);
  EXPECT_EQ(zeros.lr, 0.01);
  EXPECT_EQ(files.train("a.yaml", {"--learning_rate", "0.125"}).lr, 0.125);
  EXPECT_EQ(files.train("a.yaml", {"--precision", "fp16"}).amp_level, "O1");
  const train::TrainOptions qat = files.train("a.yaml", {"--qat", "--model_path", "out/best_model"});
  EXPECT_TRUE(qat.quant.enabled);
  EXPECT_EQ(qat.quant.activation, train::Activation::kMovingAverage);
  EXPECT_EQ(qat.pretrained, "out/best_model");
}

TEST(Recipe, SaysWhatIsWrongWithASegmentationConfig) {
  const auto error = [](const std::string& text) {
    return Files(std::vector<std::string>{"a.yaml", kSegmentation + text}).error("a.yaml");
  };
  EXPECT_THAT(error("train_dataset: {transforms: [{type: Normalize}], typ: Dataset}\n"),
              HasSubstr("did you mean 'train_dataset.type'?"));
  EXPECT_THAT(error("loss: {types: [{type: DicesLoss}]}\n"), HasSubstr("did you mean DiceLoss?"));
  EXPECT_THAT(error("\nloss: {types: [{type: OhemCrossEntropyLoss, min_keep: 3}]}\n"),
              AllOf(HasSubstr("a.yaml:7: "), HasSubstr("did you mean 'min_kept'?")));
  EXPECT_THAT(error("loss: {types: [{type: CrossEntropyLoss}, {type: DiceLoss}], coef: [1]}\n"),
              HasSubstr("2 losses, and loss.coef 1"));
  EXPECT_THAT(error("loss: {types: [{type: CrossEntropyLoss, ignore_index: 3}], coef: [1]}\n"),
              HasSubstr("ignore_index 3"));
  EXPECT_THAT(
      error("loss: {types: [{type: MixedLoss, losses: [{type: DiceLoss}], coef: [1, 2]}], coef: [1]}\n"),
      HasSubstr("1 losses and 2 factors"));
  EXPECT_THAT(error("test_config: {is_slide: True}\n"), HasSubstr("crop_size"));
  EXPECT_THAT(Files(std::vector<std::string>{"a.yaml", "model: {type: PPLiteSeg}\n"}).error("a.yaml"),
              HasSubstr("PPLiteSeg needs a backbone"));
  EXPECT_THAT(Files(std::vector<std::string>{"a.yaml",
                                             "model: {type: resnet18}\ntrain_dataset: {type: Cityscapes}\n"})
                  .error("a.yaml"),
              HasSubstr("classifier"));
}

TEST(Recipe, ClipsGradientsAndGroupsParametersAsPaddleSegDoes) {
  const auto train = [](const std::string& optimizer) {
    return Files(std::vector<std::string>{"a.yaml", kSegmentation + ("optimizer: " + optimizer + "\n")})
        .train("a.yaml");
  };
  const train::TrainOptions norm =
      train("{type: SGD, grad_clip_cfg: {name: ClipGradByNorm, clip_norm: 2.5}}");
  EXPECT_EQ(norm.clip_grad, "ClipGradByNorm");
  EXPECT_EQ(norm.clip_grad_norm, 2.5);
  const train::TrainOptions value =
      train("{type: SGD, grad_clip_cfg: {name: ClipGradByValue, max: 0.5, min: -0.25}}");
  EXPECT_EQ(value.clip_grad_max, 0.5);
  EXPECT_EQ(value.clip_grad_min, -0.25);
  const train::TrainOptions groups =
      train("{type: SGD, custom_cfg: [{name: backbone, lr_mult: 0.1}, {name: bn, weight_decay_mult: 0}]}");
  EXPECT_EQ(groups.groups, (std::vector<train::ParameterGroup>{{"backbone", 0.1, {}}, {"bn", 1, 0.0}}));
  const auto error = [&](const std::string& optimizer) { return error_of([&] { train(optimizer); }); };
  EXPECT_THAT(error("{grad_clip_cfg: {name: ClipGradByNorms, clip_norm: 1}}"),
              AllOf(HasSubstr("a.yaml:6"), HasSubstr("ClipGradByGlobalNorm or ClipGradByNorm")));
  EXPECT_THAT(error("{grad_clip_cfg: {name: ClipGradByNorm}}"), HasSubstr("needs a clip_norm above 0"));
  EXPECT_THAT(error("{grad_clip_cfg: {name: ClipGradByValue}}"), HasSubstr("needs a max"));
  EXPECT_THAT(error("{grad_clip_cfg: {clip_norm: 1, max: 1}}"), HasSubstr("are for ClipGradByValue"));
  EXPECT_THAT(error("{custom_cfg: [{lr_mult: 0.1}]}"), HasSubstr("'name' is missing"));
  EXPECT_THAT(error("{custom_cfg: [{name: a, lr_mul: 0.1}]}"), HasSubstr("did you mean 'lr_mult'?"));
  EXPECT_THAT(error("{custom_cfg: [{name: a, lr_mult: -1}]}"), HasSubstr("from 0 on"));
}

// Lists of transforms: where flags could have made them, flags still change them.
TEST(Recipe, ListsTransforms) {
  const Way<Train> way({"--img-size", "48", "--crop-pad", "4", "--mean", "0.25", "--color-jitter", "0.5"});
  EXPECT_THAT(way.recipe, AllOf(HasSubstr("- type: RandomCrop"), HasSubstr("- type: CenterCrop")));
  const std::string own =
      "val_dataset: {transforms: [{type: ResizeShort, size: 40}, {type: CenterCrop, size: 32}, "
      "{type: Normalize}]}\n"
      "train_dataset:\n  transforms:\n    - {type: RandomResizedCrop, size: 32, scale: [0.5, 1]}\n"
      "    - {type: Normalize}\n";
  const Files files(std::vector<std::string>{"usual.yaml", way.recipe, "own.yaml", own});
  EXPECT_TRUE(files.train("usual.yaml", {"--flip", "False", "--img-size", "40"}) ==
              Way<Train>({"--img-size", "40", "--crop-pad", "4", "--mean", "0.25", "--color-jitter", "0.5",
                          "--flip", "False"})
                  .there);
  const train::TrainOptions options = files.train("own.yaml");
  EXPECT_EQ(options.train_transforms.size(), 2u);
  EXPECT_EQ(options.val_transforms.size(), 3u);
  EXPECT_EQ(options.img_size, 32);
  EXPECT_THAT(error_of([&] {
                files.train("own.yaml", {"--flip", "False"});
              }),
              HasSubstr("transforms of its own"));
  const auto error = [](const std::string& text) {
    return Files(std::vector<std::string>{"a.yaml", text}).error("a.yaml");
  };
  EXPECT_THAT(error(own.substr(own.find("train_dataset"))), HasSubstr("no val_dataset.transforms"));
  EXPECT_THAT(error("train_dataset:\n  transforms:\n    - type: Rotate\n"), HasSubstr("a.yaml:3: "));
  EXPECT_THAT(error("val_dataset: {transforms: [{type: RandomErasing}]}\n"), HasSubstr("random"));
}

TEST(Recipe, OfADocumentThatTheProgramWrote) {
  const Way<Train> way({"--model", "resnet18", "--lr", "0.3", "--skip-quant", "a", "b", "--mean", "0.5"});
  const Files files(std::vector<std::string>{"recipe.yaml", way.recipe});
  EXPECT_TRUE(files.train("recipe.yaml") == way.there);
  EXPECT_EQ(Way<Train>({"--config", (files / "recipe.yaml").string()}).recipe, way.recipe);
}

// The manual lists the keys, and all of them.
TEST(Recipe, EveryKeyIsInTheManual) {
  const std::string manual = read_file(std::filesystem::path(kSourceDir) / "docs/recipe.md");
  const auto check = [&](auto command) {
    Args args("", "");
    command.add(args);
    for (const Flag* row : args.rows()) {
      if (row->path.empty()) continue;
      EXPECT_NE(manual.find("`" + row->path + "`"), std::string::npos) << row->path;
      for (const std::string& path : row->other_paths)
        EXPECT_NE(manual.find("`" + path + "`"), std::string::npos) << path;
    }
  };
  check(Train());
  check(Qat());
}

}  // namespace
}  // namespace octet::cli
