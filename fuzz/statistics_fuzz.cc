#include <cstddef>
#include <cstdint>

#include "quant/calibrate.h"
#include "survive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return octet::survive([&] {
    const auto kept =
        octet::quant::KeptStatistics::read({reinterpret_cast<const char*>(data), size}, "statistics");
    for (const auto& item : kept.calibration.tensors) {
      const octet::quant::TensorStatistics& tensor = item.second;
      tensor.histogram.total();
      tensor.histogram.share_above(static_cast<double>(tensor.abs_max));
      tensor.histogram.rebin(0, static_cast<double>(tensor.abs_max), octet::quant::kCoarseBins);
    }
  });
}
