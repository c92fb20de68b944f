#include "quant/calibration_sample.h"

#include <gmock/gmock.h>

#include "support/graph_runner.h"
#include "support/small_models.h"

namespace octet::quant {
namespace {

using namespace octet::testing;
using ::testing::ElementsAre;

Tensor pictures(std::int64_t count, std::uint32_t seed) {
  return ramp({count, 1, 2, 2}, seed);
}

TEST(SampleCollector, KeepsTheFirstPicturesInSmallParts) {
  SampleCollector collector(7);
  collector.add(0, {pictures(5, 1)});
  EXPECT_FALSE(collector.is_full());
  collector.add(1, {pictures(5, 2)});
  EXPECT_TRUE(collector.is_full());
  collector.add(2, {pictures(5, 3)});
  CalibrationSample sample = collector.gather(*alone());
  std::vector<std::int64_t> sizes;
  for (const auto& inputs : sample) sizes.push_back(inputs.at(0).dim(0));
  EXPECT_THAT(sizes, ElementsAre(2, 2, 1, 2));
  EXPECT_EQ(pictures_in(sample), 7);
  std::vector<float> first = values<float>(pictures(5, 1)), second = values<float>(pictures(5, 2));
  EXPECT_EQ(values<float>(sample[1][0]), std::vector<float>(first.begin() + 8, first.begin() + 16));
  EXPECT_EQ(values<float>(sample[3][0]), std::vector<float>(second.begin(), second.begin() + 8));
}

// Rank 0 of two: what the other one has comes through `gather`.
class Two : public Comm {
 public:
  explicit Two(std::string other) : other_(std::move(other)) {}
  int rank() const override { return 0; }
  int size() const override { return 2; }
  std::vector<std::string> gather(const std::string& mine) override { return {mine, other_}; }
  std::string broadcast(const std::string& text) override { return text; }
  void all_reduce(std::span<float>) override {}
  void all_reduce(std::span<double>) override {}
  std::unique_ptr<Comm> duplicate() override { return nullptr; }
  void abort(int) override { throw std::runtime_error("abort"); }

 private:
  std::string other_;
};

TEST(SampleCollector, SeveralProcessesKeepWhatOneAloneWould) {
  SampleCollector whole(5), mine(5);
  for (std::uint32_t i = 0; i < 3; ++i) whole.add(i, {pictures(2, i)});
  for (std::uint32_t i : {0u, 2u}) mine.add(i, {pictures(2, i)});
  Two comm(sample_to_bytes({{pictures(2, 1)}}, {1}));
  CalibrationSample expected = whole.gather(*alone()), found = mine.gather(comm);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(values<float>(found[i][0]), values<float>(expected[i][0]));
}

TEST(CalibrationSample, BytesAreReadBack) {
  CalibrationSample sample = {{pictures(2, 1)}, {pictures(1, 2)}};
  auto found = sample_from_bytes(sample_to_bytes(sample, {4, 9}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].first, 9);
  EXPECT_EQ(values<float>(found[1].second[0]), values<float>(sample[1][0]));
}

}  // namespace
}  // namespace octet::quant
