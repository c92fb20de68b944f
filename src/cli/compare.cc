#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "cli/bindings.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/tensors.h"
#include "metrics/compare.h"
#include "passes/extract.h"
#include "quant/fold.h"

namespace octet::cli {

namespace {

struct Options {
  ModelFlags model;
  RuntimeFlags runtime;
  std::string baseline, baseline_isa;
  bool baseline_ir_optim = false;
  std::vector<std::string> inputs;  // as given: [NAME=]FILE
  double tolerance = 1e-4;
};

// A tensor of one model and the one of the other that it is held against.
struct Pair {
  std::string name, baseline_name;
  std::string op;  // what computes it
  bool is_output = false;
};

bool is_number(const Graph& graph, const Node& node, ValueId id) {
  return id != kNoValue && (graph.value(id).dtype == DType::kFloat32 || node.op == "quantize");
}

bool has_batch_norm(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op == "batch_norm"; });
}

// With batch norms folded as `octet ptq` folds them, so that tensors of the same name are the same quantity.
Model folded(const Model& model) {
  Graph graph = *model.graph();
  quant::fold_batch_norms_in_file(graph);
  return Model(std::make_shared<const Graph>(std::move(graph)));
}

// The tensors of both that have the same name, in the order of the model; and the outputs, by their position
// where their names differ.
std::vector<Pair> match(const Graph& model, const Graph& baseline) {
  std::set<std::string> theirs;
  for (const Node& node : baseline.nodes)
    for (ValueId id : node.outputs)
      if (is_number(baseline, node, id)) theirs.insert(baseline.value(id).name);
  std::map<std::string, std::string> output_of;
  for (std::size_t i = 0; i < std::min(model.outputs.size(), baseline.outputs.size()); ++i)
    output_of[model.value(model.outputs[i]).name] = baseline.value(baseline.outputs[i]).name;

  std::vector<Pair> pairs;
  for (const Node& node : model.nodes) {
    for (ValueId id : node.outputs) {
      if (!is_number(model, node, id)) continue;
      const std::string& name = model.value(id).name;
      auto output = output_of.find(name);
      if (node.op == "observe" && output == output_of.end())
        continue;  // a copy, of which models have hundreds
      if (theirs.contains(name))
        pairs.push_back({name, name, node.op, output != output_of.end()});
      else if (output != output_of.end())
        pairs.push_back({name, output->second, node.op, true});
    }
  }
  return pairs;
}

// Appends what turns the results of `quantize` among the outputs back into real numbers, and gives that out
// in their place: integers of different scales can't be compared.
void dequantize_outputs(Graph& graph) {
  std::map<ValueId, Node> quantizers;
  for (const Node& node : graph.nodes)
    if (node.op == "quantize") quantizers.emplace(node.outputs[0], node);
  for (ValueId& output : graph.outputs) {
    auto found = quantizers.find(output);
    if (found == quantizers.end()) continue;
    Node node = found->second;
    node.op = "dequantize";
    node.attrs.erase("rounding");
    node.attrs.erase("dtype");
    node.inputs[0] = output;
    node.source = -1;
    output = graph.add_value(graph.value(output).name + " in real numbers");
    node.outputs = {output};
    graph.nodes.push_back(std::move(node));
  }
}

// The tensors of the model with these names, each as floats.
std::vector<Tensor> run(const Graph& graph, const std::vector<Binding>& inputs,
                        const std::vector<std::string>& names, const Config& config) {
  std::vector<std::string> input_names;
  for (const Binding& input : inputs) input_names.push_back(input.name);
  Graph part = extract(graph, input_names, names);
  dequantize_outputs(part);
  std::vector<std::string> output_names;
  for (ValueId id : part.outputs) output_names.push_back(part.value(id).name);

  auto predictor = create_predictor(Model(std::make_shared<const Graph>(std::move(part))), config);
  for (const Binding& input : inputs) {
    std::shared_ptr<TensorHandle> handle = predictor->get_input_handle(input.name);
    feed(*handle, load_input(*handle, input.file));
  }
  predictor->run();
  std::vector<Tensor> tensors;
  for (const std::string& name : output_names)
    tensors.push_back(fetch(*predictor->get_output_handle(name)).cast(DType::kFloat32));
  return tensors;
}

// The same files for the baseline, whose inputs may have other names.
std::vector<Binding> rename_inputs(std::vector<Binding> inputs, const Model& model, const Model& baseline) {
  std::vector<TensorInfo> ours = model.inputs(), theirs = baseline.inputs();
  for (Binding& input : inputs) {
    if (baseline.graph()->find_value(input.name) != kNoValue) continue;
    auto at =
        std::find_if(ours.begin(), ours.end(), [&](const TensorInfo& t) { return t.name == input.name; });
    if (std::size_t i = static_cast<std::size_t>(at - ours.begin()); i < ours.size() && i < theirs.size())
      input.name = theirs[i].name;
  }
  return inputs;
}

// The largest difference as a part of the largest value of the baseline.
double relative_difference(const Comparison& comparison) {
  if (comparison.max_abs_difference == 0) return 0;
  return comparison.max_abs_difference / comparison.max_abs_expected;  // infinite when all it expects is zero
}

int report(const std::vector<Pair>& pairs, const std::vector<Tensor>& ours, const std::vector<Tensor>& theirs,
           double tolerance) {
  say("| tensor | op | shape | cosine | SQNR dB | largest difference | of the largest value |\n");
  say("|---|---|---|--:|--:|--:|--:|\n");
  std::string first;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Pair& pair = pairs[i];
    const Shape &shape = ours[i].shape(), &expected_shape = theirs[i].shape();
    say("| {} | {} | {} |", printable(pair.name), pair.op, to_string(shape));
    std::string problem;
    if (shape != expected_shape) {
      problem =
          fmt::format("its shape is {}, the baseline's {}", to_string(shape), to_string(expected_shape));
      say(" | | | baseline: {} |\n", to_string(expected_shape));
    } else {
      Comparison result = compare(theirs[i].data<float>(), ours[i].data<float>());
      double relative = relative_difference(result);
      say(" {:.6f} | {:.1f} | {:.3g} | {:.3g} |\n", result.cosine, result.sqnr_db, result.max_abs_difference,
          relative);
      if (!(relative <= tolerance)) problem = fmt::format("{:.3g} of its largest value", relative);
    }
    if (first.empty() && !problem.empty())
      first = fmt::format("{} ({}): {}", printable(pair.name), pair.op, problem);
  }
  say("\n");
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (!pairs[i].is_output || ours[i].shape() != theirs[i].shape()) continue;
    const Comparison result = compare(theirs[i].data<float>(), ours[i].data<float>());
    say("output {}: SQNR {:.1f} dB, cosine {:.6f}\n", printable(pairs[i].name), result.sqnr_db,
        result.cosine);
  }
  if (first.empty())
    say("All {} tensors are within {:g} of the baseline.\n", pairs.size(), tolerance);
  else
    say("The first that differs more than {:g}: {}\n", tolerance, first);
  return first.empty() ? 0 : 1;
}

int compare_models(const Options& options) {
  if (options.baseline.empty() && options.baseline_isa.empty() &&
      options.runtime.ir_optim == options.baseline_ir_optim)
    fail("--baseline is missing: a second model, or --baseline-isa for other kernels on the same one");
  Config config = make_config(options.runtime);
  RuntimeFlags baseline_flags = options.runtime;
  if (!options.baseline_isa.empty()) baseline_flags.isa = options.baseline_isa;
  baseline_flags.ir_optim = options.baseline_ir_optim;
  Config baseline_config = make_config(baseline_flags);

  Model model = Model::load(options.model.path, options.model.files);
  Model baseline = options.baseline.empty() ? model : Model::load(options.baseline);
  if (has_batch_norm(*baseline.graph()) && !has_batch_norm(*model.graph())) baseline = folded(baseline);
  std::vector<Binding> inputs = bind_files("--input", options.inputs, model.inputs(), *model.graph());
  std::vector<Pair> pairs = match(*model.graph(), *baseline.graph());
  if (pairs.empty())
    fail("{} and {} have no tensor of the same name, and no outputs to compare", options.model.path,
         options.baseline);

  std::vector<std::string> names, baseline_names;
  for (const Pair& pair : pairs) {
    names.push_back(pair.name);
    baseline_names.push_back(pair.baseline_name);
  }
  std::vector<Tensor> ours = run(*model.graph(), inputs, names, config);
  std::vector<Tensor> theirs =
      run(*baseline.graph(), rename_inputs(inputs, model, baseline), baseline_names, baseline_config);
  return report(pairs, ours, theirs, options.tolerance);
}

}  // namespace

std::function<int()> declare_compare(Args& args) {
  auto options = std::make_shared<Options>();
  options->runtime.ir_optim = false;  // optimized graphs lack most of the tensors that are to be compared
  add_model_flags(args, &options->model);
  args.add("baseline", &options->baseline, "MODEL",
           "the model to compare with, for instance the float model it was quantized from; default: the same "
           "model, for --baseline-isa");
  args.group("Arrays");
  Flag& input = args.add("input", &options->inputs, "[NAME=]FILE",
                         "an .npy file for the tensor NAME; without NAME the model's inputs, in their order");
  take_shapes(input, &options->model);
  args.group("Comparison");
  args.add(
      "tolerance", &options->tolerance,
      "how large the largest difference may be, as a part of the largest value of the baseline's tensor");
  args.add("baseline-isa", &options->baseline_isa, "NAME", "the kernels for the baseline").default_text =
      "those of --isa";
  args.add("baseline-ir-optim", &options->baseline_ir_optim, "the same as --ir-optim, for the baseline");
  add_runtime_flags(args, &options->runtime);
  args.note(
      "Compares every tensor that both have by name, and the outputs. Integers are compared as the real "
      "numbers that they stand for. The exit code is 0 when all are within the tolerance and 1 when one is "
      "not.");
  args.example("octet compare --model int8_model --baseline float_model --input x.npy --tolerance 0.1");
  args.example("octet compare --model model --input x.npy --isa avx2 --baseline-isa ref");
  return [options] { return compare_models(*options); };
}

}  // namespace octet::cli
