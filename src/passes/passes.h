#pragma once
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "graph/graph.h"

// Rewrites of a graph, one per file. Each keeps what the graph's outputs are. They ask the op table what an
// op is; names stand only where a pass is about that one op.
namespace octet {

// Computes a node from its inputs, of which absent ones are null; false when it can't.
using Evaluate =
    std::function<bool(const Node& node, const std::vector<const Tensor*>& inputs, Tensor* output)>;

// Everything that the runtime does to a graph before it runs it: passes(), one after the other. Attributes
// have been checked (check_attributes).
void optimize(Graph& graph, const Evaluate& evaluate);

struct Pass {
  std::string_view name;
  void (*run)(Graph& graph, const Evaluate& evaluate);
};
// In the order in which they run. Below they are in the order in which they run first.
std::span<const Pass> passes();

// Drops nodes whose results nobody reads.
void remove_dead_nodes(Graph& graph);

// Drops nodes that hand their input on: identity, observe, dropout and the like.
void remove_identities(Graph& graph);

// Nodes whose inputs are all constants become constants. `weights_too`: also those that (de)quantize, which
// turns integer weights into floats.
void fold_constants(Graph& graph, const Evaluate& evaluate, bool weights_too);

// What exporters spell out becomes the op that octet has for it, which is faster and can be quantized whole:
// hard_sigmoid, hard_swish, swish, mish, gelu, sigmoid.
void recognise_functions(Graph& graph);

// The same for what is computed along dimensions: layer_norm, softmax, the mean of an image.
void recognise_norms(Graph& graph);

// Brings every way of saying "quantized" into one: quantize to int8, dequantize, op. The older generation of
// Paddle's models convolves integers held as floats and dequantizes the sums; here its weights become int8
// and its convolutions read dequantized tensors, like the newer generation's. What does not fit the pattern
// stays as it is.
void to_qdq_form(Graph& graph);

// ONNX's other forms of integers become those that the integer kernels take: uint8 become int8, with another
// zero point; sums of integers that are only read as floats become products of dequantized tensors.
void to_int8(Graph& graph);

// What lies between dequantize nodes becomes integer ops: convolutions and products (qconv2d,
// qconv2d_transpose, qmatmul), add and mul (qadd, qmul) and, where the scale stays the same, pool2d, resize
// (qpool2d, qresize) and concat. The weights are those of the file.
void lower_to_integer(Graph& graph);

// A function of one number between dequantize and quantize becomes a table of 256 integers (qlut).
void lower_to_table(Graph& graph, const Evaluate& evaluate);

// A quantize node behind a max pool goes in front of it, where an epilogue can take it, and the pool has
// integers.
void hoist_quantize(Graph& graph);

// A constant that is added to each output channel of a convolution or product becomes its bias.
void fuse_bias(Graph& graph);

// A batch norm behind a convolution, or another scaling or shift by constants, goes into its weights and
// bias; behind an integer convolution into the multipliers and bias of its epilogue.
void fold_batch_norm(Graph& graph);
// The same. `factors` gets, by the new weights of a float layer, what each channel of the old was multiplied
// by.
void fold_batch_norm(Graph& graph, std::map<ValueId, std::vector<double>>* factors);

// A mul by one number and an add of another become one scale node.
void fuse_scale(Graph& graph);

// A tensor of equal shape that is added to what a convolution or product makes becomes its residual: an
// integer one takes it as int8 where it is dequantized for the addition.
void fuse_residual(Graph& graph);

// An activation function behind an op with an epilogue goes into it.
void fuse_activation(Graph& graph);

// A quantize node behind an op with an epilogue goes into it. Where others read the float, the op gives both.
void fuse_quantize(Graph& graph);

// Where an image is enlarged only for the channel with the largest value of each pixel, as the scores of a
// segmentation network are, both become one node: the enlarged image is never written.
void fuse_arg_max(Graph& graph);

// Tells integer convolutions and products which integers their input can hold (x_min), as its maker
// guarantees it: behind a ReLU none is negative, which makes exact arithmetic cheaper.
void mark_ranges(Graph& graph);

// A scale node in front of a float convolution of one tap goes into its weights and bias. What is left of it
// is dead.
void fold_scale(Graph& graph);

// Squeeze-and-excite: where a convolution of one tap reads an image times a gate for each of its channels,
// which is made of the image itself, the gate goes into the convolution, which multiplies its weights with
// it. What is left of the multiplication is dead.
void fuse_squeeze_excite(Graph& graph);

// Lets convolutions be computed in another way than to the bit (Winograd).
void relax_convolutions(Graph& graph);

// Not one of passes(), since it is for Paddle's files. ONNX's steps become the largest magnitudes that Paddle
// stores, biases of int32 become floats. Throws an Error for what Paddle has no words for: uint8, zero
// points.
void to_abs_max(Graph& graph);
bool has_steps(const Graph& graph);  // whether there is anything to do for it

// Not one of passes(), since those take the declared size of an input as an example. What is computed of
// shapes becomes a constant where the declared shapes of the inputs tell it, but for the first dimension, the
// number of pictures.
void fold_shapes(Graph& graph);

// Not one of passes(), since it depends on the implementations. Gives every image that a node makes the
// layout that the node's implementation needs, and puts reorder nodes where one implementation reads what
// another has made in another layout. The graph's inputs and outputs stay plain.
void assign_layouts(Graph& graph, const std::function<LayoutNeed(const Node&)>& need);

}  // namespace octet
