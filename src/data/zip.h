#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/file.h"

namespace octet {

// What a zip archive says about one of its files. Sizes are what it claims.
struct ZipEntry {
  std::string name;
  bool is_link = false, is_encrypted = false;
  bool is_large = false;  // more than 4 GB: its place is written elsewhere, and `packed` is empty
  bool is_stored = false, is_deflated = false;  // neither: packed in another way
  std::uint64_t size = 0, checksum = 0;
  Bytes packed;
};

// The files of an archive, from the directory at its end. A damaged one is an Error, in which `kind` is what
// the archive is called: "this zip archive".
std::vector<ZipEntry> read_zip(Bytes bytes, const std::string& source, const std::string& kind);

// Gives the bytes of an entry, which is stored or deflated, in pieces. An Error when they are not as many as
// it says, or their checksum is another one.
void unpack_entry(const ZipEntry& entry, const std::string& source, const std::string& kind,
                  const std::function<void(Bytes)>& sink);

// Unpacks deflate's data in pieces; the window bits are zlib's. False: it is damaged or ends early.
bool inflate_pieces(Bytes from, int window_bits, const std::function<void(Bytes)>& sink);

}  // namespace octet
