#include "formats/paddle/pickle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/damage.h"
#include "support/pickle_samples.h"
#include "support/temp_dir.h"

namespace octet::pickle {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using namespace std::string_literals;

StateValue parse(const std::string& content) {
  auto copy = std::make_shared<std::string>(content);
  return read(as_bytes(*copy), copy, "x.pdparams");
}

void save(const std::filesystem::path& path, const StateValue& value) {
  AtomicFiles files;
  add(files, path, value);
  files.commit();
}

std::string error_of(const std::string& content) {
  try {
    parse(content);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// A pickle of protocol 4 from its opcodes, and why it cannot be read.
std::string program(const std::string& opcodes) {
  return "\x80\x04" + opcodes + ".";
}
std::string error_in(const std::string& opcodes) {
  return error_of(program(opcodes));
}

template <class T>
T get(const StateValue& value) {
  const T* data = value.get_if<T>();
  if (!data) ADD_FAILURE() << "is " << value.type_name();
  return data ? *data : T();
}

template <class T>
T get(const StateValue& dict, std::string_view key) {
  const auto* entries = dict.get_if<StateMap>();
  const StateValue* value = entries ? entries->find(key) : nullptr;
  if (!value) ADD_FAILURE() << "no " << key;
  return value ? get<T>(*value) : T();
}

TEST(Pickle, ReadsParametersOfEveryProtocol) {
  for (const std::string& sample : {samples::kParams2, samples::kParams3, samples::kParams4}) {
    StateValue value = parse(sample);
    Tensor weight = get<Tensor>(value, "0.weight").aligned();
    EXPECT_THAT(weight.shape(), ElementsAre(2, 2));
    EXPECT_THAT(weight.data<float>(), ElementsAre(1, -2, 0.5, 255));
    Tensor n = get<Tensor>(value, "n").aligned();
    EXPECT_THAT(n.data<std::int64_t>(), ElementsAre(7, -1));
    StateValue names{get<StateMap>(value, "StructuredToParameterName@@")};
    EXPECT_EQ(get<std::string>(names, "0.weight"), "linear_0.w_0");
    EXPECT_EQ(get<std::string>(names, "n"), "n_0");
  }
}

TEST(Pickle, ReadsNestedValues) {
  StateValue value = parse(samples::kNested4);
  StateValue state{get<StateMap>(value, "state")};
  StateTuple named =
      get<StateTuple>(state, "w");  // Paddle saves the tensors inside collections with their names
  ASSERT_EQ(named.items.size(), 2u);
  EXPECT_EQ(get<std::string>(named.items[0]), "linear_0.w_0");
  Tensor weight = get<Tensor>(named.items[1]).aligned();
  EXPECT_THAT(weight.data<float>(), ElementsAre(1, -2, 0.5, 255));
  StateList list = get<StateList>(value, "epoch");
  ASSERT_EQ(list.items.size(), 6u);
  EXPECT_EQ(get<std::int64_t>(list.items[0]), 1);
  EXPECT_EQ(get<std::int64_t>(list.items[1]), std::int64_t{1} << 40);
  EXPECT_EQ(get<double>(list.items[2]), -3.5);
  EXPECT_EQ(list.items[3].type_name(), "None");
  EXPECT_EQ(get<bool>(list.items[4]), true);
  EXPECT_EQ(get<std::string>(list.items[5]), "\xc3\xa9");
  EXPECT_EQ(get<StateTuple>(value, "t").items.size(), 2u);
}

TEST(Pickle, ReadsNumpysOwnPickles) {
  StateValue value = parse(samples::kFortran5);
  Tensor f = get<Tensor>(value, "f").aligned();
  EXPECT_THAT(f.shape(), ElementsAre(2, 3));
  EXPECT_THAT(f.data<std::int16_t>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(get<double>(value, "x"), 0.25);
}

TEST(Pickle, MapsArraysInsteadOfCopyingThem) {
  for (const std::string& sample : {samples::kParams3, samples::kParams4}) {
    auto content = std::make_shared<std::string>(sample);
    StateValue value = read(as_bytes(*content), content, "x");
    const auto* data = reinterpret_cast<const char*>(get<Tensor>(value, "0.weight").bytes().data());
    EXPECT_GE(data, content->data());
    EXPECT_LT(data, content->data() + content->size());
    EXPECT_EQ(content.use_count(), 3) << "two tensors keep it";
  }
}

TEST(Pickle, CallsNothing) {
  EXPECT_THAT(error_in("cos\nsystem\n(X\x02\0\0\0lstR"s),
              HasSubstr("x.pdparams: byte 2: this pickle wants to call os.system; octet only reads tensors"));
  EXPECT_THAT(error_in("\x8c\010builtins\x8c\004eval\x93"s),
              HasSubstr("byte 18: this pickle wants to call builtins.eval"));
  EXPECT_THAT(error_in("cnumpy\nload\n"), HasSubstr("wants to call numpy.load"));
  EXPECT_THAT(error_in("cnumpy\nndarray\n)R"), HasSubstr("makes an array in a way"));
  EXPECT_THAT(error_in("cnumpy\nndarray\n"), HasSubstr("holds a function"));
  EXPECT_THAT(error_in("c\x1b[2J\nx\n"), HasSubstr("wants to call ?[2J.x;"));
  EXPECT_LT(error_in("c" + std::string(5000, 'a') + "\nx\n").size(), 300u);
}

TEST(Pickle, NamesTheOpcodesThatItRefuses) {
  EXPECT_THAT(error_in("ccollections\nOrderedDict\n)\x81"),
              HasSubstr("byte 28: this pickle has opcode NEWOBJ;"));
  EXPECT_THAT(error_in("(ios\nsystem\n"), HasSubstr("opcode INST;"));
  EXPECT_THAT(error_in("Pid\n"), HasSubstr("opcode PERSID;"));
  EXPECT_THAT(error_in("\x82\x01"), HasSubstr("opcode EXT1;"));
  EXPECT_THAT(error_in("\x01"), HasSubstr("0x01 is no opcode"));
  EXPECT_THAT(error_of("\x80\x06N."), HasSubstr("protocol 6"));
  EXPECT_THAT(error_of("(dp0\n."), HasSubstr("is not a pickle of protocol 2 or later"));
  EXPECT_THAT(error_of(""), HasSubstr("is not a pickle"));
}

TEST(Pickle, SaysWhatIsWrong) {
  EXPECT_THAT(error_of("\x80\x04N"),
              HasSubstr("byte 3: this pickle is cut off: 1 bytes are due and 0 are left"));
  EXPECT_THAT(error_in("X\xff\xff\xff\xff"), HasSubstr("byte 2: this pickle is cut off: 4294967295 bytes"));
  EXPECT_THAT(error_in("\x8e\xff\xff\xff\xff\xff\xff\xff\xff"), HasSubstr("is cut off"));
  EXPECT_THAT(error_in("cnumpy"), HasSubstr("cut off in a name"));
  EXPECT_THAT(error_in(""), HasSubstr("empty stack"));
  EXPECT_THAT(error_in("N(0"), HasSubstr("empty stack"));  // what is below a MARK stays there
  EXPECT_THAT(error_in("t"), HasSubstr("lacks a MARK"));
  EXPECT_THAT(error_in("h\x07"), HasSubstr("recalls value 7, which it never stored"));
  EXPECT_THAT(error_in("}(Nu"), HasSubstr("a key without a value"));
  EXPECT_THAT(error_in("}Na"), HasSubstr("a list is due"));
  EXPECT_THAT(error_in("]NNs"), HasSubstr("a dictionary is due"));
  EXPECT_THAT(error_in("N)R"), HasSubstr("a function is due"));
  EXPECT_THAT(error_in("cnumpy\ndtype\n)R"), HasSubstr("a call has 0 arguments"));
  EXPECT_THAT(error_in("}}b"), HasSubstr("set the state of an object"));
  EXPECT_THAT(error_in("\x8a\t123456789"), HasSubstr("an integer of 9 bytes"));
  EXPECT_THAT(error_in("\x8c\x02\xc3("), HasSubstr("not UTF-8"));
  EXPECT_THAT(error_in("}(\x8c\001aN\x8c\001aNu"), HasSubstr("two entries named 'a'"));
  EXPECT_THAT(error_in("c_codecs\nencode\n\x8c\x03\xe2\x82\xac\x8c\x06latin1\x86R"), HasSubstr("not latin1"));
  EXPECT_THAT(error_in("c_codecs\nencode\n\x8c\001a\x8c\x03rot\x86R"),
              HasSubstr("encodes other than as latin1"));
}

// An array made of the opcodes of its shape, its two letters of dtype, and the opcodes of its byte order and
// bytes.
std::string array(const std::string& shape, const std::string& code, const std::string& order,
                  const std::string& bytes) {
  return "cnumpy.core.multiarray\n_reconstruct\n)R(K\x01" + shape + "cnumpy\ndtype\n\x8c\x02" + code +
         "\x85R(K\x03" + order + "tb\x89" + bytes + "tb";
}

TEST(Pickle, ChecksArrays) {
  const std::string two = "K\x02\x85", little = "\x8c\x01<", bytes = "C\004abcd";
  EXPECT_EQ(get<Tensor>(parse(program(array(two, "i2", little, bytes)))).size(), 2);
  EXPECT_EQ(get<Tensor>(parse(program(array(two, "u2", little, bytes)))).dtype(), DType::kBFloat16);
  EXPECT_THAT(error_in(array(two, "i4", little, bytes)), HasSubstr("needs 8 bytes, there are 4"));
  EXPECT_THAT(error_in(array(two, "O8", little, bytes)), HasSubstr("NumPy's type 'O8'"));
  EXPECT_THAT(error_in(array(two, "i2", "\x8c\x01>", bytes)), HasSubstr("big-endian"));
  EXPECT_THAT(error_in(array("J\xfe\xff\xff\xff\x85", "i2", little, bytes)), HasSubstr("negative dimension"));
  EXPECT_THAT(error_in(array("J\xff\xff\xff\x7f"
                             "22\x87",
                             "i2", little, bytes)),
              HasSubstr("too many elements"));
  EXPECT_THAT(error_in(array("N\x85", "i2", little, bytes)), HasSubstr("a dimension is due"));
  EXPECT_THAT(error_in(array("(K\x01" + std::string(64, '2') + "t", "i2", little, bytes)),
              HasSubstr("more than 64 dimensions"));
  EXPECT_THAT(error_in("cnumpy.core.multiarray\n_reconstruct\n)R"), HasSubstr("an array without values"));
}

TEST(Pickle, SharedValuesDoNotExplode) {
  std::string nested = "]";  // each list holds ten times the one before
  for (char i = 0; i < 30; ++i) {
    nested += "q"s + i + "0](";
    for (int k = 0; k < 10; ++k) nested += "h"s + i;
    nested += "e";
  }
  EXPECT_THAT(error_in(nested), HasSubstr("repeats its values over and over"));
  EXPECT_THAT(error_in("]\x94h\0a"s), HasSubstr("over and over"));  // it holds itself
  EXPECT_THAT(error_in("N" + std::string(100000, '\x85')), HasSubstr("nests collections more than 32 deep"));

  const std::string text = "X\x00\x10\x00\x00"s + std::string(4096, 'a') +
                           "\x94"
                           "0";
  std::string texts = text + "](", encoded = text;
  for (int i = 0; i < 4000; ++i) {
    texts += "h\0"s;
    encoded += "c_codecs\nencode\nh\0\x8c\x06latin1\x86R0"s;
  }
  EXPECT_THAT(error_in(texts + "e"), HasSubstr("repeats its text over and over"));
  EXPECT_THAT(error_in(encoded), HasSubstr("copies its data over and over"));
  EXPECT_THAT(error_in(std::string((1 << 22) + 1, 'N')), HasSubstr("more than 4194304 opcodes"));
}

TEST(Pickle, WritesWhatItReads) {
  Tensor half(DType::kBFloat16, {1});
  half.mutable_bytes()[0] = half.mutable_bytes()[1] = std::byte{'?'};
  StateMap dict;
  dict.entries = {{{"none"s}, {}},
                  {{"yes"s}, {true}},
                  {{"small"s}, {std::int64_t{-5}}},
                  {{"large"s}, {std::int64_t{-1} << 62}},
                  {{"number"s}, {0.1}},
                  {{"bytes"s}, {StateBytes{"\0\xff"s}}},
                  {{"list"s}, {StateList{{{std::int64_t{1}}, {"two"s}}}}},
                  {{"tuple"s}, {StateTuple{{{StateTuple{}}}}}},
                  {{std::int64_t{7}}, {"a key that is not text"s}},
                  {{"array"s}, {Tensor::of<float>({2, 1}, {1, 2})}},
                  {{"bfloat16"s}, {half}}};
  TempDir dir;
  save(dir / "x", {dict});
  StateValue copy = load(dir / "x");

  const StateMap entries = get<StateMap>(copy);
  ASSERT_EQ(entries.entries.size(), dict.entries.size());
  for (std::size_t i = 0; i < dict.entries.size(); ++i)
    EXPECT_EQ(entries.entries[i].value.type_name(), dict.entries[i].value.type_name()) << "item " << i;
  EXPECT_EQ(get<bool>(copy, "yes"), true);
  EXPECT_EQ(get<std::int64_t>(copy, "small"), -5);
  EXPECT_EQ(get<std::int64_t>(copy, "large"), std::int64_t{-1} << 62);
  EXPECT_EQ(get<double>(copy, "number"), 0.1);
  EXPECT_EQ(get<StateBytes>(copy, "bytes").bytes, "\0\xff"s);
  EXPECT_EQ(get<std::string>(get<StateList>(copy, "list").items.at(1)), "two");
  EXPECT_EQ(get<StateTuple>(get<StateTuple>(copy, "tuple").items.at(0)).items.size(), 0u);
  EXPECT_EQ(get<std::int64_t>(entries.entries[8].key), 7);
  Tensor array = get<Tensor>(copy, "array").aligned();
  EXPECT_THAT(array.shape(), ElementsAre(2, 1));
  EXPECT_THAT(array.data<float>(), ElementsAre(1, 2));
  EXPECT_EQ(get<Tensor>(copy, "bfloat16").dtype(), DType::kBFloat16);
  EXPECT_EQ(as_text(get<Tensor>(copy, "bfloat16").bytes()), "??");
}

TEST(Pickle, WritesNothingThatItCannotRead) {
  TempDir dir;
  StateValue deep;
  for (int i = 0; i < kMaxDepth; ++i) deep = {StateList{{deep}}};
  save(dir / "deepest", deep);
  EXPECT_EQ(load(dir / "deepest").type_name(), "a list");
  deep = {StateList{{deep}}};
  EXPECT_THROW(save(dir / "deeper", deep), Error);
  EXPECT_FALSE(std::filesystem::exists(dir / "deeper"));
}

TEST(Pickle, SurvivesDamage) {
  for (const std::string& sample : {samples::kParams2, samples::kParams3, samples::kParams4,
                                    samples::kOptimizer4, samples::kNested4, samples::kFortran5})
    expect_survives_damage(sample, parse, 1, 3000);
}

}  // namespace
}  // namespace octet::pickle
