#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/example.h"
#include "data/idx.h"
#include "octet/error.h"

namespace octet {

// Where an example is, and what is known about it without opening it.
struct Entry {
  std::filesystem::path path;
  std::int64_t label = -1;          // -1: not known
  std::int64_t row = -1;            // which one of those in a .npy or idx file; -1: the file is a picture
  std::filesystem::path mask = {};  // the file with the class of each pixel; empty: there is none
};

// A mask that does not fit its picture or its data set. Broken pictures are passed over; this is not.
class WrongTarget : public Error {
 public:
  explicit WrongTarget(const std::string& what) : Error(what) {}
};

// Pictures, or arrays that are preprocessed already, in an order that does not depend on the file system.
// Either all have a label or none has; the same is true of masks.
struct Dataset {
  std::vector<Entry> entries;
  std::vector<std::string> classes;                  // the name of each label, where folders tell it
  std::vector<std::filesystem::path> empty_folders;  // the classes without pictures, which training refuses
  std::shared_ptr<const IdxPictures> idx;            // of an idx file: its rows are the entries
  std::int64_t mask_classes = 0;                     // of masks; 0: not known
  int ignore_index = Mask::kIgnored;                 // what pixels of no class have in the files of masks
  std::vector<std::string> notes;                    // what is worth a line to who opened it

  // One more than the largest label, or the number of folders, or that of masks.
  std::int64_t class_count() const;
  bool has_labels() const { return !entries.empty() && entries.front().label >= 0; }
  bool has_masks() const { return !entries.empty() && !entries.front().mask.empty(); }
  bool is_array(const Entry& entry) const { return entry.row >= 0 && !idx; }
  // The picture of an entry, which is no array, or what is needed of it, and its target; an Error when it
  // can't be read.
  Example load(const Entry& entry, const NeededPart& needed = {}) const;
};

// Finds the examples without opening the pictures. `split` is "train" or "val"; `path` is one of
// - a folder with one folder per class, which are numbered in the order of their names;
// - a folder with the list `split`_list.txt, or with a folder `split`, which is any of these itself;
// - a folder with the idx files of MNIST or Fashion-MNIST: "train" is train-*, "val" is t10k-*;
// - a list: lines of `relative/path label`, or of paths alone, relative to the list's folder;
// - a folder of pictures, or one picture: no labels;
// - a .npy file of a float32 array [N, C, H, W], or a folder of them: N examples each, with labels when there
//   is a labels.npy beside.
// Hidden files and what is neither picture nor array are left out. An Error says what was found in their
// place.
Dataset open_dataset(const std::filesystem::path& path, std::string_view split);

// An Error when the two have folders for their classes and those differ: a label would mean one thing in
// training and another in evaluation. Also when `val` has a label that is not in `train`.
void check_same_classes(const Dataset& train, const Dataset& val);

// An Error when there is nothing to train on: no labels, a class without pictures, or arrays in place of
// pictures.
void check_trainable(const Dataset& dataset);

// A line about a picture that can't be used. It begins with the file, whatever the error says.
std::string problem_with(const Entry& entry, const Error& error);

// The entries of a list with this text, which is the file `list`.
Dataset read_list(std::string_view text, const std::filesystem::path& list);

}  // namespace octet
