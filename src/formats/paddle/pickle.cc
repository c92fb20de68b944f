#include "formats/paddle/pickle.h"

#include <array>
#include <bit>
#include <cstring>
#include <deque>
#include <unordered_map>

#include "formats/paddle/pickle_object.h"
#include "tensor/npy.h"

namespace octet::pickle {

namespace {

struct FunctionRow {
  std::string_view module, name;
  Function function;
};
constexpr std::array<FunctionRow, 14> kFunctions = {{
    {"numpy.core.multiarray", "_reconstruct", Function::kReconstruct},
    {"numpy._core.multiarray", "_reconstruct", Function::kReconstruct},
    {"numpy.core.numeric", "_frombuffer", Function::kFromBuffer},
    {"numpy._core.numeric", "_frombuffer", Function::kFromBuffer},
    {"numpy.core.multiarray", "scalar", Function::kScalar},
    {"numpy._core.multiarray", "scalar", Function::kScalar},
    {"numpy", "ndarray", Function::kNdarray},
    {"numpy", "dtype", Function::kDType},
    {"_codecs", "encode", Function::kEncode},
    {"builtins", "bytes", Function::kBytes},
    {"__builtin__", "bytes", Function::kBytes},
    {"collections", "OrderedDict", Function::kOrderedDict},
    {"builtins", "tuple", Function::kTuple},
    {"__builtin__", "tuple", Function::kTuple},
}};

class Machine {
 public:
  Machine(Bytes bytes, std::shared_ptr<const void> owner, std::string_view source)
      : bytes_(bytes), owner_(std::move(owner)), source_(source), copies_left_(2 * bytes.size()) {}

  StateValue run() {
    if (bytes_.empty() || bytes_[0] != std::byte{0x80})
      fail("{}: is not a pickle of protocol 2 or later; Paddle's parameters are saved by paddle.save",
           source_);
    for (std::size_t opcodes = 0;; ++opcodes) {
      if (opcodes == kMaxOpcodes) bad("this pickle has more than {} opcodes", kMaxOpcodes);
      opcode_at_ = at_;
      auto opcode = static_cast<unsigned char>(take(1)[0]);
      if (opcode == '.') return to_state_value(pop(), bytes_.size(), where());
      step(opcode);
    }
  }

 private:
  std::string where() const { return fmt::format("{}: byte {}", source_, opcode_at_); }
  template <class... Args>
  [[noreturn]] void bad(fmt::format_string<Args...> format, Args&&... args) const {
    fail("{}: {}", where(), fmt::format(format, std::forward<Args>(args)...));
  }

  // The bytes of the file.
  Bytes take(std::uint64_t size) {
    if (size > bytes_.size() - at_)
      bad("this pickle is cut off: {} bytes are due and {} are left", size, bytes_.size() - at_);
    Bytes taken = bytes_.subspan(at_, static_cast<std::size_t>(size));
    at_ += taken.size();
    return taken;
  }
  template <class T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }
  std::string_view line() {
    std::size_t end = as_text(bytes_).find('\n', at_);
    if (end == std::string_view::npos) bad("this pickle is cut off in a name");
    std::string_view text = as_text(take(end - at_));
    take(1);
    return text;
  }

  // The stack.
  template <class T>
  void push(T data) {
    arena_.push_back(Object{std::move(data)});
    stack_.push_back(&arena_.back());
  }
  Ref pop() {
    Ref top = peek();
    stack_.pop_back();
    return top;
  }
  Ref peek() const {
    if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back()))
      bad("this pickle takes a value from an empty stack");
    return stack_.back();
  }
  std::vector<Ref> pop_to_mark() {
    if (marks_.empty()) bad("this pickle lacks a MARK");
    auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Ref> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }
  std::vector<Ref> pop_last(std::size_t count) {
    std::vector<Ref> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  template <class T>
  T& expect(Ref object, std::string_view what) const {
    T* data = std::get_if<T>(&object->data);
    if (!data) bad("this pickle is damaged: {} is due", what);
    return *data;
  }
  const std::vector<Ref>& expect_items(Ref object, std::size_t least, std::string_view what) const {
    const auto& items = expect<Tuple>(object, what).items;
    if (items.size() < least) bad("this pickle is damaged: {} is due", what);
    return items;
  }

  void put(std::uint64_t index) { memo_[index] = peek(); }
  void get(std::uint64_t index) {
    auto entry = memo_.find(index);
    if (entry == memo_.end()) bad("this pickle recalls value {}, which it never stored", index);
    stack_.push_back(entry->second);
  }

  void step(unsigned char opcode);
  [[noreturn]] void refuse(unsigned char opcode) const;
  void append(std::vector<Ref> items);
  void set_items(std::vector<Ref> items);
  void check_protocol(int version) const;
  void push_long(Bytes bytes);
  void push_global();
  void push_stack_global();
  void push_function(std::string_view module, std::string_view name);
  void call();
  void build();
  void encode(const std::vector<Ref>& arguments);
  void push_scalar(const NumpyType& type, const Blob& blob);
  DType dtype_of(const NumpyType& type) const;
  Tensor make_array(Ref shape, Ref type, bool fortran_order, Ref data);
  void charge_copy(std::size_t size);

  Bytes bytes_;
  std::shared_ptr<const void> owner_;
  std::string_view source_;
  std::size_t at_ = 0, opcode_at_ = 0;
  std::deque<Object> arena_;
  std::vector<Ref> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Ref> memo_;
  // A stored value can be used many times, so that a small file could ask for a huge result. An honest one
  // copies the bytes of an array at most twice: in protocol 2, and in Fortran order.
  std::size_t copies_left_;
};

// Opcodes that no file of tensors needs: those that make objects of any class, and those of protocols 0
// and 1.
// clang-format off
constexpr std::pair<unsigned char, std::string_view> kRefused[] = {
    {'i', "INST"}, {'o', "OBJ"}, {0x81, "NEWOBJ"}, {0x92, "NEWOBJ_EX"}, {'P', "PERSID"}, {'Q', "BINPERSID"},
    {0x82, "EXT1"}, {0x83, "EXT2"}, {0x84, "EXT4"}, {'I', "INT"}, {'L', "LONG"}, {0x8b, "LONG4"}, {'F', "FLOAT"},
    {'S', "STRING"}, {'T', "BINSTRING"}, {'U', "SHORT_BINSTRING"}, {'V', "UNICODE"}, {'d', "DICT"}, {'l', "LIST"},
    {'p', "PUT"}, {'g', "GET"}, {0x8f, "EMPTY_SET"}, {0x90, "ADDITEMS"}, {0x91, "FROZENSET"},
    {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};

// The names and meanings are those of Python's pickletools.
void Machine::step(unsigned char opcode) {
  switch (opcode) {
    case 0x80: return check_protocol(u8());                              // PROTO
    case 0x95: take(8); return;                                          // FRAME: where Python reads ahead
    case 'N':  return push(std::monostate());                            // NONE
    case 0x88: return push(true);                                        // NEWTRUE
    case 0x89: return push(false);                                       // NEWFALSE
    case 'J':  return push(std::int64_t{number<std::int32_t>()});        // BININT
    case 'K':  return push(std::int64_t{u8()});                          // BININT1
    case 'M':  return push(std::int64_t{number<std::uint16_t>()});       // BININT2
    case 0x8a: return push_long(take(u8()));                             // LONG1
    case 'G':  return push(std::bit_cast<double>(__builtin_bswap64(u64())));  // BINFLOAT
    case 0x8c: return push(Text{as_text(take(u8()))});                   // SHORT_BINUNICODE
    case 'X':  return push(Text{as_text(take(u32()))});                  // BINUNICODE
    case 0x8d: return push(Text{as_text(take(u64()))});                  // BINUNICODE8
    case 'C':  return push(Blob{take(u8()), owner_});                    // SHORT_BINBYTES
    case 'B':  return push(Blob{take(u32()), owner_});                   // BINBYTES
    case 0x8e: return push(Blob{take(u64()), owner_});                   // BINBYTES8
    case 0x96: return push(Blob{take(u64()), owner_});                   // BYTEARRAY8
    case '(':  marks_.push_back(stack_.size()); return;                  // MARK
    case '0':  pop(); return;                                            // POP
    case '1':  pop_to_mark(); return;                                    // POP_MARK
    case '2':  stack_.push_back(peek()); return;                         // DUP
    case ')':  return push(Tuple{});                                     // EMPTY_TUPLE
    case 't':  return push(Tuple{pop_to_mark()});                        // TUPLE
    case 0x85: return push(Tuple{pop_last(1)});                          // TUPLE1
    case 0x86: return push(Tuple{pop_last(2)});                          // TUPLE2
    case 0x87: return push(Tuple{pop_last(3)});                          // TUPLE3
    case ']':  return push(List{});                                      // EMPTY_LIST
    case 'a':  return append(pop_last(1));                               // APPEND
    case 'e':  return append(pop_to_mark());                             // APPENDS
    case '}':  return push(Dict{});                                      // EMPTY_DICT
    case 's':  return set_items(pop_last(2));                            // SETITEM
    case 'u':  return set_items(pop_to_mark());                          // SETITEMS
    case 'q':  return put(u8());                                         // BINPUT
    case 'r':  return put(u32());                                        // LONG_BINPUT
    case 0x94: return put(memo_.size());                                 // MEMOIZE
    case 'h':  return get(u8());                                         // BINGET
    case 'j':  return get(u32());                                        // LONG_BINGET
    case 'c':  return push_global();                                     // GLOBAL
    case 0x93: return push_stack_global();                               // STACK_GLOBAL
    case 'R':  return call();                                            // REDUCE
    case 'b':  return build();                                           // BUILD
    default:   refuse(opcode);
  }
}
// clang-format on

void Machine::refuse(unsigned char opcode) const {
  for (auto [known, name] : kRefused)
    if (known == opcode) bad("this pickle has opcode {}; octet only reads tensors, and runs nothing", name);
  bad("this pickle is damaged: {:#04x} is no opcode", opcode);
}

void Machine::append(std::vector<Ref> items) {
  auto& list = expect<List>(peek(), "a list").items;
  list.insert(list.end(), items.begin(), items.end());
}

void Machine::set_items(std::vector<Ref> items) {
  if (items.size() % 2 != 0) bad("this pickle has a key without a value");
  auto& dict = expect<Dict>(peek(), "a dictionary").items;
  dict.insert(dict.end(), items.begin(), items.end());
}

void Machine::check_protocol(int version) const {
  if (version < 2 || version > 5) bad("this pickle has protocol {}; octet reads 2 to 5", version);
}

void Machine::push_long(Bytes bytes) {
  if (bytes.size() > 8) bad("this pickle has an integer of {} bytes; octet reads at most 8", bytes.size());
  bool negative = !bytes.empty() && (bytes.back() & std::byte{0x80}) != std::byte{0};
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  push(static_cast<std::int64_t>(value));
}

void Machine::push_global() {
  std::string_view module = line();
  push_function(module, line());
}

void Machine::push_stack_global() {
  std::vector<Ref> names = pop_last(2);
  push_function(expect<Text>(names[0], "a module's name").text,
                expect<Text>(names[1], "a function's name").text);
}

void Machine::push_function(std::string_view module, std::string_view name) {
  for (const FunctionRow& row : kFunctions)
    if (row.module == module && row.name == name) return push(row.function);
  bad("this pickle wants to call {}.{}; octet only reads tensors, and runs nothing", printable(module),
      printable(name));
}

void Machine::call() {
  const std::vector<Ref>& arguments = expect_items(pop(), 0, "a call's arguments");
  Function function = expect<Function>(pop(), "a function");
  auto need = [&](std::size_t count) {
    if (arguments.size() < count) bad("this pickle is damaged: a call has {} arguments", arguments.size());
  };
  switch (function) {
    case Function::kReconstruct:
      return push(Array{});
    case Function::kFromBuffer: {
      need(4);
      std::string_view order = expect<Text>(arguments[3], "an array's order").text;
      if (order != "C" && order != "F")
        bad("an array has the order '{}'; octet reads C and F", printable(order));
      return push(Array{make_array(arguments[2], arguments[1], order == "F", arguments[0])});
    }
    case Function::kScalar:
      need(2);
      return push_scalar(expect<NumpyType>(arguments[0], "a dtype"),
                         expect<Blob>(arguments[1], "a number's bytes"));
    case Function::kDType:
      need(1);
      return push(NumpyType{expect<Text>(arguments[0], "a dtype's name").text});
    case Function::kEncode:
      need(2);
      return encode(arguments);
    case Function::kBytes:
      if (!arguments.empty()) bad("this pickle makes bytes in a way that octet does not know");
      return push(Blob{{}, owner_});
    case Function::kOrderedDict:
      if (!arguments.empty()) bad("this pickle makes an OrderedDict in a way that octet does not know");
      return push(Dict{});
    case Function::kTuple:
      need(1);
      expect<Tuple>(arguments[0], "a tuple");
      stack_.push_back(arguments[0]);
      return;
    case Function::kNdarray:
      bad("this pickle makes an array in a way that octet does not know");
  }
}

// Protocol 2 has no bytes: it has the text of as many characters, which Python encodes.
void Machine::encode(const std::vector<Ref>& arguments) {
  std::string_view text = expect<Text>(arguments[0], "a text to encode").text;
  if (expect<Text>(arguments[1], "an encoding").text != "latin1")
    bad("this pickle encodes other than as latin1");
  charge_copy(text.size());
  auto bytes = std::make_shared<std::vector<std::byte>>();
  bytes->reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      bytes->push_back(std::byte{lead});
      continue;
    }
    // Characters 0x80 to 0xff are 110000xx 10xxxxxx.
    auto next = ++i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    if ((lead != 0xc2 && lead != 0xc3) || (next & 0xc0) != 0x80)
      bad("this pickle has text that is not latin1");
    bytes->push_back(std::byte{static_cast<unsigned char>((lead & 3) << 6 | (next & 0x3f))});
  }
  Bytes view = *bytes;
  push(Blob{view, std::move(bytes)});
}

// Completes what a call began: an array gets its state (version, shape, dtype, is_fortran, bytes), a dtype
// its (version, byte order, ...).
void Machine::build() {
  Ref state = pop();
  Ref target = peek();
  if (auto* type = std::get_if<NumpyType>(&target->data)) {
    std::string_view order = expect<Text>(expect_items(state, 2, "a dtype's state")[1], "a byte order").text;
    type->order = order.empty() ? '?' : order[0];
  } else if (auto* array = std::get_if<Array>(&target->data)) {
    const auto& items = expect_items(state, 5, "an array's state");
    array->tensor = make_array(items[1], items[2], expect<bool>(items[3], "an array's order"), items[4]);
  } else {
    bad("this pickle wants to set the state of an object; octet only reads tensors");
  }
}

DType Machine::dtype_of(const NumpyType& type) const {
  DType dtype{};
  if (type.code == "u2") {
    dtype = DType::kBFloat16;
  } else if (!parse_numpy_code(type.code, &dtype)) {
    bad("an array holds NumPy's type '{}'; octet reads bool, int8, uint8, int16, int32, int64, float16, "
        "bfloat16, "
        "float32 and float64",
        printable(type.code));
  }
  if (type.order == '>' && size_of(dtype) > 1)
    bad("an array holds big-endian numbers; octet reads little-endian ones");
  return dtype;
}

Tensor Machine::make_array(Ref shape, Ref type, bool fortran_order, Ref data) {
  Shape dims;
  for (Ref dim : expect_items(shape, 0, "an array's shape")) {
    if (dims.size() == 64) bad("an array has more than 64 dimensions");
    dims.push_back(expect<std::int64_t>(dim, "a dimension"));
  }
  DType dtype = dtype_of(expect<NumpyType>(type, "an array's dtype"));
  const Blob& blob = expect<Blob>(data, "an array's bytes");
  if (fortran_order || dtype == DType::kBool)
    charge_copy(blob.bytes.size());  // what from_numpy() may have to copy
  return from_numpy(dtype, std::move(dims), fortran_order, blob.bytes, blob.owner, where());
}

// NumPy's scalars become Python's numbers, which are wide enough for all of them.
void Machine::push_scalar(const NumpyType& type, const Blob& blob) {
  DType dtype = dtype_of(type);
  Tensor scalar = from_numpy(dtype, {}, false, blob.bytes, blob.owner, where());
  if (dtype == DType::kBool) return push(scalar.data<bool>()[0]);
  if (dtype >= DType::kFloat16) return push(scalar.cast(DType::kFloat64).data<double>()[0]);
  push(scalar.cast(DType::kInt64).data<std::int64_t>()[0]);
}

void Machine::charge_copy(std::size_t size) {
  if (size > copies_left_) bad("this pickle copies its data over and over");
  copies_left_ -= size;
}

}  // namespace

StateValue read(Bytes bytes, std::shared_ptr<const void> owner, std::string_view source) {
  return Machine(bytes, std::move(owner), source).run();
}

StateValue load(const std::filesystem::path& path) {
  auto file = std::make_shared<MappedFile>(path);
  return read(file->bytes(), file, path.string());
}

}  // namespace octet::pickle
