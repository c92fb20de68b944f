#pragma once
#include <algorithm>

#include "base/threads.h"

namespace octet {

// Calls work(begin, end) for [0, size) in blocks. The blocks are the same for any number of threads, and what
// is small stays on the calling thread.
template <class Work>
void for_blocks(ThreadPool& pool, std::int64_t size, const Work& work, std::int64_t block = 1 << 14) {
  pool.parallel_for((size + block - 1) / block,
                    [&](std::int64_t i) { work(i * block, std::min(size, (i + 1) * block)); });
}

}  // namespace octet
