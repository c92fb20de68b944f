// For LD_PRELOAD: kills the process before its N-th step that changes what is on the disk, N being
// OCTET_KILL_AT. With OCTET_KILL_ONLY=rename only steps of that name count.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdarg>
#include <cstdlib>
#include <string_view>

namespace {

void step(std::string_view name) {
  static const char* const only = std::getenv("OCTET_KILL_ONLY");
  if (only && name != only) return;
  static const char* const text = std::getenv("OCTET_KILL_AT");
  static const int limit = text ? std::atoi(text) : 0;
  static std::atomic<int> steps = 0;
  if (++steps == limit) ::kill(::getpid(), SIGKILL);
}

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (flags & O_CREAT) step("open");
  return next(&::open, "open")(path, flags, mode);
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void* data, size_t size) {
  if (fd > STDERR_FILENO) step("write");
  return next(&::write, "write")(fd, data, size);
}

__attribute__((visibility("default"))) int fsync(int fd) {
  step("fsync");
  return next(&::fsync, "fsync")(fd);
}

__attribute__((visibility("default"))) int rename(const char* from, const char* to) {
  step("rename");
  return next(&::rename, "rename")(from, to);
}

__attribute__((visibility("default"))) int unlink(const char* path) {
  step("unlink");
  return next(&::unlink, "unlink")(path);
}

__attribute__((visibility("default"))) int mkdir(const char* path, mode_t mode) {
  step("mkdir");
  return next(&::mkdir, "mkdir")(path, mode);
}

}  // extern "C"
