#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "octet/error.h"

namespace octet {

// What every fuzz target does: `read` may succeed or throw an Error about its input, on one line. Anything
// else is a bug of octet: another exception, an internal error, or what the sanitizers find.
template <class Read>
int survive(Read read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kUser && !std::strchr(error.what(), '\n')) return 0;
    std::fprintf(stderr, "an unfit error: %s\n", error.what());
    std::abort();
  }
  return 0;
}

}  // namespace octet
