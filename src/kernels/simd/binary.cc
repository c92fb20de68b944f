#include "kernels/simd/binary.h"

#include "kernels/simd/store.h"
#include "kernels/simd/table.h"

namespace octet::simd::OCTET_SIMD {
namespace {

// Vectors of an operand: floats, or how far int8 lie from the one that stands for 0, times a step.
struct FloatOperand {
  using Element = float;
  Floats at(const float* p) const { return load(p); }
  Floats first(const float* p, std::int64_t count) const { return load_first(p, count); }
  Floats one(const float* p) const { return all_of(p); }
};

struct Int8Operand {
  using Element = std::int8_t;
  Floats step, zero;
  Floats at(const std::int8_t* p) const { return mul(sub(to_floats(load_int8(p)), zero), step); }
  Floats first(const std::int8_t* p, std::int64_t count) const {
    return mul(sub(to_floats(load_int8_first(p, count)), zero), step);
  }
  Floats one(const std::int8_t* p) const { return mul(sub(all(static_cast<float>(*p)), zero), step); }
};

// The rows, or a part of their columns, to `z`.
template <bool kMovesX, bool kMovesY, class Operand, class Function>
inline void combine(const typename Operand::Element* x, std::int64_t x_row, const Operand& of_x,
                    const typename Operand::Element* y, std::int64_t y_row, const Operand& of_y, float* z,
                    std::int64_t rows, std::int64_t columns, const Function& function) {
  for (std::int64_t row = 0; row < rows; ++row, x += x_row, y += y_row, z += columns) {
    Floats fixed_x = zeros(), fixed_y = zeros();
    if constexpr (!kMovesX) fixed_x = of_x.one(x);
    if constexpr (!kMovesY) fixed_y = of_y.one(y);
    auto whole = [&](std::int64_t i) {
      return function(kMovesX ? of_x.at(x + i) : fixed_x, kMovesY ? of_y.at(y + i) : fixed_y);
    };
    std::int64_t i = 0, rest = columns % kLanes;
    // The last vector ends where the row ends, and does some elements once more. It is made before these are
    // overwritten.
    Floats last = zeros();
    if (rest > 0)
      last = columns >= kLanes
                 ? whole(columns - kLanes)
                 : function(kMovesX ? of_x.first(x, rest) : fixed_x, kMovesY ? of_y.first(y, rest) : fixed_y);
    for (; i + 2 * kLanes <= columns; i += 2 * kLanes) {
      Floats first = whole(i), second = whole(i + kLanes);
      store(z + i, first);
      store(z + i + kLanes, second);
    }
    for (; i + kLanes <= columns; i += kLanes) store(z + i, whole(i));
    if (rest > 0) columns >= kLanes ? store(z + columns - kLanes, last) : store_first(z, last, rest);
  }
}

// The same to int8, without an activation function.
template <bool kMovesX, bool kMovesY, class Operand, class Function, class Quantize>
inline void combine_int8(const typename Operand::Element* x, std::int64_t x_row, const Operand& of_x,
                         const typename Operand::Element* y, std::int64_t y_row, const Operand& of_y,
                         std::int8_t* z, std::int64_t rows, std::int64_t columns, const Function& function,
                         const Quantize& quantize_lanes) {
  for (std::int64_t row = 0; row < rows; ++row, x += x_row, y += y_row, z += columns) {
    Floats fixed_x = zeros(), fixed_y = zeros();
    if constexpr (!kMovesX) fixed_x = of_x.one(x);
    if constexpr (!kMovesY) fixed_y = of_y.one(y);
    auto whole = [&](std::int64_t i) {
      return quantize_lanes(function(kMovesX ? of_x.at(x + i) : fixed_x, kMovesY ? of_y.at(y + i) : fixed_y));
    };
    std::int64_t i = 0;
    for (; i + 2 * kLanes <= columns; i += 2 * kLanes) {
      const Floats v[2] = {whole(i), whole(i + kLanes)};
      store_int8(z + i, v);
    }
    for (; i + kLanes <= columns; i += kLanes) store_int8(z + i, whole(i));
    if (std::int64_t rest = columns - i; rest > 0)
      store_int8_first(z + i,
                       quantize_lanes(function(kMovesX ? of_x.first(x + i, rest) : fixed_x,
                                               kMovesY ? of_y.first(y + i, rest) : fixed_y)),
                       rest);
  }
}

// Calls use with x_moves and y_moves as template arguments.
template <class Use>
inline void with_moves(const BinaryRows& p, const Use& use) {
  if (p.x_moves)
    p.y_moves ? use.template operator()<true, true>() : use.template operator()<true, false>();
  else
    p.y_moves ? use.template operator()<false, true>() : use.template operator()<false, false>();
}

// Piece by piece, so that what a piece has made is still in the nearest cache when the epilogue takes it.
template <bool kHasEpilogue, class Operand, class Function>
void run(const BinaryRows& p, const Operand& of_x, const Operand& of_y, const Function& function) {
  using Element = typename Operand::Element;
  constexpr std::int64_t kPiece = 1024;
  alignas(64) float buffer[kPiece];
  std::int64_t piece_columns = p.columns < kPiece ? p.columns : kPiece;
  if (piece_columns == 0) return;
  std::int64_t piece_rows = piece_columns < p.columns ? 1 : kPiece / piece_columns;
  bool activates = p.epilogue->activation >= 0;
  const Element *x = static_cast<const Element*>(p.x), *y = static_cast<const Element*>(p.y);
  // Rows that only become int8 need no place in between. In place, a vector of x is read before it is
  // overwritten; there is none where x is float.
  if constexpr (kHasEpilogue)
    if (p.integers && !p.floats && !activates) {
      with_quantizer(p.epilogue->quantizer, [&](auto quantize_lanes) {
        with_moves(p, [&]<bool kMovesX, bool kMovesY>() {
          combine_int8<kMovesX, kMovesY>(x, p.x_row, of_x, y, p.y_row, of_y, p.integers, p.rows, p.columns,
                                         function, quantize_lanes);
        });
      });
      return;
    }
  for (std::int64_t row = 0; row < p.rows; row += piece_rows) {
    std::int64_t rows = piece_rows < p.rows - row ? piece_rows : p.rows - row;
    for (std::int64_t column = 0; column < p.columns; column += piece_columns) {
      std::int64_t columns = piece_columns < p.columns - column ? piece_columns : p.columns - column;
      std::int64_t index = row * p.columns + column;
      float* z = p.floats ? p.floats + index : buffer;
      const Element* from_x = x + row * p.x_row + (p.x_moves ? column : 0);
      const Element* from_y = y + row * p.y_row + (p.y_moves ? column : 0);
      with_moves(p, [&]<bool kMovesX, bool kMovesY>() {
        combine<kMovesX, kMovesY>(from_x, p.x_row, of_x, from_y, p.y_row, of_y, z, rows, columns, function);
      });
      if (activates) kUnary.activate(*p.epilogue, z, z, rows * columns);
      if (p.integers) kUnary.quantize(p.epilogue->quantizer, z, p.integers + index, rows * columns);
    }
  }
}

void binary(const BinaryRows& p) {
  FloatOperand plain;
  switch (p.op) {
    case Binary::kAdd:
      return run<true>(p, plain, plain, [](Floats a, Floats b) { return add(a, b); });
    case Binary::kSub:
      return run<false>(p, plain, plain, [](Floats a, Floats b) { return sub(a, b); });
    case Binary::kMul:
      return run<true>(p, plain, plain, [](Floats a, Floats b) { return mul(a, b); });
    case Binary::kDiv:
      return run<false>(p, plain, plain, [](Floats a, Floats b) { return div(a, b); });
    case Binary::kMax:
      return run<false>(p, plain, plain, [](Floats a, Floats b) { return max(a, b); });
    case Binary::kMin:
      return run<false>(p, plain, plain, [](Floats a, Floats b) { return min(a, b); });
    case Binary::kPrelu:
      return run<false>(p, plain, plain,
                        [](Floats a, Floats b) { return choose(greater(a, zeros()), a, mul(b, a)); });
  }
}

void binary_int8(const BinaryRows& p) {
  Int8Operand x{all(p.x_step), all(p.x_zero)}, y{all(p.y_step), all(p.y_zero)};
  if (p.op == Binary::kAdd)
    run<true>(p, x, y, [](Floats a, Floats b) { return add(a, b); });
  else
    run<true>(p, x, y, [](Floats a, Floats b) { return mul(a, b); });
}

void scale_rows(const float* x, const float* a, const float* b, bool by_column, float* y, std::int64_t rows,
                std::int64_t columns) {
  for (std::int64_t row = 0; row < rows; ++row, x += columns, y += columns) {
    std::int64_t i = 0;
    if (by_column) {
      for (; i + kLanes <= columns; i += kLanes) store(y + i, fma(load(x + i), load(a + i), load(b + i)));
      std::int64_t rest = columns - i;
      if (rest > 0)
        store_first(y + i, fma(load_first(x + i, rest), load_first(a + i, rest), load_first(b + i, rest)),
                    rest);
    } else {
      Floats va = all_of(a + row), vb = all_of(b + row);
      for (; i + kLanes <= columns; i += kLanes) store(y + i, fma(load(x + i), va, vb));
      if (i < columns) store_first(y + i, fma(load_first(x + i, columns - i), va, vb), columns - i);
    }
  }
}

}  // namespace

constinit const BinaryRoutines kBinary = {
    .run = binary,
    .run_int8 = binary_int8,
    .scale_rows = scale_rows,
};

}  // namespace octet::simd::OCTET_SIMD
