#include "cli/download.h"

#include <curl/curl.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "data/archive.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxBytes = std::int64_t{64} << 30;

// Data sets that can be had by everyone.
struct KnownDataset {
  std::string_view type, url;
};
constexpr KnownDataset kDatasets[] = {
    {"OpticDiscSeg", "https://paddleseg.bj.bcebos.com/dataset/optic_disc_seg.zip"}};

fs::path cache_folder() {
  const auto value = [](const char* name) {
    const char* text = std::getenv(name);
    return std::string(text ? text : "");
  };
  if (const std::string folder = value("OCTET_CACHE"); !folder.empty()) return folder;
  if (const std::string folder = value("XDG_CACHE_HOME"); !folder.empty()) return fs::path(folder) / "octet";
  if (const std::string folder = value("HOME"); !folder.empty()) return fs::path(folder) / ".cache" / "octet";
  fail("there is no folder for downloads: neither OCTET_CACHE nor HOME is set");
}

// One process after the other works on a file.
class Lock {
 public:
  explicit Lock(const fs::path& path) : file_(::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644)) {
    if (file_ < 0 || ::flock(file_, LOCK_EX) != 0)
      fail("{}: cannot be locked: {}", path.string(), std::strerror(errno));
  }
  ~Lock() { ::close(file_); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  int file_;
};

// A transfer into `part`, which goes on behind what is there.
class Transfer {
 public:
  Transfer(std::string url, fs::path part, Reporter& reporter)
      : url_(std::move(url)),
        part_(std::move(part)),
        version_(part_.string() + ".version"),
        reporter_(reporter) {}

  // Empty: all is there. Otherwise why not.
  std::string run() {
    std::error_code ignored;
    begin_ = fs::exists(part_, ignored) ? static_cast<std::int64_t>(fs::file_size(part_, ignored)) : 0;
    known_version_ = begin_ > 0 && fs::exists(version_, ignored) ? read_text(version_, 4096) : "";
    if (known_version_.empty()) begin_ = 0;  // what could have changed meanwhile is not continued
    const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
    check(curl != nullptr, "libcurl can be started");
    std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(nullptr, curl_slist_free_all);
    if (begin_ > 0) headers.reset(curl_slist_append(nullptr, ("If-Range: " + known_version_).c_str()));
    set_up(curl.get(), headers.get());
    const CURLcode code = curl_easy_perform(curl.get());
    const bool has_come = file_ != nullptr;
    finish_file();
    curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status_);
    // What lies there is of another answer then, and may be half a file.
    if (code == CURLE_OK && !has_come && problem_.empty())
      problem_ = fmt::format("the server answers with nothing, status {}", status_);
    return outcome(code);
  }

  // Whether another attempt could help.
  bool may_go_on() const { return may_go_on_; }

 private:
  void set_up(CURL* curl, curl_slist* headers) {
    curl_easy_setopt(curl, CURLOPT_URL, url_.c_str());
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, url_.starts_with("https") ? "https" : "http,https");
    curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 20L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 60L);
    curl_easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(kMaxBytes));
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "octet");
    curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(begin_));
    if (headers) curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message_.data());
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, this);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, this);
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, this);
    curl_ = curl;
  }

  std::string outcome(CURLcode code) {
    if (!problem_.empty()) return problem_;
    if (code == CURLE_OK) return "";
    std::string what = message_[0] != 0 ? message_.data() : curl_easy_strerror(code);
    constexpr long kRangeWrong = 416, kServerErrors = 500;
    if (code == CURLE_RANGE_ERROR ||
        status_ == kRangeWrong) {  // what is there is not the beginning of the file
      std::error_code ignored;
      fs::remove(part_, ignored);
      may_go_on_ = true;
    }
    may_go_on_ |= code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
                  code == CURLE_OPERATION_TIMEDOUT ||
                  (code == CURLE_HTTP_RETURNED_ERROR && status_ >= kServerErrors);
    return what;
  }

  static std::size_t on_header(char* data, std::size_t, std::size_t size, void* self) {
    return static_cast<Transfer*>(self)->take_header({data, size}) ? size : 0;
  }
  static std::size_t on_data(char* data, std::size_t, std::size_t size, void* self) {
    return static_cast<Transfer*>(self)->take_data({data, size}) ? size : 0;
  }
  static int on_progress(void* self, curl_off_t total, curl_off_t done, curl_off_t, curl_off_t) {
    auto* transfer = static_cast<Transfer*>(self);
    if (total > 0 && done < total)
      transfer->reporter_.progress("bytes of " + fs::path(transfer->part_).stem().string(),
                                   transfer->begin_ + done, transfer->begin_ + total);
    return 0;
  }

  bool take_header(std::string_view line) {
    if (line.starts_with("HTTP/")) new_version_.clear();  // of another answer, behind a redirection
    std::string name(line.substr(0, line.find(':')));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    if (name != "etag" && !(name == "last-modified" && new_version_.empty())) return true;
    const std::string_view value = line.substr(line.find(':') + 1);
    const std::size_t begin = value.find_first_not_of(" \t"), end = value.find_last_not_of(" \t\r\n");
    if (begin != std::string_view::npos && !value.substr(begin).starts_with("W/"))
      new_version_ = value.substr(begin, end + 1 - begin);
    return true;
  }

  bool take_data(std::string_view data) {
    if (!file_) {
      long status = 0;
      curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &status);
      constexpr long kPartial = 206;
      if (status != kPartial) begin_ = 0;  // the whole file comes, for it has changed or can't be continued
      written_ = begin_;
      try {
        save_file(version_, new_version_);
      } catch (const Error& error) {
        problem_ = error.what();
        return false;
      }
      file_.reset(std::fopen(part_.c_str(), begin_ > 0 ? "ab" : "wb"));
      if (!file_) problem_ = fmt::format("{}: {}", part_.string(), std::strerror(errno));
      if (!file_) return false;
    }
    written_ += static_cast<std::int64_t>(data.size());
    if (written_ > kMaxBytes) problem_ = fmt::format("more than {} bytes", kMaxBytes);
    if (std::fwrite(data.data(), 1, data.size(), file_.get()) != data.size())
      problem_ = fmt::format("{}: {}", part_.string(), std::strerror(errno));
    return problem_.empty();
  }

  // A full disk may show only now.
  void finish_file() {
    if (!file_) return;
    const bool is_whole = std::fflush(file_.get()) == 0 && ::fsync(::fileno(file_.get())) == 0;
    if (!is_whole && problem_.empty()) problem_ = fmt::format("{}: {}", part_.string(), std::strerror(errno));
    file_.reset();
  }

  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const std::string url_;
  const fs::path part_, version_;
  Reporter& reporter_;
  CURL* curl_ = nullptr;
  std::int64_t begin_ = 0, written_ = 0;
  std::string known_version_, new_version_, problem_;
  std::array<char, CURL_ERROR_SIZE> message_{};
  std::unique_ptr<std::FILE, Close> file_;
  long status_ = 0;
  bool may_go_on_ = false;
};

// The folder with what was in an archive, which is unpacked beside it if it is not there yet.
fs::path unpacked(const fs::path& archive) {
  const fs::path folder = archive.string() + ".unpacked", unfinished = archive.string() + ".unpacking";
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    fs::remove_all(unfinished, error);
    make_directory(unfinished);
    try {
      const MappedFile file(archive);
      unpack(file.bytes(), archive.string(), unfinished);
    } catch (...) {
      fs::remove_all(unfinished, error);
      throw;
    }
    fs::rename(unfinished, folder);
  }
  // Most archives hold one folder, which has the name of the archive.
  std::vector<fs::path> inside;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) inside.push_back(entry.path());
  return inside.size() == 1 && fs::is_directory(inside[0], error) ? inside[0] : folder;
}

// An archive has them as model.pdparams.
std::string fetch_weights(const std::string& given, Reporter& reporter) {
  const fs::path found = fetch(given, reporter);
  std::error_code ignored;
  const bool is_folder = is_url(given) && fs::is_regular_file(found / "model.pdparams", ignored);
  return (is_folder ? found / "model.pdparams" : found).string();
}

void fetch_dataset(MaskData& data, Reporter& reporter) {
  std::error_code ignored;
  if (data.root.empty() || fs::exists(data.root, ignored)) return;
  const auto known = std::ranges::find(kDatasets, data.type, &KnownDataset::type);
  if (data.type == "Cityscapes")
    fail(
        "{}: there is no such folder; Cityscapes needs an account: get leftImg8bit and gtFine from "
        "https://www.cityscapes-dataset.com and unpack them there",
        data.root);
  if (known == std::end(kDatasets)) return;
  const std::string found = fetch(std::string(known->url), reporter);
  reporter.notice(fmt::format("{}: there is no such folder; {} is taken", data.root, found));
  data.root = found;
}

}  // namespace

bool is_url(const std::string& text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

fs::path place_of_download(const std::string& url) {
  const std::string rest = url.substr(url.find("://") + 3), path = rest.substr(0, rest.find_first_of("?#"));
  fs::path place = cache_folder() / "downloads";
  for (const fs::path& part : fs::path(path)) {
    if (part == ".." || part == "." || part.string().size() > 200 ||
        part.string().find_first_of(std::string_view("\0\\", 2)) != std::string::npos)
      fail("{}: octet does not fetch a file of this name", url);
    if (!part.empty() && part != "/") place /= part;
  }
  if (path.ends_with('/') || path.find('/') == std::string::npos)
    fail("{}: this is not the address of a file", url);
  return place;
}

fs::path download(const std::string& url, Reporter& reporter) {
  const fs::path place = place_of_download(url);
  std::error_code ignored;
  if (fs::is_regular_file(place, ignored)) return place;
  make_directory(place.parent_path());
  const Lock lock(place.string() + ".lock");
  if (fs::is_regular_file(place, ignored)) return place;  // another process has fetched it meanwhile
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  check(started == CURLE_OK, "libcurl can be started");
  reporter.notice(fmt::format("fetching {}", url));
  const fs::path part = place.string() + ".part";
  std::string problem;
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    Transfer transfer(url, part, reporter);
    problem = transfer.run();
    if (problem.empty() || !transfer.may_go_on()) break;
  }
  if (!problem.empty())
    fail("{}: cannot be fetched ({}); fetch it in another way and put it to {}, or give a file that is here",
         url, problem, place.string());
  fs::rename(part, place);
  fs::remove(part.string() + ".version", ignored);
  return place;
}

std::string fetch(const std::string& path_or_url, Reporter& reporter) {
  if (!is_url(path_or_url)) return path_or_url;
  const fs::path file = download(path_or_url, reporter);
  if (!is_archive_name(file)) return file.string();
  const Lock lock(file.string() + ".lock");
  try {
    return unpacked(file).string();
  } catch (const Error& error) {
    fail("{}; remove that file to fetch it again", error.what());
  }
}

void fetch_missing(train::TrainOptions& options, Reporter& reporter) {
  options.pretrained = fetch_weights(options.pretrained, reporter);
  // Those of the whole network have the backbone's.
  const bool has_weights = !options.pretrained.empty() || !options.resume.empty();
  if (has_weights && is_url(options.backbone_pretrained)) options.backbone_pretrained.clear();
  options.backbone_pretrained = fetch_weights(options.backbone_pretrained, reporter);
  if (options.task != train::TaskKind::kSegmentation) return;
  fetch_dataset(options.train_masks, reporter);
  fetch_dataset(options.val_masks, reporter);
}

}  // namespace octet::cli
