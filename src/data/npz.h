#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "base/file.h"
#include "tensor/tensor.h"

// NumPy's archives of arrays: what numpy.savez and numpy.savez_compressed write.
namespace octet {

// The arrays by name, without the .npy of the archive's entries. An Error when the file is damaged, holds
// anything else, or would take more than kMaxNpzBytes unpacked.
std::map<std::string, Tensor> load_npz(const std::filesystem::path& path);
// The same for bytes in memory; errors call them `source`.
std::map<std::string, Tensor> read_npz(Bytes bytes, const std::string& source);

constexpr std::uint64_t kMaxNpzBytes = std::uint64_t{1} << 32;

}  // namespace octet
