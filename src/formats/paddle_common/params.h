#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "tensor/tensor.h"

// The combined parameter stream of .pdiparams and __params__: one record a parameter, without names; the
// order is that of the sorted names of the program's persistable variables.
namespace octet::paddle {

struct Param {
  std::string name;
  Tensor tensor;  // small ones are copies, large ones views of the mapped file
  Bytes record;   // the whole record in the file
};

// `names` must be sorted. The file must hold exactly these records.
std::vector<Param> read_params(const std::shared_ptr<const MappedFile>& file,
                               const std::vector<std::string>& names);

// What comes before the data in the record of a tensor.
std::string write_record_header(const Tensor& tensor);

}  // namespace octet::paddle
