#include "runtime/roofline.h"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "base/threads.h"
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace octet {

namespace {

// A loop and what it does in one turn.
struct Loop {
  std::string_view feature;  // of the CPU (base/cpu.h)
  bool is_int8;
  int macs;
  void (*run)(std::int64_t turns);
};

// Makes the compiler believe that `v` is used and changed here, so that it neither drops nor merges what has
// no effect.
#if defined(__x86_64__)
#define OCTET_KEEP(v) asm volatile("" : "+x"(v))
#elif defined(__aarch64__)
#define OCTET_KEEP(v) asm volatile("" : "+w"(v))
#endif

// Each turn adds to as many independent sums as there are registers for, which is more than the latency of
// the instructions times how many start in a cycle.
#if defined(__x86_64__)

constexpr int kSums = 12;

__attribute__((target("fma"))) void fma_avx2(std::int64_t turns) {
  __m256 sums[kSums] = {}, x = _mm256_set1_ps(1);
  for (; turns > 0; --turns) {
#pragma GCC unroll 16
    for (__m256& sum : sums) {
      sum = _mm256_fmadd_ps(x, x, sum);
      OCTET_KEEP(sum);
    }
  }
}

__attribute__((target("avx512f"))) void fma_avx512(std::int64_t turns) {
  __m512 sums[kSums] = {}, x = _mm512_set1_ps(1);
  for (; turns > 0; --turns) {
#pragma GCC unroll 16
    for (__m512& sum : sums) {
      sum = _mm512_fmadd_ps(x, x, sum);
      OCTET_KEEP(sum);
    }
  }
}

// Two products of bytes are added in 16 bits, which is exact for nearly all weights (they are known
// beforehand), then widened: the fastest exact way without VNNI.
__attribute__((target("avx2"))) void madd_avx2(std::int64_t turns) {
  __m256i sums[kSums] = {}, x = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
  for (; turns > 0; --turns) {
#pragma GCC unroll 16
    for (__m256i& sum : sums) {
      __m256i a = _mm256_maddubs_epi16(x, x);
      OCTET_KEEP(x);
      __m256i b = _mm256_maddubs_epi16(x, x);
      OCTET_KEEP(x);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_add_epi16(a, b), ones));
      OCTET_KEEP(sum);
    }
  }
}

__attribute__((target("avx512bw"))) void madd_avx512(std::int64_t turns) {
  __m512i sums[kSums] = {}, x = _mm512_set1_epi8(1), ones = _mm512_set1_epi16(1);
  for (; turns > 0; --turns) {
#pragma GCC unroll 16
    for (__m512i& sum : sums) {
      __m512i a = _mm512_maddubs_epi16(x, x);
      OCTET_KEEP(x);
      __m512i b = _mm512_maddubs_epi16(x, x);
      OCTET_KEEP(x);
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_add_epi16(a, b), ones));
      OCTET_KEEP(sum);
    }
  }
}

__attribute__((target("avxvnni"))) void dot_avxvnni(std::int64_t turns) {
  __m256i sums[kSums] = {}, x = _mm256_set1_epi8(1);
  for (; turns > 0; --turns) {
#pragma GCC unroll 16
    for (__m256i& sum : sums) {
      sum = _mm256_dpbusd_avx_epi32(sum, x, x);
      OCTET_KEEP(sum);
    }
  }
}

__attribute__((target("avx512vnni"))) void dot_avx512(std::int64_t turns) {
  __m512i sums[kSums] = {}, x = _mm512_set1_epi8(1);
  for (; turns > 0; --turns) {
#pragma GCC unroll 16
    for (__m512i& sum : sums) {
      sum = _mm512_dpbusd_epi32(sum, x, x);
      OCTET_KEEP(sum);
    }
  }
}

constexpr Loop kLoops[] = {
    {"fma", false, kSums * 8, fma_avx2},        {"avx512f", false, kSums * 16, fma_avx512},
    {"avx2", true, kSums * 64, madd_avx2},      {"avx512bw", true, kSums * 128, madd_avx512},
    {"avxvnni", true, kSums * 32, dot_avxvnni}, {"avx512vnni", true, kSums * 64, dot_avx512},
};

#elif defined(__aarch64__)

constexpr int kSums = 16;

void fma_neon(std::int64_t turns) {
  float32x4_t sums[kSums] = {}, x = vdupq_n_f32(1);
  for (; turns > 0; --turns) {
#pragma GCC unroll 16
    for (float32x4_t& sum : sums) {
      sum = vfmaq_f32(sum, x, x);
      OCTET_KEEP(sum);
    }
  }
}

void madd_neon(std::int64_t turns) {
  int32x4_t sums[kSums] = {};
  int8x16_t x = vdupq_n_s8(1);
  for (; turns > 0; --turns) {
#pragma GCC unroll 16
    for (int32x4_t& sum : sums) {
      int16x8_t pair = vmull_s8(vget_low_s8(x), vget_low_s8(x));
      OCTET_KEEP(x);
      sum = vpadalq_s16(sum, vmlal_high_s8(pair, x, x));
      OCTET_KEEP(sum);
    }
  }
}

constexpr Loop kLoops[] = {{"neon", false, kSums * 4, fma_neon}, {"neon", true, kSums * 16, madd_neon}};

#else

constexpr Loop kLoops[] = {{"", false, 0, nullptr}};

#endif

// The best of many short tries: what disturbs a try can only make it slower.
double measure(const Loop& loop) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  constexpr std::int64_t kTurns = 100'000;
  constexpr Seconds kTime{0.04};
  double best = 0;
  for (Clock::time_point begin = Clock::now(), start = begin; start - begin < kTime;) {
    loop.run(kTurns);
    Clock::time_point stop = Clock::now();
    best = std::max(best, 1e-9 * loop.macs * kTurns / Seconds(stop - start).count());
    start = stop;
  }
  return best;
}

// All threads at once, since they may share a core or heat each other.
double measure(const Loop& loop, int threads) {
  std::vector<double> gmacs(static_cast<std::size_t>(threads));
  std::barrier start(threads);
  auto work = [&](std::size_t i) {
    start.arrive_and_wait();
    gmacs[i] = measure(loop);
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < gmacs.size(); ++i) others.emplace_back(work, i);
  work(0);
  others.clear();  // joins them
  return std::accumulate(gmacs.begin(), gmacs.end(), 0.0);
}

}  // namespace

Roofline measure_roofline(int threads) {
  Roofline roofline;
  threads = available_threads(threads);
  for (const Loop& loop : kLoops) {
    if (!cpu_info().has(loop.feature)) continue;
    double& best = loop.is_int8 ? roofline.int8_gmacs : roofline.fp32_gmacs;
    best = std::max(best, measure(loop, threads));
  }
  return roofline;
}

}  // namespace octet
