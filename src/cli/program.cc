#include "cli/program.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "base/unfinished.h"
#include "cli/command.h"
#include "cli/output.h"
#include "data/transform.h"
#include "formats/format.h"
#include "graph/activation.h"
#include "graph/op_table.h"
#include "octet/version.h"

namespace octet::cli {

std::span<const Command> commands() {
  static constexpr Command kCommands[] = {
      {"train", "Train a network on labelled pictures.", declare_train},
      {"info", "Show what a model holds, or what this octet and CPU can do.", declare_info},
      {"run", "Run a model on arrays from .npy files.", declare_run},
      {"infer", "Classify or segment pictures with a model.", declare_infer},
      {"predict", "Segment pictures, with a checkpoint or a model.", declare_predict},
      {"eval", "Measure a model's accuracy, or how far two models agree.", declare_eval},
      {"ptq", "Quantize a model to int8 with a few pictures.", declare_ptq},
      {"export", "Turn a training checkpoint into a model for inference.", declare_export},
      {"qat", "Quantize a model by quantization-aware fine-tuning.", declare_qat},
      {"convert", "Read a model and write it again.", declare_convert},
      {"bench", "Measure how fast models run.", declare_bench},
      {"compare", "Compare two models, tensor by tensor.", declare_compare},
      {"data", "Make pictures to try things with.", declare_data},
      {"tipc", "Test a model's whole chain, from training to inference.", declare_tipc},
      {"launch", "Run a command in several processes.", declare_launch},
      {"completion", "Print a completion script for your shell.", declare_completion},
  };
  return kCommands;
}

namespace {

std::string program_help() {
  std::string out =
      "octet: trains, quantizes, checks and runs 8-bit vision models\n\n"
      "Usage: octet COMMAND [flags]\n\nCommands:\n";
  for (const Command& command : commands()) out += fmt::format("  {:<14}{}\n", command.name, command.summary);
  out +=
      "\nOther:\n"
      "  octet COMMAND --help, octet help COMMAND   the flags of a command\n"
      "  octet --help                               this text\n"
      "  octet --version                            the version\n"
      "\nLong flags accept - and _ alike, --flag value and --flag=value.\n";
  return out;
}

// The scripts of PaddlePaddle's pipeline, so that what calls `python train.py ...` can call `octet train.py
// ...`.
struct Script {
  std::string path, command;
  std::vector<std::string> flags = {};  // in front of those that are given
};

// The last ones are PaddleSeg's, whose versions have them in several places.
const std::vector<Script>& scripts() {
  static const std::vector<Script> scripts = [] {
    std::vector<Script> result = {{"train.py", "train"},
                                  {"tools/export_model.py", "export"},
                                  {"deploy/inference_python/infer.py", "infer"},
                                  {"deploy/ptq_python/post_quant.py", "ptq"},
                                  {"deploy/ptq_python/eval.py", "eval"},
                                  {"val.py", "eval"},
                                  {"predict.py", "predict"},
                                  {"export.py", "export"},
                                  {"tools/train.py", "train"},
                                  {"tools/val.py", "eval"},
                                  {"tools/predict.py", "predict"},
                                  {"tools/export.py", "export"},
                                  {"deploy/python/infer.py", "infer"}};
    const Script kQuant[] = {{"qat_train.py", "train", {"--qat"}},
                             {"qat_val.py", "eval"},
                             {"qat_export.py", "export"},
                             {"ptq.py", "ptq", {"--output-dir", "./quant_model"}}};
    for (const char* folder : {"slim/quant/", "deploy/slim/quant/"})
      for (const Script& script : kQuant)
        result.push_back({folder + script.path, script.command, script.flags});
    return result;
  }();
  return scripts;
}

const Script* find_script(const std::string& name) {
  const std::string path = std::filesystem::path(name).lexically_normal().string();
  for (const Script& script : scripts())
    if (script.path == path) return &script;
  return nullptr;
}

const Command& find_command(const std::string& given) {
  const Script* script = find_script(given);
  const std::string name = script ? script->command : given;
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.emplace_back(command.name);
  }
  std::string meant = nearest(name, names);
  if (meant.empty()) fail("unknown command '{}'; octet has {}", name, fmt::join(names, ", "));
  fail("unknown command '{}'; did you mean '{}'?", name, meant);
}

int run_command(const Command& command, std::span<const std::string> words) {
  Args args{std::string(command.name), std::string(command.summary)};
  std::function<int()> action = command.declare(args);
  if (args.parse(words)) return action();
  write_output(args.help());
  return 0;
}

int run(std::span<const std::string> words) {
  if (words.empty()) fail("a command is missing; `octet --help` lists them");
  const std::string& first = words.front();
  if (first == "--version" || first == "-V") {
    say("octet {}\n", version());
    return 0;
  }
  if (first == "--help" || first == "-h" || (first == "help" && words.size() == 1)) {
    write_output(program_help());
    return 0;
  }
  if (first == "help") {
    const std::string help[] = {"--help"};
    return run_command(find_command(words[1]), help);
  }
  if (first == "-m" && words.size() > 1) {  // as in `python -m paddle.distributed.launch --gpus=0,1 train.py`
    if (words[1] != "paddle.distributed.launch")
      fail("-m {}: octet has no such module, only paddle.distributed.launch", words[1]);
    return run_command(find_command("launch"), words.subspan(2));
  }
  if (first.starts_with("-"))
    fail("unknown flag {} before the command; `octet --help` shows the usage", first);
  std::vector<std::string> rest;
  if (const Script* script = find_script(first)) rest = script->flags;
  rest.insert(rest.end(), words.begin() + 1, words.end());
  return run_command(find_command(first), rest);
}

void occupy_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", O_RDONLY);
}

struct Given {
  std::vector<std::string> words;
  std::shared_ptr<const Device> device;
};

Given& given() {
  static Given given;
  return given;
}

}  // namespace

const std::vector<std::string>& command_line() {
  return given().words;
}

const std::shared_ptr<const Device>& program_device() {
  return given().device;
}

int run_program(std::vector<std::string> words, std::shared_ptr<const Device> device) {
  given() = {std::move(words), std::move(device)};
  return exit_code_of(
      [] {
        const int code = run(command_line());
        flush_output();
        return code;
      },
      print_error);
}

int exit_code_of(const std::function<int()>& work, const std::function<void(const std::string&)>& report) {
  constexpr int kOurMistake = 1, kUserMistake = 2;
  try {
    return work();
  } catch (const StdoutClosed&) {
    return 0;
  } catch (const Error& error) {
    report(error.what());
    return error.kind() == Error::Kind::kUser ? kUserMistake : kOurMistake;
  } catch (const std::bad_alloc&) {
    report(memory_limit() > 0
               ? fmt::format("out of memory: it takes more than the {} of --max-memory; try smaller inputs, "
                             "a smaller batch or fewer threads",
                             size_text(memory_limit()))
               : "out of memory; try smaller inputs or a smaller batch");
    return kUserMistake;
  } catch (const std::filesystem::filesystem_error& error) {
    report(fmt::format("{}: {}", error.path1().string(), error.code().message()));
    return kUserMistake;
  } catch (const std::system_error& error) {  // the file system, or no more threads to be had
    report(error.what());
    return kUserMistake;
  } catch (const std::exception& error) {
    report(std::string("internal error: ") + error.what());
    return kOurMistake;
  }
}

bool make_tables() {
  return !op_table().empty() && !transform_table().empty() && !activation_table().empty() &&
         !is_op_type("");  // which looks into those of the formats
}

void start_program() {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of write(), handled in output.cc
  std::signal(SIGXFSZ, SIG_IGN);  // as is a file that reaches the limit on sizes
  remove_unfinished_on_signals();
  occupy_standard_streams();
}

}  // namespace octet::cli
