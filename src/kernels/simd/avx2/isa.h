#pragma once
#include "kernels/simd/avx2/vec.h"

#include "kernels/simd/avx2/pairs.h"
#include "kernels/simd/avx2/shuffles.h"

namespace octet::simd::OCTET_SIMD {
namespace {

using scalar::copy_bytes;

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
