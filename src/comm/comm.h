#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

// Several processes that work on one job.
namespace octet {

class Comm {
 public:
  virtual ~Comm() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // What each process gives, in the order of ranks, at rank 0; nothing elsewhere.
  virtual std::vector<std::string> gather(const std::string& mine) = 0;
  // What rank 0 gives, everywhere.
  virtual std::string broadcast(const std::string& text) = 0;
  // Each number becomes the sum of what all processes have there; the same bits everywhere.
  virtual void all_reduce(std::span<float> numbers) = 0;
  virtual void all_reduce(std::span<double> numbers) = 0;
  // The same processes again, for another thread: what the two do does not get mixed up.
  virtual std::unique_ptr<Comm> duplicate() = 0;
  // Ends all processes, for this one can't go on.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

// The processes that mpirun started together with this one, or this one alone. MPI is loaded only then (the
// module liboctet_mpi.so, beside the program or in ../lib/octet), so nobody else needs it.
std::unique_ptr<Comm> connect();

// This process alone.
std::unique_ptr<Comm> alone();

// Whether mpirun started this process with others.
bool is_one_of_several();

}  // namespace octet
