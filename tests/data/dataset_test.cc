#include "data/dataset.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "octet/error.h"
#include "support/damage.h"
#include "support/temp_dir.h"
#include "tensor/npy.h"

namespace octet {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A folder in which files can be made without making their folders first. open_dataset opens no picture.
struct Tree : TempDir {
  Tree(std::initializer_list<const char*> files = {}) {
    for (const char* file : files) add(file);
  }
  void add(const std::string& file, const std::string& content = "") const {
    fs::create_directories((*this / file).parent_path());
    write_file(*this / file, content);
  }
};

// The entries as "path label" or "path label row", with paths relative to the tree.
std::vector<std::string> open(const Tree& tree, const std::string& path = "", const char* split = "val") {
  std::vector<std::string> lines;
  for (const Entry& entry : open_dataset(tree / path, split).entries) {
    lines.push_back(fmt::format("{} {}", entry.path.lexically_relative(tree.path()).string(), entry.label));
    if (entry.row >= 0) lines.back() += fmt::format(" {}", entry.row);
  }
  return lines;
}

std::string error_of(const Tree& tree, const std::string& path = "", const char* split = "val") {
  try {
    open(tree, path, split);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Dataset, OneFolderAClass) {
  Tree tree = {"dog/b.png",  "dog/a.JPG", "cat/deep/er/c.jpeg", "cat/notes.txt", "cat/.hidden.jpg",
               ".git/x.jpg", "README.md", "cat/.thumbs/t.jpg",  "empty/none.txt"};
  EXPECT_THAT(open(tree), ElementsAre("cat/deep/er/c.jpeg 0", "dog/a.JPG 1", "dog/b.png 1"));
  EXPECT_THAT(open_dataset(tree.path(), "val").classes, ElementsAre("cat", "dog", "empty"));
  EXPECT_TRUE(open_dataset(tree.path(), "val").has_labels());
}

TEST(Dataset, ALinkBackDoesNotRepeatPictures) {
  Tree tree = {"cat/a.jpg"};
  fs::create_directory_symlink(tree.path(), tree / "cat/loop");
  EXPECT_THAT(open(tree), ElementsAre("cat/a.jpg 0"));
  fs::create_directory_symlink(".", tree / "val");
  EXPECT_EQ(open(tree).size(), 1u);
}

TEST(Dataset, SplitsAreFolders) {
  Tree tree = {"train/cat/a.jpg", "train/dog/b.jpg", "val/cat/c.jpg", "devkit/readme.txt"};
  EXPECT_THAT(open(tree), ElementsAre("val/cat/c.jpg 0"));
  EXPECT_THAT(open(tree, "", "train"), ElementsAre("train/cat/a.jpg 0", "train/dog/b.jpg 1"));
  EXPECT_THAT(open(tree, "train"), ElementsAre("train/cat/a.jpg 0", "train/dog/b.jpg 1"));
  Tree flat = {"val/a.jpg"};
  EXPECT_THAT(open(flat), ElementsAre("val/a.jpg -1"));
}

TEST(Dataset, AClassMayBeCalledTrain) {
  Tree tree = {"car/a.jpg", "train/b.jpg"};
  for (const char* split : {"train", "val"})
    EXPECT_THAT(open(tree, "", split), ElementsAre("car/a.jpg 0", "train/b.jpg 1"));
}

TEST(Dataset, AMissingSplitIsAnError) {
  EXPECT_THAT(error_of(Tree{"train/cat/a.jpg"}), HasSubstr("without val_list.txt or a folder val"));
  EXPECT_THAT(error_of(Tree{"val/cat/a.jpg"}, "", "train"), HasSubstr("without train_list.txt"));
  EXPECT_THAT(error_of(Tree{"jpg/a.jpg", "train_list.txt"}), HasSubstr("without val_list.txt"));
}

TEST(Dataset, AListInTheFolderComesFirst) {
  Tree tree = {"val/a.jpg", "val/b.jpg", "train/c.jpg"};
  tree.add("val_list.txt", "val/b.jpg 7\nval/a.jpg 65\n");
  EXPECT_THAT(open(tree), ElementsAre("val/b.jpg 7", "val/a.jpg 65"));
  EXPECT_THAT(open_dataset(tree.path(), "val").classes, IsEmpty());
}

TEST(Dataset, LinesOfAList) {
  Tree tree = {"a.jpg", "two words.jpg", "10 000.jpg", "s/b"};
  tree.add("list",
           "\xef\xbb\xbf"
           "a.jpg 1\r\n\n  two words.jpg \t 2 \n10 000.jpg 3\ns/b\t4");
  EXPECT_THAT(open(tree, "list"), ElementsAre("a.jpg 1", "two words.jpg 2", "10 000.jpg 3", "s/b 4"));
  tree.add("plain.txt", "a.jpg\ntwo words.jpg\na.jpg\n");
  EXPECT_THAT(open(tree, "plain.txt"), ElementsAre("a.jpg -1", "two words.jpg -1", "a.jpg -1"));
  EXPECT_FALSE(open_dataset(tree / "plain.txt", "val").has_labels());
  tree.add("absolute.txt", (tree / "a.jpg").string() + " 3");
  EXPECT_THAT(open(tree, "absolute.txt"), ElementsAre("a.jpg 3"));
}

TEST(Dataset, BadLinesAreNamed) {
  Tree tree = {"a.jpg", "folder/b.jpg"};
  const auto error_with = [&](const std::string& text) {
    tree.add("list.txt", text);
    return error_of(tree, "list.txt");
  };
  EXPECT_THAT(error_with("a.jpg 1\n\nno.jpg 2\n"), HasSubstr("list.txt:3: there is no file"));
  EXPECT_THAT(error_with("a.jpg 1\nfolder 2\n"), HasSubstr("list.txt:2: there is no file"));
  EXPECT_THAT(error_with("a.jpg -1\n"), HasSubstr("list.txt:1: there is no file"));
  EXPECT_THAT(error_with("5\n"), HasSubstr("list.txt:1: there is no file"));
  EXPECT_THAT(error_with("a.jpg 99999999999999999999\n"),
              HasSubstr("list.txt:1: the label 99999999999999999999"));
  EXPECT_THAT(error_with("a.jpg 1\na.jpg\n"), HasSubstr("list.txt:2: lacks a label"));
  EXPECT_THAT(error_with("a.jpg\na.jpg 1\n"), HasSubstr("list.txt:2: has a label"));
  EXPECT_THAT(error_with(std::string(100000, 'x')), HasSubstr("list.txt:1: a line of 100000 bytes"));
  EXPECT_THAT(error_with(std::string(4000, 'x')), HasSubstr("list.txt:1: there is no file"));
  EXPECT_THAT(error_with(std::string("a.jpg\0 1\n", 9)), HasSubstr("nor a list of pictures"));
  EXPECT_THAT(error_with("\x1b[2J\n"), HasSubstr("\\x1b[2J"));
  EXPECT_THAT(error_with(" \n\t\r\n"), HasSubstr("an empty list"));
  EXPECT_THAT(error_with(""), HasSubstr("an empty list"));
}

TEST(Dataset, DamagedListsAreErrors) {
  Tree tree = {"a.jpg", "b c.jpg"};
  const auto read = [&](const std::string& text) { read_list(text, tree / "list.txt"); };
  const std::string good = "a.jpg 1\nb c.jpg\t22\r\na.jpg 3\n";
  expect_survives_damage(good, read, good.size(), 2000);
}

TEST(Dataset, PicturesWithoutLabels) {
  Tree tree = {"b.png", "a.jpg", ".c.jpg", "notes/readme.txt"};
  EXPECT_THAT(open(tree), ElementsAre("a.jpg -1", "b.png -1"));
  EXPECT_THAT(open(tree, "b.png"), ElementsAre("b.png -1"));
}

TEST(Dataset, NothingToRead) {
  Tree tree = {"notes/readme.txt"};
  EXPECT_THAT(error_of(tree), HasSubstr("no pictures (*.jpg, *.jpeg, *.png, *.webp, *.bmp) or arrays"));
  EXPECT_THAT(error_of(tree, "missing"), HasSubstr("missing: no such file or folder"));
}

TEST(Dataset, ArraysAreExamplesRowByRow) {
  Tree tree;
  save_npy(tree / "b.npy", Tensor(DType::kFloat32, {1, 3, 2, 2}));
  save_npy(tree / "a.npy", Tensor(DType::kFloat32, {2, 3, 2, 2}));
  EXPECT_THAT(open(tree), ElementsAre("a.npy -1 0", "a.npy -1 1", "b.npy -1 0"));
  EXPECT_THAT(open(tree, "a.npy"), ElementsAre("a.npy -1 0", "a.npy -1 1"));
  save_npy(tree / "labels.npy", Tensor::of<std::int64_t>({3}, {5, 6, 7}));
  EXPECT_THAT(open(tree), ElementsAre("a.npy 5 0", "a.npy 6 1", "b.npy 7 0"));
  EXPECT_THAT(error_of(tree, "a.npy"), HasSubstr("labels.npy: a int64 array of shape 3; for 2 samples"));
  save_npy(tree / "labels.npy", Tensor::of<std::int64_t>({3}, {5, -6, 7}));
  EXPECT_THAT(error_of(tree), HasSubstr("the label -6 at 1 is negative"));
}

TEST(Dataset, TrainingAndEvaluationHaveTheSameClasses) {
  const auto error_of_parts = [](const Tree& tree) -> std::string {
    try {
      check_same_classes(open_dataset(tree.path(), "train"), open_dataset(tree.path(), "val"));
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(error_of_parts({"train/a/1.jpg", "train/b/2.jpg", "val/a/3.jpg", "val/b/no.txt"}), "no error");
  EXPECT_THAT(error_of_parts({"train/a/1.jpg", "train/b/2.jpg", "val/b/4.jpg"}),
              HasSubstr("class 0 is the folder 'a' for training and the folder 'b' for evaluation"));
  EXPECT_THAT(error_of_parts({"train/a/1.jpg", "train/b/2.jpg", "val/a/4.jpg"}),
              HasSubstr("class 1 is the folder 'b' for training and nothing for evaluation"));
  Tree lists = {"1.jpg", "2.jpg"};
  lists.add("train_list.txt", "1.jpg 0\n2.jpg 2");
  lists.add("val_list.txt", "1.jpg 1");
  EXPECT_EQ(error_of_parts(lists), "no error");
  lists.add("val_list.txt", "1.jpg 3");
  EXPECT_THAT(error_of_parts(lists),
              HasSubstr("1.jpg: the label is 3, but the labels for training end at 2"));
}

TEST(Dataset, OtherArraysAreRefused) {
  Tree tree;
  save_npy(tree / "x.npy", Tensor(DType::kFloat32, {3, 2, 2}));
  EXPECT_THAT(error_of(tree),
              HasSubstr("x.npy: a float32 array of shape 3x2x2; octet needs float32 [N, C, H, W]"));
  save_npy(tree / "x.npy", Tensor(DType::kFloat32, {0, 3, 2, 2}));
  EXPECT_THAT(error_of(tree, "x.npy"), HasSubstr("empty array"));
  tree.add("x.npy", "no array");
  EXPECT_THAT(error_of(tree, "x.npy"), HasSubstr("is not a .npy file"));
  fs::remove(tree / "x.npy");
  save_npy(tree / "labels.npy", Tensor::of<std::int64_t>({1}, {5}));
  EXPECT_THAT(error_of(tree), HasSubstr("labels, but no array"));
}

}  // namespace
}  // namespace octet
