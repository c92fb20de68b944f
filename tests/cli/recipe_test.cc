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
    if (flag.name == "config") continue;                    // the recipe itself; tests below read some
    if (flag.name == "activation-quantize-type") continue;  // has one value only
    const std::string word = "--" + flag.name + "=" + another_value(flag);
    // Learned ranges of weights have no type.
    std::vector<std::string> words;
    if (flag.name == "weight-quantize-type") words = {"--weight-preprocess-type=none"};
    const Way<Command> without(words);
    words.push_back(word);
    const Way<Command> way(words);
    EXPECT_TRUE(way.here == way.there) << word << " is lost on the way:\n" << way.recipe;
    EXPECT_FALSE(way.there == without.there) << word << " changes nothing";
  }
}

TEST(Recipe, EveryFlagOfTrainArrivesInOctetTrain) {
  expect_every_flag_arrives<Train>();
}

TEST(Recipe, EveryFlagOfQatArrivesInOctetTrain) {
  expect_every_flag_arrives<Qat>();
}

// And every key, also those that are no flags.
TEST(Recipe, EveryKeyChangesSomething) {
  Args args("", "");
  Train command;
  command.add(args);
  const train::TrainOptions plain = Way<Train>({}).there;
  for (Flag* row : args.rows()) {
    if (row->path.empty() || row->read || row->name == "activation-quantize-type") continue;
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
  EXPECT_THAT(error("optimizer: {type: lion}\n"), HasSubstr("'lion' is not one of sgd, rmsprop, adamw"));
  EXPECT_THAT(error("train_dataset: {mode: val}\n"), HasSubstr("'val' is not train"));
  EXPECT_THAT(error("loss: {types: [{type: CrossEntropyLoss}, {type: DiceLoss}]}\n"),
              HasSubstr("loss.types.1"));
  EXPECT_THAT(error("loss: {types: [{type: DiceLoss}]}\n"), HasSubstr("CrossEntropyLoss"));
  EXPECT_THAT(error("- a\n"), HasSubstr("not a recipe"));
  EXPECT_THAT(error("a: [\n"), HasSubstr("a.yaml:2: "));
  EXPECT_THAT(error("? [a]\n: 1\n"), HasSubstr("a key must be a word"));
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
