#pragma once

// On a function whose loops do the heavy work: it is compiled once for every CPU and once for CPUs with AVX2
// and FMA, and the loader picks (GCC's function multiversioning). The results are the same, because std::fma
// rounds once whether it is an instruction or a library call, and -ffp-contract=off keeps the compiler from
// fusing on its own. What such a function calls must be inlined into it. Sanitizers do not get along with the
// loader's choice.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define OCTET_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define OCTET_CLONES
#endif
