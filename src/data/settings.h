#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/resample.h"

namespace octet {

// Whoever reads or writes the settings of a thing that YAML files name by its type, such as a transform: the
// thing names them one after the other, in one function for both.
class Settings {
 public:
  virtual ~Settings() = default;
  virtual void required(std::string_view name, int& size) = 0;  // a positive number
  virtual void optional(std::string_view name, int& value) = 0;
  virtual void optional(std::string_view name, double& value) = 0;
  virtual void optional(std::string_view name, bool& value) = 0;
  virtual void optional(std::string_view name, std::string& word) = 0;
  virtual void optional(std::string_view name, Interpolation& value) = 0;
  virtual void optional(std::string_view name, std::array<int, 2>& size) = 0;  // width and height
  virtual void optional(std::string_view name, std::array<double, 2>& range) = 0;
  virtual void optional(std::string_view name, std::array<float, 3>& channels) = 0;
  virtual void optional(std::string_view name, std::optional<int>& value) = 0;
  virtual void optional(std::string_view name, std::optional<double>& value) = 0;
  virtual void optional(std::string_view name, std::vector<double>& values) = 0;

  // For things that have two spellings: whether this one is to be read or written; `preferred` says which is
  // written. Where all names are collected, both are.
  virtual bool spelled(std::string_view name, bool preferred) = 0;
};

}  // namespace octet
