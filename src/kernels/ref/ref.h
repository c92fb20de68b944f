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

// A single node, for folding constants: inputs, of which absent ones are null, are aligned, outputs have their
// shapes. False: there is no kernel.
bool evaluate(const Node& node, const std::vector<const Tensor*>& inputs, std::span<Tensor> outputs);

// Convolution and linear algebra.
void conv2d(const KernelArgs& args);
void conv2d_transpose(const KernelArgs& args);
void matmul(const KernelArgs& args);
void matmul_flat(const KernelArgs& args);

// Normalisation.
void batch_norm(const KernelArgs& args);
void layer_norm(const KernelArgs& args);
void softmax(const KernelArgs& args);

// Activation functions; those of graph/activation.h are one kernel.
void activate(const KernelArgs& args);
void tanh(const KernelArgs& args);
void exp(const KernelArgs& args);
void sqrt(const KernelArgs& args);
void abs(const KernelArgs& args);
void gelu(const KernelArgs& args);
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
void scale(const KernelArgs& args);
void cast(const KernelArgs& args);
void identity(const KernelArgs& args);

// Pooling, resizing, padding.
void pool2d(const KernelArgs& args);
void resize(const KernelArgs& args);
void pad(const KernelArgs& args);

// Shapes; reshape, flatten, squeeze and unsqueeze copy, as identity does.
void transpose(const KernelArgs& args);
void concat(const KernelArgs& args);
void split(const KernelArgs& args);
void slice(const KernelArgs& args);
void shape(const KernelArgs& args);
void full(const KernelArgs& args);
void reorder(const KernelArgs& args);

// Reductions.
void reduce_mean(const KernelArgs& args);
void reduce_sum(const KernelArgs& args);
void reduce_max(const KernelArgs& args);
void arg_max(const KernelArgs& args);

// Quantization; observe copies, as identity does.
void quantize(const KernelArgs& args);
void dequantize(const KernelArgs& args);
void fake_quant(const KernelArgs& args);
void dynamic_quantize(const KernelArgs& args);
void dynamic_fake_quant(const KernelArgs& args);
void dequantize_sum(const KernelArgs& args);
void dequantize_range(const KernelArgs& args);

// Integer ops.
void qconv2d(const KernelArgs& args);
void qconv2d_transpose(const KernelArgs& args);
void qmatmul(const KernelArgs& args);
void qadd(const KernelArgs& args);
void qmul(const KernelArgs& args);
void qpool2d(const KernelArgs& args);
void qresize(const KernelArgs& args);
void qlut(const KernelArgs& args);

}  // namespace octet::ref
