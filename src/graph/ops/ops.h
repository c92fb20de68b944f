#pragma once
#include <vector>

#include "graph/op_table.h"

// The families of the op table, one file each. docs/ops.md says what each op means.
namespace octet::ops {

std::vector<OpSpec> convolution();    // conv2d, conv2d_transpose
std::vector<OpSpec> matmul();         // matmul, matmul_flat
std::vector<OpSpec> normalisation();  // batch_norm, layer_norm, ..., softmax
std::vector<OpSpec> activation();     // relu, ..., dropout
std::vector<OpSpec> elementwise();    // add, ..., scale, cast, identity
std::vector<OpSpec> logic();          // equal, ..., where
std::vector<OpSpec> window();         // pool2d, resize, pad
std::vector<OpSpec> resample();       // resample
std::vector<OpSpec> nd();             // pool_nd, conv_nd, conv_nd_transpose
std::vector<OpSpec> detection();      // non_max_suppression, roi_align, grid_sample
std::vector<OpSpec> sequence();       // lstm, einsum
std::vector<OpSpec> shape();          // reshape, ..., range
std::vector<OpSpec> movement();       // expand, tile, ..., space_to_depth
std::vector<OpSpec> indexing();       // gather, ..., one_hot
std::vector<OpSpec> reduction();      // reduce_mean, ..., top_k
std::vector<OpSpec> quantization();   // quantize, ..., observe
std::vector<OpSpec> integer();        // qconv2d, ..., qlut

}  // namespace octet::ops
