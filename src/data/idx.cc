#include "data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "base/error.h"

namespace octet {

namespace {

// Far more than any such dataset has; a packed file can claim to hold anything.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 32;
constexpr std::int64_t kMaxSide = 4096;

// Gives the bytes of a file one after the other, unpacked.
class Unpacked {
 public:
  Unpacked(Bytes bytes, const std::string& name) : rest_(bytes), name_(name) {
    constexpr int kGzip = 16 + MAX_WBITS;
    packed_ = bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
    if (packed_ && inflateInit2(&stream_, kGzip) != Z_OK) throw std::bad_alloc();
  }
  ~Unpacked() {
    if (packed_) inflateEnd(&stream_);
  }
  Unpacked(const Unpacked&) = delete;
  Unpacked& operator=(const Unpacked&) = delete;

  // Fills `to` as far as the file goes; how far that is.
  std::size_t read(std::uint8_t* to, std::size_t size) {
    if (!packed_) {
      size = std::min(size, rest_.size());
      if (size > 0) std::memcpy(to, rest_.data(), size);
      rest_ = rest_.subspan(size);
      return size;
    }
    constexpr std::size_t kStep = std::size_t{1} << 30;  // zlib counts in unsigned int
    std::size_t done = 0;
    while (done < size && !ended_) {
      const std::size_t in = std::min(rest_.size(), kStep), out = std::min(size - done, kStep);
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(rest_.data()));
      stream_.avail_in = static_cast<uInt>(in);
      stream_.next_out = to + done;
      stream_.avail_out = static_cast<uInt>(out);
      const int result = inflate(&stream_, Z_NO_FLUSH);
      rest_ = rest_.subspan(in - stream_.avail_in);
      done += out - stream_.avail_out;
      ended_ = result == Z_STREAM_END;
      if (result == Z_BUF_ERROR) fail("{}: the gzip data ends early, the file is truncated", name_);
      if (result != Z_OK && !ended_)
        fail("{}: broken gzip data{}{}", name_, stream_.msg ? ": " : "", stream_.msg ? stream_.msg : "");
    }
    return done;
  }

 private:
  Bytes rest_;
  const std::string& name_;
  bool packed_ = false, ended_ = false;
  z_stream stream_{};
};

// The dimensions at the beginning. The file starts with two zeros, 8 for "bytes" and the number of
// dimensions.
template <std::size_t kRank>
std::array<std::int64_t, kRank> read_dimensions(Unpacked& file, const std::string& name) {
  std::array<std::uint8_t, 4 + 4 * kRank> header;
  const std::size_t size = file.read(header.data(), header.size());
  constexpr std::array<std::uint8_t, 4> kMagic = {0, 0, 8, kRank};
  if (size < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), header.begin()))
    fail("{}: not an idx file of {}: it does not begin with 0, 0, 8, {}", name,
         kRank == 3 ? "pictures" : "labels", kRank);
  if (size < header.size()) fail("{}: {} bytes, which is too short for an idx file", name, size);
  std::array<std::int64_t, kRank> dimensions;
  for (std::size_t i = 0; i < kRank; ++i) {
    const std::uint8_t* at = header.data() + 4 * (i + 1);
    dimensions[i] = std::int64_t{at[0]} << 24 | at[1] << 16 | at[2] << 8 | at[3];
  }
  return dimensions;
}

// Exactly `size` bytes. Memory is taken as far as the data goes.
std::vector<std::uint8_t> read_values(Unpacked& file, std::int64_t size, const std::string& name) {
  constexpr std::int64_t kStep = 1 << 22;
  std::vector<std::uint8_t> values;
  while (std::ssize(values) < size) {
    const auto at = values.size();
    const auto part = static_cast<std::size_t>(std::min(size - std::ssize(values), kStep));
    values.resize(at + part);
    const std::size_t done = file.read(values.data() + at, part);
    if (done < part) fail("{}: truncated: it announces {} values and has {}", name, size, at + done);
  }
  // Reading on makes zlib compare the checksum that follows.
  std::uint8_t more = 0;
  if (file.read(&more, 1) > 0) fail("{}: more data than the {} values that it announces", name, size);
  return values;
}

}  // namespace

Image IdxPictures::picture(std::int64_t i) const {
  Image image(width, height);
  const std::size_t size = image.pixels.size() / Image::kChannels;
  const std::uint8_t* from = pixels.data() + static_cast<std::size_t>(i) * size;
  for (std::size_t p = 0; p < size; ++p)
    std::fill_n(image.pixels.data() + p * Image::kChannels, Image::kChannels, from[p]);
  return image;
}

IdxPictures read_idx_pictures(Bytes bytes, const std::string& name) {
  Unpacked file(bytes, name);
  const auto [count, height, width] = read_dimensions<3>(file, name);
  if (count == 0) fail("{}: holds no pictures", name);
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide)
    fail("{}: pictures of {}x{} pixels; octet reads idx files of up to {}x{}", name, width, height, kMaxSide,
         kMaxSide);
  if (count > kMaxBytes / (width * height))
    fail("{}: {} pictures of {}x{} pixels are more than the {} GB that octet reads", name, count, width,
         height, kMaxBytes >> 30);
  return {count, static_cast<int>(width), static_cast<int>(height),
          read_values(file, count * width * height, name)};
}

std::vector<std::uint8_t> read_idx_labels(Bytes bytes, const std::string& name) {
  Unpacked file(bytes, name);
  const auto [count] = read_dimensions<1>(file, name);
  return read_values(file, count, name);
}

IdxPictures load_idx_pictures(const std::filesystem::path& path) {
  return read_idx_pictures(MappedFile(path).bytes(), path.string());
}

std::vector<std::uint8_t> load_idx_labels(const std::filesystem::path& path) {
  return read_idx_labels(MappedFile(path).bytes(), path.string());
}

}  // namespace octet
