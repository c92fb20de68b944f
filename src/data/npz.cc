#include "data/npz.h"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <vector>

#include "base/error.h"
#include "tensor/npy.h"

namespace octet {

namespace {

// A zip archive, read from the directory at its end.
class Archive {
 public:
  Archive(Bytes bytes, const std::string& source) : bytes_(bytes), source_(source) {}

  std::map<std::string, Tensor> read() {
    std::map<std::string, Tensor> arrays;
    const std::uint64_t end = find_end();
    const std::uint64_t count = number(end + 10, 2);
    std::uint64_t at = number(end + 16, 4);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (number(at, 4) != 0x02014b50) damaged("its directory is wrong");
      const std::uint64_t name_size = number(at + 28, 2), extra = number(at + 30, 2),
                          note = number(at + 32, 2);
      std::string name(as_text(part(at + 46, name_size)));
      if (!name.ends_with(".npy"))
        fail("{}: '{}' in it is no array; octet reads what numpy.savez writes", source_, printable(name));
      name.resize(name.size() - 4);
      Tensor array = entry(at, fmt::format("{}: {}", source_, printable(name)));
      if (!arrays.emplace(std::move(name), std::move(array)).second) damaged("a name comes twice");
      at += 46 + name_size + extra + note;
    }
    return arrays;
  }

 private:
  [[noreturn]] void damaged(std::string_view what) const {
    fail("{}: this .npz file is damaged or cut off ({})", source_, what);
  }

  Bytes part(std::uint64_t at, std::uint64_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) damaged("it ends early");
    return bytes_.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
  }

  std::uint64_t number(std::uint64_t at, std::size_t size) const {
    const Bytes digits = part(at, size);
    std::uint64_t value = 0;
    for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<std::uint64_t>(digits[i]);
    return value;
  }

  // Where the directory is said to be; only a comment may follow.
  std::uint64_t find_end() const {
    constexpr std::size_t kSize = 22, kMaxComment = 65535;
    if (bytes_.size() < 4 || number(0, 4) != 0x04034b50) fail("{}: is not an .npz file", source_);
    if (bytes_.size() < kSize) damaged("it ends early");
    const std::size_t last = bytes_.size() - kSize;
    for (std::size_t back = 0; back <= std::min(last, kMaxComment); ++back)
      if (number(last - back, 4) == 0x06054b50) return last - back;
    damaged("its directory is missing");
  }

  // The array that the directory's entry at `at` is about.
  Tensor entry(std::uint64_t at, const std::string& name) {
    constexpr std::uint64_t kLarge = 0xffffffff;  // stands for a size that is elsewhere
    const std::uint64_t method = number(at + 10, 2), checksum = number(at + 16, 4);
    const std::uint64_t packed = number(at + 20, 4), size = number(at + 24, 4), place = number(at + 42, 4);
    if (packed == kLarge || size == kLarge || place == kLarge)
      fail("{}: an array of more than 4 GB; use .npy files", name);
    if (number(place, 4) != 0x04034b50) damaged("an entry is not where it should be");
    const Bytes data = part(place + 30 + number(place + 26, 2) + number(place + 28, 2), packed);
    total_ += size;
    if (total_ > kMaxNpzBytes) fail("{}: more than {} bytes of arrays", source_, kMaxNpzBytes);
    if (method != 0 && method != Z_DEFLATED) fail("{}: is packed in a way that octet does not know", name);
    if (method == 0 && size != packed) damaged("a size is wrong");
    // Nothing packs better than some thousand to one: a claim of more is no reason to take memory.
    if (size / 1100 > packed) damaged("a size is wrong");
    auto unpacked = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size));
    if (method == 0)
      std::ranges::copy(data, unpacked->begin());
    else
      inflate_to(data, *unpacked);
    const auto* begin = reinterpret_cast<const Bytef*>(unpacked->data());
    if (crc32_z(0, begin, unpacked->size()) != checksum) damaged("a checksum is wrong");
    const Bytes bytes(*unpacked);
    return read_npy(bytes, std::move(unpacked), name).aligned();
  }

  void inflate_to(Bytes from, std::vector<std::byte>& to) const {
    z_stream stream{};
    if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data()));
    stream.avail_in = static_cast<uInt>(from.size());  // below 4 GB, as all sizes in the directory
    stream.next_out = reinterpret_cast<Bytef*>(to.data());
    stream.avail_out = static_cast<uInt>(to.size());
    const int result = inflate(&stream, Z_FINISH);
    const bool is_whole = result == Z_STREAM_END && stream.avail_out == 0;
    inflateEnd(&stream);
    if (!is_whole) damaged("an array can't be unpacked");
  }

  Bytes bytes_;
  const std::string& source_;
  std::uint64_t total_ = 0;
};

}  // namespace

std::map<std::string, Tensor> read_npz(Bytes bytes, const std::string& source) {
  return Archive(bytes, source).read();
}

std::map<std::string, Tensor> load_npz(const std::filesystem::path& path) {
  const MappedFile file(path);
  return read_npz(file.bytes(), path.string());
}

}  // namespace octet
