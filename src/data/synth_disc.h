#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>

#include "data/example.h"

namespace octet {

// A made picture of the back of an eye and, in its mask, the optic disc (1): vessels that come together in
// the disc, uneven light, noise, and things as bright as the disc that are none: reflections and exudates.
// The same seed and number give the same picture on every machine.
Example make_disc_picture(std::uint64_t seed, std::uint64_t number, int width, int height);

struct SynthDiscOptions {
  int count = 200;
  std::uint64_t seed = 0;
  int width = 512, height = 512;
};

// How many of the pictures are for training, evaluation and tests: as in OpticDiscSeg, seven, two and one of
// ten.
struct SynthDiscParts {
  int train, val, test;
};
SynthDiscParts parts_of(int count);

// Writes pictures in the layout of OpticDiscSeg: JPEGImages, Annotations, train_list.txt, val_list.txt and
// test_list.txt. `progress` is called with the number of pictures that are done.
void write_disc_pictures(const std::filesystem::path& folder, const SynthDiscOptions& options,
                         const std::function<void(int)>& progress = {});

}  // namespace octet
