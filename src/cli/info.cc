#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "base/error.h"
#include "base/threads.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/model_summary.h"
#include "cli/output.h"
#include "cli/shapes.h"
#include "cli/tensors.h"
#include "formats/format.h"
#include "kernels/dispatch.h"
#include "octet/version.h"
#include "runtime/plan.h"

namespace octet::cli {

namespace {

using Json = nlohmann::ordered_json;
constexpr auto kReplaceBadUtf8 = Json::error_handler_t::replace;  // names in model files may be any bytes

struct Options {
  ModelFlags model;
  RuntimeFlags runtime;
  std::vector<std::string> inputs;  // as given: [NAME=]SHAPE
  bool graph = false;
  bool plan = false;
  bool json = false;
};

void print_json(const Json& json) {
  say("{}\n", json.dump(2, ' ', false, kReplaceBadUtf8));
}

void show_machine(bool as_json) {
  const CpuInfo& cpu = cpu_info();
  std::string_view best = choose_isa("").name;
  int threads = default_threads();
  if (as_json) {
    Json json = {{"version", version()}, {"cpu", {{"model", cpu.model}, {"features", Json::object()}}}};
    for (const CpuFeature& feature : cpu.features)
      json["cpu"]["features"][std::string(feature.name)] = feature.present;
    json["threads"] = threads;
    for (const Isa& isa : isa_list())
      json["isa"].push_back(
          {{"name", isa.name}, {"available", isa.available}, {"default", isa.name == best}});
    return print_json(json);
  }
  say("octet {}\ncpu: {}\nfeatures:", version(), cpu.model);
  for (const CpuFeature& feature : cpu.features)
    if (feature.present) say(" {}", feature.name);
  say("\nthreads: {}\nisa:\n", threads);
  for (const Isa& isa : isa_list())
    say("  {:<11} {}\n", isa.name,
        isa.name == best ? "default"
        : isa.available  ? "available"
                         : "not available");
}

Json to_json(const std::vector<TensorInfo>& tensors) {
  Json json = Json::array();
  for (const TensorInfo& t : tensors)
    json.push_back({{"name", t.name}, {"dtype", name_of(t.dtype)}, {"shape", t.shape}});
  return json;
}

void show_tensors(const char* title, const std::vector<TensorInfo>& tensors) {
  say("{}:\n", title);
  for (const TensorInfo& t : tensors) say("  {}: {}\n", printable(t.name), describe(t.dtype, t.shape));
}

std::uint64_t file_bytes(const std::filesystem::path& path) {
  std::error_code error;
  std::uint64_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

void show_model_json(const Model& model, const ModelPaths& paths, const ModelSummary& summary) {
  Json json;
  for (const auto& path : {paths.model, paths.weights})
    if (!path.empty()) json["files"].push_back({{"path", path.string()}, {"bytes", file_bytes(path)}});
  json["inputs"] = to_json(model.inputs());
  json["outputs"] = to_json(model.outputs());
  json["nodes"] = model.graph()->nodes.size();
  json["ops"] = summary.ops;
  json["unknown_ops"] = summary.unknown_ops;
  json["parameters"] = {{"tensors", summary.parameters},
                        {"elements", summary.parameter_elements},
                        {"bytes", summary.parameter_bytes}};
  json["quantized"] = model.is_quantized();
  if (model.is_quantized())
    json["quantization"] = {{"format", summary.quantization},
                            {"layers", summary.quantized_layers},
                            {"all_layers", summary.layers},
                            {"bits", summary.bits}};
  print_json(json);
}

void show_model_text(const Model& model, const ModelPaths& paths, const ModelSummary& summary) {
  say("files:\n");
  for (const auto& path : {paths.model, paths.weights})
    if (!path.empty()) say("  {} ({})\n", printable(path.string()), format_bytes(file_bytes(path)));
  show_tensors("inputs", model.inputs());
  show_tensors("outputs", model.outputs());
  say("ops: {}\n", model.graph()->nodes.size());
  std::vector<std::pair<std::string, int>> ops(summary.ops.begin(), summary.ops.end());
  std::stable_sort(ops.begin(), ops.end(), [](auto& a, auto& b) { return a.second > b.second; });
  for (const auto& [op, count] : ops) say("  {:<22} {}\n", printable(op), count);
  say("parameters: {} tensors, {} elements, {}\n", summary.parameters, summary.parameter_elements,
      format_bytes(summary.parameter_bytes));
  if (model.is_quantized())
    say("quantized: {}, {} of {} layers, {} bits\n", summary.quantization, summary.quantized_layers,
        summary.layers, fmt::join(summary.bits, " and "));
  else
    say("quantized: no\n");
  if (summary.unknown_ops.empty()) return;
  say("nodes that octet cannot run: {}\n", summary.unknown_nodes.size());
  for (const std::string& node : summary.unknown_nodes) say("  {}\n", printable(node));
  print_warning(fmt::format("{}: octet cannot run this model, it doesn't know {}", paths.model.string(),
                            fmt::join(summary.unknown_ops, ", ")));
}

// How a run goes: the steps after all rewrites, what runs each, and where in memory its result lies.
void show_plan(const Model& model, const Options& options) {
  Config config = make_config(options.runtime);
  if (config.device()) fail("--plan: there is only one for the CPU; leave out --use-gpu and --device");
  std::vector<NamedShape> given;
  for (const std::string& word : options.inputs) given.push_back(parse_shape(word));
  std::vector<Shape> shapes = choose_shapes(options.model.path, model.inputs(), given);
  ThreadPool pool(config.cpu_math_library_num_threads());
  auto executable = prepare(*model.graph(), execute_options(config));
  Plan plan = make_plan(*executable, shapes, pool);
  const Graph& graph = executable->graph;
  say("{:<18} {:<14} {:<8} {:<18} {:>10} {:>10}  {}\n", "op", "kernel", "memory", "shape", "bytes", "at",
      "makes");
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const Executable::Step& step = executable->steps[i];
    auto id = static_cast<std::size_t>(node.outputs[0]);
    const Plan::Slot& slot = plan.values[id];
    std::string_view kernel = plan.skip[i] ? "-" : step.implementation ? step.implementation->name : "none";
    say("{:<18} {:<14} {:<8} {:<18} {:>10} {:>10}  {}\n", printable(node.op), kernel,
        step.layout == Layout::kChannelsLast ? "NHWC" : "plain", to_string(plan.infos[id].shape),
        slot.offset < 0 ? "-" : std::to_string(slot.bytes),
        slot.offset < 0 ? "-" : std::to_string(slot.offset), printable(graph.value(node.outputs[0]).name));
  }
  say("steps: {}\nactivations: {} at most at once, {} without reuse\n", graph.nodes.size(),
      format_bytes(plan.arena_bytes), format_bytes(plan.unshared_bytes));
}

void show_model(const Options& options) {
  const auto has_name = [](const std::string& word) { return word.find('=') != std::string::npos; };
  if (!options.plan && std::ranges::count_if(options.inputs, std::not_fn(has_name)) > 1)
    fail("--input {}: only one shape can be without a name here; write NAME=SHAPE", options.inputs.back());
  Model model = Model::load(options.model.path, options.model.files);
  if (options.plan) return show_plan(model, options);
  if (options.graph) return write_output(model.dump());
  ModelPaths paths = find_model(options.model.path, options.model.files);
  ModelSummary summary = summarize(*model.graph());
  if (options.json)
    show_model_json(model, paths, summary);
  else
    show_model_text(model, paths, summary);
}

}  // namespace

std::function<int()> declare_info(Args& args) {
  auto options = std::make_shared<Options>();
  args.add_positional("MODEL", &options->model.path, "MODEL",
                      "a model: an ONNX file, or a directory, file or prefix of a Paddle inference model");
  Flag& flag =
      args.add("model", &options->model.path, "MODEL", "the model, as a flag in place of the argument");
  flag.aliases = {"model-dir", "model-path"};
  add_file_flags(args, &options->model);
  args.group("Output");
  args.add("graph", &options->graph, "print the graph as text, a line for each op");
  args.add("plan", &options->plan, "print what a run does: steps, kernels, memory");
  args.add("json", &options->json, "print JSON");
  Flag& input = args.add("input", &options->inputs, "[NAME=]SHAPE",
                         "the shape of an input, as 1x3x224x224, in place of what the model declares");
  take_shapes(input, &options->model, true);
  add_runtime_flags(args, &options->runtime);
  args.note("Without a model: the version, what the CPU has, and the names for --isa.");
  args.example("octet info");
  args.example("octet info ch_PP-OCRv4_det_infer");
  args.example("octet info --graph mobilenet_v3_small/inference.pdmodel");
  args.example("octet info --plan mobilenet_v3_small --input 1x3x224x224");
  return [options] {
    if (!options->model.path.empty())
      show_model(*options);
    else if (options->graph || options->plan)
      fail("--{0} needs a model: octet info --{0} MODEL", options->graph ? "graph" : "plan");
    else
      show_machine(options->json);
    return 0;
  };
}

}  // namespace octet::cli
