#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "cli/bindings.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/tensors.h"
#include "graph/graph.h"
#include "passes/extract.h"
#include "tensor/npy.h"

namespace octet::cli {

namespace {

struct Options {
  ModelFlags model;
  RuntimeFlags runtime;
  std::vector<std::string> inputs, outputs;  // as given: [NAME=]FILE
};

void print_summary(const std::string& name, const Tensor& tensor) {
  say("{}: {}", printable(name), describe(tensor.dtype(), tensor.shape()));
  Tensor numbers = tensor.cast(DType::kFloat64);
  std::span<const double> values = numbers.data<double>();
  if (!values.empty()) {
    double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0;
    for (double v : values) {
      low = std::fmin(low, v);
      high = std::fmax(high, v);
      sum += v;
    }
    say(", min {:.7g}, max {:.7g}, mean {:.7g}", low, high, sum / static_cast<double>(values.size()));
    say(", first {:.7g}", fmt::join(values.first(std::min<std::size_t>(values.size(), 5)), " "));
  }
  say("\n");
}

int run(const Options& options) {
  Config config = make_config(options.runtime);
  Model model = Model::load(options.model.path, options.model.files);
  const Graph& graph = *model.graph();
  std::vector<Binding> inputs = bind_files("--input", options.inputs, model.inputs(), graph);
  std::vector<Binding> outputs = bind_files("--output", options.outputs, model.outputs(), graph);

  std::vector<std::string> input_names, output_names;
  for (const Binding& input : inputs) {
    if (std::find(input_names.begin(), input_names.end(), input.name) != input_names.end())
      fail("--input {}={}: this tensor is given twice", input.name, input.file);
    input_names.push_back(input.name);
  }
  for (const Binding& output : outputs) output_names.push_back(output.name);
  if (outputs.empty())
    for (const TensorInfo& output : model.outputs()) output_names.push_back(output.name);

  Model part(std::make_shared<const Graph>(extract(graph, input_names, output_names)));
  std::unique_ptr<Predictor> predictor = create_predictor(part, config);
  for (const Binding& input : inputs) {
    std::shared_ptr<TensorHandle> handle = predictor->get_input_handle(input.name);
    feed(*handle, load_input(*handle, input.file));
  }
  predictor->run();

  AtomicFiles files;
  std::string wrote;
  for (const std::string& name : output_names) {
    Tensor tensor = fetch(*predictor->get_output_handle(name));
    if (outputs.empty()) print_summary(name, tensor);
    for (const Binding& output : outputs) {
      if (output.name != name) continue;
      add_npy(files, output.file, tensor);
      wrote += fmt::format("wrote {}: {} = {}\n", printable(output.file), printable(name),
                           describe(tensor.dtype(), tensor.shape()));
    }
  }
  files.commit();
  say("{}", wrote);
  return 0;
}

}  // namespace

std::function<int()> declare_run(Args& args) {
  auto options = std::make_shared<Options>();
  add_model_flags(args, &options->model);
  args.group("Arrays");
  Flag& input = args.add("input", &options->inputs, "[NAME=]FILE",
                         "an .npy file for the tensor NAME; without NAME the model's inputs, in their order");
  take_shapes(input, &options->model);
  args.add("output", &options->outputs, "[NAME=]FILE",
           "the .npy file to write the tensor NAME to; without NAME the model's outputs, in their order. "
           "Without any "
           "--output a summary of each output is printed");
  add_runtime_flags(args, &options->runtime);
  args.note(
      "NAME may be any tensor of the model (`octet info --graph` shows them); only what lies between the "
      "given "
      "inputs and outputs is computed.");
  args.example("octet run --model mobilenet --input x.npy");
  args.example("octet run --model det --input x=page.npy --output sigmoid_0.tmp_0=map.npy --threads 2");
  return [options] { return run(*options); };
}

}  // namespace octet::cli
