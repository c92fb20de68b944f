#pragma once
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
// `--max-memory SIZE`, which they have, too: for commands that read what comes from elsewhere.
void add_memory_flag(Args& args);

// `--input [NAME=]SHAPE`: what to take in place of the shape that the file declares. take_shapes teaches it
// to the flag of a command that takes files there, too, or (`also`) shapes for another purpose.
void add_shape_flag(Args& args, ModelFlags* flags);
void take_shapes(Flag& flag, ModelFlags* flags, bool also = false);

// `--format`, and of ONNX `--opset` and `--target`: as what a model is saved. Commands with recipes have them
// there as save_format, opset and target.
void add_format_flags(Args& args, SaveOptions* save);
// An output that is the name of an ONNX file becomes the directory that it is in.
void take_file_name(std::string* output, SaveOptions* save);

// The same with its files' names: `usual` (Paddle's, where the user gave no others) or, for another format,
// those that it usually has. An Error when the names are paths, the same, taken by what is written beside
// them, or not such that the format's programs find them.
SaveOptions saved_files(const SaveOptions& wanted, const SaveOptions& usual);

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
