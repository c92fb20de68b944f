#include "data/loader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "data/classification.h"
#include "data/transforms/normalize.h"
#include "data/transforms/resize.h"
#include "octet/error.h"
#include "support/pictures.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const Transforms kSmall = training_transforms({.size = 8});

// Pictures that all differ. A picture's label is its number.
struct Pictures : TempDir {
  explicit Pictures(int count) {
    for (int i = 0; i < count; ++i) {
      dataset.entries.push_back({*this / fmt::format("{:03}.jpg", i), i});
      write_file(dataset.entries.back().path, encode_jpeg(test_image(12 + i % 7, 14)));
    }
  }
  void break_picture(int number) const {
    write_file(dataset.entries[static_cast<std::size_t>(number)].path, "\xff\xd8\xff no picture");
  }

  Dataset dataset;
};

std::vector<Batch> rest_of(Loader& loader) {
  std::vector<Batch> batches;
  while (std::optional<Batch> batch = loader.next()) batches.push_back(std::move(*batch));
  EXPECT_FALSE(loader.next());
  return batches;
}

LoaderOptions full(LoaderOptions options) {
  options.batching = Batching::kFull;
  if (!options.seed) options.seed = 0;
  return options;
}

std::vector<Batch> read_epoch(const Dataset& dataset, LoaderOptions options, std::int64_t epoch = 0,
                              std::int64_t first_batch = 0) {
  Loader loader(dataset, kSmall, full(options));
  loader.start_epoch(epoch, first_batch);
  return rest_of(loader);
}

std::string error_of(const Dataset& dataset, LoaderOptions options) {
  try {
    read_epoch(dataset, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::kUser);
    return error.what();
  }
  return "no error";
}

void expect_same(const std::vector<Batch>& a, const std::vector<Batch>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].index, b[i].index);
    EXPECT_EQ(a[i].labels, b[i].labels);
    EXPECT_EQ(a[i].broken, b[i].broken);
    EXPECT_EQ(a[i].pixels.shape(), b[i].pixels.shape());
    EXPECT_TRUE(std::ranges::equal(a[i].pixels.bytes(), b[i].pixels.bytes())) << "batch " << i;
  }
}

std::vector<std::int64_t> labels_of(const std::vector<Batch>& batches) {
  std::vector<std::int64_t> labels;
  for (const Batch& batch : batches) labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
  return labels;
}

TEST(LoaderForTraining, AnEpochHasEachPictureOnceInRandomOrder) {
  Pictures pictures(20);
  Loader loader(pictures.dataset, kSmall, full({.batch_size = 4, .seed = 7}));
  EXPECT_EQ(loader.batches(), 5);
  std::set<std::vector<std::int64_t>> orders;
  for (int epoch : {0, 1, 2}) {
    loader.start_epoch(epoch);
    std::vector<Batch> batches = rest_of(loader);
    ASSERT_EQ(batches.size(), 5u);
    EXPECT_EQ(batches[0].pixels.shape(), (Shape{4, 3, 8, 8}));
    std::vector<std::int64_t> labels = labels_of(batches);
    orders.insert(labels);
    std::ranges::sort(labels);
    for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(labels[static_cast<std::size_t>(i)], i);
  }
  EXPECT_EQ(orders.size(), 3u);
}

TEST(LoaderForTraining, AnyNumberOfWorkersGivesTheSame) {
  Pictures pictures(30);
  for (int broken : {0, 3, 4, 11, 22}) pictures.break_picture(broken);
  const std::vector<Batch> none = read_epoch(pictures.dataset, {.batch_size = 4, .workers = 0});
  for (int workers : {1, 2, 7})
    for (int prefetch : {1, 4}) {
      SCOPED_TRACE(fmt::format("{} workers, {} ahead", workers, prefetch));
      expect_same(read_epoch(pictures.dataset, {.batch_size = 4, .workers = workers, .prefetch = prefetch}),
                  none);
    }
}

TEST(LoaderForTraining, ProcessesTogetherSeeTheBatchOfOne) {
  Pictures pictures(26);
  for (int broken : {5, 6, 20}) pictures.break_picture(broken);
  const std::vector<Batch> whole = read_epoch(pictures.dataset, {.batch_size = 6}, 3);
  ASSERT_EQ(whole.size(), 4u);
  for (int world : {2, 3}) {
    for (int rank = 0; rank < world; ++rank) {
      const std::vector<Batch> part =
          read_epoch(pictures.dataset, {.batch_size = 6 / world, .shard = {rank, world}}, 3);
      ASSERT_EQ(part.size(), whole.size());
      for (std::size_t b = 0; b < part.size(); ++b) {
        const std::size_t size = 3 * 8 * 8;
        for (std::size_t i = 0; i < part[b].labels.size(); ++i) {
          const std::size_t at = i * static_cast<std::size_t>(world) + static_cast<std::size_t>(rank);
          EXPECT_EQ(part[b].labels[i], whole[b].labels[at]);
          EXPECT_TRUE(std::ranges::equal(part[b].pixels.data<float>().subspan(i * size, size),
                                         whole[b].pixels.data<float>().subspan(at * size, size)));
        }
      }
    }
  }
}

TEST(LoaderForTraining, AnEpochCanBeginInTheMiddle) {
  Pictures pictures(23);
  pictures.break_picture(8);
  for (int workers : {0, 2}) {
    const LoaderOptions options{.batch_size = 3, .workers = workers, .seed = 1};
    const std::vector<Batch> whole = read_epoch(pictures.dataset, options, 5);
    ASSERT_EQ(whole.size(), 7u);
    for (std::size_t first : {1u, 4u, 6u, 7u})
      expect_same(read_epoch(pictures.dataset, options, 5, static_cast<std::int64_t>(first)),
                  {whole.begin() + static_cast<std::ptrdiff_t>(first), whole.end()});
    // Also after a part of another epoch.
    Loader loader(pictures.dataset, kSmall, full(options));
    loader.start_epoch(4);
    EXPECT_TRUE(loader.next());
    loader.start_epoch(5, 2);
    expect_same(rest_of(loader), {whole.begin() + 2, whole.end()});
  }
}

TEST(LoaderForTraining, TheSeedDecides) {
  Pictures pictures(12);
  const auto labels = [&](std::uint64_t seed) {
    return labels_of(read_epoch(pictures.dataset, {.batch_size = 4, .seed = seed}));
  };
  EXPECT_EQ(labels(1), labels(1));
  EXPECT_NE(labels(1), labels(2));
}

TEST(LoaderForTraining, WhatIsLeftOverIsDroppedOrFilledUp) {
  Pictures pictures(10);
  EXPECT_EQ(read_epoch(pictures.dataset, {.batch_size = 4}).size(), 2u);
  const std::vector<Batch> batches = read_epoch(pictures.dataset, {.batch_size = 4, .drop_last = false});
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_THAT(batches[2].labels,
              ElementsAre(testing::_, testing::_, batches[0].labels[0], batches[0].labels[1]));
}

TEST(LoaderForTraining, TheNextPictureTakesABrokenOnesPlace) {
  Pictures pictures(16);
  const std::vector<std::int64_t> order = labels_of(read_epoch(pictures.dataset, {.batch_size = 4}));
  for (std::size_t broken : {1u, 2u, 15u}) pictures.break_picture(static_cast<int>(order[broken]));
  const std::vector<Batch> batches = read_epoch(pictures.dataset, {.batch_size = 4});
  ASSERT_EQ(batches.size(), 4u);
  EXPECT_THAT(batches[0].labels, ElementsAre(order[0], order[3], order[3], order[3]));
  EXPECT_THAT(batches[0].broken, ElementsAre(HasSubstr(fmt::format("{:03}.jpg", order[1])),
                                             HasSubstr(fmt::format("{:03}.jpg", order[2]))));
  EXPECT_THAT(batches[1].broken, IsEmpty());
  EXPECT_EQ(batches[3].labels[3], order[0]);  // behind the last one comes the first
  // The three that are the same picture are not the same version of it.
  const std::span<const float> pixels = batches[0].pixels.data<float>();
  EXPECT_FALSE(std::ranges::equal(pixels.subspan(192, 192), pixels.subspan(384, 192)));
}

TEST(LoaderForTraining, APictureThatCannotBeScaledIsNamed) {
  Pictures pictures(4);
  write_file(pictures.dataset.entries[2].path, encode_png(test_image(1, 100000)));
  Loader loader(pictures.dataset, training_transforms({.pad = 0}), full({.batch_size = 4}));
  loader.start_epoch(0);
  const std::optional<Batch> batch = loader.next();
  ASSERT_TRUE(batch);
  EXPECT_THAT(batch->broken, ElementsAre(testing::AllOf(HasSubstr("002.jpg: a picture of 1x100000"),
                                                        HasSubstr("too large"))));
}

TEST(LoaderForTraining, MostlyBrokenPicturesAreAnError) {
  Pictures pictures(40);
  for (int broken = 0; broken < 25; ++broken) pictures.break_picture(broken);
  for (int workers : {0, 2}) {
    const std::string error = error_of(pictures.dataset, {.batch_size = 4, .workers = workers});
    EXPECT_THAT(error, HasSubstr("pictures can't be read; the first: "));
  }
  for (int broken = 25; broken < 40; ++broken) pictures.break_picture(broken);
  for (int workers : {0, 2})
    EXPECT_THAT(error_of(pictures.dataset, {.batch_size = 4, .workers = workers}),
                HasSubstr("40 pictures in a row can't be read"));
}

TEST(LoaderForTraining, RefusesWhatCannotBeTrainedOn) {
  Pictures pictures(5);
  EXPECT_THAT(error_of(pictures.dataset, {.batch_size = 8}),
              HasSubstr("5 pictures are fewer than the 8 of one batch; try a smaller batch size"));
  EXPECT_THAT(error_of(pictures.dataset, {.batch_size = 4, .shard = {1, 2}}),
              HasSubstr("the 8 of one batch (4 in each of 2 processes)"));
  EXPECT_THAT(error_of({}, {}), HasSubstr("no pictures"));
  Dataset unlabelled = pictures.dataset;
  for (Entry& entry : unlabelled.entries) entry.label = -1;
  EXPECT_THAT(error_of(unlabelled, {.batch_size = 2}), HasSubstr("training needs labels"));
  Dataset arrays = pictures.dataset;
  for (Entry& entry : arrays.entries) entry.row = 0;
  EXPECT_THAT(error_of(arrays, {.batch_size = 2}), HasSubstr("preprocessed already"));
}

TEST(LoaderForTraining, AnEmptyClassFolderIsNamed) {
  TempDir dir;
  for (const char* name : {"train", "train/cat", "train/dog"}) std::filesystem::create_directory(dir / name);
  write_file(dir / "train/cat/a.jpg", encode_jpeg(test_image(9, 9)));
  const Dataset dataset = open_dataset(dir.path(), "train");
  EXPECT_EQ(dataset.class_count(), 2);
  EXPECT_THAT(error_of(dataset, {.batch_size = 1}),
              HasSubstr((dir / "train/dog").string() + " holds no pictures"));
}

TEST(LoaderForTraining, PicturesMustComeOutAtOneSize) {
  Pictures pictures(4);
  Loader loader(pictures.dataset, {ResizeShort{8}, kImageNetColors}, full({.batch_size = 4}));
  try {
    loader.next();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("do not fit in one batch"));
  }
}

TEST(LoaderForTraining, MayBeLeftAtAnyTime) {
  Pictures pictures(12);
  for (int batches = 0; batches < 4; ++batches) {
    Loader loader(pictures.dataset, kSmall, full({.batch_size = 2, .workers = 2}));
    loader.start_epoch(0);
    for (int i = 0; i < batches; ++i) EXPECT_TRUE(loader.next());
  }
  Loader unused(pictures.dataset, kSmall, full({.batch_size = 2, .workers = 2}));
}

}  // namespace
}  // namespace octet
