#pragma once
#include "kernels/simd/avx2/vec.h"

#include "kernels/simd/avx2/pairs.h"
#include "kernels/simd/avx2/shuffles.h"
