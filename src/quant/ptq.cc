#include "quant/ptq.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "base/error.h"
#include "graph/op_table.h"
#include "passes/passes.h"
#include "passes/scores.h"
#include "quant/adaround.h"
#include "quant/bias_correction.h"
#include "quant/equalize.h"
#include "quant/fit_inputs.h"
#include "quant/fold.h"
#include "quant/held_out.h"
#include "quant/report.h"
#include "quant/sensitivity.h"
#include "quant/shift_inputs.h"
#include "quant/threshold_search.h"
#include "quant/window.h"

namespace octet {

namespace {

using namespace quant;

void check_options(const QuantizeOptions& options) {
  auto one_of = [](const char* option, const std::string& value,
                   std::initializer_list<std::string_view> words) {
    if (std::find(words.begin(), words.end(), value) == words.end())
      fail("{} {}: expected {}", option, value, fmt::join(words, " or "));
  };
  one_of("deploy", options.deploy, {"octet", "paddle"});
  one_of("weight_quantize_type", options.weight_quantize_type, {"channel_wise_abs_max", "abs_max"});
  one_of("round_type", options.round_type, {"auto", "round", "adaround"});
  for (int bits : {options.weight_bits, options.activation_bits})
    if (bits < 2 || bits > 8) fail("{} bits: octet quantizes to 2 to 8 bits", bits);
  if (!(options.float_share >= 0 && options.float_share <= 1))
    fail("float_share {}: expected a share from 0 to 1", options.float_share);
  if (!(options.hist_percent > 0 && options.hist_percent <= 1))
    fail("hist_percent {}: expected a share above 0, at most 1", options.hist_percent);
}

// Training that went astray leaves such weights, and every scale that is made of them is worthless.
void check_weights_are_finite(const Graph& graph) {
  for (const Node& node : graph.nodes)
    for (ValueId id : node.inputs) {
      if (id == kNoValue || !graph.value(id).is_constant()) continue;
      const Tensor tensor = graph.value(id).constant.aligned();
      if (!is_product(node) || tensor.dtype() != DType::kFloat32) continue;
      const auto data = tensor.data<float>();
      const auto bad = std::count_if(data.begin(), data.end(), [](float x) { return !std::isfinite(x); });
      if (bad > 0)
        fail(
            "{}: {} of the {} numbers of {} are NaN or infinite, so the model can't be quantized; was it "
            "saved "
            "after its training had diverged?",
            describe(graph, node), bad, data.size(), graph.value(id).name);
    }
}

InsertionPointOptions insertion_options(const QuantizeOptions& options) {
  InsertionPointOptions result;
  result.deploy = options.deploy == "octet" ? Deploy::kOctet : Deploy::kPaddle;
  if (!options.quantizable_op_type.empty()) result.op_types = options.quantizable_op_type;
  result.everything = options.is_full_quantize;
  result.skip_tensors = options.skip_tensor_list;
  result.keep_float = options.keep_float;
  return result;
}

// From a float model to an int8 one: observe, decide, insert, correct, report.
class Ptq {
 public:
  Ptq(const Model& model, const Batches& batches, const Batches& others, const QuantizeOptions& options,
      Comm& comm)
      : options_(options),
        comm_(comm),
        method_(find_threshold_method(options.algo)),
        batches_(batches),
        others_(others),
        pool_(options.threads > 0 ? options.threads : default_threads()),
        graph_(*model.graph()) {
    check_options(options);
    if (model.is_quantized())
      fail("the model is quantized already; give the float model that it was made from");
    check_graph(graph_);
    check_weights_are_finite(graph_);
    recognise_functions(graph_);
    recognise_norms(graph_);
    if (options.fold_batch_norm) fold_batch_norms_in_file(graph_);
    infer_shapes(graph_);
    answers_ = take_answer_ops(graph_);
    if (options.windows) window_ = window_pixels(graph_);
    held_out_ = HeldOut(kSampleSize, window_);
  }

  std::optional<Model> run(QuantizeReport* report) {
    const InsertionPoints points = find_insertion_points(graph_, insertion_options(options_));
    if (points.layers.empty())
      fail("there is nothing to quantize: the model has no layer of the types asked for");
    for (ValueId id : points.tensors(graph_))
      if (std::ranges::count(graph_.inputs, id) > 0) ranged_inputs_.insert(id);
    std::optional<KeptStatistics> kept;
    if (!options_.load_stats.empty()) kept = load_statistics();
    if (!kept && !options_.two_pass) has_others_ = held_out_.take_others(others_, comm_);

    Attempt best = attempt(kept                ? kept->equalization
                           : options_.equalize ? Equalization::kAll
                                               : Equalization::kNone,
                           kept ? &*kept : nullptr);
    if (is_auto() && !kept && !options_.equalize) keep_if_better(best, Equalization::kOutliers);
    if (comm_.rank() != 0) return std::nullopt;
    const std::string preprocessing = kept ? kept->preprocessing : options_.preprocessing;
    if (!options_.save_stats.empty())
      KeptStatistics{best.seen, options_.activation_bits, best.equalization,
                     kept ? kept->fitted : fits_inputs(), preprocessing}
          .save(options_.save_stats);

    Graph quantized = finished(best);
    if (report) {
      *report = make_report(best.graph, best.decisions, quantized, best.seen, pool_, progress_of("report"));
      if (has_others_) report->judged_on = JudgedOn::kOthers;
      if (best.equalization == Equalization::kOutliers) report->equalized = best.equalized;
      report->preprocessing = preprocessing;
      if (answers_.outputs.size() == report->outputs.size())  // people know the names of the answers
        for (std::size_t i = 0; i < report->outputs.size(); ++i)
          report->outputs[i].name = graph_.value(answers_.outputs[i]).name;
    }
    put_back(quantized, answers_);
    return Model(std::make_shared<const Graph>(std::move(quantized)));
  }

 private:
  // The graph, equalized or not, and what was decided for it.
  struct Attempt {
    Equalization equalization = Equalization::kNone;
    int equalized = 0;            // places
    std::vector<ValueId> scaled;  // by that
    Graph graph;
    Calibration seen;
    Decisions decisions;
  };

  bool is_auto() const { return method_ == nullptr; }
  bool fits_inputs() const { return options_.deploy == "octet" && !options_.two_pass; }
  bool rounds_by_output() const {
    return options_.round_type == "adaround" || (options_.round_type == "auto" && is_auto());
  }

  // Everything but what makes up for the errors that are left. Only the first process decides.
  Attempt attempt(Equalization equalization, const KeptStatistics* kept) {
    Attempt result{equalization, 0, {}, graph_, {}, {}};
    if (equalization != Equalization::kNone) {
      stage("equalization", 0, 0);
      result.equalized = equalize(result.graph, equalization,
                                  kept ? kept->calibration.sample : first_pictures(), pool_, &result.scaled);
      if (equalization == Equalization::kOutliers && result.equalized == 0) return result;
    }
    Graph& graph = result.graph;
    Decisions& decisions = result.decisions;
    decisions.bits = options_.activation_bits;
    const std::vector<ValueId> fitted =
        (kept ? kept->fitted : fits_inputs())
            ? layers_with_free_inputs(graph, find_insertion_points(graph, insertion_options(options_)))
            : std::vector<ValueId>();
    if (!fitted.empty()) {
      stage("inputs of layers", 0, 0);
      fit_inputs(graph, fitted, options_.activation_bits, kept ? kept->calibration.sample : first_pictures(),
                 pool_, &result.scaled);
    }
    decisions.points = find_insertion_points(graph, insertion_options(options_));
    result.seen = kept ? kept->calibration : calibrate(graph, decisions);
    if (comm_.rank() != 0) return result;
    if (is_auto() && fits_inputs()) {
      decisions.shifts = shift_inputs(graph, decisions.points, result.seen, options_.activation_bits,
                                      !options_.onnx_format, &result.scaled);
      decisions.points = find_insertion_points(graph, insertion_options(options_));
    }

    for (const Layer& layer : decisions.points.layers) quantize_weights_of(layer, graph, decisions);
    const ThresholdOptions thresholds{
        .bits = options_.activation_bits, .hist_percent = options_.hist_percent, .by_histogram = is_auto()};
    find_thresholds(
        graph, method_, thresholds, options_.bias_correction, result.seen, &decisions, pool_,
        [this](const std::string& name, std::int64_t done, std::int64_t total) { stage(name, done, total); });
    drop_noisy_points(graph, &decisions, result.seen.sample, pool_);
    if (rounds_one_by_one()) leave_sensitive(result);
    return result;
  }

  // Layers that make up for the errors of those before them must know which ones have any.
  bool rounds_one_by_one() const { return rounds_by_output() && options_.weight_bits < 8; }

  void leave_sensitive(Attempt& of) {
    if (!is_auto() || options_.deploy != "octet" || options_.float_share == 0) return;
    leave_sensitive_layers(of.graph, &of.decisions, options_.float_share, of.seen.sample, pool_,
                           progress_of("layers to leave in float"));
    for (const Layer& layer : of.decisions.points.only_weights)
      quantize_weights_of(layer, of.graph, of.decisions);
  }

  // Tries another equalization, and takes it if the outputs of what comes of it are nearer to the float ones.
  void keep_if_better(Attempt& best, Equalization equalization) {
    Attempt other = attempt(equalization, nullptr);
    if (other.equalized == 0 || comm_.rank() != 0) return;
    const auto error = [&](const Attempt& of) {
      return OutputError(of.graph, of.seen.sample, pool_).of(quantized_graph(of.graph, of.decisions));
    };
    if (error(other) < error(best)) best = std::move(other);
  }

  Graph finished(Attempt& best) {
    Decisions& decisions = best.decisions;
    const CalibrationSample& sample = best.seen.sample;
    if (rounds_by_output())
      round_weights(best.graph, &decisions, options_.weight_bits, options_.bias_correction, sample, pool_,
                    progress_of("adaround"));
    if (options_.bias_correction && decisions.corrections.empty())
      decisions.corrections =
          find_corrections(best.graph, decisions, sample, pool_, progress_of("bias correction"));
    // Of most layers rounding and correction leave so little of the error that other ones make most of it.
    if (!rounds_one_by_one()) leave_sensitive(best);
    Graph quantized = quantized_graph(best.graph, decisions, options_.onnx_format);
    // They are not what has this name in the float model, so nobody should compare the two.
    for (ValueId id : best.scaled) quantized.value(id).name += ".equalized";
    return quantized;
  }

  void stage(const std::string& name, std::int64_t done, std::int64_t total) const {
    if (options_.progress) options_.progress(name, done, total);
  }

  Progressed progress_of(const char* name) const {
    return [this, name](std::int64_t done, std::int64_t total) { stage(name, done, total); };
  }

  // A batch to calibrate with; without what is held out of it.
  bool batch(std::int64_t index, std::vector<Tensor>* inputs) {
    if (!batches_(index, inputs)) return false;
    if (inputs->size() != graph_.inputs.size())
      fail("batch {} has {} arrays; the model has {} inputs", index, inputs->size(), graph_.inputs.size());
    check_is_finite(index, *inputs);
    if (!has_others_ && !options_.two_pass) held_out_.take_part(index, inputs);
    return true;
  }

  // Statistics would pass over such numbers, and whatever follows from them, without a word. Inputs whose
  // range nobody needs may hold infinities, as masks do.
  void check_is_finite(std::int64_t index, const std::vector<Tensor>& inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].dtype() != DType::kFloat32) continue;
      const bool is_ranged = ranged_inputs_.contains(graph_.inputs[i]);
      const auto data = inputs[i].data<float>();
      const auto bad =
          std::ranges::count_if(data, [&](float x) { return is_ranged ? !std::isfinite(x) : std::isnan(x); });
      if (bad > 0)
        fail("batch {}: {} of the {} numbers for the input {} are {}, so it is nothing to calibrate with",
             index, bad, data.size(), graph_.value(graph_.inputs[i]).name,
             is_ranged ? "NaN or infinite" : "NaN");
    }
  }

  KeptStatistics load_statistics() const {
    const std::string& path = options_.load_stats;
    if (options_.two_pass)
      fail("load_stats {}: it holds what one pass saw, and two_pass reads the pictures again", path);
    KeptStatistics kept = KeptStatistics::load(path);
    const InsertionPoints points = find_insertion_points(graph_, insertion_options(options_));
    for (ValueId id : points.tensors(graph_))
      if (!kept.calibration.tensors.contains(graph_.value(id).name))
        fail("{}: it has nothing on {}; it was saved for another model or other options", path,
             graph_.value(id).name);
    if (kept.bits != options_.activation_bits)
      fail("{}: it was saved with activation_bits {}", path, kept.bits);
    if ((kept.equalization == Equalization::kAll) != options_.equalize)
      fail("{}: it was saved {} equalize", path, options_.equalize ? "without" : "with");
    for (const CalibrationSample* sample : {&kept.calibration.sample, &kept.calibration.held_out})
      for (const auto& inputs : *sample)
        if (inputs.size() != graph_.inputs.size())
          fail("{}: it has pictures for {} inputs, the model has {}", path, inputs.size(),
               graph_.inputs.size());
    return kept;
  }

  CalibrationSample first_pictures() {
    SampleCollector sample(kSampleSize, window_);
    std::vector<Tensor> inputs;
    const std::int64_t end =
        options_.batch_num > 0 ? options_.batch_num : std::numeric_limits<std::int64_t>::max();
    for (std::int64_t i = comm_.rank(); i < end && !sample.is_full() && batch(i, &inputs); i += comm_.size())
      if (!inputs.empty()) sample.add(i, inputs);
    return sample.gather(comm_);
  }

  Calibration calibrate(const Graph& graph, const Decisions& decisions) {
    CalibrateOptions how;
    // The histogram tells auto enough of mse, emd and ptf; who asks for one of them, or might do so later,
    // gets them exactly.
    how.wanted.errors = !options_.save_stats.empty() || (method_ && method_->needs == Statistic::kErrors);
    how.wanted.bits = options_.activation_bits;
    how.wanted.negatives_are_errors = options_.two_pass && !options_.onnx_format;
    how.two_pass = options_.two_pass;
    how.batch_num = options_.batch_num;
    how.window = window_;
    how.device = options_.device.get();
    how.progress = [&](std::int64_t done) { stage("calibration", done, options_.batch_num); };
    Calibration result = quant::calibrate(
        graph, decisions.points.tensors(graph),
        [&](std::int64_t i, std::vector<Tensor>* inputs) { return batch(i, inputs); }, how, comm_, pool_);
    if (result.batches == 0) fail("there is no data to calibrate with");
    result.held_out = held_out_.gather(comm_);
    return result;
  }

  void quantize_weights_of(const Layer& layer, const Graph& graph, Decisions& decisions) const {
    if (!layer.weights) return;
    ValueId id = weights_of(node_of(graph, layer));
    if (decisions.weights.contains(id)) return;
    std::int64_t axis = options_.weight_quantize_type == "abs_max" ? -1 : layer.axis;
    QuantizedWeight weight = quantize_weight(graph.value(id).constant, axis, options_.weight_bits);
    if (options_.weight_correction) correct_weight_statistics(graph.value(id).constant, &weight);
    decisions.weights.emplace(id, std::move(weight));
  }

  const QuantizeOptions& options_;
  Comm& comm_;
  const ThresholdMethod* method_;  // null: auto
  const Batches &batches_, &others_;
  ThreadPool pool_;
  Graph graph_;        // without what makes answers of its scores, by which quantization is judged,
  AnswerOps answers_;  // which is this
  std::set<ValueId> ranged_inputs_;  // those of graph_ that calibration observes
  std::int64_t window_ = 0;          // pixels of the pictures that decisions are tried on; 0: all
  HeldOut held_out_{kSampleSize};
  bool has_others_ = false;  // held_out_ has pictures that are not among those to calibrate with
};

// The batches from `first` on, up to `end` (0: all). The arrays become tensors as they are.
Batches tensors_of(const BatchGenerator& generator, std::int64_t first, std::int64_t end) {
  return [&generator, first, end](std::int64_t i, std::vector<Tensor>* inputs) {
    std::vector<FloatArray> arrays;
    const std::int64_t index = first + i;
    if ((end > 0 && index >= end) || !generator(index, arrays)) return false;
    inputs->clear();
    for (FloatArray& array : arrays) {
      if (element_count(array.shape) != static_cast<std::int64_t>(array.values.size()) ||
          array.values.empty())
        fail("batch {}: an array of shape {} has {} values", index, to_string(array.shape),
             array.values.size());
      auto values = std::make_shared<const std::vector<float>>(std::move(array.values));
      inputs->push_back(Tensor::view(DType::kFloat32, array.shape,
                                     reinterpret_cast<const std::byte*>(values->data()), values));
    }
    return true;
  };
}

}  // namespace

Model quantize(const Model& model, const BatchGenerator& batches, const QuantizeOptions& options,
               QuantizeReport* report) {
  const std::int64_t count = options.batch_num;
  const Batches others =
      count > 0 ? tensors_of(batches, count, 0) : [](std::int64_t, std::vector<Tensor>*) { return false; };
  return *quant::quantize_together(model, tensors_of(batches, 0, count), others, options, report, *alone());
}

std::optional<Model> quant::quantize_together(const Model& model, const Batches& batches,
                                              const Batches& others, const QuantizeOptions& options,
                                              QuantizeReport* report, Comm& comm) {
  return Ptq(model, batches, others, options, comm).run(report);
}

}  // namespace octet
