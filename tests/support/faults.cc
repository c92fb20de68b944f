// For LD_PRELOAD: something goes wrong at the N-th step of the process, N being OCTET_FAULT_AT.
//   OCTET_FAULT=kill   the process is killed before the step (the default)
//   OCTET_FAULT=fail   the step fails, as it does on a full or broken disk, or without memory
//   OCTET_FAULT=stay   this step and all later ones fail
// Steps are what changes the disk (open, write, fsync, rename, unlink, mkdir); with OCTET_FAULT_ONLY=rename
// only those of that name count, which may also be `thread` or `memory`. OCTET_FAULT_LOG is a file that gets
// a line when something went wrong, and with OCTET_FAULT_AT=0 at the end the number of steps.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// Before main() nothing counts: no program survives the loss of what its libraries allocate there.
std::atomic<bool> has_begun = false;
std::atomic<long> steps = 0;

void log_line(const char* text) {
  const char* const path = std::getenv("OCTET_FAULT_LOG");
  if (!path) return;
  const long fd = ::syscall(SYS_open, path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  if (fd < 0) return;
  ::syscall(SYS_write, fd, text, std::strlen(text));
  ::syscall(SYS_close, fd);
}

// Whether this step is to fail.
bool fails(const char* name, bool changes_disk = true) {
  if (!has_begun) return false;
  static const char* const only = std::getenv("OCTET_FAULT_ONLY");
  if (only ? std::strcmp(only, name) != 0 : !changes_disk) return false;
  static const char* const text = std::getenv("OCTET_FAULT_AT");
  static const char* const mode = std::getenv("OCTET_FAULT");
  static const long limit = text ? std::atol(text) : 0;
  const long step = ++steps;
  if (limit == 0 || step < limit) return false;
  const bool kill = !mode || std::strcmp(mode, "kill") == 0;
  if (step > limit && (kill || std::strcmp(mode, "stay") != 0)) return false;
  if (kill) ::kill(::getpid(), SIGKILL);
  if (step == limit) log_line("failed\n");
  return true;
}

int fail_with(int error) {
  errno = error;
  return -1;
}

template <class Function>
Function* next(Function*, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void write_count() {
  const char* const text = std::getenv("OCTET_FAULT_AT");
  if (!text || std::atol(text) != 0) return;
  char line[32];
  std::snprintf(line, sizeof line, "%ld\n", steps.load());
  log_line(line);
}

using Main = int (*)(int, char**, char**);
Main real_main = nullptr;

int begin(int argc, char** argv, char** environment) {
  has_begun = true;
  const int code = real_main(argc, argv, environment);
  has_begun = false;
  write_count();
  return code;
}

}  // namespace

#define SHOWN __attribute__((visibility("default")))

extern "C" {

void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);

SHOWN int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                            void (*rtld_fini)(), void* stack_end) {
  using Start = int(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  real_main = main;
  return reinterpret_cast<Start*>(::dlsym(RTLD_NEXT, "__libc_start_main"))(begin, argc, argv, init, fini,
                                                                           rtld_fini, stack_end);
}

SHOWN int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if ((flags & O_CREAT) && fails("open")) return fail_with(ENOSPC);
  return next(&::open, "open")(path, flags, mode);
}

SHOWN ssize_t write(int fd, const void* data, size_t size) {
  if (fd > STDERR_FILENO && fails("write")) return fail_with(ENOSPC);
  return next(&::write, "write")(fd, data, size);
}

SHOWN int fsync(int fd) {
  if (fails("fsync")) return fail_with(EIO);
  return next(&::fsync, "fsync")(fd);
}

SHOWN int rename(const char* from, const char* to) {
  if (fails("rename")) return fail_with(EIO);
  return next(&::rename, "rename")(from, to);
}

SHOWN int unlink(const char* path) {
  if (fails("unlink")) return fail_with(EIO);
  return next(&::unlink, "unlink")(path);
}

SHOWN int mkdir(const char* path, mode_t mode) {
  if (fails("mkdir")) return fail_with(ENOSPC);
  return next(&::mkdir, "mkdir")(path, mode);
}

SHOWN int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                         void* argument) {
  if (fails("thread", false)) return EAGAIN;
  return next(&::pthread_create, "pthread_create")(thread, attributes, run, argument);
}

SHOWN void* malloc(size_t size) {
  if (fails("memory", false)) return nullptr;
  return __libc_malloc(size);
}

SHOWN void* calloc(size_t count, size_t size) {
  if (fails("memory", false)) return nullptr;
  return __libc_calloc(count, size);
}

SHOWN void* realloc(void* memory, size_t size) {
  if (fails("memory", false)) return nullptr;
  return __libc_realloc(memory, size);
}

SHOWN void* aligned_alloc(size_t alignment, size_t size) {
  if (fails("memory", false)) return nullptr;
  return __libc_memalign(alignment, size);
}

SHOWN int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (fails("memory", false)) return ENOMEM;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

}  // extern "C"
