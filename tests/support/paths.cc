#include "support/paths.h"

namespace octet {

const char* const kSourceDir = OCTET_SOURCE_DIR;
const char* const kProgram = OCTET_PROGRAM;

}  // namespace octet
