#include "data/dataset.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/folder.h"
#include "data/image.h"
#include "data/lines.h"
#include "data/mask.h"
#include "tensor/npy.h"

namespace octet {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kLabelsFile = "labels.npy";

bool is_hidden(const fs::path& path) {
  return path.filename().native().starts_with('.');
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_array_name(const fs::path& path) {
  return path.extension() == ".npy";
}

// What is directly in a folder, sorted by name.
struct Folder {
  std::vector<fs::path> folders, pictures, arrays;
};

Folder read_folder(const fs::path& path) {
  Folder found;
  for (const fs::path& entry : list_folder(path)) {
    std::error_code ignored;
    if (is_hidden(entry)) continue;
    if (fs::is_directory(entry, ignored))
      found.folders.push_back(entry);
    else if (is_picture_name(entry) && fs::is_regular_file(entry, ignored))
      found.pictures.push_back(entry);
    else if (is_array_name(entry) && fs::is_regular_file(entry, ignored))
      found.arrays.push_back(entry);
  }
  return found;
}

// The pictures of a class, at any depth.
std::vector<fs::path> pictures_below(const fs::path& path) {
  std::vector<fs::path> pictures = list_files_below(path);
  std::erase_if(pictures, [](const fs::path& file) { return !is_picture_name(file); });
  return pictures;
}

Dataset from_classes(const std::vector<fs::path>& folders) {
  Dataset dataset;
  for (const fs::path& folder : folders) {
    const auto label = static_cast<std::int64_t>(dataset.classes.size());
    dataset.classes.push_back(folder.filename().string());
    std::vector<fs::path> pictures = pictures_below(folder);
    if (pictures.empty()) dataset.empty_folders.push_back(folder);
    for (fs::path& picture : pictures) dataset.entries.push_back({std::move(picture), label});
  }
  return dataset;
}

Dataset from_pictures(std::vector<fs::path> pictures) {
  Dataset dataset;
  for (fs::path& picture : pictures) dataset.entries.push_back({std::move(picture)});
  return dataset;
}

Dataset from_arrays(const std::vector<fs::path>& files) {
  Dataset dataset;
  for (const fs::path& file : files) {
    if (file.filename() == kLabelsFile) continue;
    const Tensor array = load_npy(file);
    if (array.dtype() != DType::kFloat32 || array.rank() != 4)
      fail("{}: a {} array of shape {}; octet needs float32 [N, C, H, W]", file.string(),
           name_of(array.dtype()), to_string(array.shape()));
    if (array.size() == 0) fail("{}: an empty array of shape {}", file.string(), to_string(array.shape()));
    for (std::int64_t row = 0; row < array.dim(0); ++row) dataset.entries.push_back({file, -1, row});
  }
  if (dataset.entries.empty()) fail("{}: labels, but no array beside them", files.front().string());

  const fs::path labels_file = files.front().parent_path() / kLabelsFile;
  if (!is_file(labels_file)) return dataset;
  const Tensor labels = load_npy(labels_file);
  if (labels.dtype() != DType::kInt64 || labels.rank() != 1 ||
      labels.size() != static_cast<std::int64_t>(dataset.entries.size()))
    fail("{}: a {} array of shape {}; for {} samples octet needs int64 [{}]", labels_file.string(),
         name_of(labels.dtype()), to_string(labels.shape()), dataset.entries.size(), dataset.entries.size());
  const Tensor aligned = labels.aligned();
  for (std::size_t i = 0; i < dataset.entries.size(); ++i) {
    const std::int64_t label = aligned.data<std::int64_t>()[i];
    if (label < 0) fail("{}: the label {} at {} is negative", labels_file.string(), label, i);
    dataset.entries[i].label = label;
  }
  return dataset;
}

// A line of a list: a path, which may have spaces, and perhaps a number behind it.
Entry parse_line(std::string_view line, const std::string& where) {
  constexpr std::string_view kBlank = " \t";
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t blank = line.find_last_of(kBlank);
  if (blank == std::string_view::npos || line.find_first_not_of(kDigits, blank + 1) != std::string_view::npos)
    return {line};
  const std::string_view word = line.substr(blank + 1);
  Entry entry;
  if (std::from_chars(word.begin(), word.end(), entry.label).ec != std::errc())
    fail("{}: the label {} is too large", where, word);
  entry.path = line.substr(0, line.find_last_not_of(kBlank, blank) + 1);
  return entry;
}

// The mask of a picture. What is wrong with it is no accident that training can pass over.
Mask load_target(const Entry& entry, const Image& image, const Dataset& dataset) try {
  const std::string name = entry.mask.string();
  Mask mask = load_mask(entry.mask);
  if (mask.width != image.width || mask.height != image.height)
    fail("{}: a mask of {}x{} pixels for {}, which has {}x{}", name, mask.width, mask.height,
         entry.path.string(), image.width, image.height);
  check_classes(mask, dataset.mask_classes, dataset.ignore_index, name);
  return mask;
} catch (const Error& error) {
  if (error.kind() == Error::Kind::kInternal) throw;
  throw WrongTarget(error.what());
}

Dataset from_list(const fs::path& list) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
  return read_list(read_text(list, kMaxBytes), list);
}

// Whether the folders are parts of a dataset and not classes. There are classes that are called "train", too.
bool are_splits(const std::vector<fs::path>& folders) {
  const auto is_split = [](const fs::path& folder) {
    const fs::path name = folder.filename();
    return name == "train" || name == "val" || name == "test";
  };
  const auto is_val = [](const fs::path& folder) { return folder.filename() == "val"; };
  return !folders.empty() && (std::all_of(folders.begin(), folders.end(), is_split) ||
                              std::any_of(folders.begin(), folders.end(), is_val));
}

// The file `name` of a folder, or `name`.gz; empty: there is neither.
fs::path find_idx(const fs::path& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"})
    if (is_file(folder / (name + ending))) return folder / (name + ending);
  return {};
}

// MNIST's names. Nothing: the folder holds no such files.
std::optional<Dataset> from_idx(const fs::path& folder, std::string_view split) {
  const auto pictures_name = [](std::string_view which) {
    return fmt::format("{}-images-idx3-ubyte", which == "train" ? "train" : "t10k");
  };
  const fs::path pictures = find_idx(folder, pictures_name(split));
  if (pictures.empty()) {
    const fs::path other = find_idx(folder, pictures_name(split == "train" ? "val" : "train"));
    if (other.empty()) return std::nullopt;
    fail("{}: has {}, but not {}[.gz]", folder.string(), other.filename().string(), pictures_name(split));
  }
  const std::string labels_name = fmt::format("{}-labels-idx1-ubyte", split == "train" ? "train" : "t10k");
  const fs::path labels_file = find_idx(folder, labels_name);
  if (labels_file.empty())
    fail("{}: has {}, but not {}[.gz]", folder.string(), pictures.filename().string(), labels_name);
  Dataset dataset;
  dataset.idx = std::make_shared<const IdxPictures>(load_idx_pictures(pictures));
  const std::vector<std::uint8_t> labels = load_idx_labels(labels_file);
  if (std::ssize(labels) != dataset.idx->count)
    fail("{}: {} labels for the {} pictures of {}", labels_file.string(), labels.size(), dataset.idx->count,
         pictures.filename().string());
  dataset.entries.reserve(labels.size());
  for (std::uint8_t label : labels) dataset.entries.push_back({pictures, label, std::ssize(dataset.entries)});
  return dataset;
}

fs::path list_name(std::string_view split) {
  return fmt::format("{}_list.txt", split);
}

Dataset from_folder(const fs::path& path, std::string_view split) {
  if (is_file(path / list_name(split))) return from_list(path / list_name(split));
  if (std::optional<Dataset> dataset = from_idx(path, split)) return *std::move(dataset);
  Folder folder = read_folder(path);
  const bool has_splits = are_splits(folder.folders);
  const auto is_asked_for = [&](const fs::path& other) { return other.filename() == split; };
  if (has_splits && std::any_of(folder.folders.begin(), folder.folders.end(), is_asked_for))
    return from_folder(path / split, split);
  if (has_splits || is_file(path / list_name(split == "train" ? "val" : "train")))
    fail("{}: a dataset without {}_list.txt or a folder {}; give one of its folders, or a list",
         path.string(), split, split);
  Dataset dataset = from_classes(folder.folders);
  if (!dataset.entries.empty()) return dataset;
  if (!folder.pictures.empty()) return from_pictures(std::move(folder.pictures));
  if (!folder.arrays.empty()) return from_arrays(folder.arrays);
  fail(
      "{}: no pictures ({}) or arrays (*.npy) in this folder or the {} below it; octet takes a "
      "folder with one folder per class, {}_list.txt, or a folder of pictures",
      path.string(), kPictureNames, folder.folders.size(), split);
}

}  // namespace

std::int64_t Dataset::class_count() const {
  auto count = std::max(std::ssize(classes), mask_classes);
  for (const Entry& entry : entries) count = std::max(count, entry.label + 1);
  return count;
}

Example Dataset::load(const Entry& entry, const NeededPart& needed) const {
  Example example{.image = idx ? idx->picture(entry.row) : load_image(entry.path, needed)};
  if (entry.label >= 0) example.target = entry.label;
  if (!entry.mask.empty()) example.target = load_target(entry, example.image, *this);
  return example;
}

Dataset open_dataset(const fs::path& path, std::string_view split) {
  check(split == "train" || split == "val", "a dataset has the splits train and val");
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (!fs::exists(status)) fail("{}: no such file or folder", path.string());
  if (fs::is_directory(status)) return from_folder(path, split);
  if (is_picture_name(path)) return from_pictures({path});
  if (is_array_name(path)) return from_arrays({path});
  return from_list(path);
}

void check_same_classes(const Dataset& train, const Dataset& val) {
  if (!train.classes.empty() && !val.classes.empty() && train.classes != val.classes) {
    const auto [in_train, in_val] = std::ranges::mismatch(train.classes, val.classes);
    const auto name = [](const auto& classes, auto it) {
      return it == classes.end() ? std::string("nothing") : "the folder '" + printable(*it) + "'";
    };
    fail("class {} is {} for training and {} for evaluation; both need the same folders, empty or not",
         in_train - train.classes.begin(), name(train.classes, in_train), name(val.classes, in_val));
  }
  const std::int64_t classes = train.class_count();
  for (const Entry& entry : val.entries)
    if (entry.label >= classes)
      fail("{}: the label is {}, but the labels for training end at {}", entry.path.string(), entry.label,
           classes - 1);
}

void check_trainable(const Dataset& dataset) {
  if (!dataset.empty_folders.empty())
    fail("class folder {} holds no pictures ({}); {} of {} class folders {} empty",
         dataset.empty_folders.front().string(), kPictureNames, dataset.empty_folders.size(),
         dataset.classes.size(), dataset.empty_folders.size() == 1 ? "is" : "are");
  if (dataset.entries.empty()) fail("there are no pictures to train on");
  const std::string first = dataset.entries.front().path.string();
  if (dataset.has_masks()) return;
  if (!dataset.has_labels())
    fail("{}: training needs labels: one folder per class, or a list with lines of `relative/path label`",
         first);
  if (dataset.is_array(dataset.entries.front()))
    fail("{}: an array of pictures that are preprocessed already; training needs the pictures", first);
}

std::string problem_with(const Entry& entry, const Error& error) {
  const std::string path = entry.path.string(), what = error.what();
  return what.starts_with(path) ? what : path + ": " + what;
}

Dataset read_list(std::string_view text, const fs::path& list) {
  if (text.find('\0') != std::string_view::npos)
    fail("{}: neither a picture ({}) nor an array (*.npy) nor a list of pictures", list.string(),
         kPictureNames);
  Dataset dataset;
  for (const auto& [line, where] : lines_of(text, list.string())) {
    Entry entry = parse_line(line, where);
    entry.path = list.parent_path() / entry.path;
    if (!is_file(entry.path))
      fail("{}: there is no file {}; paths are relative to the list's folder", where,
           printable(entry.path.string()));
    if (!dataset.entries.empty() && dataset.has_labels() != (entry.label >= 0))
      fail("{}: {} a label, unlike the lines before", where, entry.label >= 0 ? "has" : "lacks");
    dataset.entries.push_back(std::move(entry));
  }
  if (dataset.entries.empty()) fail("{}: an empty list; its lines are `relative/path label`", list.string());
  return dataset;
}

}  // namespace octet
