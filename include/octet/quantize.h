#pragma once
#include <functional>
#include <string>
#include <vector>

#include "octet/predictor.h"

// Post-training quantization: from a float model and a few batches of its input to an int8 model.
//
//   octet::Model model = octet::Model::load("mobilenet_v3_small_infer");
//   auto batches = [&](std::int64_t i, std::vector<octet::FloatArray>& inputs) {
//     if (i == 10) return false;
//     inputs = {{{10, 3, 224, 224}, read_pictures(i)}};
//     return true;
//   };
//   octet::quantize(model, batches).save("int8");

namespace octet {

struct FloatArray {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};

// Gives batch `index`, one array for each input of the model, or returns false when there are not so many.
// Asked first for those behind batch_num, which the result is judged on, then for 0, 1, 2, ...; a second pass
// starts again at 0.
using BatchGenerator = std::function<bool(std::int64_t index, std::vector<FloatArray>& inputs)>;

// How the thresholds of activations are found, and what is quantized. The names and meanings are PaddleSlim's
// where it has them; docs/commands/ptq.md explains each.
struct QuantizeOptions {
  std::string algo = "auto";  // KL, hist, mse, emd, avg, abs_max, min_max, ptf, auto
  double hist_percent = 0.9999;
  bool two_pass = false;  // KL and hist as PaddleSlim computes them, with a pass of its own for the range
  std::string deploy = "octet";  // or "paddle": quantize only what PaddleSlim does
  std::string weight_quantize_type = "channel_wise_abs_max";  // or "abs_max"
  int weight_bits = 8, activation_bits = 8;                   // 2 to 8
  std::vector<std::string> quantizable_op_type = {};          // empty: the usual ones
  bool is_full_quantize = false;
  std::vector<std::string> skip_tensor_list = {};
  std::vector<std::string> keep_float = {};  // names or globs
  double float_share = 0.1;        // of the multiplications, that auto may leave in float for accuracy's sake
  bool bias_correction = true;     // takes out what quantization adds to the mean of each channel
  bool weight_correction = false;  // PaddleSlim's bias correction, which changes the weights
  // "round"; "adaround": rounds weights so that the layer's output changes least; "auto": adaround if algo is
  // auto.
  std::string round_type = "auto";
  // Balances the ranges of channels between layers. With algo auto, where they differ greatly this is tried
  // in any case, and kept if it makes the error of the output smaller.
  bool equalize = false;
  // Where a model takes pictures of any size, the decisions are tried on windows of large ones, which takes
  // less memory and time; for models whose every pixel depends on its surroundings, as in segmentation.
  bool windows = false;
  bool onnx_format = true;  // false: Paddle's older generation of quantized files
  bool fold_batch_norm = true;
  std::int64_t batch_num = 10;                   // at most this many batches; 0: all
  int threads = 0;                               // 0: as many as there are cores
  std::string save_stats = {}, load_stats = {};  // files
  std::string preprocessing = {};                // of the batches, in any words: save_stats keeps it
  std::shared_ptr<const Device> device = {};     // where calibration runs; empty: on this CPU
  // What is being done, how far it is, and how far it goes (0: not known).
  std::function<void(const std::string& stage, std::int64_t done, std::int64_t total)> progress = {};
};

struct LayerQuality {
  std::string name;  // of the layer's output
  std::string op;
  std::string input;                     // the tensor that was quantized for it
  std::string algorithm;                 // that chose its threshold
  double threshold = 0;                  // the largest magnitude that is represented
  double min = 0, max = 0, clipped = 0;  // of the input; clipped: the share beyond the threshold
  double channel_spread = 0;       // its largest channel's magnitude, as a multiple of the median channel's
  double own_sqnr_db = 0;          // of the layer's output, when only this layer is quantized; NaN: not known
  double sqnr_db = 0, cosine = 0;  // of the layer's output in the quantized model, with all errors before it
};

struct OutputQuality {
  std::string name;
  double sqnr_db = 0, cosine = 0;
  double agreement = 0;  // how often both choose the same class; NaN: it has no classes
};

// What the report was measured on.
enum class JudgedOn {
  kOthers,       // pictures behind those that were calibrated with
  kHeldOut,      // a fifth of them, which was not calibrated with
  kCalibration,  // the same ones: too good to be true
};

struct QuantizeReport {
  std::vector<LayerQuality> layers;          // in the order of the model
  std::vector<std::string> kept_float = {};  // layers that were not quantized
  std::vector<OutputQuality> outputs;        // of the model
  std::int64_t batches = 0, samples = 0;     // that were calibrated with
  JudgedOn judged_on = JudgedOn::kCalibration;
  std::int64_t judged_samples = 0;
  int equalized = 0;          // places where auto balanced channels that differed greatly
  std::string preprocessing;  // that of load_stats, or of the options
};

Model quantize(const Model& model, const BatchGenerator& batches, const QuantizeOptions& options = {},
               QuantizeReport* report = nullptr);

}  // namespace octet
