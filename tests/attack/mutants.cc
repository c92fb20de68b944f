// octet_mutants COUNT|SECONDSs [--seed N] [--jobs N] [--keep DIR]: models of every format with some of their
// fields changed, through load, prepare, run, quantize and convert. Fails when octet ends in another way than
// with success or an error of one line, takes more than 5 s or, with --max-memory 1GB, more than 1 GB; the
// mutant and the command are kept then.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attack/child.h"
#include "attack/mutate.h"
#include "attack/samples.h"
#include "cli/program.h"
#include "formats/onnx/reader.h"
#include "formats/paddle3/op_map.h"
#include "formats/paddle_common/op_map.h"
#include "graph/op_table.h"
#include "support/temp_dir.h"

namespace octet::attack {
namespace {

namespace fs = std::filesystem;

constexpr double kMaxSeconds = 5;
constexpr long kMaxKilobytes = 1 << 20;

struct Options {
  long count = 0, seconds = 0;
  std::uint64_t seed = 1;
  int jobs = 1;
  fs::path keep = "mutants_found";
};

struct Counters {
  std::atomic<long> mutants, commands, good, found;
  std::atomic<long> slowest_ms, peak_kilobytes;
};

void raise(std::atomic<long>& most, long value) {
  for (long was = most; value > was && !most.compare_exchange_weak(was, value);) {
  }
}

struct Words {
  std::vector<std::string> paddle, paddle3, onnx;
};

Words make_words() {
  Words words;
  for (const auto& rows : {paddle::numeric_rows(), paddle::shape_rows(), paddle::quantization_rows()})
    for (const paddle::OpMap& row : rows) {
      words.paddle.emplace_back(row.paddle);
      for (const paddle::AttrMap& attr : row.attrs) words.paddle.emplace_back(attr.paddle);
    }
  for (const auto& rows : {paddle3::numeric_rows(), paddle3::shape_rows(), paddle3::quantization_rows()})
    for (const paddle3::OpMap& row : rows) {
      words.paddle3.push_back("1." + std::string(row.name));
      for (const paddle3::AttrMap& attr : row.attrs) words.paddle3.emplace_back(attr.name);
    }
  for (const onnx::ReadRow& row : onnx::read_table()) words.onnx.emplace_back(row.type);
  for (const char* name :
       {"axis", "axes", "perm", "kernel_shape", "strides", "pads", "dilations", "group", "to", "mode",
        "SAME_UPPER", "keepdims", "alpha", "beta", "linear", "cubic", "block_size"})
    words.onnx.emplace_back(name);
  return words;
}

class Attacker {
 public:
  Attacker(const Options& options, const std::vector<Sample>& samples, const fs::path& input,
           Counters& counters)
      : options_(options), samples_(samples), input_(input), counters_(counters), words_(make_words()) {}

  void run(int job) {
    const auto start = std::chrono::steady_clock::now();
    for (long i = job;; i += options_.jobs) {
      const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      if (options_.count > 0 ? i >= options_.count : passed >= static_cast<double>(options_.seconds)) return;
      one(i);
    }
  }

 private:
  void one(long number) {
    Random random(options_.seed * 1000003 + static_cast<std::uint64_t>(number));
    const Sample& sample = samples_[static_cast<std::size_t>(number) % samples_.size()];
    const fs::path folder = dir_ / "m";
    fs::remove_all(folder);
    fs::create_directory(folder);
    const auto pick = [&](std::uint64_t n) { return random() % n; };
    const int count = pick(10) < 6 ? 1 : 1 + static_cast<int>(pick(4));
    std::string model = read_file(sample.model);
    std::string params = sample.params.empty() ? "" : read_file(sample.params);
    if (!params.empty() && pick(5) == 0)
      params = mutate_params(params, count, random);
    else if (sample.model.extension() == ".json")
      model = mutate_json(model, count, words_.paddle3, random);
    else if (sample.model.extension() == ".onnx")
      model = mutate_protobuf(model, Schema::kOnnxModel, count, words_.onnx, random);
    else
      model = mutate_protobuf(model, Schema::kPaddleProgram, count, words_.paddle, random);
    const fs::path model_path = folder / sample.model.filename();
    write_file(model_path, model);
    if (!sample.params.empty()) write_file(folder / sample.params.filename(), params);

    const std::string threads = pick(2) ? "1" : "2", isa = pick(4) ? "" : pick(2) ? "ref" : "avx2";
    const std::string path = model_path.string();
    std::vector<std::string> run = {"run", "--model", path, "--input", input_.string(), "--threads", threads};
    if (!isa.empty()) run.insert(run.end(), {"--isa", isa});
    if (pick(4) == 0) run.insert(run.end(), {"--ir-optim", "False"});
    attack(number, sample, folder, run);
    std::vector<std::string> ptq = {"ptq",          "--model-path",       path, "--data-dir", input_.string(),
                                    "--output-dir", (dir_ / "q").string()};
    if (pick(8)) ptq.emplace_back("--fast");
    attack(number, sample, folder, ptq);
    static const char* const kFormats[] = {"paddle", "paddle3", "onnx"};
    if (pick(3) == 0)
      attack(number, sample, folder,
             {"convert", "--model", path, "--output", (dir_ / "c").string(), "--format", kFormats[pick(3)]});
    if (pick(4) == 0) attack(number, sample, folder, {"info", path, "--plan", "--graph"});
    ++counters_.mutants;
  }

  void attack(long number, const Sample& sample, const fs::path& folder, std::vector<std::string> words) {
    words.insert(words.end(), {"--max-memory", "1GB"});
    const Outcome outcome = run_in_child(words, {.cpu_seconds = static_cast<int>(kMaxSeconds) + 1});
    ++counters_.commands;
    counters_.good += outcome.exit_code == 0;
    raise(counters_.slowest_ms, static_cast<long>(1000 * outcome.cpu_seconds));
    raise(counters_.peak_kilobytes, outcome.peak_kilobytes);
    const std::string wrong = complaint(outcome, kMaxSeconds, kMaxKilobytes);
    if (wrong.empty()) return;
    ++counters_.found;
    const fs::path kept = options_.keep / fmt::format("{}-{}-{}", options_.seed, number, words[0]);
    fs::create_directories(kept);
    fs::copy(folder, kept, fs::copy_options::overwrite_existing | fs::copy_options::recursive);
    std::string line = "octet";
    for (const std::string& word : words) {
      const bool is_model = word.starts_with(folder.string());
      line += " " + (is_model ? (kept / fs::path(word).filename()).string() : word);
    }
    write_file(kept / "command", line + "\n");
    fmt::print("{}: {}\n  {}\n  {}\n", sample.name, wrong, line, outcome.said.substr(0, 400));
    std::fflush(stdout);
  }

  const Options& options_;
  const std::vector<Sample>& samples_;
  const fs::path input_;
  Counters& counters_;
  const Words words_;
  TempDir dir_;
};

int run(const Options& options) {
  TempDir dir;
  const std::vector<Sample> samples = make_samples(dir.path());
  void* memory = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto* counters = new (memory) Counters{};
  for (const Sample& sample : samples) {  // unchanged they work
    const Outcome outcome = run_in_child(
        {"run", "--model", sample.model.string(), "--input", dir / "x.npy", "--max-memory", "1GB"}, {});
    if (outcome.exit_code == 0) continue;
    fmt::print(stderr, "{}: {}", sample.name, outcome.said);
    return 1;
  }
  const auto start = std::chrono::steady_clock::now();
  for (int job = 0; job < options.jobs; ++job)
    if (::fork() == 0) {
      Attacker(options, samples, dir / "x.npy", *counters).run(job);
      std::_Exit(0);
    }
  bool whole = true;
  for (int status = 0; ::wait(&status) > 0;) whole = whole && status == 0;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(
      "{} mutants of {} models, {} commands, {} of them successful, in {:.0f} s; the slowest took {} ms of "
      "CPU "
      "time, the largest {} MB; {} findings{}\n",
      counters->mutants.load(), samples.size(), counters->commands.load(), counters->good.load(), seconds,
      counters->slowest_ms.load(), counters->peak_kilobytes.load() >> 10, counters->found.load(),
      counters->found > 0 ? ", kept in " + fs::absolute(options.keep).string() : "");
  return whole && counters->found == 0 && counters->mutants > 0 ? 0 : 1;
}

}  // namespace
}  // namespace octet::attack

int main(int argc, char** argv) {
  octet::attack::Options options;
  const std::string amount = argc > 1 ? argv[1] : "";
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seed") == 0) options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::strcmp(argv[i], "--jobs") == 0) options.jobs = std::atoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--keep") == 0) options.keep = argv[i + 1];
  }
  (amount.ends_with("s") ? options.seconds : options.count) = std::atol(amount.c_str());
  if ((options.count < 1 && options.seconds < 1) || options.jobs < 1) {
    std::fprintf(stderr, "usage: octet_mutants COUNT|SECONDSs [--seed N] [--jobs N] [--keep DIR]\n");
    return 2;
  }
  octet::cli::start_program();
  return octet::attack::run(options);
}
