#pragma once
#include <cstddef>
#include <new>
#include <string>

#include "octet/error.h"

// A limit on the memory of this process, and errors that name what there was no memory for.
namespace octet {

// From now on whatever would make this process take more than `bytes` is refused when it asks for memory,
// before it gets any: by the system, so that nothing is left out (libraries, threads). An Error when the
// system can't do that. Files that are mapped to be read do not count.
void limit_memory(std::size_t bytes);
std::size_t memory_limit();  // 0: there is none

struct OutOfMemory : Error {
  using Error::Error;
};

// Throws it: "out of memory: {what}", and what the limit is.
[[noreturn]] void fail_for_memory(const std::string& what);

// What `work` gives; when there is no memory for it, an Error with the text that `what` gives.
template <class What, class Work>
auto with_memory(const What& what, const Work& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    fail_for_memory(what());
  } catch (const OutOfMemory& error) {
    throw OutOfMemory(what() + (": " + std::string(error.what())));
  }
}

// "1.5 GB", and back: 512MB, 1.5g, 2GiB (all are powers of two). An Error says what is wrong with the text.
std::string size_text(std::size_t bytes);
std::size_t parse_size(const std::string& text);

}  // namespace octet
