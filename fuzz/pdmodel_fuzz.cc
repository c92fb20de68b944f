#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "formats/paddle/model_io.h"
#include "survive.h"

namespace {

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

}  // namespace

// The size of the program in four bytes, the program, the parameters.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint32_t program_size = 0;
  if (size < sizeof program_size) return 0;
  std::memcpy(&program_size, data, sizeof program_size);
  std::span<const std::uint8_t> rest(data + sizeof program_size, size - sizeof program_size);
  std::size_t split = std::min<std::size_t>(program_size, rest.size());
  MemoryFile program(rest.first(split)), params(rest.subspan(split));
  return octet::survive([&] {
    octet::Graph graph = octet::paddle::load_model({program.path(), params.path()});
    octet::dump(graph);
    octet::paddle::write_model(graph, [](octet::Bytes) {});
  });
}
