#include "formats/paddle/state_dict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/format.h"
#include "support/damage.h"
#include "support/pickle_samples.h"
#include "support/temp_dir.h"

namespace octet::paddle {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using namespace std::string_literals;

void save_value(const std::filesystem::path& path, const StateValue& value) {
  AtomicFiles files;
  pickle::add(files, path, value);
  files.commit();
}

StateDict parse(const std::string& content) {
  auto copy = std::make_shared<std::string>(content);
  return read_state_dict(as_bytes(*copy), copy, "x.pdparams");
}

std::vector<std::string> names_of(const StateDict& state) {
  std::vector<std::string> names;
  for (const auto& item : state.items) names.push_back(item.name);
  return names;
}

StateDict saved_and_loaded(const StateDict& state) {
  TempDir dir;
  save_state_dict(dir / "x", state);
  return load_state_dict(dir / "x");  // the mapping outlives the file's name
}

std::string error_of(const StateValue& value) {
  TempDir dir;
  save_value(dir / "x", value);
  try {
    load_state_dict(dir / "x");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(StateDict, ReadsParameters) {
  for (const std::string& sample : {samples::kParams2, samples::kParams3, samples::kParams4}) {
    StateDict state = parse(sample);
    EXPECT_THAT(names_of(state), ElementsAre("0.weight", "n"));
    Tensor weight = state.at("0.weight").aligned();
    EXPECT_THAT(weight.data<float>(), ElementsAre(1, -2, 0.5, 255));
    ASSERT_EQ(state.parameter_names.size(), 2u);
    EXPECT_EQ(state.parameter_names[0].name, "0.weight");
    EXPECT_EQ(state.parameter_names[0].parameter, "linear_0.w_0");
    EXPECT_EQ(state.find("bias"), nullptr);
    EXPECT_THROW(state.at("bias"), Error);
  }
}

TEST(StateDict, KeepsEverythingWhenSaved) {
  for (const std::string& sample : {samples::kParams4, samples::kOptimizer4, samples::kNested4}) {
    StateDict state = parse(sample), copy = saved_and_loaded(state);
    EXPECT_EQ(names_of(copy), names_of(state));
    EXPECT_EQ(copy.parameter_names.size(), state.parameter_names.size());
    for (const auto& item : state.items) {
      const Tensor *wanted = state.find(item.name), *got = copy.find(item.name);
      ASSERT_EQ(got != nullptr, wanted != nullptr) << item.name;
      if (!wanted) continue;
      EXPECT_EQ(got->dtype(), wanted->dtype());
      EXPECT_EQ(got->shape(), wanted->shape());
      EXPECT_EQ(as_text(got->bytes()), as_text(wanted->bytes()));
    }
  }
  StateDict optimizer = saved_and_loaded(parse(samples::kOptimizer4));
  const auto* schedule = optimizer.items.at(1).value.get_if<StateMap>();
  ASSERT_NE(schedule, nullptr);
  ASSERT_EQ(schedule->entries.size(), 2u);
  EXPECT_EQ(*schedule->entries[0].value.get_if<std::int64_t>(), 3);
  EXPECT_EQ(*schedule->entries[1].value.get_if<double>(), 0.1);
}

TEST(StateDict, FindsTensorsSavedWithTheirNames) {
  StateDict state;
  state.set("w", {StateTuple{{{"linear_0.w_0"s}, {Tensor::of<float>({1}, {3})}}}});
  Tensor w = saved_and_loaded(state).at("w").aligned();
  EXPECT_THAT(w.data<float>(), ElementsAre(3));
}

TEST(StateDict, SetReplacesOrAdds) {
  StateDict state;
  state.set("a", {std::int64_t{1}});
  state.set("b", {std::int64_t{2}});
  state.set("a", {2.5});
  EXPECT_THAT(names_of(state), ElementsAre("a", "b"));
  EXPECT_EQ(*state.items[0].value.get_if<double>(), 2.5);
}

// paddle.load looks up all of them.
TEST(StateDict, WritesNoParameterNameWithoutItsTensor) {
  StateDict state = parse(samples::kParams4);
  state.items.erase(state.items.begin());
  StateDict copy = saved_and_loaded(state);
  ASSERT_EQ(copy.parameter_names.size(), 1u);
  EXPECT_EQ(copy.parameter_names[0].name, "n");
}

TEST(StateDict, RefusesTwoItemsOfOneName) {
  StateDict state;
  state.items = {{"a", {}}, {"a", {}}};
  EXPECT_THROW(saved_and_loaded(state), Error);
}

// Holds before, w@@.0, w@@.1 and after, and says that w is made of the slices.
StateValue split(std::vector<StateValue> slices, std::vector<StateValue> shape) {
  StateMap how, splits, dict;
  how.entries = {{{"OriginShape"s}, {StateTuple{std::move(shape)}}},
                 {{"slices"s}, {StateList{std::move(slices)}}}};
  splits.entries = {{{"w"s}, {how}}};
  dict.entries = {{{"before"s}, {}},
                  {{"w@@.0"s}, {Tensor::of<float>({4}, {0, 1, 2, 3})}},
                  {{"w@@.1"s}, {Tensor::of<float>({2}, {4, 5})}},
                  {{"after"s}, {}},
                  {{"UnpackBigParamInfor@@"s}, {splits}}};
  return {dict};
}

const StateValue kTwo{std::int64_t{2}}, kThree{std::int64_t{3}}, kHuge{std::int64_t{1} << 62};
const StateValue kFirst{"w@@.0"s}, kSecond{"w@@.1"s}, kThird{"w@@.2"s}, kBefore{"before"s};

StateValue entry(const std::string& name, const StateValue& value) {
  StateMap dict;
  dict.entries = {{{name}, value}};
  return {dict};
}

TEST(StateDict, JoinsSplitArrays) {
  TempDir dir;
  save_value(dir / "x", split({kFirst, kSecond}, {kTwo, kThree}));
  StateDict state = load_state_dict(dir / "x");
  EXPECT_THAT(names_of(state), ElementsAre("before", "w", "after"));
  EXPECT_THAT(state.at("w").shape(), ElementsAre(2, 3));
  EXPECT_THAT(state.at("w").data<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(StateDict, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(split({kFirst, kFirst}, {kTwo, kThree})), HasSubstr("a part of 'w' is missing"));
  EXPECT_THAT(error_of(split({kFirst, kThird}, {kTwo, kThree})), HasSubstr("a part of 'w' is missing"));
  EXPECT_THAT(error_of(split({kFirst, kBefore}, {kTwo, kThree})), HasSubstr("a part of 'w' is missing"));
  EXPECT_THAT(error_of(split({kFirst, kSecond}, {kTwo, kTwo})), HasSubstr("do not make up its shape"));
  EXPECT_THAT(error_of(split({kFirst, kSecond}, {kHuge, kHuge, kHuge})),
              HasSubstr("do not make up its shape"));
  EXPECT_THAT(error_of(split({kFirst, kSecond}, {kFirst})), HasSubstr("do not make up its shape"));
  EXPECT_THAT(error_of(split({}, {kTwo})), HasSubstr("UnpackBigParamInfor@@ is damaged"));
  EXPECT_THAT(error_of({StateList{}}), HasSubstr("holds a list, expected a dictionary"));
  StateMap numbered;
  numbered.entries = {{kTwo, kTwo}};
  EXPECT_THAT(error_of({numbered}), HasSubstr("a key is an integer, expected a name"));
  EXPECT_THAT(error_of(entry("StructuredToParameterName@@", kTwo)),
              HasSubstr("is an integer, expected a dictionary"));
  EXPECT_THAT(error_of(entry("StructuredToParameterName@@", entry("a", kTwo))), HasSubstr("is damaged"));
}

TEST(StateDict, SurvivesDamage) {
  TempDir dir;
  save_value(dir / "x", split({kFirst, kSecond}, {kTwo, kThree}));
  expect_survives_damage(read_file(dir / "x"), parse, 1, 3000);
  // As large as real ones, cut at every 64th byte.
  StateDict state;
  for (int i = 0; i < 50; ++i)
    state.set("layer." + std::to_string(i), {Tensor::of<float>({4}, {1, 2, 3, 4})});
  save_state_dict(dir / "y", state);
  expect_survives_damage(read_file(dir / "y"), parse, 64, 300);
}

}  // namespace
}  // namespace octet::paddle
