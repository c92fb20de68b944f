#pragma once
#include <optional>
#include <string>

#include "cli/args.h"
#include "data/classification.h"

namespace octet::cli {

// `--transforms`, `--resize-size`, `--crop-size`, `--interpolation`, `--mean`, `--std` of every command that
// reads pictures.
struct PreprocessFlags {
  PreprocessOverrides overrides;
  std::string transforms;  // a file, or the list itself
  std::optional<std::string> interpolation;
};

void add_preprocess_flags(Args& args, PreprocessFlags* flags);

// Neither the flags nor a deploy.yaml say anything, so the usual transforms are a guess.
bool is_assumed(const PreprocessFlags& flags, const std::string& model_path);
// Tells the user, if so.
void say_what_is_assumed(const PreprocessFlags& flags, const std::string& model_path);

// Those of `--transforms`, or these, or else those in the deploy.yaml of the model, or the usual ones, with
// what the flags change.
Transforms transforms_of(const PreprocessFlags& flags, const std::string& model_path,
                         const Transforms& given = {});

}  // namespace octet::cli
