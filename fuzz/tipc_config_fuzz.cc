#include <cstddef>
#include <cstdint>

#include "survive.h"
#include "tipc/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return octet::survive([&] {
    const auto config = octet::tipc::Config::parse({reinterpret_cast<const char*>(data), size}, "config.txt");
    octet::tipc::make_plan(config, config.is_ptq() ? "whole_infer" : "lite_train_lite_infer", false);
  });
}
