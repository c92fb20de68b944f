#pragma once
#include "kernels/simd/avx512/vec.h"

#include "kernels/simd/avx2/pairs.h"
#include "kernels/simd/avx2/shuffles.h"

namespace octet::simd::OCTET_SIMD {
namespace {

using scalar::store_int8;

}  // namespace
}  // namespace octet::simd::OCTET_SIMD
