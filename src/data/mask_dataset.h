#pragma once
#include <string>
#include <string_view>

#include "data/dataset.h"

namespace octet {

// Pictures with a mask each, as PaddleSeg's configs describe them.
struct MaskData {
  std::string type = "Dataset";  // or "OpticDiscSeg", "Cityscapes"
  std::string root = {};
  std::string mode = "train";  // or "val", "test"
  // Of type Dataset: the lists of the three modes, relative to the working directory.
  std::string train_path = {}, val_path = {}, test_path = {};
  std::string separator = " ";  // between the two paths of a line
  int num_classes = 0;          // 0: what the type has
  int ignore_index = 255;       // the class of pixels that don't count; load() makes Mask::kIgnored of it

  bool operator==(const MaskData&) const = default;
};

// How many classes it has: those that it says, or those of its type; 0: neither is known.
int class_count(const MaskData& data);

// Finds the pictures and their masks without opening them, in the order of the list or of their names.
// - Dataset: lines of `picture<separator>mask` relative to the root; in the mode "test" masks may be missing.
// A
//   list that is not in the working directory but below the root is taken from there, with a note.
// - OpticDiscSeg: train_list.txt, val_list.txt, test_list.txt in the root, with white space between the two.
// - Cityscapes: leftImg8bit/MODE/CITY/NAME_leftImg8bit.png and
// gtFine/MODE/CITY/NAME_gtFine_labelTrainIds.png. A file that is missing is an Error that names it, and its
// line.
Dataset open_masks(const MaskData& data);

// The same for the text of a list; `name` is for messages.
Dataset read_mask_list(std::string_view text, const std::string& name, const MaskData& data);

}  // namespace octet
