#include "attack/samples.h"

#include <stdexcept>

#include "attack/child.h"
#include "attack/sample_graphs.h"
#include "formats/format.h"
#include "tensor/npy.h"

namespace octet::attack {

namespace fs = std::filesystem;

namespace {

Sample sample_in(const std::string& name, const fs::path& folder) {
  const ModelPaths paths = find_model(folder);
  return {name, paths.model, paths.model.extension() == ".onnx" ? fs::path() : paths.weights};
}

}  // namespace

std::vector<Sample> make_samples(const fs::path& folder) {
  fs::create_directories(folder);
  const fs::path x = folder / "x.npy";
  save_npy(x, testing::ramp({2, 3, 16, 16}, 3));
  std::vector<Sample> samples;
  for (const auto& [name, graph] : sample_graphs())
    for (const char* format : {"paddle", "paddle3", "onnx"}) {
      const fs::path base = folder / (std::string(format) + "-" + name);
      const fs::path plain = base.string() + "-float";
      save_model(graph, plain, {.format = format});
      samples.push_back(sample_in(std::string(format) + " float " + name, plain));
      std::vector<std::pair<std::string, std::vector<std::string>>> kinds = {{"int8", {"--format", format}}};
      if (format == std::string("paddle")) kinds.push_back({"older int8", {"--onnx-format", "False"}});
      for (const auto& [kind, flags] : kinds) {
        const fs::path out = base.string() + (kind == "int8" ? "-int8" : "-older");
        std::vector<std::string> words = {"ptq",      "--model-path", plain.string(), "--data-dir",
                                          x.string(), "--output-dir", out.string(),   "--fast"};
        words.insert(words.end(), flags.begin(), flags.end());
        const Outcome outcome = run_in_child(words, {});
        if (outcome.exit_code != 0)
          throw std::runtime_error("octet ptq of " + plain.string() + ": " + outcome.said);
        samples.push_back(sample_in(std::string(format) + " " + kind + " " + name, out));
      }
    }
  return samples;
}

}  // namespace octet::attack
