#include <malloc.h>

#include <atomic>
#include <csignal>
#include <limits>

#include "base/error.h"
#include "cli/console.h"
#include "cli/program.h"
#include "cli/qat.h"
#include "cli/train.h"
#include "comm/comm.h"
#include "train/device_graph.h"
#include "train/distill.h"
#include "train/trainer.h"

// octet-train: what needs libtorch. `octet` checks the flags and starts it, since linking libtorch takes a
// program a quarter of a second before it can say a word.
//
//   octet-train train|qat RECIPE             the text of a recipe (docs/recipe.md)
//   octet-train on DEVICE PRECISION WORDS    `octet WORDS`, with every model on this device

namespace {

using Words = std::vector<std::string>;

// Ctrl-C and kill ask a training run to stop where it can go on later; the second time they end it at once.
std::atomic<bool> stop_asked = false;
volatile std::sig_atomic_t stop_signal = SIGTERM;  // also when another process got it

void ask_to_stop(int signal) {
  stop_signal = signal;
  stop_asked = true;
  std::signal(signal, SIG_DFL);
}

int train(const std::string& recipe, octet::Comm& comm) {
  std::signal(SIGINT, ask_to_stop);
  std::signal(SIGTERM, ask_to_stop);
  octet::cli::Console console;
  const octet::train::Outcome outcome =
      octet::train::train(octet::cli::read_train_options(recipe, "recipe"), comm, console, stop_asked);
  return outcome == octet::train::Outcome::kStopped ? 128 + stop_signal : 0;
}

int distill(const std::string& recipe) {
  octet::cli::Console console;
  octet::train::distill(octet::cli::read_distill_options(recipe, "recipe"), console);
  return 0;
}

int run(const Words& words, octet::Comm& comm) {
  const std::string command = words.empty() ? "" : words[0];
  if (command == "train" && words.size() == 2) return train(words[1], comm);
  if (command == "qat" && words.size() == 2) return distill(words[1]);
  if (command == "on" && words.size() > 3) {
    return octet::cli::run_program({words.begin() + 3, words.end()},
                                   octet::train::open_device(words[1], words[2]));
  }
  octet::fail("octet-train is started by `octet`; see `octet help train`");
}

// Every step of training frees what the next one allocates again. glibc would give large pieces back to the
// system each time, and a sixth of a step would go into pages that come and go.
void keep_freed_memory() {
  ::mallopt(M_MMAP_MAX, 0);
  ::mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

}  // namespace

int main(int argc, char** argv) {
  keep_freed_memory();
  octet::cli::start_program();
  std::unique_ptr<octet::Comm> comm = octet::alone();
  const auto report = [&](const std::string& message) {
    const std::string who =
        comm->size() > 1 ? fmt::format("process {} of {}: ", comm->rank(), comm->size()) : "";
    fmt::print(stderr, "octet: error: {}{}\n", who, message);
  };
  const int code = octet::cli::exit_code_of(
      [&] {
        const Words words(argv + (argc > 0), argv + argc);
        if (words.empty() || words[0] != "on") comm = octet::connect();
        return run(words, *comm);
      },
      report);
  if (code != 0 && comm->size() > 1) comm->abort(code);  // the others would wait for this one
  return code;
}
