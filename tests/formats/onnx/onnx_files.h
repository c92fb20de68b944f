#pragma once
#include <string>
#include <vector>

#include "formats/protobuf.h"
#include "tensor/tensor.h"

// Makes ONNX files by hand, for what octet itself never writes.
namespace octet::testing {

using protozero::pbf_writer;

template <class Fill>
std::string message(Fill fill) {
  std::string bytes;
  pbf_writer out(bytes);
  fill(out);
  return bytes;
}

// A float tensor's message up to its data.
inline void tensor_head(pbf_writer& out, const std::string& name, const Shape& shape, int type) {
  for (std::int64_t dim : shape) out.add_int64(1, dim);
  out.add_int32(2, type);
  out.add_string(8, name);
}

inline std::string float_tensor(const std::string& name, const Shape& shape,
                                const std::vector<float>& values) {
  return message([&](pbf_writer& out) {
    tensor_head(out, name, shape, 1);
    for (float value : values) out.add_float(4, value);
  });
}

inline std::string external_tensor(const std::string& name, const Shape& shape, const std::string& location,
                                   const std::string& offset = "0") {
  return message([&](pbf_writer& out) {
    tensor_head(out, name, shape, 1);
    for (auto [key, value] : {std::pair{"location", location}, {"offset", offset}})
      out.add_message(13, message([&](pbf_writer& entry) {
                        entry.add_string(1, key);
                        entry.add_string(2, value);
                      }));
    out.add_enum(14, 1);
  });
}

inline std::string value_proto(const std::string& name, const Shape& shape, int type = 1) {
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    out.add_message(2, message([&](pbf_writer& kind) {
                      kind.add_message(1, message([&](pbf_writer& tensor) {
                                         tensor.add_enum(1, type);
                                         tensor.add_message(2, message([&](pbf_writer& dims) {
                                                              for (std::int64_t size : shape)
                                                                dims.add_message(
                                                                    1, message([&](pbf_writer& dim) {
                                                                      if (size >= 0) dim.add_int64(1, size);
                                                                    }));
                                                            }));
                                       }));
                    }));
  });
}

inline std::string int_attribute(const std::string& name, std::int64_t value) {
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    out.add_int64(3, value);
    out.add_enum(20, 2);
  });
}

inline std::string graph_attribute(const std::string& name, const std::string& graph) {
  return message([&](pbf_writer& out) {
    out.add_string(1, name);
    out.add_message(6, graph);
    out.add_enum(20, 5);
  });
}

inline std::string node_proto(const std::string& type, const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs,
                              const std::vector<std::string>& attributes = {},
                              const std::string& domain = "") {
  return message([&](pbf_writer& out) {
    for (const std::string& input : inputs) out.add_string(1, input);
    for (const std::string& output : outputs) out.add_string(2, output);
    out.add_string(4, type);
    for (const std::string& attribute : attributes) out.add_message(5, attribute);
    if (!domain.empty()) out.add_string(7, domain);
  });
}

struct OnnxGraph {
  std::vector<std::string> nodes, initializers, inputs, outputs;

  std::string bytes() const {
    return message([&](pbf_writer& out) {
      for (const std::string& node : nodes) out.add_message(1, node);
      out.add_string(2, "test");
      for (const std::string& tensor : initializers) out.add_message(5, tensor);
      for (const std::string& input : inputs) out.add_message(11, input);
      for (const std::string& output : outputs) out.add_message(12, output);
    });
  }

  std::string model(std::int64_t opset = 17, const std::vector<std::string>& functions = {}) const {
    return message([&](pbf_writer& out) {
      out.add_int64(1, 8);
      out.add_message(7, bytes());
      out.add_message(8, message([&](pbf_writer& id) {
                        id.add_string(1, "");
                        id.add_int64(2, opset);
                      }));
      for (const std::string& function : functions) out.add_message(25, function);
    });
  }
};

}  // namespace octet::testing
