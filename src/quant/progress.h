#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace octet::quant {

// Is told how much of a stage is done.
using Progressed = std::function<void(std::int64_t done, std::int64_t total)>;

// The same for work in several stages.
using StageProgressed = std::function<void(const std::string& stage, std::int64_t done, std::int64_t total)>;

}  // namespace octet::quant
