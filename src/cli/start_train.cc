#include "cli/start_train.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "cli/output.h"

namespace octet::cli {

int start_train(const std::string& command, const std::string& options) {
  flush_output();
  std::error_code error;
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "octet-train").string();
  // libgomp's threads spin between parallel regions for so long that two programs on one machine stop each
  // other; a short while is enough when there is nothing else. It must be known before the library is loaded.
  ::setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);
  ::execl(program.c_str(), "octet-train", command.c_str(), options.c_str(), nullptr);
  fail("{} can't be started ({}); it is built where libtorch is: `make build`", program,
       std::strerror(errno));
}

}  // namespace octet::cli
