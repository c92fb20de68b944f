#include "formats/paddle_common/params.h"

#include <cstring>

#include "formats/paddle_common/op_desc.h"
#include "formats/paddle_common/tensor_desc.h"
#include "formats/protobuf.h"

namespace octet::paddle {

namespace {

// Below this, a copy costs less than the trouble with a view's alignment.
constexpr std::size_t kCopyBelow = 4096;

class Reader {
 public:
  Reader(const MappedFile& file) : file_(file), left_(file.bytes()) {}

  std::size_t offset() const { return file_.bytes().size() - left_.size(); }
  bool at_end() const { return left_.empty(); }
  void start_record(const std::string& name) { name_ = &name; }

  Bytes take(std::uint64_t count, const char* what) {
    if (count > left_.size())
      fail(
          "{}: cut off at byte {}, in the {} of parameter {} ({} bytes needed, {} left); copy the file again",
          file_.path().string(), offset(), what, *name_, count, left_.size());
    Bytes taken = left_.first(static_cast<std::size_t>(count));
    left_ = left_.subspan(static_cast<std::size_t>(count));
    return taken;
  }

  template <class T>
  T number(const char* what) {
    T value;
    std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
    return value;
  }

  [[noreturn]] void bad(const std::string& what) const {
    fail("{}: byte {}: parameter {}: {}; do the model and the params file belong together?",
         file_.path().string(), offset(), *name_, what);
  }

 private:
  const MappedFile& file_;
  Bytes left_;
  const std::string* name_ = nullptr;
};

Tensor read_tensor(Reader& in, const std::shared_ptr<const MappedFile>& file) {
  if (auto version = in.number<std::uint32_t>("header"); version != 0)
    in.bad(fmt::format("not a tensor record (version {}, expected 0)", version));
  auto levels = in.number<std::uint64_t>("header");
  if (levels > 16) in.bad(fmt::format("not a tensor record ({} LoD levels)", levels));
  for (std::uint64_t i = 0; i < levels; ++i) in.take(in.number<std::uint64_t>("LoD"), "LoD");
  if (auto version = in.number<std::uint32_t>("header"); version != 0)
    in.bad(fmt::format("not a tensor record (tensor version {}, expected 0)", version));
  auto length = in.number<std::int32_t>("header");
  if (length < 0) in.bad("not a tensor record (negative length)");

  TensorDesc desc;
  try {
    desc = parse_tensor_desc(as_text(in.take(static_cast<std::uint64_t>(length), "description")));
  } catch (const protozero::exception& error) {
    in.bad(fmt::format("its description is damaged ({})", error.what()));
  }
  DType dtype;
  if (!dtype_from_code(desc.data_type, &dtype))
    in.bad(fmt::format("unsupported data type {}", desc.data_type));
  std::uint64_t bytes = 0;
  try {
    bytes = static_cast<std::uint64_t>(element_count(desc.shape)) * size_of(dtype);
  } catch (const Error& error) {
    in.bad(error.what());
  }
  Bytes data = in.take(bytes, "data");
  Tensor view = Tensor::view(dtype, std::move(desc.shape), data.data(), file);
  return bytes < kCopyBelow ? view.clone() : view;
}

}  // namespace

std::vector<Param> read_params(const std::shared_ptr<const MappedFile>& file,
                               const std::vector<std::string>& names) {
  std::vector<Param> params;
  params.reserve(names.size());
  Reader in(*file);
  for (const std::string& name : names) {
    in.start_record(name);
    std::size_t begin = in.offset();
    Tensor tensor = read_tensor(in, file);
    params.push_back({name, std::move(tensor), file->bytes().subspan(begin, in.offset() - begin)});
  }
  if (!in.at_end())
    fail(
        "{}: {} bytes are left after the model's {} parameters; do the model and the params file belong "
        "together?",
        file->path().string(), file->bytes().size() - in.offset(), names.size());
  return params;
}

std::string write_record_header(const Tensor& tensor) {
  std::string header(16, '\0');  // LoD version, number of LoD levels, tensor version: all 0
  std::string desc = write_tensor_desc({code_of(tensor.dtype()), tensor.shape()});
  auto length = static_cast<std::int32_t>(desc.size());
  header.append(reinterpret_cast<const char*>(&length), sizeof length);
  return header + desc;
}

}  // namespace octet::paddle
