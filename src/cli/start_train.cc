#include "cli/start_train.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "cli/output.h"
#include "cli/program.h"

namespace octet::cli {

namespace {

[[noreturn]] void start(const std::vector<std::string>& words) {
  flush_output();
  std::error_code error;
  const std::string program =
      (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "octet-train").string();
  // libgomp's threads spin between parallel regions for so long that two programs on one machine stop each
  // other; a short while is enough when there is nothing else. It must be known before the library is loaded.
  ::setenv("GOMP_SPINCOUNT", "1000", /*overwrite=*/0);
  std::vector<char*> arguments = {const_cast<char*>("octet-train")};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(program.c_str(), arguments.data());
  fail(
      "{} can't be started ({}); `make build` makes it where libtorch is, `make install` puts it beside "
      "octet",
      program, std::strerror(errno));
}

}  // namespace

int start_train(const std::string& command, const std::string& recipe) {
  start({command, recipe});
}

void start_on_device(const std::string& device, const std::string& precision) {
#ifdef OCTET_CUDA
  std::vector<std::string> words = {"on", device, precision};
  words.insert(words.end(), command_line().begin(), command_line().end());
  start(words);
#else
  (void)precision;
  fail(
      "{}: no usable CUDA device, this octet runs on the CPU (`make cuda` builds one for GPUs); use "
      "--use-gpu False --device cpu",
      device);
#endif
}

}  // namespace octet::cli
