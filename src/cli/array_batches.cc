#include "cli/array_batches.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/folder.h"
#include "cli/tensors.h"
#include "data/npz.h"
#include "formats/tensor_file.h"
#include "quant/calibration_sample.h"
#include "tensor/npy.h"

namespace octet::cli {

namespace fs = std::filesystem;

namespace {

// The files with this ending: `data` itself, or those directly in the folder, sorted by name.
std::vector<fs::path> files_in(const fs::path& data, std::string_view ending) {
  std::vector<fs::path> paths;
  std::error_code error;
  if (!fs::is_directory(data, error)) {
    if (data.extension() == ending) paths.push_back(data);
    return paths;
  }
  for (const fs::path& path : list_folder(data))
    if (path.extension() == ending && !path.filename().native().starts_with('.')) paths.push_back(path);
  return paths;
}

// The folders of onnx's test data in the order of their numbers: `data` itself, or what lies in it.
std::vector<fs::path> test_data_in(const fs::path& data) {
  std::error_code error;
  if (fs::is_regular_file(data / "input_0.pb", error)) return {data};
  constexpr std::string_view kName = "test_data_set_";
  std::vector<std::pair<std::size_t, fs::path>> numbered;
  if (!fs::is_directory(data, error)) return {};
  for (const fs::path& path : list_folder(data)) {
    const std::string name = path.filename().string();
    if (!name.starts_with(kName) || !fs::is_regular_file(path / "input_0.pb", error)) continue;
    std::size_t number = 0;
    const char* last = name.data() + name.size();
    if (std::from_chars(name.data() + kName.size(), last, number).ptr == last)
      numbered.emplace_back(number, path);
  }
  std::ranges::sort(numbered);
  std::vector<fs::path> folders;
  for (auto& [number, path] : numbered) folders.push_back(std::move(path));
  return folders;
}

bool are_pictures(const std::vector<TensorInfo>& inputs, const Tensor& array) {
  return inputs.size() == 1 && inputs[0].dtype == DType::kFloat32 && array.dtype() == DType::kFloat32 &&
         array.rank() == 4 && (inputs[0].shape.empty() || inputs[0].shape.size() == 4);
}

void check_fits(const TensorInfo& input, const Tensor& array, const std::string& file) {
  const bool same_rank = input.shape.empty() || input.shape.size() == array.shape().size();
  if (array.dtype() != input.dtype || !same_rank)
    fail("{}: holds {}, but input '{}' of the model is {}", file, describe(array.dtype(), array.shape()),
         input.name, describe(input.dtype, input.shape));
  if (array.size() == 0) fail("{}: an empty array of shape {}", file, to_string(array.shape()));
}

// By the names of the inputs; or arr_0, arr_1 ..., as numpy.savez calls arrays without one.
std::vector<Tensor> load_named(const std::string& file, const std::vector<TensorInfo>& inputs) {
  const std::map<std::string, Tensor> arrays = load_npz(file);
  std::vector<Tensor> tensors;
  for (const TensorInfo& input : inputs) {
    auto found = arrays.find(input.name);
    if (found == arrays.end() && arrays.size() == inputs.size())
      found = arrays.find(fmt::format("arr_{}", tensors.size()));
    if (found == arrays.end()) {
      std::vector<std::string> names;
      for (const auto& [name, array] : arrays) names.push_back(printable(name));
      fail("{}: has no array '{}' for that input of the model, but {}", file, input.name,
           fmt::join(names, ", "));
    }
    tensors.push_back(found->second);
  }
  return tensors;
}

}  // namespace

bool ArrayBatches::are_in(const std::string& data, const std::vector<TensorInfo>& inputs) {
  if (!files_in(data, ".npz").empty() || !test_data_in(data).empty()) return true;
  std::vector<fs::path> files = files_in(data, ".npy");
  std::erase_if(files, [](const fs::path& file) { return file.filename() == "labels.npy"; });
  return !files.empty() && !are_pictures(inputs, load_npy(files.front()));
}

ArrayBatches::ArrayBatches(const std::string& data, std::vector<TensorInfo> inputs, int batch_size)
    : inputs_(std::move(inputs)), batch_size_(batch_size) {
  for (const fs::path& file : files_in(data, ".npz")) files_.push_back({{"", file.string()}});
  for (const fs::path& folder : test_data_in(data)) {
    files_.emplace_back();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      files_.back().push_back({inputs_[i].name, (folder / fmt::format("input_{}.pb", i)).string()});
  }
  if (!files_.empty()) return;
  if (inputs_.size() != 1)
    fail("{}: an .npy file holds one array, and the model has {} inputs; put one for each into an .npz file",
         data, inputs_.size());
  for (const fs::path& file : files_in(data, ".npy")) files_.push_back({{inputs_[0].name, file.string()}});
}

ArrayBatches::ArrayBatches(const std::vector<Binding>& files, std::vector<TensorInfo> inputs, int batch_size)
    : inputs_(std::move(inputs)), batch_size_(batch_size), files_({{}}) {
  for (const TensorInfo& input : inputs_) {
    const auto found = std::ranges::find(files, input.name, &Binding::name);
    if (found == files.end()) fail("the input '{}' of the model gets no file", input.name);
    files_[0].push_back(*found);
  }
}

std::vector<Tensor> ArrayBatches::load(const Files& files) const {
  std::vector<Tensor> tensors;
  if (files.front().name.empty())
    tensors = load_named(files.front().file, inputs_);
  else
    for (const Binding& file : files)
      tensors.push_back(file.file.ends_with(".pb") ? load_tensor_file(file.file).aligned()
                                                   : load_npy(file.file).aligned());
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    check_fits(inputs_[i], tensors[i], files[std::min(i, files.size() - 1)].file);
  return tensors;
}

bool ArrayBatches::can_cut() const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const Shape& shape = inputs_[i].shape;
    if (shape.empty() || shape[0] >= 0 || arrays_[i].dim(0) != arrays_[0].dim(0)) return false;
  }
  return true;
}

std::optional<std::vector<Tensor>> ArrayBatches::next() {
  if (arrays_.empty()) {
    if (file_ == files_.size()) return std::nullopt;
    arrays_ = load(files_[file_++]);
    at_ = 0;
  }
  if (!can_cut()) return std::exchange(arrays_, {});
  const std::int64_t rows = arrays_[0].dim(0), count = std::min(batch_size_, rows - at_);
  std::vector<Tensor> batch;
  for (const Tensor& array : arrays_) batch.push_back(quant::cut(array, at_, count));
  at_ += count;
  if (at_ == rows) arrays_.clear();
  return batch;
}

}  // namespace octet::cli
