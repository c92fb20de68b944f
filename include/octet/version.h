#pragma once

namespace octet {

const char* version();  // "0.1.0"

}  // namespace octet
