#include "kernels/simd/light.h"

#include "kernels/simd/light_routines.h"

namespace octet::simd::OCTET_SIMD {

constinit const LightRoutines kLightRoutines = {
    .activate = activate,
    .map = map,
    .lookup = lookup,
    .quantize = quantize,
    .dequantize = dequantize,
    .pair = pair,
    .pair_int8 = pair_int8,
    .scale_rows = scale_rows,
    .pool_row = pool_row,
    .pool_row_int8 = pool_row_int8,
    .resize_row = resize_row,
    .resize_row_int8 = resize_row_int8,
    .transpose = transpose,
    .copy_rows = copy_rows,
    .gather_rows = gather_rows,
    .softmax_rows = softmax_rows,
    .softmax_columns = softmax_columns,
    .layer_norm_rows = layer_norm_rows,
    .sum = sum,
    .maximum = maximum,
    .arg_max = arg_max,
};

}  // namespace octet::simd::OCTET_SIMD
