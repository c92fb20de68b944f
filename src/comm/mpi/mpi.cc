#include <mpi.h>

#include <algorithm>
#include <cstdint>

#include "comm/comm.h"

// The module that comm.cc loads under mpirun.
namespace octet {
namespace {

// MPI counts in int; longer texts go in pieces.
constexpr std::uint64_t kPiece = 1 << 30;

class MpiComm : public Comm {
 public:
  MpiComm() {
    int ready = 0;
    MPI_Initialized(&ready);
    if (!ready) MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }
  ~MpiComm() override { MPI_Finalize(); }

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
    MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    result.resize(bytes);
    for (std::uint64_t at = 0; at < bytes; at += kPiece)
      MPI_Bcast(result.data() + at, static_cast<int>(std::min(kPiece, bytes - at)), MPI_CHAR, 0,
                MPI_COMM_WORLD);
    return result;
  }

 private:
  void send(const std::string& text) const {
    std::uint64_t bytes = text.size();
    MPI_Send(&bytes, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
    for (std::uint64_t at = 0; at < bytes; at += kPiece)
      MPI_Send(text.data() + at, static_cast<int>(std::min(kPiece, bytes - at)), MPI_CHAR, 0, 0,
               MPI_COMM_WORLD);
  }
  std::string receive(int from) const {
    std::uint64_t bytes = 0;
    MPI_Recv(&bytes, 1, MPI_UINT64_T, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    std::string text(bytes, '\0');
    for (std::uint64_t at = 0; at < bytes; at += kPiece)
      MPI_Recv(text.data() + at, static_cast<int>(std::min(kPiece, bytes - at)), MPI_CHAR, from, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return text;
  }

  int rank_ = 0, size_ = 1;
};

}  // namespace
}  // namespace octet

extern "C" __attribute__((visibility("default"))) octet::Comm* octet_mpi_connect() {
  return new octet::MpiComm();
}
