#pragma once
#include "kernels/simd/table.h"

// What the files of LightRoutines define; light.cc makes the table of them.
namespace octet::simd::OCTET_SIMD {

// light_map.cc
void activate(const Epilogue& epilogue, const float* x, float* y, std::int64_t count);
void map(Map function, float a, float b, const float* x, float* y, std::int64_t count);
void lookup(const std::int8_t* table, const std::int8_t* x, std::int8_t* y, std::int64_t count);
void quantize(const Quantizer& quantizer, const float* x, std::int8_t* y, std::int64_t count);
void dequantize(const std::int8_t* x, float abs_max, float bound, float* y, std::int64_t count);

// light_pair.cc
void pair(const PairRows& rows);
void pair_int8(const PairRows& rows);
void scale_rows(const float* x, const float* a, const float* b, bool by_column, float* y, std::int64_t rows,
                std::int64_t columns);

// light_image.cc
void pool_row(const PoolRow& row);
void pool_row_int8(const PoolRow& row);
void resize_row(const ResizeRow& row);
void resize_row_int8(const ResizeRow& row);

// light_move.cc
void transpose(std::size_t element, const void* from, std::int64_t from_row, void* to, std::int64_t to_row,
               std::int64_t rows, std::int64_t columns);
void copy_rows(const std::byte* from, std::int64_t from_row, std::byte* to, std::int64_t to_row,
               std::int64_t bytes, std::int64_t rows);
void gather_rows(const std::byte* from, const std::int64_t* numbers, std::byte* to, std::int64_t bytes,
                 std::int64_t rows);

// light_fold.cc
void softmax_rows(const float* x, float* y, std::int64_t rows, std::int64_t count);
void softmax_columns(const float* x, float* y, std::int64_t count, std::int64_t step, std::int64_t columns);
void layer_norm_rows(const float* x, float* y, std::int64_t rows, std::int64_t count, const float* scale,
                     const float* bias, float epsilon);
void sum(const float* x, const Fold& fold, std::int64_t spacing, double divisor, float* out,
         std::int64_t outputs);
void maximum(const float* x, const Fold& fold, std::int64_t spacing, float* out, std::int64_t outputs);
void arg_max(const float* x, std::int64_t count, std::int64_t step, std::int64_t spacing, std::int32_t* out,
             std::int64_t outputs);

}  // namespace octet::simd::OCTET_SIMD
