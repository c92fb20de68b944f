#include "train/options.h"

#include <nlohmann/json.hpp>

#include "data/transform_yaml.h"

namespace octet {

// As YAML, in which every transform can say what it is.
void to_json(nlohmann::json& json, const Transforms& transforms) {
  json = write_transforms(transforms);
}

void from_json(const nlohmann::json& json, Transforms& transforms) {
  transforms = read_transforms(json.get<std::string>(), "transforms", /*random_allowed=*/true);
}

namespace train {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(QuantOptions, enabled, activation, weight, weight_bits, activation_bits,
                                   moving_rate, layer_types, skip, keep_8bit, pact_init, rate_factor, decay,
                                   freeze_share)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainOptions, data_path, model, model_dir, num_classes, img_size, width,
                                   pretrained, resume, start_epoch, test_only, output_dir, names, device,
                                   threads, workers, sync_bn, amp_level, amp_dtype, batch_size, epochs, opt,
                                   lr, momentum, weight_decay, lr_schedule, lr_step_size, lr_gamma,
                                   warmup_epochs, label_smoothing, seed, train_transforms, val_transforms,
                                   quant, print_freq, use_vdl)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DistillOptions, model, model_filename, params_filename, data_dir,
                                   output_dir, save_model_filename, save_params_filename, onnx_format,
                                   transforms, batch_size, epochs, lr, inner_weight, inner, label_weight,
                                   threads, seed, quant)

std::string write_options(const TrainOptions& options) {
  return nlohmann::json(options).dump();
}

std::string write_options(const DistillOptions& options) {
  return nlohmann::json(options).dump();
}

TrainOptions read_train_options(const std::string& text) {
  return nlohmann::json::parse(text).get<TrainOptions>();
}

DistillOptions read_distill_options(const std::string& text) {
  return nlohmann::json::parse(text).get<DistillOptions>();
}

}  // namespace train
}  // namespace octet
