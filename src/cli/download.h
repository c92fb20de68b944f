#pragma once
#include <filesystem>
#include <string>

#include "base/reporter.h"
#include "train/options.h"

// What the programs fetch from the network: weights, and data sets that octet knows. It goes to the cache,
// ${OCTET_CACHE:-${XDG_CACHE_HOME:-~/.cache}/octet}/downloads/HOST/PATH, where files can also be put by hand.
namespace octet::cli {

// http:// or https://
bool is_url(const std::string& text);

// Where the file of a URL is kept, or would be. An Error when there can't be such a file.
std::filesystem::path place_of_download(const std::string& url);

// The file, which is fetched if it is not there yet. What a broken transfer left is continued. An Error says
// why it can't be had, and where to put it by hand.
std::filesystem::path download(const std::string& url, Reporter& reporter);

// A path is given back as it is. Of a URL it is the file, or if that is an archive the folder with what was
// inside, or the only folder in that.
std::string fetch(const std::string& path_or_url, Reporter& reporter);

// What a run needs and this machine lacks: weights by URL, and the folder of a data set that octet knows.
void fetch_missing(train::TrainOptions& options, Reporter& reporter);

}  // namespace octet::cli
