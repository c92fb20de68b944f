#pragma once

// The names of files that are being written, so that a signal which ends the program can remove them.
namespace octet {

// The entry to give back with forget_unfinished(); -1, which may be given back too, when there is no room.
int remember_unfinished(const char* path);
void forget_unfinished(int entry);

// From now on, signals that would end the process (Ctrl-C, kill, a closed terminal) first remove the
// remembered files. For programs: a library leaves the signals of its process alone.
void remove_unfinished_on_signals();

}  // namespace octet
