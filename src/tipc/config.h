#pragma once
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// The harness that runs the whole chain of a model (train, evaluate, export, infer; or quantize, infer) from
// a text file: TIPC, Training and Inference Pipeline Criterion.
namespace octet::tipc {

// How much of the data is trained and inferred on. Each but the last trains.
inline constexpr std::string_view kModes[] = {"lite_train_lite_infer", "lite_train_whole_infer",
                                              "whole_train_whole_infer", "whole_infer"};

// A line `key:value`. What a line is for is said by its section and its key, without dashes: --batch_size and
// batch-size are the same field.
struct Line {
  std::string key, value;
  int number = 0;

  // A key that begins with a dash is a flag of the tested program.
  bool is_flag() const { return key.starts_with("-"); }
  // `key=value`; "" for what is not to be passed on: null, nothing, or a key that is no flag.
  std::string flag(std::string_view value) const;
  std::string flag() const { return flag(value); }
};

inline bool is_null(std::string_view value) {
  return value.empty() || value == "null";
}

class Config {
 public:
  // Every mistake in the file is an Error with its name, the line and what to write.
  static Config load(const std::filesystem::path& path);
  static Config parse(std::string_view text, std::string name);

  const std::string& name() const { return name_; }
  bool is_ptq() const { return find_section("ptq_params") != nullptr; }
  const std::string& model_name() const;
  const std::string& program() const;  // what every command begins with: python3, octet

  // A field of a section, "train_params" and "batch-size"; null when it may be left out, and is.
  const Line* find(std::string_view section, std::string_view field) const;
  const Line& get(std::string_view section, std::string_view field) const;

  // Flags that are no field and are passed on as they are: to the export those before `inference`, and to it
  // those behind.
  enum class To { kFirst, kInference };
  std::vector<std::string> other_flags(std::string_view section, To to = To::kFirst) const;

  // The alternatives a|b of a line that hold in this mode. `mode=a` holds in that mode only.
  std::vector<std::string> values(const Line& line, std::string_view mode) const;
  // The one there is.
  std::string value(const Line& line, std::string_view mode) const;

  struct Trainer {
    std::string name;
    const Line* command;  // null is among them for `null`
  };
  // Those that `trainer` names, with the line that has their command.
  std::vector<Trainer> trainers() const;

 private:
  struct Section {
    std::string name;
    int number = 0;
    std::vector<Line> lines;
  };
  const Section* find_section(std::string_view name) const;
  bool is_trainer(const Section& section, std::string_view key) const;
  void read(std::string_view text);
  void check_section(const Section& section) const;

  std::string name_;
  std::vector<Section> sections_;
};

std::vector<std::string> split(std::string_view text, char separator);

}  // namespace octet::tipc
