#include "data/mask_dataset.h"

#include <gmock/gmock.h>

#include "data/loader.h"
#include "data/mask.h"
#include "data/transforms/normalize.h"
#include "octet/error.h"
#include "support/graph_runner.h"
#include "support/pictures.h"
#include "support/temp_dir.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using octet::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Tree : TempDir {
  void add(const std::string& file, const std::string& content = "") const {
    fs::create_directories((*this / file).parent_path());
    write_file(*this / file, content);
  }
  MaskData data(const std::string& type = "OpticDiscSeg", const std::string& mode = "train") const {
    return {.type = type, .root = path().string(), .mode = mode};
  }
};

Mask checkered(int width, int height, int classes) {
  Mask mask(width, height);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) mask.row(y)[x] = static_cast<std::uint8_t>((x + y) % classes);
  return mask;
}

TEST(Mask, IsWrittenAndReadWithItsPalette) {
  const Mask mask = checkered(7, 5, 256);
  const std::string bytes = encode_mask(mask);
  EXPECT_EQ(decode_mask(as_bytes(bytes), "mask.png").pixels, mask.pixels);
  const Image seen = decode_png(as_bytes(bytes), "mask.png");
  EXPECT_THAT(std::vector(seen.pixels.begin(), seen.pixels.begin() + 9),
              ElementsAre(128, 0, 0, 0, 128, 0, 128, 128, 0));  // PaddleSeg's first three colours
  EXPECT_THAT(color_of_class(8), ElementsAre(192, 0, 0));
  EXPECT_THAT(color_of_class(255), ElementsAre(0, 0, 32));
}

TEST(Mask, RefusesWhatIsNoClassOfEachPixel) {
  const auto error = [](const std::string& bytes) {
    return error_of([&] { decode_mask(as_bytes(bytes), "m.png"); });
  };
  EXPECT_THAT(error(encode_png(test_image(4, 4))), AllOf(HasSubstr("m.png: "), HasSubstr("colours")));
  EXPECT_THAT(
      error(encode_png(3, 2, std::vector<std::uint8_t>(12), {.color = PNG_COLOR_TYPE_GRAY, .depth = 16})),
      HasSubstr("16 bits"));
  EXPECT_THAT(error(encode_jpeg(test_image(4, 4))), HasSubstr("must be a PNG"));
  std::string cut = encode_mask(checkered(9, 9, 3));
  cut.resize(cut.size() - 20);
  EXPECT_THAT(error(cut), HasSubstr("broken PNG"));
}

TEST(MaskData, OpticDiscSegHasListsInItsRoot) {
  Tree tree;
  tree.add("JPEGImages/a.jpg");
  tree.add("Annotations/a.png");
  tree.add("train_list.txt", "JPEGImages/a.jpg \t Annotations/a.png\r\n\n");
  const Dataset dataset = open_masks(tree.data());
  ASSERT_EQ(dataset.entries.size(), 1u);
  EXPECT_EQ(dataset.entries[0].mask, tree / "Annotations/a.png");
  EXPECT_EQ(dataset.class_count(), 2);
  EXPECT_TRUE(dataset.has_masks());
  tree.add("val_list.txt", "JPEGImages/a.jpg Annotations/a.png\nJPEGImages/a.jpg Annotations/b.png\n");
  EXPECT_THAT(error_of([&] { open_masks(tree.data("OpticDiscSeg", "val")); }),
              AllOf(HasSubstr("val_list.txt:2: "), HasSubstr("Annotations/b.png")));
  tree.add("test_list.txt", "\n");
  EXPECT_THAT(error_of([&] { open_masks(tree.data("OpticDiscSeg", "test")); }), HasSubstr("an empty list"));
}

TEST(MaskData, DatasetSplitsItsLinesExactly) {
  Tree tree;
  tree.add("a b.jpg");
  tree.add("m.png");
  tree.add("list.txt", "a b.jpg,m.png\n");
  MaskData data = tree.data("Dataset");
  data.num_classes = 3;
  data.separator = ",";
  data.train_path = (tree / "list.txt").string();
  EXPECT_EQ(open_masks(data).entries[0].path, tree / "a b.jpg");
  EXPECT_THAT(open_masks(data).notes, IsEmpty());
  data.separator = " ";
  EXPECT_THAT(error_of([&] { open_masks(data); }), HasSubstr("list.txt:1: "));
  data.separator = ",";
  data.train_path = "list.txt";  // below the root alone
  EXPECT_THAT(open_masks(data).notes, ElementsAre(HasSubstr("not in the working directory")));
  data.train_path = "nowhere.txt";
  EXPECT_THAT(error_of([&] { open_masks(data); }), HasSubstr("nowhere.txt: there is no such list"));
  data.mode = "test";
  tree.add("test.txt", "a b.jpg\n");
  data.test_path = (tree / "test.txt").string();
  EXPECT_FALSE(open_masks(data).has_masks());
}

TEST(MaskData, CityscapesArePairedByTheirNames) {
  Tree tree;
  tree.add("leftImg8bit/train/ulm/ulm_1_leftImg8bit.png");
  tree.add("leftImg8bit/train/bonn/bonn_1_leftImg8bit.png");
  tree.add("gtFine/train/ulm/ulm_1_gtFine_labelTrainIds.png");
  tree.add("gtFine/train/ulm/ulm_1_gtFine_color.png");
  EXPECT_THAT(error_of([&] { open_masks(tree.data("Cityscapes")); }),
              AllOf(HasSubstr("bonn_1_leftImg8bit.png: there is no mask"), HasSubstr("bonn_1_gtFine")));
  tree.add("gtFine/train/bonn/bonn_1_gtFine_labelTrainIds.png");
  const Dataset dataset = open_masks(tree.data("Cityscapes"));
  ASSERT_EQ(dataset.entries.size(), 2u);
  EXPECT_EQ(dataset.entries[1].mask.filename(), "ulm_1_gtFine_labelTrainIds.png");
  EXPECT_EQ(dataset.class_count(), 19);
  tree.add("gtFine/train/ulm/ulm_2_gtFine_labelTrainIds.png");
  EXPECT_THAT(error_of([&] { open_masks(tree.data("Cityscapes")); }), HasSubstr("there is no picture"));
}

// What is wrong with a mask ends a run, unlike a picture that can't be read.
TEST(MaskData, WrongMasksAreErrors) {
  Tree tree;
  tree.add("a.png", encode_png(test_image(8, 6)));
  tree.add("train_list.txt", "a.png m.png\n");
  const auto error = [&](const std::string& mask) {
    tree.add("m.png", mask);
    return error_of([&] {
      Loader loader(open_masks(tree.data()), {Normalize{}}, {.batch_size = 1, .workers = 1});
      while (loader.next()) {
      }
    });
  };
  EXPECT_THAT(error(encode_mask(checkered(8, 6, 3))),
              AllOf(HasSubstr("m.png: class 2 at column 2, row 0"), HasSubstr("num_classes is 2")));
  EXPECT_THAT(error(encode_mask(checkered(8, 5, 2))), AllOf(HasSubstr("8x5"), HasSubstr("8x6")));
  EXPECT_THAT(error(encode_png(test_image(8, 6))), HasSubstr("colours"));
  Mask good = checkered(8, 6, 2);
  good.pixels[3] = 255;
  EXPECT_EQ(error(encode_mask(good)), "");
}

TEST(MaskData, AnotherIndexOfNoClassBecomesTheUsualOne) {
  Tree tree;
  tree.add("a.png", encode_png(test_image(2, 1)));
  Mask mask(2, 1);
  mask.pixels = {1, 7};
  tree.add("m.png", encode_mask(mask));
  tree.add("train_list.txt", "a.png m.png\n");
  MaskData data = tree.data();
  data.ignore_index = 7;
  const Dataset dataset = open_masks(data);
  EXPECT_THAT(dataset.load(dataset.entries[0]).mask()->pixels, ElementsAre(1, Mask::kIgnored));
}

}  // namespace
}  // namespace octet
