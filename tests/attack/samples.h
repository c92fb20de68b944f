#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace octet::attack {

// A small model of each kind that octet reads, to be attacked.
struct Sample {
  std::string name;                     // "paddle float classifier"
  std::filesystem::path model, params;  // params: empty where the model's file has them
};

// Writes them below `folder`, and x.npy, an input that all of them take.
std::vector<Sample> make_samples(const std::filesystem::path& folder);

}  // namespace octet::attack
