// octet_fault_sweep [--share N] [--memory N] [--train]: every command that writes is killed before, and then
// made to fail at, each of its steps: writes, renames, syncs, new files and folders, threads, and N sampled
// allocations. Afterwards there is the state of before or that of after, the command ended with success, an
// error of one line or the kill, and the next run works and leaves nothing behind. With --share N only every
// N-th step is tried, a different one for each kind of fault.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "support/fault_runner.h"
#include "support/sandbox.h"

namespace octet::attack {
namespace {

namespace fs = std::filesystem;

struct Options {
  long share = 1, memory = 500;
  bool train = false;
};

// `before` and `after` write to the folder out/ of the sandbox.
struct Case {
  std::string name, before, after;
  bool has_times = false;   // numbers in its files differ from run to run
  bool many_files = false;  // files appear one after the other, each of them whole
  bool only_files = false;  // neither threads nor memory
  std::string counts = {};  // the ending of the files that count; empty: all
};

std::vector<Case> cases(const Options& options) {
  const std::string picture = " --resize-size 4 --crop-size 4";
  const std::string exported =
      "export --width 0.25 --img-size 32 --pretrained checkpoint --save_inference_dir out";
  const std::string ptq = "ptq --model-path scores --data-dir photos --batch-size 3" + picture;
  const std::string eval = "eval --data-dir photos --json out/a.json --confusion-matrix out/a.png" + picture;
  const std::string infer = "infer --img-path photos --json out/a.json --csv out/a.csv" + picture;
  const std::string arrays = " --input x.npy --output out/a.npy --output x=out/b.npy";
  std::vector<Case> all = {
      {"convert to Paddle", "convert --model model --output out", "convert --model scores --output out"},
      {"convert to Paddle 3", "convert --model model --output out --format paddle3",
       "convert --model scores --output out --format paddle3"},
      {"convert to ONNX", "convert --model model --output out --format onnx",
       "convert --model scores --output out --format onnx"},
      {"export", exported, exported + " --no-softmax --mean 0,0,0"},
      {"ptq", ptq + " --output-dir out --weight-bits 8", ptq + " --output-dir out --weight-bits 4"},
      {"ptq to ONNX", ptq + " --output-dir out --format onnx --fast",
       ptq + " --output-dir out --format onnx --weight-bits 4 --fast"},
      {"ptq --save-stats", ptq + " --output-dir int8 --save-stats out/stats",
       ptq + " --batch-num 1 --batch-size 1 --output-dir int8 --save-stats out/stats"},
      {"run", "run --model model" + arrays, "run --model scores" + arrays},
      {"eval", eval + " --model-path model", eval + " --model-path scores", true},
      {"infer", infer + " --model-dir scores", infer + " --model-dir model"},
      {"bench", "bench --model model --warmup 0 --runs 2 --json out/a.json",
       "bench --model scores --warmup 0 --runs 2 --json out/a.json", true},
      {"data synth-disc", "data synth-disc --output out --count 10 --size 64x64 --seed 1",
       "data synth-disc --output out --count 10 --size 64x64 --seed 2", false, true},
  };
  if (options.train) {
    const std::string train =
        "train --data-path data --model resnet18 --width 0.25 --img-size 32 -b 2 --lr 0.05 --threads 1 -j 1 "
        "--device cpu "
        "--output-dir out ";
    all = {
        {"train", train + "--epochs 1", train + "--epochs 2 --resume out", false, false, true, ".pdparams"}};
  }
  return all;
}

std::string without_numbers(const std::string& text) {
  std::string out;
  for (char c : text)
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.' && c != '-' && c != 'e' && c != '+')
      out += c;
  return out;
}

// Files of all folders below.
Files all_files(const fs::path& folder) {
  Files files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files[fs::relative(entry.path(), folder).string()] = read_file(entry.path());
  return files;
}

class Sweep {
 public:
  Sweep(const Case& what, const Options& options) : case_(what), options_(options), out_(box_ / "out") {
    for (const char* name : {"train/blue", "train/red", "val/blue", "val/red"}) {  // to train on
      const fs::path folder = box_ / (std::string("data/") + name);
      fs::create_directories(folder);
      fs::copy(box_ / "photos" / (folder.filename().string() + ".png"), folder);
    }
  }

  void run() {
    start_over({});
    must_work(case_.before);
    old_files_ = all_files(out_);
    start_over(old_files_);
    must_work(case_.after);
    new_files_ = all_files(out_);
    if (same(old_files_, new_files_) && !case_.has_times) complain("both states are the same", {});
    for (const char* how : {"kill", "fail", "stay"})
      for (const char* kind : {"open", "write", "fsync", "rename", "unlink", "mkdir"})
        if (how != std::string("stay") || kind == std::string("write")) steps(kind, how);
    if (!case_.only_files) {
      steps("thread", "fail");
      steps("thread", "stay");
      steps("memory", "fail");
    }
    fmt::print("{}: {} faults, {} findings\n", case_.name, tried_, found_);
    std::fflush(stdout);
  }

  long tried() const { return tried_; }
  long found() const { return found_; }

 private:
  void start_over(const Files& files) {
    fs::remove_all(out_);
    fs::create_directory(out_);
    for (const auto& [name, content] : files) {
      fs::create_directories((out_ / name).parent_path());
      write_file(out_ / name, content);
    }
  }

  void must_work(const std::string& command) {
    const ProgramResult result = run_shell("octet " + command, box_.path());
    if (result.exit_code != 0) complain("does not work: " + result.err, {});
  }

  bool same(Files a, Files b) const {
    for (Files* files : {&a, &b})
      std::erase_if(*files, [&](const auto& file) { return !file.first.ends_with(case_.counts); });
    if (a.size() != b.size()) return false;
    for (const auto& [name, content] : a) {
      const auto other = b.find(name);
      if (other == b.end()) return false;
      const bool whole = case_.has_times && name.ends_with(".json");
      if (whole ? without_numbers(content) != without_numbers(other->second) : content != other->second)
        return false;
    }
    return true;
  }

  // What someone sees who opens files of the folder.
  Files seen() const {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(out_))
      if (entry.is_directory()) finish_commit(entry.path());
    finish_commit(out_);
    Files files = all_files(out_);
    std::erase_if(files, [](const auto& file) {
      return fs::path(file.first).filename().string().starts_with(".octet-");
    });
    return files;
  }

  bool is_allowed(const Files& files) const {
    if (same(files, old_files_) || same(files, new_files_)) return true;
    if (!case_.many_files) return false;
    return std::ranges::all_of(files, [&](const auto& file) {
      const auto is_in = [&](const Files& state) {
        const auto other = state.find(file.first);
        return other != state.end() && other->second == file.second;
      };
      return is_in(old_files_) || is_in(new_files_);
    });
  }

  long count(const std::string& kind) {
    const fs::path log = box_ / "count";
    fs::remove(log);
    start_over(old_files_);
    run_with_fault(case_.after, {.at = 0, .only = kind, .how = "fail", .log = log}, box_.path());
    return fs::exists(log) ? std::atol(read_file(log).c_str()) : 0;
  }

  void steps(const std::string& kind, const std::string& how) {
    const long total = count(kind);
    if (kind == "memory") {
      if (total == 0) complain("no allocations are counted", {});
      for (long i = 0; i < options_.memory; ++i)
        one({.at = 1 + i * total / options_.memory, .only = kind, .how = how});
      return;
    }
    for (long at = 1 + offset_++ % options_.share; at <= total; at += options_.share)
      one({.at = at, .only = kind, .how = how});
  }

  void one(Fault fault) {
    const bool kill = fault.how == "kill";
    ++tried_;
    start_over(old_files_);
    const ProgramResult result = run_with_fault(case_.after, fault, box_.path());
    const bool ended = result.exit_code == 0 || result.exit_code == (kill ? 128 + SIGKILL : 2);
    if (!ended) return complain(fmt::format("exit code {}: {}", result.exit_code, result.err), fault);
    const auto lines = std::count(result.err.begin(), result.err.end(), '\n');
    if (result.exit_code == 2 && (lines < 1 || result.err.find("octet: error: ") == std::string::npos))
      return complain("no error of one line: " + result.err, fault);
    if (!is_allowed(seen()))
      return complain(fmt::format("neither the old nor the new state: {}", names()), fault);
    if (result.exit_code == 0 && !same(seen(), new_files_) && !kill)
      return complain("success, and the new files are not there: " + result.err, fault);
    must_work(case_.after);
    const Files now = all_files(out_);
    const bool is_clean = std::ranges::none_of(now, [](const auto& file) {
      return fs::path(file.first).filename().string().starts_with(".octet-");
    });
    if (!is_clean || !same(now, new_files_)) complain(fmt::format("the next run left {}", names()), fault);
  }

  std::string names() const {
    std::string text;
    for (const auto& [name, content] : all_files(out_)) text += fmt::format(" {} ({})", name, content.size());
    return text;
  }

  void complain(const std::string& what, const Fault& fault) {
    ++found_;
    fmt::print("{}: {} at {} {}: {}\n", case_.name, fault.how, fault.only, fault.at, what);
    std::fflush(stdout);
  }

  const Case& case_;
  const Options& options_;
  Sandbox box_;
  const fs::path out_;
  Files old_files_, new_files_;
  long tried_ = 0, found_ = 0, offset_ = 0;
};

}  // namespace
}  // namespace octet::attack

int main(int argc, char** argv) {
  octet::attack::Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--train") == 0) options.train = true;
    if (i + 1 == argc) break;
    if (std::strcmp(argv[i], "--share") == 0) options.share = std::max(1L, std::atol(argv[i + 1]));
    if (std::strcmp(argv[i], "--memory") == 0) options.memory = std::atol(argv[i + 1]);
  }
  long tried = 0, found = 0;
  const std::vector<octet::attack::Case> cases = octet::attack::cases(options);
  options.memory = (options.memory + static_cast<long>(cases.size()) - 1) / static_cast<long>(cases.size());
  for (const octet::attack::Case& one : cases) {
    octet::attack::Sweep sweep(one, options);
    sweep.run();
    tried += sweep.tried();
    found += sweep.found();
  }
  fmt::print("{} commands, {} faults, {} findings\n", cases.size(), tried, found);
  return found == 0 && tried > 0 ? 0 : 1;
}
