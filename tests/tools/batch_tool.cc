// batch_tool: runs many models in one process, which is what thousands of small ones need. Each line of the
// standard input is MODEL, a tab, and a folder with input_0.npy, input_1.npy, ... in the order of the model's
// inputs; the outputs go there as output_0.npy, ... Each line is answered by "ok" or "error: ...".
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

#include "base/threads.h"
#include "formats/format.h"
#include "runtime/executor.h"
#include "tensor/npy.h"

namespace {

void run(const std::string& model, const std::filesystem::path& folder, octet::ThreadPool& pool) {
  const octet::Graph graph = octet::load_model(model);
  std::vector<octet::Tensor> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    inputs.push_back(octet::load_npy(folder / fmt::format("input_{}.npy", i)));
  const std::vector<octet::Tensor> outputs = octet::execute(octet::prepare(graph, {}), inputs, pool);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    octet::save_npy(folder / fmt::format("output_{}.npy", i), outputs[i]);
}

}  // namespace

int main() {
  octet::ThreadPool pool(1);
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t tab = line.find('\t');
    try {
      if (tab == std::string::npos) octet::fail("{}: expected MODEL, a tab and a folder", line);
      run(line.substr(0, tab), line.substr(tab + 1), pool);
      std::puts("ok");
    } catch (const octet::Error& error) {
      fmt::print("{}error: {}\n", error.kind() == octet::Error::Kind::kInternal ? "internal " : "",
                 error.what());
    }
    std::fflush(stdout);
  }
}
