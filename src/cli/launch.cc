#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "cli/command.h"

namespace octet::cli {

namespace {

struct Options {
  int count = 0;
  std::string hosts;
  std::vector<std::string> line;
};

int run(const Options& options) {
  if (options.line.empty()) fail("the command to run is missing: `octet launch --nproc 2 ptq ...`");
  std::error_code error;
  std::vector<std::string> line = {"mpirun", "-np", std::to_string(options.count), "--oversubscribe"};
  if (::geteuid() == 0) line.push_back("--allow-run-as-root");
  if (!options.hosts.empty()) line.insert(line.end(), {"--host", options.hosts});
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
  args.add("nproc", &options->count, {1, 4096}, "how many").required = true;
  args.add("hosts", &options->hosts, "A,B", "on these machines; without it on this one");
  args.add_command_line("COMMAND ...", &options->line);
  args.note("Starts them with mpirun, which takes the same place: `mpirun -np 2 octet ptq ...`.");
  args.example("octet launch --nproc 2 ptq --model-path resnet50 --data-dir photos --output-dir int8");
  return [options] { return run(*options); };
}

}  // namespace octet::cli
