#include <algorithm>

#include "formats/onnx/model_io.h"
#include "formats/onnx/source.h"
#include "formats/onnx/writer.h"
#include "formats/protobuf.h"
#include "graph/op_table.h"
#include "octet/version.h"
#include "passes/passes.h"

namespace octet::onnx {

using protozero::pbf_writer;

namespace {

constexpr std::int64_t kDefaultOpset = 17;
constexpr std::int64_t kOldestWritten = 13, kNewestWritten = 21;

bool same_values(const Graph& a, const Graph& b, const std::vector<ValueId>& left,
                 const std::vector<ValueId>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [&](ValueId x, ValueId y) {
    if (x == kNoValue || y == kNoValue) return x == y;
    const Value &first = a.value(x), &second = b.value(y);
    if (first.name != second.name || first.is_constant() != second.is_constant()) return false;
    return !first.is_constant() || (first.constant.bytes().data() == second.constant.bytes().data() &&
                                    first.constant.dtype() == second.constant.dtype() &&
                                    first.constant.shape() == second.constant.shape());
  });
}

// Values are compared by name, since passes may number them anew.
bool is_as_read(const Graph& graph, const Graph& read) {
  auto same_node = [&](const Node& a, const Node& b) {
    return a.op == b.op && a.attrs == b.attrs && a.source == b.source &&
           same_values(graph, read, a.inputs, b.inputs) && same_values(graph, read, a.outputs, b.outputs);
  };
  auto same_shapes = [&](ValueId a, ValueId b) { return graph.value(a).shape == read.value(b).shape; };
  return std::equal(graph.nodes.begin(), graph.nodes.end(), read.nodes.begin(), read.nodes.end(),
                    same_node) &&
         same_values(graph, read, graph.inputs, read.inputs) &&
         same_values(graph, read, graph.outputs, read.outputs) &&
         std::equal(graph.inputs.begin(), graph.inputs.end(), read.inputs.begin(), same_shapes);
}

Target parse_target(std::string_view name) {
  if (name == "cpu") return Target::kCpu;
  if (name == "tensorrt") return Target::kTensorRt;
  if (name == "common") return Target::kCommon;
  fail("{}: no such target; octet writes ONNX for cpu, tensorrt and common", name);
}

std::int64_t ir_version(std::int64_t opset) {
  return opset < 15 ? 7 : opset < 19 ? 8 : opset < 21 ? 9 : 10;
}

// All of the graph but its initializers.
std::string graph_head(Writer& writer, const Graph& graph, const OnnxSource* source) {
  writer.write_nodes();
  std::string bytes;
  pbf_writer out(bytes);
  for (const std::string& node : writer.nodes()) out.add_message(1, node);
  out.add_string(2, source && !source->model.graph.name.empty() ? source->model.graph.name : "octet");
  for (ValueId id : graph.inputs) out.add_message(11, writer.value_info(id));
  for (ValueId id : graph.outputs) out.add_message(12, writer.value_info(id));
  return bytes;
}

std::string model_head(std::int64_t opset, const OnnxSource* source) {
  std::string bytes;
  pbf_writer out(bytes);
  out.add_int64(1, ir_version(opset));
  if (source && !source->model.about.empty()) {
    bytes += source->model.about;
  } else {
    out.add_string(2, "octet");
    out.add_string(3, version());
  }
  if (source)
    for (const auto& [domain, number] : source->model.opsets) {
      if (domain.empty()) continue;
      pbf_writer id(out, 8);
      id.add_string(1, domain);
      id.add_int64(2, number);
    }
  pbf_writer id(out, 8);
  id.add_string(1, "");
  id.add_int64(2, opset);
  id.commit();
  return bytes;
}

// Tag and length of a field with `size` bytes in it.
std::string field_header(protozero::pbf_tag_type tag, std::size_t size) {
  std::string bytes;
  protozero::write_varint(std::back_inserter(bytes), (tag << 3) | 2);
  protozero::write_varint(std::back_inserter(bytes), size);
  return bytes;
}

std::uint64_t total_bytes(const std::vector<Initializer>& tensors) {
  std::uint64_t total = 0;
  for (const Initializer& tensor : tensors) total += tensor.tensor.size_bytes() + 64 + tensor.name.size();
  return total;
}

// protobuf ends at 2 GiB; what is larger has its tensors in a file beside the model.
std::vector<std::string> write_external(AtomicFiles& files, const std::vector<Initializer>& tensors,
                                        const std::filesystem::path& model) {
  const std::string location = model.filename().string() + ".data";
  files.begin(model.parent_path() / location);
  std::vector<std::string> messages;
  std::uint64_t offset = 0;
  for (const Initializer& tensor : tensors) {
    constexpr std::uint64_t kAlignment = 64;
    const bool packed = tensor.type == ElementType::kInt4;
    const std::string data = packed ? packed_data(tensor) : std::string();
    const std::uint64_t size = packed ? data.size() : tensor.tensor.size_bytes();
    messages.push_back(write_external_tensor(tensor, location, offset, size));
    if (packed)
      files.write(data);
    else
      files.write(tensor.tensor.bytes());  // where it lies: it may be most of the memory
    const std::uint64_t padding = (kAlignment - size % kAlignment) % kAlignment;
    files.write(std::string(padding, '\0'));
    offset += size + padding;
  }
  return messages;
}

// The file as it was, and the files that hold its tensors.
void add_original(AtomicFiles& files, const OnnxSource& source, const std::filesystem::path& path) {
  for (const std::string& location : source.tensors->external_files()) {
    const std::filesystem::path target = path.parent_path() / location;
    make_directory(target.parent_path());
    const MappedFile file(source.directory / location);
    files.begin(target);
    files.write(file.bytes());
  }
  files.begin(path);
  files.write(source.file->bytes());
}

}  // namespace

void add_model(AtomicFiles& files, const Graph& graph, const ModelPaths& paths, const SaveOptions& options) {
  add_model(files, graph, paths, options, kLargestFile);
}

void add_model(AtomicFiles& files, const Graph& graph, const ModelPaths& paths, const SaveOptions& options,
               std::uint64_t largest) {
  const auto* source = dynamic_cast<const OnnxSource*>(graph.source.get());
  const Target target = parse_target(options.target);
  if (options.opset != 0 && (options.opset < kOldestWritten || options.opset > kNewestWritten))
    fail("opset {}: octet writes {} to {}", options.opset, kOldestWritten, kNewestWritten);
  if (source && source->as_declared && (options.opset == 0 || options.opset == source->opset) &&
      is_as_read(graph, source->as_read))
    return add_original(files, *source, paths.model);
  bool has_foreign = false;
  for (const Node& node : graph.nodes) has_foreign = has_foreign || node.op.starts_with("onnx:");
  std::int64_t opset = options.opset != 0 ? options.opset : kDefaultOpset;
  if (options.opset == 0 && has_foreign && source) opset = std::max(source->opset, kOldestWritten);

  Graph written = graph;
  if (is_quantized(written)) to_qdq_form(written);
  fuse_bias(written);
  Writer writer(written, opset, target);
  const std::string head = graph_head(writer, written, source), front = model_head(opset, source);
  std::vector<std::string> messages;
  std::uint64_t size = head.size();
  const std::vector<Initializer>& tensors = writer.initializers();
  const bool external = size + total_bytes(tensors) > largest;
  if (external) messages = write_external(files, tensors, paths.model);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (!external) messages.push_back(write_tensor(tensors[i]));
    size += field_header(5, messages[i].size()).size() + messages[i].size();
  }
  files.begin(paths.model);
  files.write(front);
  files.write(field_header(7, size));
  files.write(head);
  for (const std::string& message : messages) {
    files.write(field_header(5, message.size()));
    files.write(message);
  }
}

}  // namespace octet::onnx
