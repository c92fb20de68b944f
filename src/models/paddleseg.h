#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace octet::models {

// The network of the zoo that a PaddleSeg config means: the `type` of its model, the type of its backbone
// (empty where the model has none) and its output stride, such as "DeepLabV3P", "ResNet50_vd", 8. An Error
// says what there is when there is no such network.
std::string_view network_of_paddleseg(std::string_view type, std::string_view backbone = {},
                                      std::int64_t output_stride = 8);

}  // namespace octet::models
