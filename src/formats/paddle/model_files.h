#pragma once
#include <filesystem>

#include "octet/model.h"

namespace octet::paddle {

struct ModelPaths {
  std::filesystem::path model;
  std::filesystem::path params;  // may not exist: a model without parameters has none
};

// Which files a path stands for. A directory: inference.pdmodel, else model.pdmodel, else __model__, else the
// only other *.pdmodel; several left is an error that lists them. A file: itself. The names in `files`
// decide.
ModelPaths find_model(const std::filesystem::path& path, const ModelFiles& files = {});

}  // namespace octet::paddle
