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

// `--format`: as which files the model is saved.
Flag& add_format_flag(Args& args, std::string* format);
// The files of a model that is to be saved: `usual` (Paddle's names, unless the user gave others) or, for
// another format, those that it usually has. An Error when the names are paths, the same, taken by what is
// written beside them, or not such that the format's programs find them.
SaveOptions saved_files(const std::string& format, const std::string& model, const std::string& params,
                        const SaveOptions& usual);

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
