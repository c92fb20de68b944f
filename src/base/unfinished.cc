#include "base/unfinished.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>

namespace octet {
namespace {

// A signal handler can neither lock nor allocate, and may run while another thread changes the list. So the
// names lie in slots that are never freed, and whoever moves a slot's state owns its name: kFree -> kFilling
// -> kNamed -> kFree in the writing thread, kNamed -> kRemoving in the handler, where it stays.
enum class State { kFree, kFilling, kNamed, kRemoving };

struct Slot {
  std::atomic<State> state = State::kFree;
  char path[PATH_MAX] = {};

  bool move(State from, State to) { return state.compare_exchange_strong(from, to); }
};
static_assert(std::atomic<State>::is_always_lock_free);

// More than any command has open; a file beyond them, or with a longer name, is only not removed by a signal.
std::array<Slot, 16> slots;

std::atomic<int> waiters = 0, waiting_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void remove_and_end(int signal) {
  if (waiters > 0) {
    waiting_signal = signal;
    // The last waiter may just have gone: then whoever takes the signal out again sees to it.
    if (waiters > 0 || waiting_signal.exchange(0) == 0) return;
  }
  for (Slot& slot : slots)
    if (slot.move(State::kNamed, State::kRemoving)) ::unlink(slot.path);
  ::raise(signal);  // with its default action back in place, when this handler returns
}

}  // namespace

int remember_unfinished(const char* path) {
  if (std::strlen(path) >= PATH_MAX) return -1;
  for (int i = 0; i < static_cast<int>(slots.size()); ++i) {
    if (!slots[i].move(State::kFree, State::kFilling)) continue;
    std::strcpy(slots[i].path, path);
    slots[i].state = State::kNamed;
    return i;
  }
  return -1;
}

void forget_unfinished(int entry) {
  if (entry >= 0) slots[entry].move(State::kNamed, State::kFree);
}

void remove_unfinished_on_signals() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_DFL) continue;  // ignored, as nohup does, is to stay ignored
    action.sa_handler = remove_and_end;
    action.sa_flags = SA_RESETHAND;
    ::sigaction(signal, &action, nullptr);
  }
}

SignalsWait::SignalsWait() {
  ++waiters;
}

SignalsWait::~SignalsWait() {
  if (--waiters > 0) return;
  if (const int signal = waiting_signal.exchange(0)) remove_and_end(signal);
}

}  // namespace octet
