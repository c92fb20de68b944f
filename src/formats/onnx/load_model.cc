#include "base/journal.h"
#include "formats/onnx/importer.h"
#include "formats/onnx/model_io.h"
#include "formats/onnx/source.h"

namespace octet::onnx {

namespace {

void check_versions(const ModelProto& model, std::int64_t opset) {
  if (model.ir_version < kOldestIr || model.ir_version > kNewestIr)
    fail("its IR version is {}, octet reads {} to {}", model.ir_version, kOldestIr, kNewestIr);
  if (opset < kOldestOpset || opset > kNewestOpset)
    fail("its opset is {}, octet reads {} to {}; onnx.version_converter changes it", opset, kOldestOpset,
         kNewestOpset);
}

}  // namespace

Graph load_model(const ModelPaths& paths, const LoadOptions& options) {
  auto source = std::make_shared<OnnxSource>();
  Graph graph;
  try {
    FolderLock together(folder_of(paths.model), FolderLock::Kind::kShared);
    source->file = std::make_shared<const MappedFile>(paths.model);
    source->directory = folder_of(paths.model);
    try {
      source->model = parse_model(as_text(source->file->bytes()));
    } catch (const Error& error) {
      fail("not an ONNX model: {}", error.what());
    }
    auto opset = source->model.opsets.find("");
    source->opset = opset == source->model.opsets.end() ? 1 : opset->second;
    check_versions(source->model, source->opset);
    source->tensors = std::make_shared<TensorFiles>(source->directory, source->file);
    graph = Importer(*source, options).run();
  } catch (const Error& error) {
    throw Error(fmt::format("{}: {}", paths.model.string(), error.what()), error.kind());
  }
  source->as_read = graph;
  graph.source = source;
  return graph;
}

}  // namespace octet::onnx
