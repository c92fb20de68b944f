#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/mask_dataset.h"
#include "data/transform.h"
#include "models/models.h"
#include "octet/model.h"
#include "tasks/segmentation_inference.h"

// What `octet train` is told; src/cli/train.cc has the flags and the keys of recipes. No libtorch here: octet
// itself includes this.
namespace octet::train {

// Quantization-aware training; src/train/fake_quant.h says what the words mean.
enum class Activation { kMovingAverage, kPact, kLsq };
enum class WeightScale { kChannelAbsMax, kAbsMax, kLsq };

// What of a network is quantized: all, or only its backbone if it has one, as PaddleSeg does from 2.3 on.
enum class QuantScope { kAll, kBackbone };

struct QuantOptions {
  bool enabled = false;
  QuantScope scope = QuantScope::kAll;
  Activation activation = Activation::kPact;
  WeightScale weight = WeightScale::kChannelAbsMax;
  int weight_bits = 8, activation_bits = 8;
  double moving_rate = 0.9;
  std::vector<std::string> layer_types = {"Conv2D", "Linear"};
  std::vector<std::string> skip = {};  // names or globs of layers that stay in float
  std::vector<std::string> keep_8bit =
      {};                     // of those that never have fewer than 8 bits; also first, last, depthwise, se
  double pact_init = 0;       // where PACT's alpha begins; 0: where rounding the first batch does least harm
  double rate_factor = 1;     // learned ranges: this times the learning rate,
  double decay = 1e-4;        // and their own L2 decay
  double freeze_share = 0.3;  // of the epochs, the last ones, in which batch norms keep their statistics

  bool operator==(const QuantOptions&) const = default;
};

// Whose meanings count where PaddleSeg's versions disagree: those of July 2021, or today's. What differs: the
// type of argmax in exported models, the IoU of a class that is nowhere, defaults of learning rates, the
// words of the evaluation's lines.
enum class PaddleSeg { k2_2, k2_9 };

enum class TaskKind { kClassification, kSegmentation };

// A loss of PaddleSeg's, by its name, with the settings that it knows.
struct LossSpec {
  std::string type = "CrossEntropyLoss";
  double coef = 1;                       // what it is multiplied by
  std::optional<int> ignore_index = {};  // if it is given, that of the data
  std::vector<double> weight = {};       // of classes; none: all alike
  std::string balance = {};              // in place of weights: "dynamic" (BCELoss), "auto" (classifiers)
  double label_smoothing = 0;            // CrossEntropyLoss of classifiers
  double top_k_percent_pixels = 1;       // CrossEntropyLoss: of the pixels with the largest loss, this share
  bool avg_non_ignore = true;         // CrossEntropyLoss: the mean over the pixels that count, not over all
  double thresh = 0.7;                // OhemCrossEntropyLoss
  int min_kept = 10000;               // OhemCrossEntropyLoss
  std::optional<double> smooth = {};  // DiceLoss; none: that of the version
  std::string classes = "present";    // LovaszSoftmaxLoss
  std::string pos_weight = {};        // BCELoss: a number or "dynamic"
  std::vector<LossSpec> losses = {};  // MixedLoss: these, of one output

  bool operator==(const LossSpec&) const = default;
};

// Parameters that have this in their names learn at this factor of the learning rate, and with this factor of
// the weight decay.
struct ParameterGroup {
  std::string name = {};
  double lr_mult = 1;
  std::optional<double> weight_decay_mult = {};

  bool operator==(const ParameterGroup&) const = default;
};

struct TrainOptions {
  TaskKind task = TaskKind::kClassification;
  PaddleSeg paddleseg = PaddleSeg::k2_2;

  std::string data_path = "./data";
  std::string val_data_path = {};  // of pictures to evaluate on; empty: those of data_path
  MaskData train_masks = {}, val_masks = {.mode = "val"};  // in place of the two, for segmentation
  std::string model = "mobilenet_v3_small";
  models::SegmentationOptions network = {};
  std::string backbone_pretrained = {};  // weights of its backbone alone
  std::string model_dir = {};            // an inference model to train in place of one of the zoo's
  int num_classes = 0;                   // 0: what the checkpoint or the data says
  int img_size = 224;
  double width = 1.0;
  std::string pretrained = {};  // a file, a folder, or a prefix without extension
  std::string resume = {};      // a prefix, or a folder: its latest.*
  int start_epoch = -1;         // -1: 0, or behind what is resumed
  bool test_only = false;
  std::string output_dir = ".";
  std::string names = "reference";  // of parameters in checkpoints; or "paddle.vision"

  std::string device = "auto";
  int threads = 0;   // 0: all
  int workers = -1;  // -1: as many as threads
  bool sync_bn = false;
  std::string amp_level = {};  // "", "O1", "O2"
  std::string amp_dtype = {};  // "": bfloat16 on the CPU, float16 on a GPU

  int batch_size = 256;  // of each process
  int iters = 0;         // how many steps; 0: as many as the epochs have
  int epochs = 90;
  std::string opt = "sgd";
  double lr = 0.1, momentum = 0.9, weight_decay = 1e-4;
  std::string lr_schedule = "step";  // or "cosine", "poly", "piecewise", "step_iters", "constant"
  int lr_step_size = 30;             // epochs, or with "step_iters" iterations
  double lr_gamma = 0.1;
  double lr_power = 0.9, lr_end = 0;    // of "poly"
  std::vector<double> lr_values = {};   // of "piecewise": the last one holds from the last boundary on
  std::vector<int> lr_boundaries = {};  // the iterations at which the next one begins to hold
  double warmup_epochs = 0;
  int warmup_iters = 0;  // in place of warmup_epochs, from warmup_start_lr
  double warmup_start_lr = 0;
  // One for each output of a segmentation network, or one for all of them. A classifier has CrossEntropyLoss.
  std::vector<LossSpec> losses = {{}};
  double label_smoothing = 0;                      // of a classifier's loss
  bool auto_class_weights = false;                 // in the loss: by how rare a class is,
  std::vector<double> class_weights = {};          // or these; none: all alike
  bool balanced_sampling = false;                  // classes come equally often
  double mixup = 0, cutmix = 0;                    // data/mix.h says what they are; 0: off
  int accumulate = 1;                              // batches of one step of the optimiser
  std::string clip_grad = "ClipGradByGlobalNorm";  // how gradients are clipped, in Paddle's words:
  double clip_grad_norm = 0;                       // to this norm (0: they are not),
  std::optional<double> clip_grad_max = {};        // or ClipGradByValue: to this largest number,
  std::optional<double> clip_grad_min = {};        // and this least one; none: -clip_grad_max
  std::vector<ParameterGroup> groups = {};         // the first that fits a parameter counts
  bool use_ema = false;                            // averages of the weights are evaluated and saved
  double ema_decay = 0.9998;
  std::vector<std::string> freeze = {};  // names or globs of parameters that stay as they are
  int early_stop_intervals = 0;          // evaluations without a better result; 0: any number
  std::uint64_t seed = 0;

  Transforms train_transforms = {}, val_transforms = {};
  Transforms export_transforms = {};  // what a segmentation config has for deploy.yaml; none: Normalize
  SegmentOptions test = {};           // how segmentation is evaluated
  QuantOptions quant = {};

  bool do_eval = false;         // segmentation: evaluate at each save_interval, and keep the best
  int save_interval = 1000;     // segmentation: iterations from one checkpoint to the next
  int keep_checkpoint_max = 5;  // and how many stay

  int print_freq = 10;
  bool use_vdl = false;
  bool use_tensorboard = false;
  bool per_class = false;  // with test_only: a table of the classes

  std::string recipe = {};  // the document that says all this, which is kept beside the checkpoints

  bool operator==(const TrainOptions&) const = default;
};

// What `octet qat` is told: to distil an inference model into its quantized self.
struct DistillOptions {
  std::string model;  // a folder or a file
  LoadOptions files = {};
  std::string data_dir, output_dir;
  SaveOptions save = {.model_file = "__model__", .weights_file = "__params__"};
  bool onnx_format = true;
  Transforms transforms = {};
  int batch_size = 16, epochs = 10;
  double lr = 1e-5;
  double inner_weight = 0;         // of the loss on inner tensors, beside that on the outputs
  std::vector<std::string> inner;  // names or globs; none: the outputs of blocks, found automatically
  double label_weight = 1;         // of the usual loss, where there are labels
  int threads = 0;
  std::uint64_t seed = 0;
  QuantOptions quant;

  bool operator==(const DistillOptions&) const = default;
};

}  // namespace octet::train
