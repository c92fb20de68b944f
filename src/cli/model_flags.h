#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "octet/predictor.h"

namespace octet::cli {

// Flags that several commands share, so that they are spelled and explained the same everywhere.

struct ModelFlags {
  std::string path;
  LoadOptions files;
  std::vector<std::string> shapes;  // as given: [NAME=]SHAPE; `files` has them
};

// `--model_filename` and `--params_filename`; add_model_flags also the model itself, as `--NAME`, and under
// the names of the other commands.
void add_file_flags(Args& args, ModelFlags* flags);
void add_model_flags(Args& args, ModelFlags* flags, const std::string& name = "model");

// `--input [NAME=]SHAPE`: what to take in place of the shape that the file declares. take_shapes teaches it to the
// flag of a command that takes files there, too, or (`also`) shapes for another purpose.
void add_shape_flag(Args& args, ModelFlags* flags);
void take_shapes(Flag& flag, ModelFlags* flags, bool also = false);

// `--format`, `--opset` and `--target`: how a model is written.
struct SaveFlags {
  std::string format;
  int opset = 0;
  std::string target = "cpu";
};
void add_save_flags(Args& args, SaveFlags* flags);

// Where a model goes: a directory, or with a name that ends in .onnx that file. `model` and `params` are what its
// files are called in Paddle's format.
struct Destination {
  std::filesystem::path directory;
  SaveOptions options;
  std::vector<std::filesystem::path> files() const;  // of the model
};
Destination destination(const std::string& output, const SaveFlags& flags, const std::string& model,
                        const std::string& params);

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
