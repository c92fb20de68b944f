#include "tensor/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace octet {

static_assert(std::endian::native == std::endian::little, "files are mapped, and they are little-endian");

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeader = 1 << 16;  // numpy.load refuses more than 10000 bytes unless told otherwise
constexpr std::size_t kMaxRank = 64;         // NumPy's own limit

struct Code {
  std::string_view code;
  DType dtype;
};
constexpr std::array<Code, 9> kCodes = {{{"b1", DType::kBool},
                                         {"i1", DType::kInt8},
                                         {"u1", DType::kUInt8},
                                         {"i2", DType::kInt16},
                                         {"i4", DType::kInt32},
                                         {"i8", DType::kInt64},
                                         {"f2", DType::kFloat16},
                                         {"f4", DType::kFloat32},
                                         {"f8", DType::kFloat64}}};

struct Header {
  std::string_view descr;
  bool fortran_order = false;
  Shape shape;
};

// The header is a Python dictionary literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  Header parse() {
    Header header;
    int seen = 0;
    expect('{');
    while (!take('}')) {
      std::string_view key = string();
      expect(':');
      if (key == "descr") {
        header.descr = descr();
      } else if (key == "fortran_order") {
        header.fortran_order = boolean();
      } else if (key == "shape") {
        header.shape = shape();
      } else {
        bad("an unknown key");
      }
      seen |= key == "descr" ? 1 : key == "shape" ? 2 : 4;
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size()) bad("text after its end");
    if (seen != 7) bad("not all of 'descr', 'fortran_order' and 'shape'");
    return header;
  }

 private:
  [[noreturn]] void bad(std::string_view what) const {
    fail("{}: the header of this .npy file has {} (at character {})", source_, what, at_);
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) bad(fmt::format("no '{}' where one is due", c));
  }
  bool take_word(std::string_view word) {
    skip_space();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string_view string() {
    skip_space();
    char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') bad("no string where one is due");
    std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) bad("a string without an end");
    std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value;
  }
  std::string_view descr() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[')
      fail("{}: holds a structured array; octet reads plain ones", source_);
    return string();
  }
  bool boolean() {
    if (take_word("True")) return true;
    if (!take_word("False")) bad("neither True nor False for 'fortran_order'");
    return false;
  }
  Shape shape() {
    Shape shape;
    expect('(');
    while (!take(')')) {
      skip_space();
      std::int64_t dim = 0;
      auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) bad("a dimension that is not a number between 0 and 2^63");
      if (shape.size() == kMaxRank) bad("more dimensions than NumPy has");
      at_ = static_cast<std::size_t>(end - text_.data());
      take('L');  // Python 2's long integers
      shape.push_back(dim);
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_, source_;
  std::size_t at_ = 0;
};

DType parse_descr(std::string_view descr, std::string_view source) {
  DType dtype{};
  bool known = descr.size() == 3 && parse_numpy_code(descr.substr(1), &dtype);
  if (known && descr[0] == '>' && size_of(dtype) > 1)
    fail("{}: holds big-endian numbers ({}); save it again with array.astype('<{}')", source, descr,
         descr.substr(1));
  if (!known || !(descr[0] == '<' || descr[0] == '|' || descr[0] == '=' || descr[0] == '>')) {
    bool clean = descr.size() < 32 &&
                 std::all_of(descr.begin(), descr.end(), [](char c) { return c > ' ' && c < 127; });
    fail(
        "{}: holds numbers of NumPy's type '{}'; octet reads bool, int8, uint8, int16, int32, int64, "
        "float16, "
        "float32 and float64",
        source, clean ? descr : "?");
  }
  return dtype;
}

// Walks the tensor in row-major order; strides[i] is how far apart in `from` neighbours along dimension i
// are.
void transpose(const Shape& shape, std::size_t element, const std::byte* from, std::byte* to) {
  std::vector<std::size_t> strides(shape.size()), index(shape.size(), 0);
  std::size_t count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    strides[i] = count * element;
    count *= static_cast<std::size_t>(shape[i]);
  }
  std::size_t offset = 0;
  for (std::size_t n = 0; n < count; ++n, to += element) {
    std::memcpy(to, from + offset, element);
    for (std::size_t i = shape.size(); i-- > 0;) {
      offset += strides[i];
      if (++index[i] < static_cast<std::size_t>(shape[i])) break;
      offset -= strides[i] * index[i];
      index[i] = 0;
    }
  }
}

}  // namespace

bool parse_numpy_code(std::string_view code, DType* dtype) {
  for (const Code& row : kCodes) {
    if (row.code != code) continue;
    *dtype = row.dtype;
    return true;
  }
  return false;
}

std::string_view numpy_code(DType dtype) {
  for (const Code& row : kCodes)
    if (row.dtype == dtype) return row.code;
  return "";
}

Tensor from_numpy(DType dtype, Shape shape, bool fortran_order, Bytes bytes,
                  std::shared_ptr<const void> owner, std::string_view source) {
  // element_count() stops at the first 0; a negative dimension must not hide behind one.
  if (!is_known(shape)) fail("{}: an array has a negative dimension", source);
  std::uint64_t count = 0;
  try {
    count = static_cast<std::uint64_t>(element_count(shape));
  } catch (const Error& error) {
    fail("{}: {}", source, error.what());
  }
  if (count * size_of(dtype) != bytes.size())
    fail("{}: a {} array of shape {} needs {} bytes, there are {}; the file is damaged or not complete",
         source, name_of(dtype), to_string(shape), count * size_of(dtype), bytes.size());
  // A transposition that leaves at most one dimension longer than 1 changes nothing.
  fortran_order &= std::count_if(shape.begin(), shape.end(), [](std::int64_t dim) { return dim != 1; }) > 1;
  // NumPy takes any byte but 0 for True; in C++ only 0 and 1 are bools.
  bool odd_bools = dtype == DType::kBool &&
                   std::any_of(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (!fortran_order && !odd_bools)
    return Tensor::view(dtype, std::move(shape), bytes.data(), std::move(owner));

  Tensor tensor(dtype, shape);
  std::span<std::byte> out = tensor.mutable_bytes();
  if (fortran_order && count > 0) {
    transpose(shape, size_of(dtype), bytes.data(), out.data());
  } else {
    std::copy(bytes.begin(), bytes.end(), out.begin());
  }
  if (odd_bools)
    for (std::byte& b : out) b = b == std::byte{0} ? std::byte{0} : std::byte{1};
  return tensor;
}

Tensor read_npy(Bytes bytes, std::shared_ptr<const void> owner, std::string_view source) {
  std::string_view text = as_text(bytes);
  if (text.substr(0, kMagic.size()) != kMagic) fail("{}: is not a .npy file", source);
  auto cut_off = [&] { fail("{}: this .npy file is cut off in its header", source); };
  auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(text[i])); };
  if (text.size() < 12) cut_off();
  std::size_t version = byte(6);
  if (version < 1 || version > 3)
    fail("{}: is a .npy file of version {}; octet reads 1, 2 and 3", source, version);
  std::size_t start = version == 1 ? 10 : 12;
  std::size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > kMaxHeader) fail("{}: this .npy file claims a header of {} bytes", source, length);
  if (text.size() - start < length) cut_off();

  Header header = HeaderParser(text.substr(start, length), source).parse();
  DType dtype = parse_descr(header.descr, source);
  return from_numpy(dtype, std::move(header.shape), header.fortran_order, bytes.subspan(start + length),
                    std::move(owner), source);
}

Tensor load_npy(const std::filesystem::path& path) {
  auto file = std::make_shared<MappedFile>(path);
  return read_npy(file->bytes(), file, path.string());
}

void save_npy(const std::filesystem::path& path, const Tensor& tensor) {
  AtomicFiles files;
  add_npy(files, path, tensor);
  files.commit();
}

void add_npy(AtomicFiles& files, const std::filesystem::path& path, const Tensor& tensor) {
  std::string_view code = numpy_code(tensor.dtype());
  if (code.empty())
    fail("{}: a .npy file cannot hold {}; cast it to float32", path.string(), name_of(tensor.dtype()));
  std::string shape;
  for (std::int64_t dim : tensor.shape()) shape += (shape.empty() ? "" : ", ") + std::to_string(dim);
  if (tensor.rank() == 1) shape += ',';
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                   size_of(tensor.dtype()) == 1 ? '|' : '<', code, shape);
  // NumPy leaves room for the first dimension to grow to 21 digits, then fills up to a multiple of 64 (with
  // 64 more spaces when there is nothing to fill).
  if (tensor.rank() > 0) header.append(21 - std::to_string(tensor.dim(0)).size(), ' ');
  constexpr std::size_t kPrefix = 10;
  header.append(64 - (kPrefix + header.size() + 1) % 64, ' ');
  header += '\n';

  std::string prefix(kMagic);
  prefix += {1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  files.add(path, prefix + header);
  files.write(tensor.bytes());
}

}  // namespace octet
