#pragma once
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/bindings.h"

namespace octet::cli {

// Arrays for all inputs of a model, from files, batch after batch. A file holds one batch, or several where
// the model leaves the first dimension of every input open: those are cut apart.
class ArrayBatches {
 public:
  // `data` is an .npz file with an array for each input by its name, an .npy file for a model with one input,
  // a folder of such files, or of onnx's test data: test_data_set_0, test_data_set_1, ... with input_0.pb,
  // ...
  ArrayBatches(const std::string& data, std::vector<TensorInfo> inputs, int batch_size);
  // One file for each input.
  ArrayBatches(const std::vector<Binding>& files, std::vector<TensorInfo> inputs, int batch_size);

  // Whether `data` is that, and not a set of pictures, or of .npy files that stand for pictures.
  static bool are_in(const std::string& data, const std::vector<TensorInfo>& inputs);

  // The tensors in the order of the inputs; nothing: there are no more.
  std::optional<std::vector<Tensor>> next();
  void start_again() {
    file_ = at_ = 0;
    arrays_.clear();
  }

 private:
  using Files = std::vector<Binding>;  // of a batch: one for each input, or an .npz for all

  std::vector<Tensor> load(const Files& files) const;
  bool can_cut() const;

  std::vector<TensorInfo> inputs_;
  std::int64_t batch_size_;
  std::vector<Files> files_;
  std::size_t file_ = 0;        // the next one
  std::vector<Tensor> arrays_;  // of the file before
  std::int64_t at_ = 0;         // the rows that were given
};

}  // namespace octet::cli
