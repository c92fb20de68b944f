#include "quant/ptq.h"

#include <algorithm>

#include "base/error.h"
#include "graph/op_table.h"
#include "quant/adaround.h"
#include "quant/bias_correction.h"
#include "quant/equalize.h"
#include "quant/fold.h"
#include "quant/report.h"
#include "quant/sensitivity.h"
#include "quant/threshold_search.h"

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
  one_of("round_type", options.round_type, {"round", "adaround"});
  for (int bits : {options.weight_bits, options.activation_bits})
    if (bits < 2 || bits > 8) fail("{} bits: octet quantizes to 2 to 8 bits", bits);
  if (!(options.float_share >= 0 && options.float_share <= 1))
    fail("float_share {}: expected a share from 0 to 1", options.float_share);
  if (!(options.hist_percent > 0 && options.hist_percent <= 1))
    fail("hist_percent {}: expected a share above 0, at most 1", options.hist_percent);
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
  Ptq(const Model& model, const Batches& batches, const QuantizeOptions& options, Comm& comm)
      : options_(options),
        comm_(comm),
        method_(find_threshold_method(options.algo)),
        batches_(batches),
        pool_(options.threads > 0 ? options.threads : default_threads()),
        graph_(*model.graph()) {
    check_options(options);
    if (model.is_quantized())
      fail("the model is quantized already; give the float model that it was made from");
    if (options.fold_batch_norm) fold_batch_norms_in_file(graph_);
    infer_shapes(graph_);
  }

  std::optional<Model> run(QuantizeReport* report) {
    decisions_.bits = options_.activation_bits;
    decisions_.points = find_insertion_points(graph_, insertion_options(options_));
    if (decisions_.points.layers.empty())
      fail("there is nothing to quantize: the model has no layer of the types asked for");

    const Calibration seen = observe();
    if (comm_.rank() != 0) return std::nullopt;

    for (const Layer& layer : decisions_.points.layers) quantize_weights_of(layer);
    const ThresholdOptions thresholds{
        .bits = options_.activation_bits, .hist_percent = options_.hist_percent, .by_histogram = is_auto()};
    find_thresholds(
        graph_, method_, thresholds, seen, &decisions_, pool_,
        [this](const std::string& name, std::int64_t done, std::int64_t total) { stage(name, done, total); });
    drop_noisy_points(graph_, &decisions_, seen.sample, pool_);
    if (is_auto() && options_.deploy == "octet" && options_.float_share > 0)
      leave_sensitive_layers(graph_, &decisions_, options_.float_share, seen.sample, pool_,
                             progress_of("layers to leave in float"));

    if (options_.round_type == "adaround")
      round_weights(graph_, &decisions_, options_.weight_bits, options_.bias_correction, seen.sample, pool_,
                    progress_of("adaround"));
    if (options_.bias_correction && decisions_.corrections.empty())
      decisions_.corrections =
          find_corrections(graph_, decisions_, seen.sample, pool_, progress_of("bias correction"));

    Graph quantized = quantized_graph(graph_, decisions_, options_.onnx_format);
    if (report) *report = make_report(graph_, decisions_, quantized, seen, pool_, progress_of("report"));
    return Model(std::make_shared<const Graph>(std::move(quantized)));
  }

 private:
  bool is_auto() const { return method_ == nullptr; }

  void stage(const std::string& name, std::int64_t done, std::int64_t total) const {
    if (options_.progress) options_.progress(name, done, total);
  }

  Progressed progress_of(const char* name) const {
    return [this, name](std::int64_t done, std::int64_t total) { stage(name, done, total); };
  }

  bool batch(std::int64_t index, std::vector<Tensor>* inputs) const {
    if (!batches_(index, inputs)) return false;
    if (inputs->size() != graph_.inputs.size())
      fail("batch {} has {} arrays; the model has {} inputs", index, inputs->size(), graph_.inputs.size());
    return true;
  }

  // The statistics of all tensors that get a threshold: those of a file, or of the batches.
  Calibration observe() {
    std::optional<Calibration> kept;
    if (!options_.load_stats.empty()) kept = kept_statistics();
    if (options_.equalize) {
      stage("equalization", 0, 0);
      equalize(graph_, kept ? kept->sample : first_pictures(), pool_);
    }
    return kept ? std::move(*kept) : calibrate();
  }

  Calibration kept_statistics() const {
    const std::string& path = options_.load_stats;
    if (options_.two_pass)
      fail("load_stats {}: it holds what one pass saw, and two_pass reads the pictures again", path);
    KeptStatistics kept = KeptStatistics::load(path);
    for (ValueId id : decisions_.points.tensors(graph_))
      if (!kept.calibration.tensors.contains(graph_.value(id).name))
        fail("{}: it has nothing on {}; it was saved for another model or other options", path,
             graph_.value(id).name);
    if (kept.bits != options_.activation_bits)
      fail("{}: it was saved with activation_bits {}", path, kept.bits);
    if (kept.equalized != options_.equalize)
      fail("{}: it was saved {} equalize", path, kept.equalized ? "with" : "without");
    for (const auto& inputs : kept.calibration.sample)
      if (inputs.size() != graph_.inputs.size())
        fail("{}: it has pictures for {} inputs, the model has {}", path, inputs.size(),
             graph_.inputs.size());
    return std::move(kept.calibration);
  }

  CalibrationSample first_pictures() const {
    SampleCollector sample(kSampleSize);
    std::vector<Tensor> inputs;
    for (std::int64_t i = comm_.rank(); !sample.is_full() && batch(i, &inputs); i += comm_.size())
      sample.add(i, inputs);
    return sample.gather(comm_);
  }

  Calibration calibrate() {
    CalibrateOptions how;
    // The histogram tells auto enough of mse, emd and ptf; who asks for one of them, or might do so later,
    // gets them exactly.
    how.wanted.errors = !options_.save_stats.empty() || (method_ && method_->needs == Statistic::kErrors);
    how.wanted.bits = options_.activation_bits;
    how.wanted.negatives_are_errors = options_.two_pass && !options_.onnx_format;
    how.two_pass = options_.two_pass;
    how.batch_num = options_.batch_num;
    how.device = options_.device.get();
    how.progress = [&](std::int64_t done) { stage("calibration", done, options_.batch_num); };
    Calibration result = quant::calibrate(
        graph_, decisions_.points.tensors(graph_),
        [&](std::int64_t i, std::vector<Tensor>* inputs) { return batch(i, inputs); }, how, comm_, pool_);
    if (result.batches == 0) fail("there is no data to calibrate with");
    if (!options_.save_stats.empty() && comm_.rank() == 0)
      KeptStatistics{result, options_.activation_bits, options_.equalize}.save(options_.save_stats);
    return result;
  }

  void quantize_weights_of(const Layer& layer) {
    if (!layer.weights) return;
    ValueId id = weights_of(node_of(graph_, layer));
    if (decisions_.weights.contains(id)) return;
    std::int64_t axis = options_.weight_quantize_type == "abs_max" ? -1 : layer.axis;
    QuantizedWeight weight = quantize_weight(graph_.value(id).constant, axis, options_.weight_bits);
    if (options_.weight_correction) correct_weight_statistics(graph_.value(id).constant, &weight);
    decisions_.weights.emplace(id, std::move(weight));
  }

  const QuantizeOptions& options_;
  Comm& comm_;
  const ThresholdMethod* method_;  // null: auto
  const Batches& batches_;
  ThreadPool pool_;
  Graph graph_;
  Decisions decisions_;
};

// The arrays become tensors as they are.
Batches tensors_of(const BatchGenerator& generator) {
  return [&generator](std::int64_t index, std::vector<Tensor>* inputs) {
    std::vector<FloatArray> arrays;
    if (!generator(index, arrays)) return false;
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
  return *quant::quantize_together(model, tensors_of(batches), options, report, *alone());
}

std::optional<Model> quant::quantize_together(const Model& model, const Batches& batches,
                                              const QuantizeOptions& options, QuantizeReport* report,
                                              Comm& comm) {
  return Ptq(model, batches, options, comm).run(report);
}

}  // namespace octet
