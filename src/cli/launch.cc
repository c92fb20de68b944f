#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/cuda.h"
#include "base/error.h"
#include "cli/command.h"

namespace octet::cli {

namespace {

struct Options {
  std::optional<int> count;
  std::string hosts, gpus;
  std::vector<std::string> line;
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// What --gpus lists: a process on each machine for each.
int count_gpus(const std::string& gpus) {
  const std::vector<std::string> numbers = split(gpus);
  for (const std::string& number : numbers)
    if (number.empty() || number.find_first_not_of("0123456789") != std::string::npos)
      fail("--gpus {}: expected numbers of GPUs, such as 0,1", gpus);
  return static_cast<int>(numbers.size());
}

int run(const Options& options) {
  if (options.line.empty()) fail("the command to run is missing: `octet launch --nproc 2 ptq ...`");
  if (!options.count && options.gpus.empty()) fail("how many processes? Give --nproc 2, or --gpus 0,1");
  const int each =
      options.gpus.empty() ? 0 : count_gpus(options.gpus);  // on a machine; 0: as mpirun likes it
  std::vector<std::string> hosts = options.hosts.empty() ? std::vector<std::string>() : split(options.hosts);
  const int machines = std::max(static_cast<int>(hosts.size()), 1);
  const int count = options.count.value_or(each * machines);
  if (each > 0 && count != each * machines)
    fail("--nproc {}: --gpus {} on {} machine{} are {} processes; leave --nproc out", count, options.gpus,
         machines, machines > 1 ? "s" : "", each * machines);

  if (each > 0 && has_cuda_device()) {
    ::setenv("CUDA_VISIBLE_DEVICES", options.gpus.c_str(), 1);  // each process takes the one with its number
  } else if (each > 0) {
    fmt::print(stderr, "octet: notice: no CUDA device; --gpus {} starts {} process{} on the CPU\n",
               options.gpus, count, count > 1 ? "es" : "");
  }
  // Not bound to a core each, as mpirun would: their threads share the machine.
  std::vector<std::string> line = {"mpirun",          "-np",       std::to_string(count),
                                   "--oversubscribe", "--bind-to", "none"};
  if (::geteuid() == 0) line.push_back("--allow-run-as-root");
  if (each > 0)
    for (std::string& host : hosts) host += ":" + std::to_string(each);
  if (!hosts.empty()) line.insert(line.end(), {"--host", fmt::format("{}", fmt::join(hosts, ","))});
  if (each > 0 && !hosts.empty()) line.insert(line.end(), {"-x", "CUDA_VISIBLE_DEVICES"});
  std::error_code error;
  line.push_back(std::filesystem::read_symlink("/proc/self/exe", error).string());
  line.insert(line.end(), options.line.begin(), options.line.end());
  std::vector<char*> argv;
  for (std::string& word : line) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  fail("mpirun can't be started ({}); install Open MPI (Debian: openmpi-bin)", std::strerror(errno));
}

}  // namespace

std::function<int()> declare_launch(Args& args) {
  auto options = std::make_shared<Options>();
  args.group("Processes");
  args.add("nproc", &options->count, {1, 4096}, "how many").aliases = {"nproc-per-node"};
  args.add("gpus", &options->gpus, "N,N",
           "one for each of these GPUs, on each machine; without a GPU on the CPU")
      .aliases = {"devices"};
  args.add("hosts", &options->hosts, "A,B", "on these machines; without it on this one").aliases = {"ips"};
  args.add_command_line("COMMAND ...", &options->line);
  args.note(
      "The processes are started by mpirun; `mpirun -np 2 octet ptq ...` does the same. `octet -m "
      "paddle.distributed.launch` is another name of this command.");
  args.example("octet launch --nproc 2 ptq --model-path resnet50 --data-dir photos --output-dir int8");
  args.example("octet launch --gpus 0,1 train --data-path ILSVRC2012 --output-dir out");
  return [options] { return run(*options); };
}

}  // namespace octet::cli
