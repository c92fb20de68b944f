#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace octet::models {

// The network of the zoo for what a config of PaddleSeg calls `type` in its model, and in the backbone of
// that
// ("DeepLabV3P", "ResNet50_vd", output_stride 8); `backbone` is empty where the model has none. An Error that
// says what there is.
std::string_view network_of_paddleseg(std::string_view type, std::string_view backbone = {},
                                      std::int64_t output_stride = 8);

}  // namespace octet::models
