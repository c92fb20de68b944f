#include "formats/paddle_common/tensor_desc.h"

#include "formats/protobuf.h"

namespace octet::paddle {

TensorDesc parse_tensor_desc(std::string_view bytes) {
  TensorDesc desc;
  protozero::pbf_reader in(bytes);
  while (in.next()) {
    switch (in.tag()) {
      case 1:
        desc.data_type = in.get_enum();
        break;
      case 2:
        append_repeated(in, desc.shape, &protozero::pbf_reader::get_int64,
                        &protozero::pbf_reader::get_packed_int64);
        break;
      default:
        in.skip();
    }
  }
  return desc;
}

std::string write_tensor_desc(const TensorDesc& desc) {
  std::string bytes;
  protozero::pbf_writer out(bytes);
  out.add_enum(1, desc.data_type);
  for (std::int64_t dim : desc.shape) out.add_int64(2, dim);
  return bytes;
}

}  // namespace octet::paddle
