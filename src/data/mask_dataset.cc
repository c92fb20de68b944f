#include "data/mask_dataset.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "data/lines.h"

namespace octet {
namespace fs = std::filesystem;

namespace {

// A type of data set.
struct Type {
  std::string_view name;
  int classes;  // 0: the config says it
  Dataset (*open)(const MaskData& data);
};

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

Dataset open_list(const fs::path& file, const MaskData& data) {
  return read_mask_list(read_text(file), file.string(), data);
}

Dataset open_lists(const MaskData& data) {
  const bool is_train = data.mode == "train", is_val = data.mode == "val";
  const fs::path given = is_train ? data.train_path : is_val ? data.val_path : data.test_path;
  if (given.empty()) fail("a data set of type Dataset in mode {} needs a {}_path", data.mode, data.mode);
  if (is_file(given)) return open_list(given, data);
  const fs::path below = fs::path(data.root) / given;
  if (given.is_absolute() || !is_file(below))
    fail("{}: there is no such list; {}_path is relative to the working directory", given.string(),
         data.mode);
  Dataset dataset = open_list(below, data);
  dataset.notes.push_back(fmt::format("{}_path: {} is not in the working directory; {} is taken", data.mode,
                                      given.string(), below.string()));
  return dataset;
}

Dataset open_optic_disc(const MaskData& data) {
  MaskData with_any_blank = data;
  with_any_blank.separator.clear();
  return open_list(fs::path(data.root) / (data.mode + "_list.txt"), with_any_blank);
}

// The files below `folder` whose names end so: by what is before that, CITY/NAME.
std::map<std::string, fs::path> files_by_name(const fs::path& folder, std::string_view ending) {
  std::map<std::string, fs::path> files;
  for (const fs::path& path : list_files_below(folder)) {
    const std::string name = path.lexically_relative(folder).string();
    if (name.ends_with(ending)) files[name.substr(0, name.size() - ending.size())] = path;
  }
  return files;
}

// PaddleSeg pairs the sorted names by their places: a file that is missing there shifts all that follow.
Dataset open_cityscapes(const MaskData& data) {
  constexpr std::string_view kPicture = "_leftImg8bit.png", kMask = "_gtFine_labelTrainIds.png";
  const fs::path root = data.root;
  const fs::path picture_folder = root / "leftImg8bit" / data.mode, mask_folder = root / "gtFine" / data.mode;
  const auto pictures = files_by_name(picture_folder, kPicture);
  if (pictures.empty()) fail("{}: no pictures CITY/*{} in this folder", picture_folder.string(), kPicture);
  Dataset dataset;
  if (!data.needs_masks) {
    for (const auto& [name, picture] : pictures) dataset.entries.push_back({.path = picture});
    return dataset;
  }
  auto masks = files_by_name(mask_folder, kMask);
  if (masks.empty())
    fail("{}: no masks CITY/*{} in this folder; cityscapesScripts' createTrainIdLabelImgs makes them",
         mask_folder.string(), kMask);
  for (const auto& [name, picture] : pictures) {
    const auto mask = masks.find(name);
    if (mask == masks.end())
      fail("{}: there is no mask {}{} for it", picture.string(), (mask_folder / name).string(), kMask);
    dataset.entries.push_back({.path = picture, .mask = mask->second});
    masks.erase(mask);
  }
  if (!masks.empty())
    fail("{}: there is no picture {}{} for it", masks.begin()->second.string(),
         (picture_folder / masks.begin()->first).string(), kPicture);
  return dataset;
}

constexpr Type kTypes[] = {
    {"Dataset", 0, open_lists},
    {"OpticDiscSeg", 2, open_optic_disc},
    {"Cityscapes", 19, open_cityscapes},
};

const Type& type_of(const MaskData& data) {
  const auto found = std::ranges::find(kTypes, data.type, &Type::name);
  if (found == std::end(kTypes))
    fail("a data set of type '{}' is not known; there are Dataset, OpticDiscSeg and Cityscapes", data.type);
  return *found;
}

// The path of a line, which must be there.
fs::path file_of(std::string_view word, const MaskData& data, const std::string& where) {
  const fs::path path = fs::path(data.root) / word;
  if (!is_file(path))
    fail("{}: there is no file {}; paths are relative to dataset_root, {}", where, printable(path.string()),
         data.root.empty() ? "which is not set" : data.root);
  return path;
}

std::vector<std::string_view> fields_of(std::string_view line, const std::string& separator) {
  std::vector<std::string_view> fields;
  if (separator.empty()) {  // any white space
    constexpr std::string_view kBlank = " \t";
    for (std::size_t at = line.find_first_not_of(kBlank), end; at < line.size();
         at = std::min(line.find_first_not_of(kBlank, end), line.size())) {
      end = std::min(line.find_first_of(kBlank, at), line.size());
      fields.push_back(line.substr(at, end - at));
    }
    return fields;
  }
  for (std::size_t at = 0;;) {
    const std::size_t end = line.find(separator, at);
    fields.push_back(line.substr(at, end == std::string_view::npos ? end : end - at));
    if (end == std::string_view::npos) return fields;
    at = end + separator.size();
  }
}

}  // namespace

int class_count(const MaskData& data) {
  return data.num_classes > 0 ? data.num_classes : type_of(data).classes;
}

Dataset open_masks(const MaskData& data) {
  const Type& type = type_of(data);
  std::error_code ignored;
  if (!data.root.empty() && !fs::is_directory(data.root, ignored))
    fail("{}: dataset_root is no folder", data.root);
  if (data.root.empty() && data.type != "Dataset")
    fail("a data set of type {} needs a dataset_root", data.type);
  Dataset dataset = type.open(data);
  dataset.mask_classes = class_count(data);
  dataset.ignore_index = data.ignore_index;
  return dataset;
}

Dataset read_mask_list(std::string_view text, const std::string& name, const MaskData& data) {
  const std::string form = fmt::format("picture{}mask", data.separator.empty() ? " " : data.separator);
  if (text.find('\0') != std::string_view::npos) fail("{}: not a list of pictures and masks", name);
  Dataset dataset;
  for (const Line& line : lines_of(text, name)) {
    const std::vector<std::string_view> fields = fields_of(line.text, data.separator);
    const bool is_alone = fields.size() == 1 && (data.mode == "test" || !data.needs_masks);
    if (fields.size() != 2 && !is_alone)
      fail("{}: {} words in this line, where the separator is {}; it must be `{}`", line.where, fields.size(),
           data.separator.empty() ? "white space" : "'" + printable(data.separator) + "'", printable(form));
    Entry entry{.path = file_of(fields[0], data, line.where)};
    if (!is_alone && data.needs_masks) entry.mask = file_of(fields[1], data, line.where);
    if (data.needs_masks && !dataset.entries.empty() && dataset.has_masks() != !is_alone)
      fail("{}: {} a mask, unlike the lines before", line.where, is_alone ? "lacks" : "has");
    dataset.entries.push_back(std::move(entry));
  }
  if (dataset.entries.empty()) fail("{}: an empty list; its lines are `{}`", name, printable(form));
  return dataset;
}

}  // namespace octet
