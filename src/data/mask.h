#pragma once
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "data/example.h"

namespace octet {

// The classes in a PNG file of 8-bit grey values or of palette indices (of which the colours don't matter),
// or of one bit. Anything else, such as colours or 16 bits, is an Error that starts with `name`.
Mask decode_mask(Bytes bytes, const std::string& name);
Mask load_mask(const std::filesystem::path& path);

// An Error when a pixel has a class that there is not: `classes` of them, 0 if that is not known. Pixels of
// `ignore_index` become Mask::kIgnored.
void check_classes(Mask& mask, std::int64_t classes, int ignore_index, const std::string& name);

// A PNG file of palette indices, with PaddleSeg's colours or, from class 0 on, with others.
std::string encode_mask(const Mask& mask, const std::vector<std::array<std::uint8_t, 3>>& colors = {});

// PaddleSeg's colour of a class: that of the next one in the map of PASCAL VOC.
std::array<std::uint8_t, 3> color_of_class(int id);

}  // namespace octet
