#include <csignal>

#include "base/error.h"
#include "base/unfinished.h"
#include "comm/comm.h"
#include "train/distill.h"
#include "train/options.h"
#include "train/trainer.h"

// octet-train: what needs libtorch. `octet` checks the flags and starts it with its options as one argument,
// since linking libtorch takes a program a quarter of a second before it can say a word.
namespace {

constexpr int kOurMistake = 1, kUserMistake = 2;

int report(octet::Comm& comm, const std::string& message, int code) {
  const std::string who = comm.size() > 1 ? fmt::format("process {} of {}: ", comm.rank(), comm.size()) : "";
  fmt::print(stderr, "octet: error: {}{}\n", who, message);
  if (comm.size() > 1) comm.abort(code);  // the others would wait for this one
  return code;
}

int run(const std::string& command, const std::string& options, octet::Comm& comm) {
  try {
    if (command == "train") return octet::train::train(octet::train::read_train_options(options), comm);
    if (command == "qat") return octet::train::distill(octet::train::read_distill_options(options));
    octet::fail("octet-train is started by `octet train`; see `octet help train`");
  } catch (const octet::Error& error) {
    return report(comm, error.what(), error.kind() == octet::Error::Kind::kUser ? kUserMistake : kOurMistake);
  } catch (const std::bad_alloc&) {
    return report(comm, "out of memory; try a smaller --batch-size", kUserMistake);
  } catch (const std::system_error& error) {
    return report(comm, error.what(), kUserMistake);
  } catch (const std::exception& error) {
    return report(comm, std::string("internal error: ") + error.what(), kOurMistake);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  octet::remove_unfinished_on_signals();
  std::unique_ptr<octet::Comm> comm = octet::alone();
  try {
    comm = octet::connect();
  } catch (const octet::Error& error) {
    return report(*comm, error.what(), kUserMistake);
  }
  return run(argc == 3 ? argv[1] : "", argc == 3 ? argv[2] : "", *comm);
}
