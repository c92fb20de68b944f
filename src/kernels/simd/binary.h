#pragma once
#include <cstdint>

#include "kernels/epilogue.h"

namespace octet::simd {

// Functions of two numbers.
enum class Binary : std::uint8_t { kAdd, kSub, kMul, kDiv, kMax, kMin, kPrelu };

// z = epilogue(x op y), for rows of a dense result. int8 operands are multiplied by their step first.
struct BinaryRows {
  Binary op;
  const Epilogue* epilogue;
  const void *x, *y;
  float x_step, y_step;       // of int8: what one is worth,
  float x_zero, y_zero;       // and which one stands for 0
  std::int64_t x_row, y_row;  // elements from a row to the next
  bool x_moves, y_moves;      // along a row; otherwise one element stands for the whole row
  std::int64_t rows, columns;
  float* floats;  // these two may be null; floats may be x, where they are read in the same order
  std::int8_t* integers;
};

struct BinaryRoutines {
  void (*run)(const BinaryRows& rows);
  void (*run_int8)(const BinaryRows& rows);
  // y = fma(x, a, b) for rows that follow each other, with an a and b for each row or for each column.
  void (*scale_rows)(const float* x, const float* a, const float* b, bool by_column, float* y,
                     std::int64_t rows, std::int64_t columns);
};

}  // namespace octet::simd
