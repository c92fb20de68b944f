#pragma once
#include <span>
#include <vector>

#include "kernels/kernel.h"

// The fast kernels: what is not an inner loop. They read the node, split the work among threads such that the
// result does not depend on their number, and call the routines of kernels/simd.
namespace octet::fast {

// All of them; of two for the same op the first that fits a node is taken.
std::span<const Implementation> implementations();

// The families, one file each.
std::vector<Implementation> unary();
std::vector<Implementation> binary();
std::vector<Implementation> image();
std::vector<Implementation> resize_arg_max();
std::vector<Implementation> movement();
std::vector<Implementation> reduction();
std::vector<Implementation> quantization();
std::vector<Implementation> float_depthwise();
std::vector<Implementation> float_winograd();
std::vector<Implementation> float_conv();
std::vector<Implementation> float_upsample();
std::vector<Implementation> float_transpose();
std::vector<Implementation> float_matmul();
std::vector<Implementation> int8();

}  // namespace octet::fast
