#pragma once

namespace octet {

// Where this build is. Only paths.cc is compiled with these, so that ccache finds the other tests in any
// clone.
extern const char* const kSourceDir;       // the clone
extern const char* const kProgram;         // the octet that was built with the tests
extern const char* const kFaults;          // the library of faults.cc
extern const char* const kSegmentExample;  // the program of examples/segment.cc

}  // namespace octet
