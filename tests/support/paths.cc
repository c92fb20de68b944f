#include "support/paths.h"

namespace octet {

const char* const kSourceDir = OCTET_SOURCE_DIR;
const char* const kProgram = OCTET_PROGRAM;
const char* const kKillAt = OCTET_KILL_AT;
const char* const kSegmentExample = OCTET_SEGMENT_EXAMPLE;

}  // namespace octet
