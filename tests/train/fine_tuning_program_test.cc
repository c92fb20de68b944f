#include <cmath>
#include <set>

#include "data/deploy_yaml.h"
#include "formats/format.h"
#include "train/training_folder.h"

// `octet train`, the program: what people do when they train a network on with pictures of their own.
namespace octet {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::expect_one_error;
using ::testing::HasSubstr;
using testing::interrupt;
using testing::launched;
using ::testing::Not;
using testing::Pictures;
using testing::same_bytes;

// Names of the tensors that differ in two files.
std::set<std::string> different(const fs::path& a, const fs::path& b) {
  const StateDict left = load_state_dict(a), right = load_state_dict(b);
  std::set<std::string> names;
  for (const StateDict::Item& item : left.items) {
    const Tensor *x = left.find(item.name), *y = right.find(item.name);
    if (x && (!y || !std::ranges::equal(x->bytes(), y->bytes()))) names.insert(item.name);
  }
  return names;
}

TEST(FineTuneProgram, ShowsWhichClassesAreTakenForWhich) {
  const Pictures pictures;
  const ProgramResult result = pictures.train("--epochs 2 --class-weights 1,0.0001,0.0001 --lr 0.01");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("per class, at epoch "),
                                HasSubstr("| class | pictures | accuracy | as blue | as green | as red |\n"),
                                HasSubstr("| blue | 4 | 1.0000 | 4 | 0 | 0 |\n"),
                                HasSubstr("| red | 4 | 0.0000 | 4 | 0 | 0 |\n")));
  EXPECT_THAT(result.err, HasSubstr("takes every picture that it is evaluated on for class blue"));
  EXPECT_TRUE(read_file(pictures / "out/confusion_matrix.png").starts_with("\x89PNG"));
  const ProgramResult test = pictures.train("--test-only --resume out --per-class");
  EXPECT_THAT(test.out, HasSubstr("| green | 4 | 0.0000 | 4 | 0 | 0 |\n"));
  EXPECT_THAT(pictures.train("--test-only --resume out").out, Not(HasSubstr("| green |")));
}

// All of it together, cut and resumed with nothing but the folder: the same bytes.
TEST(FineTuneProgram, EverythingSurvivesAResume) {
  const Pictures pictures;
  const std::string flags =
      "--epochs 3 -b 4 --lr 0.01 --class-weights auto --balanced-sampling --mixup 0.4 --cutmix 1 --use-ema "
      "--ema-decay 0.9 --freeze 'layer1.*' --clip-grad-norm 1 --accumulate 3 --early-stop-intervals 5 "
      "--use-tensorboard --output-dir ";
  ASSERT_EQ(pictures.train(flags + "whole").exit_code, 0);
  const ProgramResult cut = interrupt(pictures, flags + "cut", "Epoch 1, iter: 3]", "TERM");
  EXPECT_EQ(cut.exit_code, 143);
  const ProgramResult resumed = run_shell("octet train --resume cut", pictures.path());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, AllOf(HasSubstr("resuming from cut/latest.pdparams at epoch 1, iteration "),
                                 HasSubstr("iter: 11]")));
  for (const char* file : {"latest.pdparams", "latest.pdopt", "best.pdparams", "model_2.pdparams"})
    EXPECT_TRUE(same_bytes(pictures / "whole" / file, pictures / "cut" / file)) << file;
  int logs = 0;
  for (const auto& file : fs::directory_iterator(pictures / "cut"))
    if (file.path().filename().string().starts_with("events.out.tfevents.")) {
      EXPECT_THAT(read_file(file.path()), HasSubstr("train/loss"));
      ++logs;
    }
  EXPECT_EQ(logs, 2);
}

TEST(FineTuneProgram, EachFlagChangesTheRun) {
  const Pictures pictures;
  const std::string plain = "--epochs 1 -b 8 --lr 0.01 --output-dir ";
  fs::remove(pictures / "data/train/red/00.png");  // no longer balanced by itself
  ASSERT_EQ(pictures.train(plain + "fewer").exit_code, 0);
  for (const std::string flag :
       {"--class-weights auto", "--balanced-sampling", "--mixup 1", "--cutmix 1", "--use-ema"}) {
    const ProgramResult result = pictures.train(plain + "other " + flag);
    ASSERT_EQ(result.exit_code, 0) << flag << result.err;
    EXPECT_FALSE(same_bytes(pictures / "fewer/latest.pdparams", pictures / "other/latest.pdparams")) << flag;
  }
}

TEST(FineTuneProgram, OnlyTheHeadLearnsWhenTheRestIsFrozen) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train("--epochs 1 --output-dir a").exit_code, 0);
  const ProgramResult result =
      run_shell(launched("--epochs 1 -b 4 --pretrained a --freeze 'conv1.*' 'bn1.*' 'layer*' --output-dir b"),
                pictures.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(different(pictures / "a/best.pdparams", pictures / "b/latest.pdparams"),
              ElementsAre("fc.bias", "fc.weight"));
  expect_one_error(pictures.train("--freeze 'conv1.wait'"),
                   {"--freeze conv1.wait", "did you mean conv1.weight?"});
}

TEST(FineTuneProgram, StopsWhenNothingGetsBetter) {
  const Pictures pictures;
  const ProgramResult result =
      pictures.train("--epochs 9 --lr 0 --freeze '*bn*' '*downsample.1*' --early-stop-intervals 2");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("stopped early: no better result than "), HasSubstr("in 2 epochs")));
  EXPECT_TRUE(pictures.has("out/model_2.pdparams"));
  EXPECT_FALSE(pictures.has("out/model_3.pdparams"));
  EXPECT_THAT(run_shell("octet train --resume out", pictures.path()).out,
              HasSubstr("nothing to do: there was no better result in 2 epochs"));
}

// Without statistics of batches, two batches of four are one of eight, with its schedule.
TEST(FineTuneProgram, AccumulatedBatchesAreOneLargeBatch) {
  const Pictures pictures;
  const std::string flags =
      "--epochs 2 --lr 0.01 --lr-schedule cosine --warmup-epochs 0.5 --freeze '*bn*' '*downsample.1*' ";
  ASSERT_EQ(pictures.train(flags + "-b 8 --output-dir a").exit_code, 0);
  ASSERT_EQ(pictures.train(flags + "-b 4 --accumulate 2 --output-dir b").exit_code, 0);
  ASSERT_EQ(run_shell(launched(flags + "-b 2 --accumulate 2 --output-dir c"), pictures.path()).exit_code, 0);
  const StateDict a = load_state_dict(pictures / "a/latest.pdparams");
  for (const char* other : {"b/latest.pdparams", "c/latest.pdparams"}) {
    const StateDict b = load_state_dict(pictures / other);
    for (const char* name : {"conv1.weight", "layer3.0.conv1.weight", "fc.weight"}) {
      const Tensor x = a.find(name)->aligned(), y = b.find(name)->aligned();
      for (std::size_t i = 0; i < x.data<float>().size(); ++i)
        ASSERT_NEAR(x.data<float>()[i], y.data<float>()[i], 1e-4) << other << " " << name;
    }
  }
}

TEST(FineTuneProgram, GradientsAreClippedToTheirNorm) {
  const Pictures pictures;
  const std::string flags = "--iters 1 --weight-decay 0 --clip-grad-norm 0.01 ";
  for (const std::string& command : {Pictures::command(flags), launched(flags),
                                     Pictures::command(flags + "--amp-level O1 --amp-dtype float16")}) {
    const ProgramResult result = run_shell(command, pictures.path());
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const StateDict state = load_state_dict(pictures / "out/latest.pdopt");
    double squares = 0;
    for (const StateDict::Item& item : state.items) {
      if (!item.name.ends_with("_velocity_0")) continue;
      const Tensor velocity = state.find(item.name)->aligned();
      for (float x : velocity.data<float>()) squares += static_cast<double>(x) * x;
    }
    EXPECT_NEAR(std::sqrt(squares), 0.01, 1e-5) << command;
  }
}

// The first step of the momentum is the gradient.
TEST(FineTuneProgram, GradientsAreClippedAsPaddleClipsThem) {
  const Pictures pictures;
  const auto velocities = [&](const std::string& clip) {
    const ProgramResult result =
        run_shell(Pictures::command("--iters 1 --weight-decay 0 --opts optimizer.grad_clip_cfg.name=" + clip),
                  pictures.path());
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const StateDict state = load_state_dict(pictures / "out/latest.pdopt");
    std::vector<std::vector<float>> parts;
    for (const StateDict::Item& item : state.items) {
      if (!item.name.ends_with("_velocity_0")) continue;
      const Tensor velocity = state.find(item.name)->aligned();
      parts.emplace_back(velocity.data<float>().begin(), velocity.data<float>().end());
    }
    return parts;
  };
  const auto free = velocities("ClipGradByGlobalNorm"),
             norm = velocities("ClipGradByNorm optimizer.grad_clip_cfg.clip_norm=0.01"),
             value = velocities("ClipGradByValue optimizer.grad_clip_cfg.max=0.002");
  ASSERT_EQ(free.size(), norm.size());
  ASSERT_EQ(free.size(), value.size());
  for (std::size_t i = 0; i < free.size(); ++i) {
    double squares = 0;
    for (float x : free[i]) squares += static_cast<double>(x) * x;
    const double factor = std::min(1.0, 0.01 / std::max(std::sqrt(squares), 1e-30));
    for (std::size_t k = 0; k < free[i].size(); ++k) {
      ASSERT_NEAR(norm[i][k], free[i][k] * factor, 1e-6);
      ASSERT_NEAR(value[i][k], std::clamp(free[i][k], -0.002f, 0.002f), 1e-7);
    }
  }
}

TEST(FineTuneProgram, NamesOfClassesTravelWithTheModel) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train("--epochs 4 --lr 0.01").exit_code, 0);
  const auto names = ElementsAre("blue", "green", "red");
  EXPECT_THAT(load_class_names(pictures / "out"), names);
  const ProgramResult made = run_shell(
      "octet export --model resnet18 --width 0.25 --img-size 32 --pretrained out --save-inference-dir float "
      "&& "
      "octet ptq --model_path float --data_dir data/train --batch_size 4 --batch_num 2 --output_dir int8 && "
      "octet qat --model-dir float --data-dir data/train --batch-size 8 --epochs 1 --output-dir qat && "
      "octet convert --model int8 --output converted && "
      "octet infer --model-dir converted --img-path data/val/red/00.png",
      pictures.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  for (const char* folder : {"float", "int8", "qat", "converted"})
    EXPECT_THAT(load_class_names(pictures / folder), names) << folder;
  EXPECT_THAT(made.out,
              ::testing::ContainsRegex("class_id: [0-2], prob: [0-9.]+, label: (blue|green|red)\n"));
  const std::string infer = "octet infer --model-dir float --img-path data/val/red/00.png";
  write_file(pictures / "float/deploy.yaml",
             write_deploy_yaml(*load_deploy_yaml(pictures / "int8"), "", "", {"a", "b"}));
  expect_one_error(run_shell(infer, pictures.path()), {"deploy.yaml of float: 2 labels", "3 classes"});
  write_file(pictures / "float/deploy.yaml", "Deploy: {}\nclass_names: red\n");
  expect_one_error(run_shell(infer, pictures.path()), {"float/deploy.yaml:2: class_names needs a list"});
}

// Of two classes, from a model of three.
TEST(FineTuneProgram, AnImportedModelGetsANewHead) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train("--epochs 1 --output-dir a").exit_code, 0);
  ASSERT_EQ(run_shell("octet export --model resnet18 --width 0.25 --img-size 32 --pretrained a "
                      "--save-inference-dir float",
                      pictures.path())
                .exit_code,
            0);
  for (const char* part : {"train", "val"}) fs::remove_all(pictures / "data" / part / "blue");
  const ProgramResult result = pictures.train("--model-dir float --num-classes 2 --epochs 1");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("| class | pictures | accuracy | as green | as red |"));
  const ProgramResult more = run_shell("octet train --resume out --epochs 2", pictures.path());
  ASSERT_EQ(more.exit_code, 0) << more.err;
  const ProgramResult made = run_shell(
      "octet export --model-dir float --pretrained out --save-inference-dir two && "
      "octet eval --model-path two --data-dir data --per-class --confusion-matrix matrix.png",
      pictures.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("| class | pictures | accuracy | as green | as red |\n"));
  EXPECT_TRUE(read_file(pictures / "matrix.png").starts_with("\x89PNG"));
  expect_one_error(pictures.train("--model-dir float --resume out --num-classes 5"), {"2 classes", "is 5"});
}

TEST(FineTuneProgram, AResumedRunGoesByItsRecipe) {
  const Pictures pictures;
  ASSERT_EQ(pictures.train("--epochs 1 --seed 3 --output-dir a").exit_code, 0);
  ASSERT_EQ(pictures.train("--epochs 2 --seed 3 --output-dir b").exit_code, 0);
  const ProgramResult result = run_shell("octet train --resume a/latest --epochs 2", pictures.path());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(same_bytes(pictures / "a/latest.pdparams", pictures / "b/latest.pdparams"));
  EXPECT_EQ(run_shell("octet train --resume=a --test-only", pictures.path()).exit_code, 0);
  fs::remove(pictures / "a/recipe.yaml");
  expect_one_error(run_shell("octet train --data-path data -b 8 --device cpu --resume a", pictures.path()),
                   {"no recipe.yaml beside it", "--model, --width"});
}

TEST(FineTuneProgram, BadValuesAreOneLine) {
  const Pictures pictures;
  expect_one_error(pictures.train("--class-weights 1,x"), {"--class-weights", "1,x"});
  expect_one_error(pictures.train("--class-weights 1,2"), {"2 weights", "3 classes"});
  expect_one_error(pictures.train("--ema-decay 1"), {"--ema-decay", "below 1"});
  expect_one_error(pictures.train("--mixup -1"), {"--mixup"});
  expect_one_error(pictures.train("--accumulate 0"), {"--accumulate"});
}

}  // namespace
}  // namespace octet
