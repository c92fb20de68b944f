#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/error.h"
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

// A tensor of the model and the file that it is read from or written to.
struct Binding {
  std::string name;
  std::string file;
};

std::string names_of(const std::vector<TensorInfo>& tensors) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Splits [NAME=]FILE and gives those without a name the model's own tensors, in their order, that no other
// one names.
std::vector<Binding> bind_files(const char* flag, const std::vector<std::string>& words,
                                const std::vector<TensorInfo>& own, const Graph& graph) {
  std::vector<Binding> bindings;
  for (const std::string& word : words) {
    std::size_t equals = word.find('=');
    std::string name = equals == std::string::npos ? "" : word.substr(0, equals);
    if (!name.empty() && graph.find_value(name) == kNoValue) {
      std::error_code ignored;
      if (!std::filesystem::exists(word, ignored))
        fail("{} {}: the model has no tensor '{}'; its {}s are {}", flag, word, name, flag + 2,
             names_of(own));
      name.clear();  // a file with = in its name
    }
    bindings.push_back({name, name.empty() ? word : word.substr(equals + 1)});
    if (bindings.back().file.empty()) fail("{} {}: a file name is missing after =", flag, word);
  }
  auto is_named = [&](const std::string& name) {
    return std::any_of(bindings.begin(), bindings.end(), [&](const Binding& b) { return b.name == name; });
  };
  auto next = own.begin();
  for (Binding& binding : bindings) {
    if (!binding.name.empty()) continue;
    next = std::find_if(next, own.end(), [&](const TensorInfo& t) { return !is_named(t.name); });
    if (next == own.end())
      fail("{} {}: the model has only {} {}{}: {}", flag, binding.file, own.size(), flag + 2,
           own.size() == 1 ? "" : "s", names_of(own));
    binding.name = next->name;
  }
  return bindings;
}

// The other dimensions are the model's business: a declared size does not bind.
void check_input(const TensorHandle& input, const Tensor& tensor, const std::string& file) {
  bool same_rank = input.shape().empty() || input.shape().size() == tensor.shape().size();
  if (tensor.dtype() != input.type() || !same_rank)
    fail("{}: holds {}, but input '{}' of the model is {}", file, describe(tensor.dtype(), tensor.shape()),
         input.name(), describe(input.type(), input.shape()));
}

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
    Tensor tensor = load_npy(input.file);
    std::shared_ptr<TensorHandle> handle = predictor->get_input_handle(input.name);
    check_input(*handle, tensor, input.file);
    feed(*handle, tensor);
  }
  predictor->run();

  for (const std::string& name : output_names) {
    Tensor tensor = fetch(*predictor->get_output_handle(name));
    if (outputs.empty()) print_summary(name, tensor);
    for (const Binding& output : outputs) {
      if (output.name != name) continue;
      save_npy(output.file, tensor);
      say("wrote {}: {} = {}\n", printable(output.file), printable(name),
          describe(tensor.dtype(), tensor.shape()));
    }
  }
  return 0;
}

}  // namespace

std::function<int()> declare_run(Args& args) {
  auto options = std::make_shared<Options>();
  add_model_flags(args, &options->model);
  args.group("Arrays");
  args.add("input", &options->inputs, "[NAME=]FILE",
           "an .npy file for the tensor NAME; without NAME the model's inputs, in their order");
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
