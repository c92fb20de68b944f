#include "data/loader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "data/classification.h"
#include "octet/error.h"
#include "support/pictures.h"
#include "support/temp_dir.h"
#include "support/transformed.h"
#include "tensor/npy.h"

namespace octet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Transforms kSmall = evaluation_transforms(10, 8);
const Transforms kWhole = evaluation_transforms(0, 0);

// Pictures that all differ, one in a class of its own. Labels tell in tests which one it is.
struct Pictures : TempDir {
  explicit Pictures(int count) {
    for (int i = 0; i < count; ++i) add(i, encode_jpeg(test_image(12 + i, 14)));
  }
  void add(int number, const std::string& content) {
    std::string name = fmt::format("{:03}.jpg", number);
    write_file(*this / name, content);
    dataset.entries.resize(
        std::max<std::size_t>(dataset.entries.size(), static_cast<std::size_t>(number) + 1));
    dataset.entries[static_cast<std::size_t>(number)] = {*this / name, number};
  }
  void break_picture(int number) { add(number, "\xff\xd8\xff no picture"); }

  Dataset dataset;
};

LoaderOptions fixed(int batch_size, Shard shard) {
  return {.batching = Batching::kFixed, .batch_size = batch_size, .shard = shard};
}

std::vector<Batch> read_all(const Dataset& dataset, const LoaderOptions& options,
                            const Transforms& transforms = kSmall) {
  Loader loader(dataset, transforms, options);
  std::vector<Batch> batches;
  while (std::optional<Batch> batch = loader.next()) batches.push_back(std::move(*batch));
  EXPECT_FALSE(loader.next());
  return batches;
}

std::string error_of(const Dataset& dataset, const LoaderOptions& options) {
  try {
    read_all(dataset, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

using Labels = std::vector<std::int64_t>;

std::vector<Labels> labels_of(const std::vector<Batch>& batches) {
  std::vector<Labels> labels;
  for (const Batch& batch : batches) labels.push_back(batch.labels);
  return labels;
}

std::vector<std::int64_t> indices_of(const std::vector<Batch>& batches) {
  std::vector<std::int64_t> indices;
  for (const Batch& batch : batches) indices.push_back(batch.index);
  return indices;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes());
}

TEST(LoaderInOrder, GivesPreprocessedPicturesInTheirOrder) {
  Pictures pictures(5);
  std::vector<Batch> batches = read_all(pictures.dataset, {.batch_size = 2});
  EXPECT_THAT(labels_of(batches), ElementsAre(Labels{0, 1}, Labels{2, 3}, Labels{4}));
  EXPECT_THAT(indices_of(batches), ElementsAre(0, 1, 2));
  for (const Batch& batch : batches) {
    std::vector<float> values;
    for (std::int64_t label : batch.labels) {
      const Image image = load_image(pictures.dataset.entries[static_cast<std::size_t>(label)].path);
      std::ranges::copy(transformed(image, kSmall).data<float>(), std::back_inserter(values));
    }
    EXPECT_TRUE(std::ranges::equal(batch.pixels.data<float>(), values));
    EXPECT_EQ(batch.pixels.shape(), (Shape{batch.size(), 3, 8, 8}));
    EXPECT_THAT(batch.broken, IsEmpty());
  }
}

TEST(LoaderInOrder, AnyNumberOfWorkersGivesTheSame) {
  Pictures pictures(23);
  for (int broken : {0, 3, 4, 11, 22}) pictures.break_picture(broken);
  for (LoaderOptions options : {LoaderOptions{.batch_size = 4}, fixed(4, {1, 2})}) {
    std::vector<Batch> one = read_all(pictures.dataset, options);
    for (int workers : {0, 2, 7}) {
      options.workers = workers;
      std::vector<Batch> many = read_all(pictures.dataset, options);
      ASSERT_EQ(labels_of(many), labels_of(one));
      EXPECT_EQ(indices_of(many), indices_of(one));
      for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_TRUE(same_bits(many[i].pixels, one[i].pixels));
        EXPECT_EQ(many[i].broken, one[i].broken);
      }
    }
  }
}

TEST(LoaderInOrder, BrokenPicturesAreLeftOutAndTold) {
  Pictures pictures(9);
  for (int broken : {1, 2, 8}) pictures.break_picture(broken);
  std::vector<Batch> batches = read_all(pictures.dataset, {.batch_size = 3});
  EXPECT_THAT(labels_of(batches), ElementsAre(Labels{0, 3, 4}, Labels{5, 6, 7}));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_THAT(batches[0].broken, ElementsAre(HasSubstr("001.jpg"), HasSubstr("002.jpg")));
  EXPECT_THAT(batches[1].broken, ElementsAre(HasSubstr("008.jpg")));  // it is behind the last batch
}

TEST(LoaderInOrder, MostlyBrokenPicturesAreAnError) {
  Pictures two(2);
  two.break_picture(0);
  EXPECT_EQ(read_all(two.dataset, {.batch_size = 4}).size(), 1u);
  two.break_picture(1);
  EXPECT_THAT(error_of(two.dataset, {.batch_size = 4}),
              HasSubstr("2 of 2 pictures can't be read; the first: "));
  EXPECT_THAT(error_of(two.dataset, {.batch_size = 4}), HasSubstr("000.jpg"));

  Pictures many(40);
  for (int broken = 5; broken < 20; ++broken) many.break_picture(broken);
  for (int workers : {1, 3})
    EXPECT_THAT(error_of(many.dataset, {.batch_size = 4, .workers = workers}),
                HasSubstr("8 of 13 pictures can't be read"));
}

TEST(LoaderInOrder, PicturesOfOtherSizesEndABatch) {
  Pictures pictures(0);
  int widths[] = {9, 9, 11, 11, 11, 9};
  for (int i = 0; i < 6; ++i) pictures.add(i, encode_png(test_image(widths[i], 7)));
  std::vector<Batch> batches = read_all(pictures.dataset, {.batch_size = 3}, kWhole);
  EXPECT_THAT(labels_of(batches), ElementsAre(Labels{0, 1}, Labels{2, 3, 4}, Labels{5}));
  EXPECT_EQ(batches[1].pixels.shape(), (Shape{3, 3, 7, 11}));
  batches = read_all(pictures.dataset, fixed(3, {0, 1}), kWhole);
  EXPECT_THAT(labels_of(batches), ElementsAre(Labels{0, 1}, Labels{2}, Labels{3, 4}, Labels{5}));
  EXPECT_THAT(indices_of(batches), ElementsAre(0, 0, 1, 1));
}

void expect_shards_make_the_whole(const Dataset& dataset, std::initializer_list<int> sizes) {
  std::vector<Batch> whole = read_all(dataset, fixed(3, {0, 1}));
  for (int size : sizes) {
    std::vector<Batch> parts;
    for (int rank = 0; rank < size; ++rank) {
      for (Batch& batch : read_all(dataset, fixed(3, {rank, size}))) {
        EXPECT_EQ(batch.index % size, rank);
        parts.push_back(std::move(batch));
      }
    }
    std::ranges::sort(parts, {}, &Batch::index);
    ASSERT_EQ(indices_of(parts), indices_of(whole)) << size;
    EXPECT_EQ(labels_of(parts), labels_of(whole));
    for (std::size_t i = 0; i < parts.size(); ++i) EXPECT_TRUE(same_bits(parts[i].pixels, whole[i].pixels));
  }
}

TEST(LoaderInOrder, ShardsTogetherAreTheWhole) {
  Pictures pictures(22);
  expect_shards_make_the_whole(pictures.dataset, {2, 3, 7, 12});
  EXPECT_EQ(labels_of(read_all(pictures.dataset, fixed(3, {0, 1}))),
            labels_of(read_all(pictures.dataset, {.batch_size = 3})));
  for (int broken : {0, 6, 7, 8, 21}) pictures.break_picture(broken);
  expect_shards_make_the_whole(pictures.dataset, {2, 3});
  std::vector<Batch> batches = read_all(pictures.dataset, fixed(3, {0, 2}));
  EXPECT_THAT(indices_of(batches), ElementsAre(0, 4, 6));  // all of batch 2 is broken
  EXPECT_THAT(labels_of(batches), ElementsAre(Labels{1, 2}, Labels{12, 13, 14}, Labels{18, 19, 20}));
  EXPECT_EQ(batches[1].broken.size(), 3u);
}

TEST(LoaderInOrder, ArraysAreGivenAsTheyAre) {
  TempDir dir;
  std::vector<float> values(5 * 3 * 2 * 2);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  save_npy(dir / "a.npy", Tensor::of<float>({5, 3, 2, 2}, values));
  save_npy(dir / "b.npy", Tensor::of<float>({1, 3, 1, 4}, std::vector<float>(12, 7.0f)));
  save_npy(dir / "labels.npy", Tensor::of<std::int64_t>({6}, {0, 1, 2, 3, 4, 5}));
  std::vector<Batch> batches = read_all(open_dataset(dir.path(), "val"), {.batch_size = 2, .workers = 2});
  EXPECT_THAT(labels_of(batches), ElementsAre(Labels{0, 1}, Labels{2, 3}, Labels{4}, Labels{5}));
  EXPECT_EQ(batches[1].pixels.shape(), (Shape{2, 3, 2, 2}));
  EXPECT_EQ(batches[1].pixels.data<float>()[0], 24.0f);
  EXPECT_EQ(batches[1].pixels.data<float>()[23], 47.0f);
  EXPECT_EQ(batches[3].pixels.data<float>()[11], 7.0f);
}

TEST(LoaderInOrder, ArraysWithoutNumbersAreRefused) {
  TempDir dir;
  for (float bad : {std::nanf(""), INFINITY, -INFINITY}) {
    std::vector<float> values(3 * 12, 1.0f);
    values[2 * 12 + 5] = bad;
    save_npy(dir / "a.npy", Tensor::of<float>({3, 3, 2, 2}, values));
    for (int workers : {0, 2})
      EXPECT_THAT(
          error_of(open_dataset(dir.path(), "val"), {.batch_size = 3, .workers = workers}),
          HasSubstr(fmt::format("{}: picture 2 has a number that is {}", (dir / "a.npy").string(), bad)));
  }
}

TEST(LoaderInOrder, EachBatchIsGivenWhateverIsBroken) {
  Pictures pictures(9);
  for (int broken : {1, 3, 4, 5, 6, 7, 8}) pictures.break_picture(broken);
  for (int workers : {0, 2}) {
    const std::vector<Batch> batches = read_all(
        pictures.dataset, {.batching = Batching::kEach, .batch_size = 3, .workers = workers, .prefetch = 0});
    EXPECT_THAT(labels_of(batches), ElementsAre(Labels{0, 2}, Labels{}, Labels{}));
    EXPECT_THAT(indices_of(batches), ElementsAre(0, 1, 2));
    EXPECT_THAT(batches[0].entries, ElementsAre(0, 2));
    EXPECT_THAT(batches[0].broken, ElementsAre(HasSubstr("001.jpg")));
    EXPECT_TRUE(batches[1].pixels.empty());
    EXPECT_EQ(batches[1].broken.size(), 3u);
  }
}

TEST(LoaderInOrder, ASeedShufflesEachEpochAnew) {
  Pictures pictures(7);
  Loader loader(pictures.dataset, kSmall, {.batch_size = 3, .seed = 5});
  std::set<Labels> orders;
  for (int epoch : {0, 1, 2, 0}) {
    loader.start_epoch(epoch);
    Labels all;
    while (std::optional<Batch> batch = loader.next())
      std::ranges::copy(batch->labels, std::back_inserter(all));
    orders.insert(all);
    std::ranges::sort(all);
    EXPECT_THAT(all, ElementsAre(0, 1, 2, 3, 4, 5, 6));
  }
  EXPECT_EQ(orders.size(), 3u);
}

TEST(LoaderInOrder, IsIdleWhenTheBatchesAheadAreMade) {
  Pictures pictures(9);
  Loader loader(pictures.dataset, kSmall, {.batch_size = 2, .workers = 2});
  loader.wait_until_idle();
  for (std::int64_t i = 0; std::optional<Batch> batch = loader.next(); ++i) {
    EXPECT_EQ(batch->index, i);
    loader.wait_until_idle();
  }
  loader.wait_until_idle();
}

TEST(LoaderInOrder, MayBeLeftAtAnyTime) {
  Pictures pictures(12);
  for (int batches = 0; batches < 4; ++batches) {
    Loader loader(pictures.dataset, kSmall, {.batch_size = 2, .workers = 2});
    for (int i = 0; i < batches; ++i) EXPECT_TRUE(loader.next());
  }
  EXPECT_THAT(read_all({}, {}), IsEmpty());
}

}  // namespace
}  // namespace octet
