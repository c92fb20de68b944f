#include "quant/ptq.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "graph/op_table.h"
#include "quant/adaround.h"
#include "quant/calibrate.h"
#include "quant/equalize.h"
#include "quant/fold.h"
#include "quant/judge.h"
#include "quant/sensitivity.h"

namespace octet {

namespace {

using namespace quant;

constexpr std::int64_t kSampleSize = 32;  // pictures that single layers are tried on

// Extra tensors with less than this are left in float: the gain in speed is not worth the noise.
constexpr double kMinExtraSqnr = 20;

constexpr std::int64_t kFew = 4;        // pictures that every layer is tried on alone
constexpr double kMinErrorShare = 0.1;  // of the output's error, that a layer makes which stays in float

void check_options(const QuantizeOptions& options) {
  auto one_of = [](const char* flag, const std::string& value,
                   std::initializer_list<std::string_view> words) {
    if (std::find(words.begin(), words.end(), value) == words.end())
      fail("--{} {}: expected {}", flag, value, fmt::join(words, " or "));
  };
  one_of("deploy", options.deploy, {"octet", "paddle"});
  one_of("weight_quantize_type", options.weight_quantize_type, {"channel_wise_abs_max", "abs_max"});
  one_of("round_type", options.round_type, {"round", "adaround"});
  for (int bits : {options.weight_bits, options.activation_bits})
    if (bits < 2 || bits > 8) fail("{} bits: octet quantizes to 2 to 8 bits", bits);
  if (!(options.float_share >= 0 && options.float_share <= 1))
    fail("--float_share {}: expected a share from 0 to 1", options.float_share);
  if (!(options.hist_percent > 0 && options.hist_percent <= 1))
    fail("--hist_percent {}: expected a share above 0, at most 1", options.hist_percent);
}

class Ptq {
 public:
  Ptq(const Model& model, const BatchGenerator& generator, const QuantizeOptions& options, Comm& comm)
      : options_(options),
        comm_(comm),
        algorithm_(parse_algorithm(options.algo)),
        generator_(generator),
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
    decisions_.points = find_points(graph_, point_options());
    if (decisions_.points.layers.empty())
      fail("there is nothing to quantize: the model has no layer of the types asked for");
    std::optional<KeptStatistics> kept = kept_statistics();
    if (options_.equalize) equalize_channels();
    Calibration calibration = kept ? std::move(kept->calibration) : statistics();
    if (comm_.rank() != 0) return std::nullopt;
    for (const Layer& layer : decisions_.points.layers) quantize_weights_of(layer);
    find_thresholds(calibration);
    drop_noisy_extras();
    leave_in_float();
    if (options_.round_type == "adaround")
      round_weights(graph_, &decisions_, options_.weight_bits, options_.bias_correction, sample_, pool_,
                    steps_of("adaround"));
    if (options_.bias_correction && decisions_.corrections.empty())
      decisions_.corrections =
          find_corrections(graph_, decisions_, sample_, pool_, steps_of("bias correction"));
    Graph quantized = quantized_graph(graph_, decisions_, options_.onnx_format);
    if (report)
      *report = judge(graph_, decisions_, quantized, calibration, sample_, pool_, steps_of("report"));
    return Model(std::make_shared<const Graph>(std::move(quantized)));
  }

 private:
  PointOptions point_options() const {
    PointOptions points;
    points.deploy = options_.deploy == "octet" ? Deploy::kOctet : Deploy::kPaddle;
    if (!options_.quantizable_op_type.empty()) points.op_types = options_.quantizable_op_type;
    points.everything = options_.is_full_quantize;
    points.skip_tensors = options_.skip_tensor_list;
    points.keep_float = options_.keep_float;
    return points;
  }

  void stage(const char* name, std::int64_t done, std::int64_t total) const {
    if (options_.progress) options_.progress(name, done, total);
  }

  Progressed steps_of(const char* name) const {
    return [this, name](std::int64_t done, std::int64_t total) { stage(name, done, total); };
  }

  bool batch(std::int64_t index, std::vector<Tensor>* inputs) {
    std::vector<FloatArray> arrays;
    if (!generator_(index, arrays)) return false;
    if (arrays.size() != graph_.inputs.size())
      fail("batch {} has {} arrays; the model has {} inputs", index, arrays.size(), graph_.inputs.size());
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
    add_to_sample(&sample_, *inputs, kSampleSize);
    sample_batches_.resize(sample_.size(), index);
    return true;
  }

  // The first pictures of all processes together, everywhere: those that one process alone would have kept.
  void gather_sample() {
    if (comm_.size() == 1) return;
    std::vector<std::pair<std::int64_t, std::vector<Tensor>>> parts;
    for (const std::string& bytes : comm_.gather(sample_to_bytes(sample_, sample_batches_)))
      for (auto& part : sample_from_bytes(bytes)) parts.push_back(std::move(part));
    std::stable_sort(parts.begin(), parts.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    Sample all;
    for (const auto& [index, inputs] : parts) add_to_sample(&all, inputs, kSampleSize);
    std::string whole = comm_.broadcast(sample_to_bytes(all, std::vector<std::int64_t>(all.size())));
    sample_.clear();
    for (auto& [index, inputs] : sample_from_bytes(whole)) sample_.push_back(std::move(inputs));
  }

  // Those of --load_stats, with the sample that they came with.
  std::optional<KeptStatistics> kept_statistics() {
    const std::string& path = options_.load_stats;
    if (path.empty()) return std::nullopt;
    if (options_.two_pass)
      fail("--load_stats {}: it holds what one pass saw, and --two_pass reads the pictures again", path);
    KeptStatistics kept = KeptStatistics::load(path);
    for (ValueId id : decisions_.points.tensors(graph_))
      if (!kept.calibration.tensors.contains(graph_.value(id).name))
        fail("{}: it has nothing on {}; it was saved for another model or other options", path,
             graph_.value(id).name);
    if (kept.bits != options_.activation_bits)
      fail("{}: it was saved with --activation_bits {}", path, kept.bits);
    if (kept.equalized != options_.equalize)
      fail("{}: it was saved {} --equalize", path, kept.equalized ? "with" : "without");
    for (const auto& inputs : kept.sample)
      if (inputs.size() != graph_.inputs.size())
        fail("{}: it has pictures for {} inputs, the model has {}", path, inputs.size(),
             graph_.inputs.size());
    sample_ = std::move(kept.sample);
    return kept;
  }

  Calibration statistics() {
    CalibrateOptions how;
    // The histogram tells auto enough of mse, emd and ptf; who asks for one of them, or might do so later,
    // gets them exactly.
    how.wanted.errors = !options_.save_stats.empty() || algorithm_ == Algorithm::kMse ||
                        algorithm_ == Algorithm::kEmd || algorithm_ == Algorithm::kPtf;
    how.wanted.bits = options_.activation_bits;
    how.wanted.negatives_are_errors = options_.two_pass && !options_.onnx_format;
    how.two_pass = options_.two_pass;
    how.batch_num = options_.batch_num;
    how.progress = [&](std::int64_t done) { stage("calibration", done, options_.batch_num); };
    Calibration result = calibrate(
        graph_, decisions_.points.tensors(graph_),
        [&](std::int64_t i, std::vector<Tensor>* inputs) { return batch(i, inputs); }, how, comm_, pool_);
    gather_sample();
    if (result.batches == 0) fail("there is no data to calibrate with");
    if (!options_.save_stats.empty() && comm_.rank() == 0)
      KeptStatistics{result, sample_, options_.activation_bits, options_.equalize}.save(options_.save_stats);
    return result;
  }

  void quantize_weights_of(const Layer& layer) {
    if (!layer.weights) return;
    ValueId id = node_of(graph_, layer).inputs[1];
    if (decisions_.weights.contains(id)) return;
    std::int64_t axis = options_.weight_quantize_type == "abs_max" ? -1 : layer.axis;
    QuantizedWeight weight = quantize_weight(graph_.value(id).constant, axis, options_.weight_bits);
    if (options_.weight_correction) correct_weight_statistics(graph_.value(id).constant, &weight);
    decisions_.weights.emplace(id, std::move(weight));
  }

  void find_thresholds(const Calibration& calibration) {
    // A row for each tensor, with the threshold of each algorithm that is asked for.
    const std::set<ValueId> tensors = decisions_.points.tensors(graph_);
    const std::vector<ValueId> ids(tensors.begin(), tensors.end());
    std::vector<Algorithm> algorithms = {algorithm_};
    if (algorithm_ == Algorithm::kAuto) algorithms.assign(all_algorithms().begin(), all_algorithms().end());
    const ThresholdOptions how{.bits = options_.activation_bits,
                               .hist_percent = options_.hist_percent,
                               .by_histogram = algorithm_ == Algorithm::kAuto};
    std::vector<std::vector<Choice>> rows(ids.size());
    pool_.parallel_for(static_cast<std::int64_t>(ids.size()), [&](std::int64_t i) {
      const std::string& name = graph_.value(ids[static_cast<std::size_t>(i)]).name;
      auto found = calibration.tensors.find(name);
      if (found == calibration.tensors.end() || found->second.empty())
        fail("{}: calibration never saw this tensor with finite values", name);
      auto exact = calibration.exact.find(name);
      const Histogram* second_pass = exact == calibration.exact.end() ? nullptr : &exact->second;
      for (Algorithm algorithm : algorithms)
        rows[static_cast<std::size_t>(i)].push_back(
            {algorithm, static_cast<float>(threshold_of(found->second, algorithm, how, second_pass))});
    });
    std::map<ValueId, std::vector<Choice>> candidates;
    std::map<Algorithm, std::map<ValueId, Choice>> uniform;
    for (std::size_t i = 0; i < ids.size(); ++i)
      for (const Choice& choice : rows[i]) {
        uniform[choice.algorithm][ids[i]] = choice;
        std::vector<Choice>& different = candidates[ids[i]];
        if (std::none_of(different.begin(), different.end(), [&](const Choice& other) {
              return std::fabs(choice.threshold - other.threshold) <= 1e-3f * choice.threshold;
            }))
          different.push_back(choice);
      }
    if (algorithm_ != Algorithm::kAuto) {
      decisions_.choices = uniform[algorithm_];
    } else {
      Sample half = first_half();
      uniform[Algorithm::kAuto] = choose_thresholds(graph_, decisions_, candidates, half, pool_,
                                                    steps_of("thresholds of each tensor"));
      choose_best(uniform, half);
    }
    use(decisions_.choices);
  }

  void use(const std::map<ValueId, Choice>& choices) {
    for (const auto& [id, choice] : choices) decisions_.thresholds[id] = choice.threshold;
    share_thresholds();
  }

  // What is best for each layer need not be best for all of them together: each algorithm for every tensor,
  // and the mix of them, is tried on the whole model.
  void choose_best(const std::map<Algorithm, std::map<ValueId, Choice>>& all, const Sample& sample) {
    double least = -1;
    OutputError output(graph_, sample, pool_);
    std::int64_t done = 0;
    for (const auto& [algorithm, choices] : all) {
      stage("thresholds of the model", done++, static_cast<std::int64_t>(all.size()));
      use(choices);
      double error = output.of(quantized_graph(graph_, decisions_));
      if (least >= 0 && error >= least) continue;
      least = error;
      decisions_.choices = choices;
    }
  }

  // Trying thresholds costs a run of each layer each.
  Sample first_half() const {
    return {sample_.begin(), sample_.begin() + static_cast<std::ptrdiff_t>((sample_.size() + 1) / 2)};
  }

  // Groups that hand integers on get the largest threshold among them.
  void share_thresholds() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::vector<ValueId>& group : decisions_.points.groups) {
        float largest = 0;
        for (ValueId id : group)
          if (decisions_.thresholds.contains(id)) largest = std::max(largest, decisions_.thresholds[id]);
        for (ValueId id : group)
          if (decisions_.thresholds.contains(id) && decisions_.thresholds[id] != largest) {
            decisions_.thresholds[id] = largest;
            changed = true;
          }
      }
    }
  }

  void drop_noisy_extras() {
    if (decisions_.points.extra.empty()) return;
    std::set<ValueId> tensors;
    for (const Edge& edge : decisions_.points.extra) tensors.insert(tensor_of(graph_, edge));
    std::map<ValueId, double> sqnr =
        tensor_sqnr(graph_, decisions_, {tensors.begin(), tensors.end()}, sample_, pool_);
    for (auto it = decisions_.points.extra.begin(); it != decisions_.points.extra.end();) {
      if (sqnr.at(tensor_of(graph_, *it)) >= kMinExtraSqnr) {
        ++it;
        continue;
      }
      decisions_.points.edges.erase(*it);
      it = decisions_.points.extra.erase(it);
    }
  }

  // A layer that alone makes much of the output's error and little of the model's work is not worth it.
  void leave_in_float() {
    if (algorithm_ != Algorithm::kAuto || options_.deploy != "octet" || options_.float_share <= 0) return;
    Sample few;
    for (std::size_t i = 0; i < sample_.size() && pictures_in(few) < kFew; ++i) few.push_back(sample_[i]);
    OutputError output(graph_, few, pool_);
    std::vector<LayerShare> layers =
        layer_shares(graph_, decisions_, few, output, pool_, steps_of("layers to leave in float"));
    std::sort(layers.begin(), layers.end(),
              [](const LayerShare& a, const LayerShare& b) { return a.error > b.error; });
    const double least = kMinErrorShare * output.of(quantized_graph(graph_, decisions_));
    // What may still be left: few weights, for they take four times the room then.
    double work = options_.float_share, weights = options_.float_share / 5;
    for (const LayerShare& share : layers) {
      if (share.error < least || share.error == 0) break;
      if (share.work > work || share.weights > weights) continue;
      work -= share.work, weights -= share.weights;
      decisions_.points.edges.erase({share.layer.node, 0});
      std::erase_if(decisions_.points.layers,
                    [&](const Layer& layer) { return layer.node == share.layer.node; });
    }
  }

  void equalize_channels() {
    stage("equalization", 0, 0);
    if (!sample_.empty()) {  // of --load_stats
      equalize(graph_, sample_, pool_);
      return;
    }
    std::vector<Tensor> inputs;
    for (std::int64_t i = comm_.rank(); pictures_in(sample_) < kSampleSize && batch(i, &inputs);)
      i += comm_.size();
    gather_sample();
    equalize(graph_, sample_, pool_);
    sample_.clear();
    sample_batches_.clear();
  }

  const QuantizeOptions& options_;
  Comm& comm_;
  Algorithm algorithm_;
  const BatchGenerator& generator_;
  ThreadPool pool_;
  Graph graph_;
  Sample sample_;
  std::vector<std::int64_t> sample_batches_;  // of which batch each part of it is
  Decisions decisions_;
};

}  // namespace

Model quantize(const Model& model, const BatchGenerator& batches, const QuantizeOptions& options,
               QuantizeReport* report) {
  return *Ptq(model, batches, options, *alone()).run(report);
}

std::optional<Model> quant::quantize_together(const Model& model, const BatchGenerator& batches,
                                              const QuantizeOptions& options, QuantizeReport* report,
                                              Comm& comm) {
  return Ptq(model, batches, options, comm).run(report);
}

}  // namespace octet
