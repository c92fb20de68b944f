#pragma once
#include <span>
#include <string_view>

#include "kernels/kernel.h"

// The reference kernels: plain loops that say what each op of docs/ops.md computes. They are the specification: never
// optimised, and every other kernel is tested against them.
namespace octet::ref {

struct Row {
  std::string_view op;
  Kernel kernel;
};

// One row an op; ref.cc is the list.
std::span<const Row> kernels();
Kernel find(std::string_view op);  // null when there is none

}  // namespace octet::ref
