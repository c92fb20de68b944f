#pragma once

// The names of files that are being written, so that a signal which ends the program can remove them.
namespace octet {

// The entry to give back with forget_unfinished(); -1, which may be given back too, when there is no room.
int remember_unfinished(const char* path);
void forget_unfinished(int entry);

// From now on, signals that would end the process (Ctrl-C, kill, a closed terminal) first remove the
// remembered files. For programs: a library leaves the signals of its process alone.
void remove_unfinished_on_signals();

// While one lives, such a signal waits, and a second one ends the process at once. For the short time in
// which files change hands: those that a journal is about to list may neither be removed nor be left behind.
class SignalsWait {
 public:
  SignalsWait();
  ~SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
};

}  // namespace octet
