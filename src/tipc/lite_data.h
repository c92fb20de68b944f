#pragma once
#include <filesystem>

#include "data/image.h"

namespace octet::tipc {

// A small data set of drawn pictures: JPEG files in train/ and val/, a folder a class. The same files each
// time.
inline constexpr int kLiteClasses = 4, kLitePictures = 4;  // pictures of a class, in train and in val
void write_lite_data(const std::filesystem::path& folder);

// A picture of one of the classes; another number, another picture.
Image draw_lite_picture(int class_index, int number);

}  // namespace octet::tipc
