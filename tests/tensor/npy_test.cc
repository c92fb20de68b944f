#include "tensor/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/damage.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Tensor parse(const std::string& content) {
  auto copy = std::make_shared<std::string>(content);
  return read_npy(as_bytes(*copy), copy, "x.npy");
}

std::string error_of(const std::string& content) {
  try {
    parse(content);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string length = {static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  if (version > 1) length += std::string(2, '\0');
  return "\x93NUMPY" + std::string{static_cast<char>(version), '\0'} + length + header + data;
}

std::string npy(const char* descr, const char* shape, const std::string& data, const char* order = "False") {
  return npy(
      std::string("{'descr': '") + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n",
      data);
}

template <class T>
std::string raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// What numpy.save(path, numpy.arange(6, dtype='<i2').reshape(2, 3)) writes (NumPy 1.26 and 2.4).
std::string numpy_file() {
  std::string header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }";
  header.append(117 - header.size(), ' ');
  header += '\n';
  return npy(header, raw<std::int16_t>({0, 1, 2, 3, 4, 5}));
}

TEST(Npy, ReadsWhatNumpyWrites) {
  Tensor x = parse(numpy_file());
  EXPECT_EQ(x.dtype(), DType::kInt16);
  EXPECT_THAT(x.shape(), ElementsAre(2, 3));
  EXPECT_THAT(x.aligned().data<std::int16_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Npy, WritesWhatNumpyWrites) {
  TempDir dir;
  save_npy(dir / "x.npy", Tensor::of<std::int16_t>({2, 3}, {0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(read_file(dir / "x.npy"), numpy_file());
}

TEST(Npy, KeepsEveryTypeAndShape) {
  TempDir dir;
  for (DType dtype : {DType::kBool, DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kInt64,
                      DType::kFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{0}, Shape{3, 0, 2}, Shape{2, 3, 4, 5}}) {
      Tensor x(dtype, shape);
      for (std::size_t i = 0; i < x.size_bytes(); ++i) x.mutable_bytes()[i] = std::byte(i % 2);
      save_npy(dir / "x.npy", x);
      EXPECT_EQ(read_file(dir / "x.npy").size() % 64, x.size_bytes() % 64)
          << "the data starts at a multiple of 64";
      Tensor y = load_npy(dir / "x.npy");
      EXPECT_EQ(y.dtype(), dtype);
      EXPECT_EQ(y.shape(), shape);
      EXPECT_TRUE(as_text(y.bytes()) == as_text(x.bytes())) << name_of(dtype) << to_string(shape);
    }
  }
}

TEST(Npy, MapsTheFileInsteadOfCopyingIt) {
  auto content = std::make_shared<std::string>(numpy_file());
  Tensor x = read_npy(as_bytes(*content), content, "x.npy");
  EXPECT_EQ(reinterpret_cast<const char*>(x.bytes().data()), content->data() + 128);
  EXPECT_EQ(content.use_count(), 2);
}

TEST(Npy, TransposesFortranOrder) {
  // numpy.asfortranarray([[[1, 2], [3, 4], [5, 6]]])
  Tensor x = parse(npy("<i4", "(1, 3, 2)", raw<std::int32_t>({1, 3, 5, 2, 4, 6}), "True"));
  EXPECT_THAT(x.shape(), ElementsAre(1, 3, 2));
  EXPECT_THAT(x.data<std::int32_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(parse(npy("<i4", "(0, 3)", "", "True")).size(), 0);
}

TEST(Npy, ReadsVersions2And3) {
  std::string header = "{'shape': (2,), 'fortran_order': False, \"descr\": '|u1'}\n";
  for (int version : {2, 3})
    EXPECT_THAT(parse(npy(header, "ab", version)).data<std::uint8_t>(), ElementsAre('a', 'b'));
}

TEST(Npy, MakesBoolsOfOddBytes) {
  EXPECT_THAT(parse(npy("|b1", "(3,)", std::string("\x00\x01\x7f", 3))).data<bool>(),
              ElementsAre(false, true, true));
}

TEST(Npy, SaysWhatIsWrong) {
  std::string two = raw<float>({1, 2});
  EXPECT_THAT(error_of("PK\x03\x04 a zip file"), HasSubstr("x.npy: is not a .npy file"));
  EXPECT_THAT(error_of(""), HasSubstr("not a .npy file"));
  EXPECT_THAT(error_of(npy("{}", "", 4)), HasSubstr("version 4"));
  EXPECT_THAT(error_of(npy("|O", "(2,)", two)), HasSubstr("type '|O'"));
  EXPECT_THAT(error_of(npy("<c8", "(1,)", two)), HasSubstr("type '<c8'"));
  EXPECT_THAT(error_of(npy("<f4\n", "(1,)", two)), HasSubstr("type '?'"));
  EXPECT_THAT(error_of(npy(">f4", "(2,)", two)), HasSubstr("big-endian"));
  EXPECT_THAT(error_of(npy("<f4", "(3,)", two)), HasSubstr("needs 12 bytes, there are 8"));
  EXPECT_THAT(error_of(npy("<f4", "(1,)", two)), HasSubstr("needs 4 bytes, there are 8"));
  EXPECT_THAT(error_of(npy("<f4", "(-2,)", two)), HasSubstr("dimension that is not a number"));
  EXPECT_THAT(error_of(npy("<f4", "(99999999999999999999,)", two)),
              HasSubstr("dimension that is not a number"));
  EXPECT_THAT(error_of(npy("<f4", "(4294967296, 4294967296)", two)), HasSubstr("too many elements"));
  EXPECT_THAT(error_of(npy("<f4", "(2 2)", two)), HasSubstr("no ')'"));
  EXPECT_THAT(error_of(npy("{'descr': '<f4', 'shape': (2,)}\n", two)), HasSubstr("not all of"));
  EXPECT_THAT(error_of(npy("{'descr': [('a', '<f4')]}\n", two)), HasSubstr("structured array"));
  EXPECT_THROW(load_npy("/nonexistent/x.npy"), Error);
}

TEST(Npy, RefusesBfloat16) {
  TempDir dir;
  EXPECT_THROW(save_npy(dir / "x.npy", Tensor(DType::kBFloat16, {1})), Error);
  EXPECT_FALSE(std::filesystem::exists(dir / "x.npy"));
}

TEST(Npy, SurvivesDamage) {
  expect_survives_damage(numpy_file(), parse, 1, 2000);
  expect_survives_damage(npy("|b1", "(2, 3)", std::string(6, '\1'), "True"), parse, 1, 2000);
}

}  // namespace
}  // namespace octet
