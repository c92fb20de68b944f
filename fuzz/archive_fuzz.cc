#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "data/archive.h"
#include "survive.h"

// Unpacks into a folder of its own; whatever comes out, nothing may be beside that folder.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace fs = std::filesystem;
  static const fs::path base = fs::temp_directory_path() / "octet_archive_fuzz";
  fs::remove_all(base);
  fs::create_directories(base / "inside");
  const int result = octet::survive([&] {
    octet::unpack(std::as_bytes(std::span(data, size)), "fuzz.zip", base / "inside",
                  {.bytes = 1 << 20, .files = 64});
  });
  std::size_t others = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(base))
    others += entry.path().filename() != "inside";
  if (others != 0) __builtin_trap();
  return result;
}
