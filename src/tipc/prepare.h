#pragma once
#include <chrono>
#include <functional>
#include <string>

#include "tipc/config.h"

namespace octet::tipc {

struct PrepareOptions {
  std::filesystem::path octet = {};                       // the program, which trains and exports
  std::function<void(const std::string&)> say = nullptr;  // a line for each thing that is made
  std::function<bool()> stop = nullptr;
};

// Makes what the commands of a config need and is not there yet, in the current folder: lite_data/ and
// lite_data.tar, images/demo.jpg, data (a link to lite_data), or for a segmentation network lite_disc/; and
// the model or checkpoint that inference or quantizing begins with.
void prepare(const Config& config, std::string_view mode, const PrepareOptions& options);

}  // namespace octet::tipc
