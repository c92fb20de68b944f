#include "cli/quant_flags.h"

#include <cstdlib>

#include "base/error.h"

namespace octet::cli {

void add_quant_flags(Args& args, QuantFlags* flags) {
  args.section("quant");
  args.add("activation-preprocess-type", &flags->activation, "PACT|LSQ|none",
           "how ranges of activations are found: a learned clipping value, a learned range, or the moving "
           "average alone");
  args.add("weight-preprocess-type", &flags->weight, "none|LSQ", "LSQ: ranges of weights are learned, too");
  args.add("weight-quantize-type", &flags->weight_type, "channel_wise_abs_max|abs_max",
           "a range for each output channel of the weights, or one");
  args.add("activation-quantize-type", &flags->activation_type, "moving_average_abs_max", "the only choice");
  args.add("weight-bits", &flags->options.weight_bits, {2, 8}, "bits per weight");
  args.add("activation-bits", &flags->options.activation_bits, {2, 8}, "bits per activation");
  args.add(
          "keep-8bit", &flags->keep_8bit, "WORDS",
          "with fewer bits, these layers keep 8: first, last, depthwise, se (squeeze-excite), names or globs")
      .default_text = "first,last,depthwise,se";
  args.add("moving-rate", &flags->options.moving_rate,
           "how much of the moving average stays after each step");
  args.add("quantizable-layer-type", &flags->layer_types, "Conv2D,Linear", "kinds of layers to quantize");
  args.add("skip-quant", &flags->options.skip, "NAME_OR_GLOB", "layers that stay in float");
  args.add("pact-init", &flags->pact_init, "X",
           "where PACT's clipping values begin; auto: where rounding the first batch does least harm");
  args.add("pact-lr-factor", &flags->options.rate_factor,
           "learning rate of learned ranges, as a multiple of --lr");
  args.add("pact-decay", &flags->options.decay, "L2 decay of learned ranges");
  args.section("");
}

train::QuantOptions options_of(const QuantFlags& flags) {
  train::QuantOptions quant = flags.options;
  using train::Activation, train::WeightScale;
  quant.activation = flags.activation == "PACT"  ? Activation::kPact
                     : flags.activation == "LSQ" ? Activation::kLsq
                                                 : Activation::kMovingAverage;
  quant.weight = flags.weight == "LSQ"            ? WeightScale::kLsq
                 : flags.weight_type == "abs_max" ? WeightScale::kAbsMax
                                                  : WeightScale::kChannelAbsMax;
  quant.layer_types = split(flags.layer_types, ",");
  for (const std::string& type : quant.layer_types)
    if (type != "Conv2D" && type != "Linear")
      fail("--quantizable-layer-type: '{}' is not one of Conv2D, Linear", type);
  quant.keep_8bit = split(flags.keep_8bit.value_or("first,last,depthwise,se"), ",");
  if (flags.pact_init != "auto") {
    char* end = nullptr;
    quant.pact_init = std::strtod(flags.pact_init.c_str(), &end);
    if (*end != 0 || !(quant.pact_init > 0))
      fail("--pact-init: '{}' is not auto or a number above 0", flags.pact_init);
  }
  return quant;
}

}  // namespace octet::cli
