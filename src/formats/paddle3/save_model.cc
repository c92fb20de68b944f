#include "base/journal.h"
#include "formats/paddle3/model_io.h"
#include "formats/paddle3/writer.h"
#include "passes/passes.h"

namespace octet::paddle3 {

std::string write_model(const Graph& graph, const std::function<void(Bytes)>& write_params) {
  const auto* source = dynamic_cast<const Paddle3Source*>(graph.source.get());
  const paddle::Changes changes(graph, source);
  if (!changes.none() && has_steps(graph)) {
    Graph paddles = graph;
    to_abs_max(paddles);
    return write_model(paddles, write_params);
  }
  if (changes.none()) {
    for (const auto& [name, param] : source->params)
      if (!param.record.empty()) write_params(param.record);
    return std::string(as_text(source->model_file->bytes()));
  }
  ProgramWriter writer(graph, changes, source);
  std::string program = writer.write();
  // Sorted by name, those of ops that octet only carries along among them.
  std::map<std::string_view, std::function<void()>> records;
  for (const auto& [name, param] : writer.kept_params())
    records[name] = [&, record = param->record] { write_params(record); };
  for (const auto& [name, value] : writer.constants()) {
    if (changes.is_as_read(*value)) {
      records[name] = [&, record = changes.original_param(name)->record] { write_params(record); };
    } else {
      records[name] = [&, constant = value] {
        write_params(as_bytes(paddle::write_record_header(constant->constant)));
        write_params(constant->constant.bytes());
      };
    }
  }
  for (const auto& [name, write] : records) write();
  return program;
}

void add_model(AtomicFiles& files, const Graph& graph, const ModelPaths& paths) {
  // A model without parameters has no file for them; but one that is there already would be taken for it.
  bool has_file = file_exists(paths.weights);
  if (has_file) files.begin(paths.weights);
  std::string program = write_model(graph, [&](Bytes bytes) {
    if (!has_file) files.begin(paths.weights);
    has_file = true;
    files.write(bytes);
  });
  files.add(paths.model, program);
}

}  // namespace octet::paddle3
