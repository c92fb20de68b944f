#pragma once
#include <span>
#include <string_view>

#include "kernels/kernel.h"

// The reference kernels: plain scalar loops that say what each op of docs/ops.md computes, to the bit. They
// are the specification that every other kernel is tested against, so what matters is that a reader can check
// them against the formula; nothing here is optimised. They run what no fast kernel takes.
namespace octet::ref {

// One row per op; ref.cc is the list.
std::span<const Implementation> implementations();
const Implementation* find(std::string_view op);  // null when there is none

// A single node, for folding constants: inputs, of which absent ones are null, are aligned, outputs have
// their shapes. False: there is no kernel.
bool evaluate(const Node& node, const std::vector<const Tensor*>& inputs, std::span<Tensor> outputs);

// Convolution and linear algebra.
void conv2d(const KernelArgs& args);
void conv2d_transpose(const KernelArgs& args);
void matmul(const KernelArgs& args);
void matmul_flat(const KernelArgs& args);

// Normalisation.
void batch_norm(const KernelArgs& args);
void layer_norm(const KernelArgs& args);
void group_norm(const KernelArgs& args);
void lrn(const KernelArgs& args);
void log_softmax(const KernelArgs& args);
void softmax(const KernelArgs& args);

// Activation functions; those of graph/activation.h are one kernel.
void activate(const KernelArgs& args);
void tanh(const KernelArgs& args);
void exp(const KernelArgs& args);
void sqrt(const KernelArgs& args);
void abs(const KernelArgs& args);
void gelu(const KernelArgs& args);
void elu(const KernelArgs& args);
void softplus(const KernelArgs& args);
void mish(const KernelArgs& args);
void erf(const KernelArgs& args);
void log(const KernelArgs& args);
void sign(const KernelArgs& args);
void floor(const KernelArgs& args);
void ceil(const KernelArgs& args);
void round(const KernelArgs& args);
void clip(const KernelArgs& args);
void dropout(const KernelArgs& args);

// Element by element.
void add(const KernelArgs& args);
void sub(const KernelArgs& args);
void mul(const KernelArgs& args);
void div(const KernelArgs& args);
void max(const KernelArgs& args);
void min(const KernelArgs& args);
void pow(const KernelArgs& args);
void mod(const KernelArgs& args);
void prelu(const KernelArgs& args);
void scale(const KernelArgs& args);
void cast(const KernelArgs& args);
void identity(const KernelArgs& args);

// Comparisons and logic.
void equal(const KernelArgs& args);
void less(const KernelArgs& args);
void less_equal(const KernelArgs& args);
void logical_and(const KernelArgs& args);
void logical_or(const KernelArgs& args);
void logical_xor(const KernelArgs& args);
void logical_not(const KernelArgs& args);
void where(const KernelArgs& args);

// Pooling, resizing, padding.
void pool2d(const KernelArgs& args);
void resize(const KernelArgs& args);
void resize_arg_max(const KernelArgs& args);
void pad(const KernelArgs& args);
void resample(const KernelArgs& args);

// Windows over 1 to 3 dimensions.
void pool_nd(const KernelArgs& args);
void conv_nd(const KernelArgs& args);
void conv_nd_transpose(const KernelArgs& args);

// Detection.
void non_max_suppression(const KernelArgs& args);
void roi_align(const KernelArgs& args);
void grid_sample(const KernelArgs& args);

// Sequences and sums of products.
void lstm(const KernelArgs& args);
void einsum(const KernelArgs& args);

// Shapes; reshape, flatten, squeeze and unsqueeze copy, as identity does.
void transpose(const KernelArgs& args);
void concat(const KernelArgs& args);
void split(const KernelArgs& args);
void slice(const KernelArgs& args);
void shape(const KernelArgs& args);
void full(const KernelArgs& args);
void range(const KernelArgs& args);
void reorder(const KernelArgs& args);
void expand(const KernelArgs& args);
void tile(const KernelArgs& args);
void depth_to_space(const KernelArgs& args);
void space_to_depth(const KernelArgs& args);

// By indices.
void gather(const KernelArgs& args);
void gather_elements(const KernelArgs& args);
void gather_nd(const KernelArgs& args);
void scatter_elements(const KernelArgs& args);
void scatter_nd(const KernelArgs& args);
void one_hot(const KernelArgs& args);

// Reductions.
void reduce_mean(const KernelArgs& args);
void reduce_sum(const KernelArgs& args);
void reduce_max(const KernelArgs& args);
void reduce_min(const KernelArgs& args);
void reduce_prod(const KernelArgs& args);
void arg_max(const KernelArgs& args);
void arg_min(const KernelArgs& args);
void cumsum(const KernelArgs& args);
void top_k(const KernelArgs& args);

// Quantization; observe copies, as identity does.
void quantize(const KernelArgs& args);
void dequantize(const KernelArgs& args);
void fake_quant(const KernelArgs& args);
void dynamic_quantize(const KernelArgs& args);
void dynamic_fake_quant(const KernelArgs& args);
void dequantize_sum(const KernelArgs& args);
void dequantize_range(const KernelArgs& args);

// Integer ops.
void conv2d_integer(const KernelArgs& args);
void matmul_integer(const KernelArgs& args);
void qconv2d(const KernelArgs& args);
void qconv2d_transpose(const KernelArgs& args);
void qmatmul(const KernelArgs& args);
void qadd(const KernelArgs& args);
void qmul(const KernelArgs& args);
void qpool2d(const KernelArgs& args);
void qresize(const KernelArgs& args);
void qlut(const KernelArgs& args);

}  // namespace octet::ref
