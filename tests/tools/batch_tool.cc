// batch_tool: runs many models in one process, which is what thousands of small ones need. Each line of the
// standard input is MODEL, a tab, and a folder with input_0.npy, input_1.npy, ... in the order of the model's
// inputs; the outputs go there as output_0.npy, ... Each line is answered by "ok" or "error: ...". With an
// argument, "every-isa", each model runs on every instruction set that there is, which must give the same
// bytes.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <string>

#include "base/threads.h"
#include "formats/format.h"
#include "kernels/dispatch.h"
#include "runtime/executor.h"
#include "tensor/npy.h"

namespace {

void run(const std::string& model, const std::filesystem::path& folder, octet::ThreadPool& pool,
         bool every_isa) {
  const octet::Graph graph = octet::load_model(model);
  std::vector<octet::Tensor> inputs;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i)
    inputs.push_back(octet::load_npy(folder / fmt::format("input_{}.npy", i)));
  const std::vector<octet::Tensor> outputs = octet::execute(octet::prepare(graph, {}), inputs, pool);
  for (const octet::Isa& isa : octet::isa_list()) {
    if (!every_isa || !isa.available) continue;
    const std::vector<octet::Tensor> others =
        octet::execute(octet::prepare(graph, {.isa = std::string(isa.name)}), inputs, pool);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!std::ranges::equal(outputs[i].bytes(), others[i].bytes()))
        octet::fail("output {} has other bytes with isa {}", i, isa.name);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i)
    octet::save_npy(folder / fmt::format("output_{}.npy", i), outputs[i]);
}

}  // namespace

int main(int argc, char** argv) {
  const bool every_isa = argc > 1 && std::string_view(argv[1]) == "every-isa";
  octet::ThreadPool pool(1);
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t tab = line.find('\t');
    try {
      if (tab == std::string::npos) octet::fail("{}: expected MODEL, a tab and a folder", line);
      run(line.substr(0, tab), line.substr(tab + 1), pool, every_isa);
      std::puts("ok");
    } catch (const octet::Error& error) {
      fmt::print("{}error: {}\n", error.kind() == octet::Error::Kind::kInternal ? "internal " : "",
                 error.what());
    }
    std::fflush(stdout);
  }
}
