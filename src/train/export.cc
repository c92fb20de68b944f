#include "train/export.h"

#include "formats/format.h"
#include "models/inference.h"

namespace octet::train {

std::filesystem::path export_quantized(const Network& network, const Task& task,
                                       const std::filesystem::path& folder) {
  Graph graph = network.deployed();
  models::to_inference(graph, {.output = task.head == Head::kSoftmax ? models::OutputOp::kSoftmax
                                                                     : models::OutputOp::kArgmax});
  AtomicFiles files;
  for (const std::string stem : {"qat_inference", "inference"})
    add_model(files, graph, folder, {.model_file = stem + ".pdmodel", .weights_file = stem + ".pdiparams"});
  files.commit();
  return folder / "qat_inference.pdmodel";
}

}  // namespace octet::train
