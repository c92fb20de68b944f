#pragma once
#include <stdexcept>
#include <string>

namespace octet {

// What every function of octet throws. The message is one line for a person: the file, node, tensor or flag
// concerned, what is wrong with it, and what to try.
class Error : public std::runtime_error {
 public:
  enum class Kind {
    kUser,      // the input or the request is at fault
    kInternal,  // octet is at fault; please report it
  };

  explicit Error(const std::string& message, Kind kind = Kind::kUser);

  Kind kind() const { return kind_; }

 private:
  Kind kind_;
};

}  // namespace octet
