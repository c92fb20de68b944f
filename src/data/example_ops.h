#pragma once
#include <array>

#include "data/example.h"
#include "data/resample.h"

// What transforms do to a picture and its mask together.
namespace octet {

// The picture as floats, or as 8-bit pixels again: what is behind the point is cut off, as NumPy does.
void make_floats(Example& example);
void make_bytes(Example& example);

// To width x height. The mask goes to the nearest pixel. What was changed is noted in `changes`.
void resize_example(Example& example, int width, int height, Interpolation interpolation);
// The same for the part of the result in `box` alone.
void resize_part(Example& example, int width, int height, Interpolation interpolation, const Box& box);

// What is in `box`, which may reach over the edge: there the picture gets `fill`, and the mask `ignored`.
void crop_example(Example& example, const Box& box, const std::array<float, 3>& fill, int ignored);

// OpenCV's INTER_LINEAR of floats.
constexpr Interpolation kPaddleSegDefault = Interpolation::kCvLinear;

}  // namespace octet
