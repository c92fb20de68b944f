#include <bit>
#include <limits>

#include "formats/paddle/pickle.h"
#include "tensor/npy.h"

namespace octet::pickle {

namespace {

// The names of opcodes are those of Python's pickletools.
class Writer {
 public:
  Writer(AtomicFiles& out, const std::filesystem::path& path) : path_(path), out_(out) { out_.begin(path); }

  void write(const StateValue& value) {
    out_.write(std::string_view("\x80\x04", 2));  // PROTO 4
    put(value, 0);
    out_.write(".");  // STOP
  }

 private:
  void put(const StateValue& value, int depth) {
    if (depth > kMaxDepth) fail("{}: collections nest more than {} deep", path_.string(), kMaxDepth);
    std::visit([&](const auto& data) { put_data(data, depth + 1); }, value.data);
  }

  void put_data(std::monostate, int) { out_.write("N"); }                  // NONE
  void put_data(bool value, int) { out_.write(value ? "\x88" : "\x89"); }  // NEWTRUE, NEWFALSE
  void put_data(std::int64_t value, int) { put_integer(value); }
  void put_data(double value, int) {
    out_.write("G");  // BINFLOAT, big-endian
    put_raw(__builtin_bswap64(std::bit_cast<std::uint64_t>(value)));
  }
  void put_data(const std::string& text, int) { put_text(text); }
  void put_data(const StateBytes& value, int) { put_bytes(as_bytes(value.bytes)); }
  void put_data(const StateList& list, int depth) {
    out_.write("](");  // EMPTY_LIST MARK
    for (const StateValue& item : list.items) put(item, depth);
    out_.write("e");  // APPENDS
  }
  void put_data(const StateTuple& tuple, int depth) {
    out_.write("(");  // MARK
    for (const StateValue& item : tuple.items) put(item, depth);
    out_.write("t");  // TUPLE
  }
  void put_data(const StateMap& dict, int depth) {
    out_.write("}(");  // EMPTY_DICT MARK
    for (const StateEntry& entry : dict.entries) {
      put(entry.key, depth);
      put(entry.value, depth);
    }
    out_.write("u");  // SETITEMS
  }
  // numpy.core.multiarray._reconstruct(numpy.ndarray, (0,), b'b'), then its state. All versions of NumPy know
  // the function by this name.
  void put_data(const Tensor& tensor, int) {
    check(!tensor.empty(), "a pickle is given a tensor that holds nothing");
    bool is_bfloat16 = tensor.dtype() == DType::kBFloat16;
    out_.write("cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(");  // GLOBAL MARK GLOBAL MARK
    put_integer(0);
    out_.write("t");  // TUPLE
    put_bytes(as_bytes("b"));
    out_.write("tR(");  // TUPLE REDUCE MARK
    put_integer(1);
    out_.write("(");  // MARK
    for (std::int64_t dim : tensor.shape()) put_integer(dim);
    out_.write("tcnumpy\ndtype\n(");  // TUPLE GLOBAL MARK
    put_text(is_bfloat16 ? "u2" : numpy_code(tensor.dtype()));
    out_.write("\x89\x88tR(");  // NEWFALSE NEWTRUE TUPLE REDUCE MARK
    put_integer(3);
    put_text(size_of(tensor.dtype()) == 1 ? "|" : "<");
    out_.write("NNN");  // NONE NONE NONE
    put_integer(-1);
    put_integer(-1);
    put_integer(0);
    out_.write("tb\x89");  // TUPLE BUILD NEWFALSE
    put_bytes(tensor.bytes());
    out_.write("tb");  // TUPLE BUILD
  }

  void put_integer(std::int64_t value) {
    if (value == static_cast<std::int32_t>(value)) {
      out_.write("J");  // BININT
      put_raw(static_cast<std::int32_t>(value));
    } else {
      out_.write("\x8a\x08");  // LONG1 of eight bytes
      put_raw(value);
    }
  }
  void put_text(std::string_view text) {
    if (text.size() > std::numeric_limits<std::uint32_t>::max())
      fail("{}: a text of {} bytes does not fit", path_.string(), text.size());
    out_.write("X");  // BINUNICODE
    put_raw(static_cast<std::uint32_t>(text.size()));
    out_.write(text);
  }
  void put_bytes(Bytes bytes) {
    if (bytes.size() <= std::numeric_limits<std::uint32_t>::max()) {
      out_.write("B");  // BINBYTES
      put_raw(static_cast<std::uint32_t>(bytes.size()));
    } else {
      out_.write("\x8e");  // BINBYTES8
      put_raw(static_cast<std::uint64_t>(bytes.size()));
    }
    out_.write(bytes);
  }
  template <class T>
  void put_raw(T value) {
    out_.write(std::as_bytes(std::span(&value, 1)));
  }

  std::filesystem::path path_;
  AtomicFiles& out_;
};

}  // namespace

void add(AtomicFiles& files, const std::filesystem::path& path, const StateValue& value) {
  Writer(files, path).write(value);
}

}  // namespace octet::pickle
