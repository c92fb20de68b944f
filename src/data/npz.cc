#include "data/npz.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "data/zip.h"
#include "tensor/npy.h"

namespace octet {

namespace {

constexpr const char* kKind = "this .npz file";

// The array of an entry; `total` is the size of all so far.
Tensor array_of(const ZipEntry& entry, const std::string& source, const std::string& name,
                std::uint64_t& total) {
  if (entry.is_large) fail("{}: an array of more than 4 GB; use .npy files", name);
  total += entry.size;
  if (total > kMaxNpzBytes) fail("{}: more than {} bytes of arrays", source, kMaxNpzBytes);
  if (!entry.is_stored && !entry.is_deflated) fail("{}: is packed in a way that octet does not know", name);
  // Nothing packs better than some thousand to one: a claim of more is no reason to take memory.
  if (entry.size / 1100 > entry.packed.size())
    fail("{}: {} is damaged or cut off (a size is wrong)", source, kKind);
  auto unpacked = std::make_shared<std::vector<std::byte>>();
  unpacked->reserve(static_cast<std::size_t>(entry.size));
  unpack_entry(entry, source, kKind,
               [&](Bytes piece) { unpacked->insert(unpacked->end(), piece.begin(), piece.end()); });
  const Bytes bytes(*unpacked);
  return read_npy(bytes, std::move(unpacked), name).aligned();
}

}  // namespace

std::map<std::string, Tensor> read_npz(Bytes bytes, const std::string& source) {
  if (!as_text(bytes.first(std::min<std::size_t>(bytes.size(), 4))).starts_with("PK\x03\x04"))
    fail("{}: is not an .npz file", source);
  std::map<std::string, Tensor> arrays;
  std::uint64_t total = 0;
  for (const ZipEntry& entry : read_zip(bytes, source, kKind)) {
    std::string name = entry.name;
    if (!name.ends_with(".npy"))
      fail("{}: '{}' in it is no array; octet reads what numpy.savez writes", source, printable(name));
    name.resize(name.size() - 4);
    Tensor array = array_of(entry, source, fmt::format("{}: {}", source, printable(name)), total);
    if (!arrays.emplace(std::move(name), std::move(array)).second)
      fail("{}: {} is damaged or cut off (a name comes twice)", source, kKind);
  }
  return arrays;
}

std::map<std::string, Tensor> load_npz(const std::filesystem::path& path) {
  const MappedFile file(path);
  return read_npz(file.bytes(), path.string());
}

}  // namespace octet
