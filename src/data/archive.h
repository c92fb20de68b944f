#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "base/file.h"

// Archives of files, as data sets and weights are distributed.
namespace octet {

// What unpacking may make at most.
struct ArchiveLimits {
  std::uint64_t bytes = std::uint64_t{64} << 30;
  std::uint64_t files = 1 << 20;
};

// Whether a file of this name would be an archive: *.zip, *.tar, *.tar.gz, *.tgz.
bool is_archive_name(const std::filesystem::path& path);

// Unpacks a zip or tar archive, which may be packed by gzip and is recognised by its bytes, into a folder.
// Only files and folders are made: an entry that is a link or a device, or that would be outside of the
// folder, is an Error, as are more files or bytes than the limits allow, and a damaged archive. `name` is for
// messages.
void unpack(Bytes bytes, const std::string& name, const std::filesystem::path& folder,
            const ArchiveLimits& limits = {});

}  // namespace octet
