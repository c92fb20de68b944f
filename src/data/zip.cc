#include "data/zip.h"

#include <zlib.h>

#include <algorithm>
#include <new>

#include "base/error.h"

namespace octet {

namespace {

[[noreturn]] void fail_damaged(const std::string& source, const std::string& kind, std::string_view what) {
  fail("{}: {} is damaged or cut off ({})", source, kind, what);
}

class Reader {
 public:
  Reader(Bytes bytes, const std::string& source, const std::string& kind)
      : bytes_(bytes), source_(source), kind_(kind) {}

  std::vector<ZipEntry> read() const {
    const std::uint64_t end = find_end(), count = number(end + 10, 2);
    std::uint64_t at = number(end + 16, 4);
    std::vector<ZipEntry> entries;
    for (std::uint64_t i = 0; i < count; ++i) {
      if (number(at, 4) != 0x02014b50) damaged("its directory is wrong");
      entries.push_back(entry(at));
      at += 46 + number(at + 28, 2) + number(at + 30, 2) + number(at + 32, 2);
    }
    return entries;
  }

 private:
  [[noreturn]] void damaged(std::string_view what) const { fail_damaged(source_, kind_, what); }

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
    if (bytes_.size() < kSize) damaged("it ends early");
    const std::size_t last = bytes_.size() - kSize;
    for (std::size_t back = 0; back <= std::min(last, kMaxComment); ++back)
      if (number(last - back, 4) == 0x06054b50) return last - back;
    damaged("its directory is missing");
  }

  // What the directory's entry at `at` is about.
  ZipEntry entry(std::uint64_t at) const {
    constexpr std::uint64_t kLarge = 0xffffffff;  // stands for a size that is elsewhere
    constexpr std::uint64_t kUnix = 3, kTypes = 0170000, kLink = 0120000;
    const std::uint64_t method = number(at + 10, 2), packed = number(at + 20, 4), place = number(at + 42, 4);
    const std::uint64_t type = number(at + 5, 1) == kUnix ? (number(at + 38, 4) >> 16) & kTypes : 0;
    ZipEntry entry{.name = std::string(as_text(part(at + 46, number(at + 28, 2)))),
                   .is_link = type == kLink,
                   .is_encrypted = (number(at + 8, 2) & 1) != 0,
                   .is_stored = method == 0,
                   .is_deflated = method == Z_DEFLATED,
                   .size = number(at + 24, 4),
                   .checksum = number(at + 16, 4),
                   .packed = {}};
    entry.is_large = packed == kLarge || entry.size == kLarge || place == kLarge;
    if (entry.is_large) return entry;
    if (number(place, 4) != 0x04034b50) damaged("an entry is not where it should be");
    entry.packed = part(place + 30 + number(place + 26, 2) + number(place + 28, 2), packed);
    return entry;
  }

  Bytes bytes_;
  const std::string& source_;
  const std::string& kind_;
};

}  // namespace

std::vector<ZipEntry> read_zip(Bytes bytes, const std::string& source, const std::string& kind) {
  return Reader(bytes, source, kind).read();
}

void unpack_entry(const ZipEntry& entry, const std::string& source, const std::string& kind,
                  const std::function<void(Bytes)>& sink) {
  std::uint64_t made = 0;
  uLong sum = crc32_z(0, nullptr, 0);
  const auto check_and_give = [&](Bytes piece) {
    made += piece.size();
    if (made > entry.size) fail_damaged(source, kind, "a size is wrong");
    sum = crc32_z(sum, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
    sink(piece);
  };
  if (entry.is_stored)
    check_and_give(entry.packed);
  else if (!inflate_pieces(entry.packed, -MAX_WBITS, check_and_give))
    fail_damaged(source, kind, "an entry can't be unpacked");
  if (made != entry.size) fail_damaged(source, kind, "a size is wrong");
  if (sum != entry.checksum) fail_damaged(source, kind, "a checksum is wrong");
}

bool inflate_pieces(Bytes from, int window_bits, const std::function<void(Bytes)>& sink) {
  z_stream stream{};
  if (inflateInit2(&stream, window_bits) != Z_OK) throw std::bad_alloc();
  struct End {
    z_stream& stream;
    ~End() { inflateEnd(&stream); }
  } end{stream};
  std::vector<std::byte> piece(1 << 18);
  constexpr std::size_t kMost = 1 << 30;  // zlib counts in 32 bits
  std::size_t at = 0;
  for (int result = Z_OK; result != Z_STREAM_END;) {
    const std::size_t size = std::min(from.size() - at, kMost);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(from.data() + at));
    stream.avail_in = static_cast<uInt>(size);
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    result = inflate(&stream, Z_NO_FLUSH);
    at += size - stream.avail_in;
    const std::size_t made = piece.size() - stream.avail_out;
    if (result != Z_OK && result != Z_STREAM_END) return false;
    if (result == Z_OK && made == 0 && at == from.size()) return false;
    sink(Bytes(piece).first(made));
  }
  return true;
}

}  // namespace octet
