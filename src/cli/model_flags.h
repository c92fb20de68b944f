#pragma once
#include <optional>
#include <string>

#include "cli/args.h"
#include "octet/predictor.h"

namespace octet::cli {

// Flags that several commands share, so that they are spelled and explained the same everywhere.

struct ModelFlags {
  std::string path;
  LoadOptions files;
};

// `--model_filename` and `--params_filename`; add_model_flags also the model itself, as `--NAME`, and under
// the names of the other commands.
void add_file_flags(Args& args, ModelFlags* flags);
void add_model_flags(Args& args, ModelFlags* flags, const std::string& name = "model");

// Names for the two files of a model that is to be saved: an Error when they are paths, the same, or taken by
// what is written beside them.
void check_saved_names(const std::string& model, const std::string& params);

struct RuntimeFlags {
  std::optional<int> threads;
  std::string isa;
  bool ir_optim = true;
  bool use_gpu = false;
  std::string device = "cpu";
  std::string precision = "fp32";
};

void add_runtime_flags(Args& args, RuntimeFlags* flags);  // all of them
void add_device_flags(Args& args, RuntimeFlags* flags);   // use_gpu, device, precision

// Checks the flags against this machine; an Error says what is missing and what to use in its place.
Config make_config(const RuntimeFlags& flags);

}  // namespace octet::cli
