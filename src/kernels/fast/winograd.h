#pragma once
#include "kernels/fast/float.h"

// What both of Winograd's convolutions have in common, that of floats and that of integers: a tile of 4x4
// outputs is made of the 6x6 pixels around it; transformed, it is 36 products, each of a matrix tiles x
// channels with one channels x output channels.
namespace octet::fast {

constexpr int kWinogradPositions = 36;

// Whether a convolution with these weights can be computed so.
bool is_winograd_shape(const PrepareArgs& args);

// The geometry of a run, with all of its tiles.
simd::WinogradTiles winograd_tiles(const KernelArgs& args);

// How the tiles of a run are cut into blocks.
struct WinogradBlocks {
  // `tile_bytes`: what a tile takes in all 36 matrices of both kinds.
  WinogradBlocks(const KernelArgs& args, std::int64_t tile_bytes);

  std::int64_t tiles = 0, block = 0;  // tiles in all and in a block
  std::int64_t count = 0, slots = 0;  // of blocks; of those that are worked on at the same time
  bool together = false;              // all threads work on the one block
};

// From one of the 36 matrices of a block to the next: an odd number of cache lines, lest they share the same
// few places of the cache.
inline std::int64_t winograd_step(std::int64_t matrix_bytes) {
  return divide_up(matrix_bytes, 64) / 2 * 128 + 64;
}

// Some tiles of a block.
struct WinogradPiece {
  std::int64_t slot;          // where the block's matrices are
  std::int64_t row;           // of the matrices, of the first tile
  std::int64_t first, count;  // tiles
};

// Calls input(piece), then multiply(piece, position) for the 36 positions, then output(piece), for all tiles;
// the pieces of input and output may be smaller.
template <class Input, class Multiply, class Output>
void run_winograd_blocks(ThreadPool& pool, const WinogradBlocks& blocks, const Input& input,
                         const Multiply& multiply, const Output& output) {
  if (blocks.together) {
    constexpr std::int64_t kTiles = 4;
    auto piece = [&](std::int64_t i) {
      std::int64_t first = i * kTiles;
      return WinogradPiece{0, first, first, std::min(kTiles, blocks.tiles - first)};
    };
    std::int64_t pieces = divide_up(blocks.tiles, kTiles);
    pool.parallel_for(pieces, [&](std::int64_t i) { input(piece(i)); });
    pool.parallel_for(kWinogradPositions, [&](std::int64_t position) {
      multiply(WinogradPiece{0, 0, 0, blocks.tiles}, position);
    });
    pool.parallel_for(pieces, [&](std::int64_t i) { output(piece(i)); });
    return;
  }
  pool.parallel_for(blocks.count, [&](std::int64_t block, int thread) {
    std::int64_t first = block * blocks.block;
    const WinogradPiece piece = {thread, 0, first, std::min(blocks.block, blocks.tiles - first)};
    input(piece);
    for (std::int64_t position = 0; position < kWinogradPositions; ++position) multiply(piece, position);
    output(piece);
  });
}

}  // namespace octet::fast
