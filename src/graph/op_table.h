#pragma once
#include <deque>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

// What each op is, one row per op. Whoever wants to know something about an op asks its row; lists of op
// names elsewhere would have to be found and completed with every new op.
namespace octet {

// What is known of a value when shapes are inferred. Before a run, dimensions may be kUnknown and only
// constants have data; in a run everything is known.
struct ValueInfo {
  DType dtype = DType::kFloat32;
  Shape shape;
  const Tensor* data = nullptr;  // null when the elements are not known
};

// Which values an attribute may have. A bool needs none of this; an integer or a number lies between min and
// max; a text is one of `words`; of a list each number lies between min and max, and `counts` are the lengths
// that it may have (none given: up to max_count).
struct Allowed {
  double min = std::numeric_limits<double>::quiet_NaN();  // NaN: the row does not say, which tests refuse
  double max = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string_view> words = {};
  std::vector<std::size_t> counts = {};
  std::size_t max_count = 16;
};

struct AttrSpec {
  std::string_view name;
  Attr default_value;  // also fixes the type
  Allowed allowed = {};
};

enum class OpKind : std::uint8_t {
  kOther,          // another tool's op
  kConvolution,    // a convolution, with its weights in four dimensions
  kMatmul,         // a product of matrices
  kNormalization,  // batch_norm, softmax, ...
  kActivation,     // a function of one number: y[i] = f(x[i])
  kElementwise,    // of two operands that broadcast
  kPool,
  kResize,
  kReduction,
  kView,          // the same elements in the same order, in another shape at most
  kDataMovement,  // elements in another order, or some of them: transpose, concat, pad, ...
  kShape,         // about shapes: shape, full
  kCast,
  kQuantization,  // between floats and integers
};

// What is known of the result's numbers when those of the inputs "x" (and "y") are.
enum class ValueRange : std::uint8_t {
  kAny,
  kOfInputs,        // between the least and the largest of them
  kOfInputsOrZero,  // the same, or 0, as padding gives
  kKeepsSign,       // not negative where none of the inputs is
  kNonNegative,     // never negative
};

// In mixed precision an op computes in 16 bits, in float32, or in what its inputs have (level O2: in 16
// bits).
enum class MixedPrecision : std::uint8_t { kEither, kLow, kFloat };

struct OpSpec {
  std::string_view name = {};
  // Input and output slots. "bias?" may be absent (kNoValue, or cut off at the end); "x*" as the last one
  // takes the rest.
  std::vector<std::string_view> inputs = {"x"};
  std::vector<std::string_view> outputs = {"y"};
  std::vector<AttrSpec> attrs = {};
  // Fills dtype and shape of each output. inputs has an entry for each input of the node; an absent one has a
  // null pointer. An output whose rank cannot be known before a run stays as the caller filled it. Throws an
  // Error that says what does not fit; the caller adds which node it is. Attributes have been checked.
  void (*infer)(const Node& node, std::span<const ValueInfo* const> inputs,
                std::span<ValueInfo> outputs) = nullptr;
  // What `allowed` can't say of attributes, since it takes two of them or the shape of a constant. Throws.
  void (*check)(const Graph& graph, const Node& node) = nullptr;

  OpKind kind = OpKind::kOther;

  // A product with weights: which slot holds them, where their output channels lie (-1: not along one
  // dimension, for weights of this shape), and how many multiplications it takes to make `output`.
  std::string_view weights = {};
  int (*channel_axis)(const Node& node, const Shape& weights) = nullptr;
  std::int64_t (*multiply_adds)(const Node& node, const Shape& weights, const Shape& output) = nullptr;

  // Slots whose constants training learns, and those whose constants are statistics that it keeps.
  std::vector<std::string_view> learned = {};
  std::vector<std::string_view> statistics = {};

  ValueRange range = ValueRange::kAny;
  bool selects = false;      // each number of the result is one of the input's, 0, or one with the other sign
  bool homogeneous = false;  // f(s*x) = s*f(x) for s > 0, channel by channel

  // Integers. `integer_op` does the same between dequantize and quantize (its own name: on integers it is the
  // same op); `is_integer` marks the ops that only such a lowering makes; `quantizable`: quantizing a whole
  // network quantizes its inputs, too (of products with weights they are quantized always).
  std::string_view integer_op = {};
  bool is_integer = false;
  bool quantizable = false;

  MixedPrecision precision = MixedPrecision::kEither;
  bool trainable = true;  // libtorch has a counterpart (src/train/ops.cc)
};

// Every op, in the order of docs/ops.md.
std::span<const OpSpec> op_table();
const OpSpec* find_op(std::string_view name);  // null when octet does not know it
const OpSpec& spec_of(const Node& node);       // for an op that octet does not know, one of kind kOther

// Whether a slot of OpSpec::inputs may be absent, or takes any number of values; its name without that mark.
bool is_optional(std::string_view slot);
bool is_variadic(std::string_view slot);
std::string_view slot_name(std::string_view slot);

// Where the input of this name stands ("bias" for a slot "bias?"); -1 when the op has none.
int slot_of(const OpSpec& spec, std::string_view name);
// The value in an input slot: kNoValue when it is absent, or the op has no such slot. Of "x*" the first.
ValueId input_of(const Node& node, std::string_view slot);
void set_input(Node& node, std::string_view slot, ValueId id);
// The slot that input i of a node belongs to; empty for ops that octet does not know.
std::string_view slot_at(const Node& node, std::size_t i);

bool has_attr(const OpSpec& spec, std::string_view name);

// What follows from a row.
bool is_product(const Node& node);    // a convolution or a product, of integers or floats
bool has_epilogue(const Node& node);  // it has a slot out_scale, and the attributes that go with it
bool is_learned(const Node& node, std::size_t i);    // whether training learns a constant at input i
bool is_statistic(const Node& node, std::size_t i);  // whether it keeps a statistic there
bool keeps_values(const Node& node);   // `selects`, or a pool of largest ones: rounding again changes nothing
ValueId weights_of(const Node& node);  // what a product has in the slot of its weights; kNoValue for others
// Along which dimension of a product's weights its output channels lie; -1 when along none, or it has none.
int weight_channel_axis(const Graph& graph, const Node& node);
// How many there are; kUnknown when the shape of the weights does not tell.
std::int64_t output_channels(const Graph& graph, const Node& node);
std::int64_t output_channels(const Node& node, const Shape& weights);
// The multiplications that a node takes to make an output of this shape; 0 when that is not known.
std::int64_t multiply_adds(const Graph& graph, const Node& node, const Shape& output);
// Whether the graph quantizes or computes with integers anywhere.
bool is_quantized(const Graph& graph);

// Throws an Error when the node has too few or too many inputs or outputs for its op, or an absent one that
// is needed.
void check_slots(const OpSpec& spec, const Node& node);

// Throws an Error when the op has no such attribute, or it is of another type.
void check_attribute_types(const OpSpec& spec, const Node& node);

// The same, and for the first attribute whose value the op does not allow: names it, its value and what is
// allowed. Nothing else checks them: shape inference, passes and kernels rely on it.
void check_attributes(const OpSpec& spec, const Node& node);
// All of that for each node that octet knows, with its slots and its OpSpec::check.
void check_attributes(const Graph& graph);

// One node: checks the inputs and fills the outputs (an entry for each output of the node); errors name the
// node. In a run, every input has a known shape and data; then the outputs' shapes are known, too.
void infer_node(const Graph& graph, const Node& node, std::span<const ValueInfo* const> inputs,
                std::span<ValueInfo> outputs);

// A graph that was read from a file goes through here before anything is prepared: its attributes, and the
// dtypes and shapes of constants, whatever the sizes of the inputs will be. Where the file declares a dtype
// or a number of dimensions that a node does not give, what the node gives takes its place. Passes and
// kernels rely on all of this.
void check_graph(Graph& graph);

struct InferredValues {
  std::vector<ValueInfo> infos;
  std::deque<Tensor> tensors;  // what ValueInfo::data points to where it is not a constant of the graph
};

// All nodes, in order. `infos` has what is known of each value to begin with; what a node makes is replaced,
// unless its rank cannot be known before a run. Nodes that are unknown to the table are passed over.
InferredValues infer_values(const Graph& graph, std::vector<ValueInfo> infos);

// Fills dtype and shape of every value that a node defines, from the graph's inputs as they are declared.
// The first dimension of an input counts as unknown whatever the file says: a declared batch size is not
// binding. Where a node is unknown to the table, what the file declared stays.
void infer_shapes(Graph& graph);

}  // namespace octet
