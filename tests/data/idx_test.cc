#include "data/idx.h"

#include <gmock/gmock.h>

#include "data/classification.h"
#include "data/loader.h"
#include "octet/error.h"
#include "support/damage.h"
#include "support/idx_files.h"
#include "support/temp_dir.h"
#include "support/transformed.h"

namespace octet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

IdxPictures pictures_of(const std::string& file) {
  return read_idx_pictures(as_bytes(file), "a file");
}

template <class Read>
std::string error_of(Read read) {
  try {
    read();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string error_of_pictures(const std::string& file) {
  return error_of([&] { pictures_of(file); });
}

// A folder with both splits, one of them packed.
struct Files : TempDir {
  Files() {
    write_file(*this / "train-images-idx3-ubyte.gz", gzip(idx_pictures(12)));
    write_file(*this / "train-labels-idx1-ubyte.gz", gzip(idx_labels(12)));
    write_file(*this / "t10k-images-idx3-ubyte", idx_pictures(3));
    write_file(*this / "t10k-labels-idx1-ubyte", idx_labels(3));
  }
  std::string error(const char* split) const {
    return error_of([&] { open_dataset(path(), split); });
  }
};

TEST(Idx, PicturesAreGray) {
  for (const std::string& file : {idx_pictures(3), gzip(idx_pictures(3))}) {
    const IdxPictures pictures = pictures_of(file);
    EXPECT_EQ(pictures.count, 3);
    const Image image = pictures.picture(1);
    EXPECT_EQ(image.width, 5);
    EXPECT_EQ(image.height, 4);
    for (int c = 0; c < 3; ++c) EXPECT_EQ(image.row(0)[c], 20 * 7 + 1);
    EXPECT_EQ(image.row(1)[3], 26 * 7 + 1);
  }
  EXPECT_THAT(read_idx_labels(as_bytes(idx_labels(4)), "a file"), ElementsAre(0, 1, 2, 3));
}

TEST(Idx, BadFilesAreNamed) {
  const std::string good = idx_pictures(3);
  EXPECT_THAT(error_of_pictures(""), HasSubstr("a file: not an idx file of pictures"));
  EXPECT_THAT(error_of_pictures("no idx file"), HasSubstr("not an idx file of pictures"));
  EXPECT_THAT(error_of_pictures(idx_labels(3)), HasSubstr("it does not begin with 0, 0, 8, 3"));
  EXPECT_THAT(error_of_pictures(good.substr(0, 10)), HasSubstr("10 bytes, which is too short"));
  EXPECT_THAT(error_of_pictures(good.substr(0, 40)), HasSubstr("announces 60 values and has 24"));
  EXPECT_THAT(error_of_pictures(good + "x"), HasSubstr("more data than the 60 values"));
  EXPECT_THAT(error_of_pictures(encode_idx({0, 4, 5}, "")), HasSubstr("holds no pictures"));
  EXPECT_THAT(error_of_pictures(encode_idx({1, 0, 5}, "")), HasSubstr("pictures of 5x0 pixels"));
  EXPECT_THAT(error_of_pictures(encode_idx({1, 4, 5000}, "")), HasSubstr("pictures of 5000x4 pixels"));
  EXPECT_THAT(error_of_pictures(encode_idx({0xffffffff, 4096, 4096}, "")), HasSubstr("4294967295 pictures"));
  EXPECT_THAT(error_of_pictures(encode_idx({255, 4096, 4096}, "x")), HasSubstr("and has 1"));
}

TEST(Idx, BrokenGzipIsNamed) {
  std::string packed = gzip(idx_pictures(30));
  EXPECT_THAT(error_of_pictures(packed.substr(0, packed.size() / 2)),
              HasSubstr("a file: the gzip data ends early, the file is truncated"));
  EXPECT_THAT(error_of_pictures(packed.substr(0, packed.size() - 3)), HasSubstr("truncated"));
  packed[packed.size() - 6] ^= 1;  // the checksum
  EXPECT_THAT(error_of_pictures(packed), HasSubstr("a file: broken gzip data"));
  EXPECT_THAT(error_of_pictures(gzip("no idx file")), HasSubstr("not an idx file"));
  EXPECT_THAT(error_of_pictures(gzip(idx_pictures(3).substr(0, 40))),
              HasSubstr("announces 60 values and has 24"));
}

TEST(Idx, DamagedFilesAreErrors) {
  for (const std::string& good : {idx_pictures(3), gzip(idx_pictures(3))})
    expect_survives_damage(good, pictures_of, 1, 500);
}

TEST(Idx, AFolderHasTwoSplits) {
  Files files;
  const Dataset train = open_dataset(files.path(), "train"), val = open_dataset(files.path(), "val");
  EXPECT_EQ(train.entries.size(), 12u);
  EXPECT_EQ(train.class_count(), 12);
  EXPECT_EQ(val.entries.size(), 3u);
  EXPECT_EQ(val.entries[2].label, 2);
  EXPECT_EQ(val.entries[2].row, 2);
  EXPECT_EQ(val.load(val.entries[2]).image.pixels, val.idx->picture(2).pixels);
}

TEST(Idx, WhatAFolderLacksIsNamed) {
  Files files;
  write_file(files / "t10k-labels-idx1-ubyte", idx_labels(4));
  EXPECT_THAT(files.error("val"), HasSubstr("4 labels for the 3 pictures of t10k-images-idx3-ubyte"));
  std::filesystem::remove(files / "t10k-labels-idx1-ubyte");
  EXPECT_THAT(files.error("val"), HasSubstr("but not t10k-labels-idx1-ubyte[.gz]"));
  std::filesystem::remove(files / "t10k-images-idx3-ubyte");
  EXPECT_THAT(files.error("val"),
              HasSubstr("has train-images-idx3-ubyte.gz, but not t10k-images-idx3-ubyte[.gz]"));
}

TEST(Idx, BatchesArePreprocessedPictures) {
  Files files;
  const Dataset dataset = open_dataset(files.path(), "train");
  const Transforms transforms = evaluation_transforms(10, 8);
  Loader loader(dataset, transforms, {.batch_size = 12, .workers = 2});
  const std::optional<Batch> batch = loader.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->pixels.shape(), (Shape{12, 3, 8, 8}));
  const Tensor one = transformed(dataset.idx->picture(11), transforms);
  EXPECT_TRUE(std::ranges::equal(batch->pixels.data<float>().last(192), one.data<float>()));
  // Processes that share the work.
  Loader second(dataset, transforms, {.batching = Batching::kFixed, .batch_size = 6, .shard = {1, 2}});
  EXPECT_THAT(second.next()->labels, ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_FALSE(second.next());
}

TEST(Idx, CanBeTrainedOn) {
  Files files;
  Loader loader(open_dataset(files.path(), "train"), training_transforms({.size = 6, .pad = 2}),
                {.batching = Batching::kFull, .batch_size = 4, .seed = 0});
  loader.start_epoch(0);
  int batches = 0;
  for (; std::optional<Batch> batch = loader.next(); ++batches)
    EXPECT_EQ(batch->pixels.shape(), (Shape{4, 3, 6, 6}));
  EXPECT_EQ(batches, 3);
}

}  // namespace
}  // namespace octet
