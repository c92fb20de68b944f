// Downloads from a server on this machine, which breaks transfers where it is told to.
#include "cli/download.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "support/archives.h"
#include "support/graph_runner.h"
#include "support/run_program.h"
#include "support/temp_dir.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;
using octet::testing::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Answers GET for one file at /files/NAME, with ranges and an ETag.
class Server {
 public:
  explicit Server(std::string body) : body_(std::move(body)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address);
    ::listen(socket_, 8);
    socklen_t size = sizeof address;
    ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    stop_ = true;
    ::shutdown(socket_, SHUT_RDWR);
    ::close(socket_);
    thread_.join();
  }

  std::string url(const std::string& name) const {
    return "http://127.0.0.1:" + std::to_string(port_) + "/files/" + name;
  }
  // The ranges that were asked for; "" is a request for all.
  std::vector<std::string> requests() {
    std::lock_guard lock(mutex_);
    return requests_;
  }

  std::atomic<int> cut_after = -1;  // bytes of an answer, as long as...
  std::atomic<int> cuts = 0;        // ... this is above 0
  std::atomic<int> status = 200;
  std::string etag = "\"one\"";

 private:
  void serve() {
    while (!stop_) {
      const int client = ::accept(socket_, nullptr, nullptr);
      if (client < 0) return;
      answer(client);
      ::close(client);
    }
  }

  static std::string header(const std::string& request, const std::string& name) {
    const std::size_t at = request.find("\r\n" + name + ": ");
    if (at == std::string::npos) return "";
    const std::size_t begin = at + name.size() + 4;
    return request.substr(begin, request.find("\r\n", begin) - begin);
  }

  void answer(int client) {
    std::string request;
    for (char c; request.find("\r\n\r\n") == std::string::npos && ::read(client, &c, 1) == 1;) request += c;
    const std::string range = header(request, "Range"), if_range = header(request, "If-Range");
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(range);
    }
    std::size_t begin = 0;
    const bool is_part = !range.empty() && if_range == etag;
    if (is_part) begin = std::stoul(range.substr(std::string("bytes=").size()));
    std::string body = status == 200 ? body_.substr(begin) : "";
    std::string head = "HTTP/1.1 " + std::to_string(is_part ? 206 : status.load()) + " -\r\nETag: " + etag +
                       "\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
    if (is_part)
      head += "Content-Range: bytes " + std::to_string(begin) + "-" + std::to_string(body_.size() - 1) + "/" +
              std::to_string(body_.size()) + "\r\n";
    if (cuts > 0) {
      --cuts;
      body.resize(std::min(body.size(), static_cast<std::size_t>(cut_after)));
    }
    const std::string all = head + "\r\n" + body;
    for (std::size_t sent = 0; sent < all.size();) {
      const ssize_t n = ::send(client, all.data() + sent, all.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<std::size_t>(n);
    }
    ::shutdown(client, SHUT_WR);
  }

  std::string body_;
  int socket_ = -1, port_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
};

struct Quiet : Reporter {
  void line(const std::string&) override {}
  void notice(const std::string& text) override { notices.push_back(text); }
  void warning(const std::string&) override {}
  void progress(const std::string&, std::int64_t, std::int64_t) override {}
  std::vector<std::string> notices;
};

// With a cache of its own.
struct DownloadTest : ::testing::Test {
  DownloadTest() {
    ::setenv("OCTET_CACHE", cache.path().c_str(), 1);
    ::setenv("no_proxy", "127.0.0.1", 1);
  }
  ~DownloadTest() override { ::unsetenv("OCTET_CACHE"); }

  std::string fetched(const Server& server, const std::string& name) {
    return read_text(download(server.url(name), reporter));
  }

  TempDir cache;
  Quiet reporter;
};

std::string long_text() {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i) + " ";
  return text;
}

TEST_F(DownloadTest, AFileIsFetchedOnce) {
  Server server(long_text());
  EXPECT_EQ(fetched(server, "a.pdparams"), long_text());
  EXPECT_EQ(fetched(server, "a.pdparams"), long_text());
  EXPECT_THAT(server.requests(), ElementsAre(""));
  EXPECT_TRUE(fs::exists(place_of_download(server.url("a.pdparams"))));
  EXPECT_EQ(fetch("some/folder", reporter), "some/folder");
}

TEST_F(DownloadTest, ABrokenTransferGoesOnWhereItBroke) {
  Server server(long_text());
  server.cut_after = 1000;
  server.cuts = 2;
  EXPECT_EQ(fetched(server, "a"), long_text());
  EXPECT_THAT(server.requests(), ElementsAre("", "bytes=1000-", "bytes=2000-"));
}

TEST_F(DownloadTest, AnotherRunGoesOnUnlessTheFileHasChanged) {
  Server server(long_text());
  server.cut_after = 1000;
  server.cuts = 1000;
  EXPECT_THAT(error_of([&] { fetched(server, "a"); }),
              AllOf(HasSubstr(server.url("a") + ": cannot be fetched ("),
                    HasSubstr(place_of_download(server.url("a")).string())));
  EXPECT_EQ(server.requests().size(), 4u);
  server.cuts = 0;
  EXPECT_EQ(fetched(server, "a"), long_text());
  EXPECT_EQ(server.requests().back(), "bytes=4000-");

  server.cuts = 1000;
  error_of([&] { fetched(server, "b"); });
  server.cuts = 0;
  server.etag = "\"two\"";  // so the server sends all, although only the rest is asked for
  EXPECT_EQ(fetched(server, "b"), long_text());
}

// Half a file stays half a file when the server then says that all is well, and sends nothing.
TEST_F(DownloadTest, AnEmptyAnswerMakesNothingWhole) {
  Server server(std::string(5000, 'x'));
  server.cut_after = 100;
  server.cuts = 4;
  EXPECT_THAT(error_of([&] { download(server.url("a.bin"), reporter); }), HasSubstr("cannot be fetched"));
  server.etag = "\"two\"";
  server.status = 204;
  for (const char* name : {"a.bin", "b.bin"}) {
    EXPECT_THAT(error_of([&] { download(server.url(name), reporter); }),
                HasSubstr("the server answers with nothing, status 204"));
    EXPECT_FALSE(fs::exists(place_of_download(server.url(name))));
  }
  server.status = 200;
  EXPECT_EQ(fetched(server, "a.bin"), std::string(5000, 'x'));
}

// The last bytes wait in a buffer until the file is closed.
TEST_F(DownloadTest, AFullDiskIsSeenAtTheLastByte) {
  Server server(std::string(1500, 'x'));
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  rlimit small = old;
  small.rlim_cur = 1000;
  const auto was = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const std::string error = error_of([&] { download(server.url("a.bin"), reporter); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, was);
  EXPECT_THAT(error, HasSubstr("a.bin.part: File too large"));
  EXPECT_EQ(fetched(server, "a.bin"), std::string(1500, 'x'));
}

TEST_F(DownloadTest, SaysWhatToDoWithoutAServer) {
  std::string url;
  {
    Server server("");
    url = server.url("weights.pdparams");
    server.status = 404;
    EXPECT_THAT(error_of([&] { download(url, reporter); }), HasSubstr("404"));
    EXPECT_EQ(server.requests().size(), 1u);
  }
  EXPECT_THAT(error_of([&] { download(url, reporter); }),
              AllOf(HasSubstr("put it to"), HasSubstr("weights.pdparams")));
  EXPECT_THAT(error_of([&] { download("http://127.0.0.1/a/../../b", reporter); }), HasSubstr("of this name"));
  EXPECT_THAT(error_of([&] { download("http://127.0.0.1", reporter); }),
              HasSubstr("not the address of a file"));
}

TEST_F(DownloadTest, FilesPutThereByHandAreTaken) {
  const std::string url = "https://nowhere.invalid/x/model.pdparams";
  make_directory(place_of_download(url).parent_path());
  save_file(place_of_download(url), "weights");
  EXPECT_EQ(read_text(fetch(url, reporter)), "weights");
}

TEST_F(DownloadTest, ArchivesAreUnpacked) {
  Server server(make_tar_gz({{"net/", ""}, {"net/model.pdparams", "weights"}}));
  train::TrainOptions options;
  options.pretrained = server.url("net.tar.gz");
  fetch_missing(options, reporter);
  EXPECT_EQ(fs::path(options.pretrained).filename(), "model.pdparams");
  EXPECT_EQ(read_text(options.pretrained), "weights");
  EXPECT_EQ(server.requests().size(), 1u);

  Server broken(make_zip({{"a", "1"}}).substr(0, 40));
  EXPECT_THAT(error_of([&] { fetch(broken.url("a.zip"), reporter); }),
              HasSubstr("remove that file to fetch it again"));
}

TEST_F(DownloadTest, CityscapesCanNotBeFetched) {
  train::TrainOptions options;
  options.task = train::TaskKind::kSegmentation;
  options.train_masks = {.type = "Cityscapes", .root = (cache / "nowhere").string()};
  EXPECT_THAT(error_of([&] { fetch_missing(options, reporter); }), HasSubstr("cityscapes-dataset.com"));
}

}  // namespace
}  // namespace octet::cli
