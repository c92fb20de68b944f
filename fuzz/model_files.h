#pragma once
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "formats/format.h"

namespace octet {

// Models are mapped from files, so each part of the input becomes one, in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes) : fd_(::memfd_create("fuzz", 0)) {
    if (fd_ < 0 || ::write(fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  ~MemoryFile() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

// The files of a model that is an input: the size of the program in four bytes, the program, the parameters.
struct ModelFiles {
  ModelFiles(std::span<const std::uint8_t> input, std::size_t program_size)
      : program(input.first(program_size)), params(input.subspan(program_size)) {}
  ModelPaths paths() const { return {program.path(), params.path()}; }

  MemoryFile program, params;
};

inline ModelFiles model_files(const std::uint8_t* data, std::size_t size) {
  std::uint32_t program_size = 0;
  const std::span<const std::uint8_t> input(data, size);
  if (size < sizeof program_size) return {input, 0};
  std::memcpy(&program_size, data, sizeof program_size);
  const auto rest = input.subspan(sizeof program_size);
  return {rest, std::min<std::size_t>(program_size, rest.size())};
}

}  // namespace octet
