#include "support/paths.h"

namespace octet {

const char* const kSourceDir = OCTET_SOURCE_DIR;
const char* const kProgram = OCTET_PROGRAM;
const char* const kFaults = OCTET_FAULTS;
const char* const kSegmentExample = OCTET_SEGMENT_EXAMPLE;

}  // namespace octet
