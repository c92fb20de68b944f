#include "comm/comm.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace octet {

namespace {

class Alone : public Comm {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::vector<std::string> gather(const std::string& mine) override { return {mine}; }
  std::string broadcast(const std::string& text) override { return text; }
  void all_reduce(std::span<float>) override {}
  void all_reduce(std::span<double>) override {}
  std::unique_ptr<Comm> duplicate() override { return alone(); }
  void abort(int exit_code) override { std::_Exit(exit_code); }
};

std::unique_ptr<Comm> load_mpi() {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  std::string why;
  for (const fs::path& path : {folder / "liboctet_mpi.so", folder / "../lib/octet/liboctet_mpi.so"}) {
    if (!fs::exists(path)) continue;
    void* module =
        ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);  // global: MPI loads parts of itself that need it
    auto create = module ? reinterpret_cast<Comm* (*)()>(::dlsym(module, "octet_mpi_connect")) : nullptr;
    if (create) return std::unique_ptr<Comm>(create());
    const char* message = ::dlerror();
    why = message ? message : "it has no octet_mpi_connect";
  }
  fail(
      "mpirun started this process, but octet's MPI module can't be loaded ({}); install Open MPI (Debian: "
      "libopenmpi-dev, openmpi-bin) and build octet again, or run it without mpirun",
      why.empty() ? "liboctet_mpi.so is not beside the program" : why);
}

}  // namespace

bool is_one_of_several() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})  // Open MPI; MPICH and Slurm
    if (const char* size = std::getenv(name); size && std::atoi(size) > 1) return true;
  return false;
}

std::unique_ptr<Comm> alone() {
  return std::make_unique<Alone>();
}

std::unique_ptr<Comm> connect() {
  if (!is_one_of_several()) return alone();
  return load_mpi();
}

}  // namespace octet
