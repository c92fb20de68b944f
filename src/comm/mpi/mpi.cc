#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "comm/comm.h"

// The module that comm.cc loads under mpirun.
namespace octet {
namespace {

// MPI counts in int; longer texts go in pieces.
constexpr std::uint64_t kPiece = 1 << 30;

class MpiComm : public Comm {
 public:
  MpiComm() : owns_mpi_(true) {
    int ready = 0, level = 0;
    MPI_Initialized(&ready);
    if (!ready) MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level);
    ask();
  }
  explicit MpiComm(MPI_Comm comm) : comm_(comm) { ask(); }
  ~MpiComm() override {
    if (owns_mpi_) {
      MPI_Finalize();
    } else {
      MPI_Comm_free(&comm_);
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  std::vector<std::string> gather(const std::string& mine) override {
    if (rank_ != 0) {
      send(mine);
      return {};
    }
    std::vector<std::string> all = {mine};
    for (int from = 1; from < size_; ++from) all.push_back(receive(from));
    return all;
  }

  std::string broadcast(const std::string& text) override {
    std::string result = rank_ == 0 ? text : "";
    std::uint64_t bytes = result.size();
    MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, comm_);
    result.resize(bytes);
    for (std::uint64_t at = 0; at < bytes; at += kPiece)
      MPI_Bcast(result.data() + at, static_cast<int>(std::min(kPiece, bytes - at)), MPI_CHAR, 0, comm_);
    return result;
  }

  void all_reduce(std::span<float> numbers) override { sum(numbers.data(), numbers.size(), MPI_FLOAT); }
  void all_reduce(std::span<double> numbers) override { sum(numbers.data(), numbers.size(), MPI_DOUBLE); }

  std::unique_ptr<Comm> duplicate() override {
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(comm_, &copy);
    return std::make_unique<MpiComm>(copy);
  }

  void abort(int exit_code) override {
    MPI_Abort(comm_, exit_code);
    std::_Exit(exit_code);
  }

 private:
  void ask() {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
  }
  template <class T>
  void sum(T* numbers, std::size_t count, MPI_Datatype type) {
    for (std::size_t at = 0; at < count; at += kPiece)
      MPI_Allreduce(MPI_IN_PLACE, numbers + at, static_cast<int>(std::min<std::size_t>(kPiece, count - at)),
                    type, MPI_SUM, comm_);
  }
  void send(const std::string& text) const {
    std::uint64_t bytes = text.size();
    MPI_Send(&bytes, 1, MPI_UINT64_T, 0, 0, comm_);
    for (std::uint64_t at = 0; at < bytes; at += kPiece)
      MPI_Send(text.data() + at, static_cast<int>(std::min(kPiece, bytes - at)), MPI_CHAR, 0, 0, comm_);
  }
  std::string receive(int from) const {
    std::uint64_t bytes = 0;
    MPI_Recv(&bytes, 1, MPI_UINT64_T, from, 0, comm_, MPI_STATUS_IGNORE);
    std::string text(bytes, '\0');
    for (std::uint64_t at = 0; at < bytes; at += kPiece)
      MPI_Recv(text.data() + at, static_cast<int>(std::min(kPiece, bytes - at)), MPI_CHAR, from, 0, comm_,
               MPI_STATUS_IGNORE);
    return text;
  }

  MPI_Comm comm_ = MPI_COMM_WORLD;
  bool owns_mpi_ = false;
  int rank_ = 0, size_ = 1;
};

}  // namespace
}  // namespace octet

extern "C" __attribute__((visibility("default"))) octet::Comm* octet_mpi_connect() {
  return new octet::MpiComm();
}
