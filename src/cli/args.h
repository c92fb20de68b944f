#pragma once
#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace YAML {
class Node;
}

namespace octet::cli {

// One flag, or one argument without a name. Help, completion, the parser and recipes (cli/recipe.h) are all
// made from these.
struct Flag {
  std::string name;   // without dashes; in capitals for a positional argument
  std::string value;  // what to write after it: "N", "FILE", "DIR", or the words to choose from: "a|b|c"
  std::string help;
  std::string group;
  std::string default_text;          // empty: none to show
  std::vector<std::string> aliases;  // other names for it; only those of one letter (-b) are shown
  bool positional = false;
  bool required = false;
  bool repeatable = false;
  bool boolean = false;
  bool number_list = false;  // takes the numbers that follow it: --mean 0.5 0.5 0.5
  int most_numbers = 3;      // of these
  double below = std::numeric_limits<double>::infinity();     // for numbers
  std::vector<std::pair<std::string, std::string>> synonyms;  // other words, and those that they stand for

  std::string path;                      // its key in a recipe, "optimizer.momentum"; empty: none
  std::vector<std::string> other_paths;  // keys that mean the same
  bool in_recipe = false;                // the recipe that was read has it

  std::function<void(const std::string&)> set;    // an Error says what is wrong with the text
  std::function<void()> clear;                    // of those that may be repeated
  std::function<std::vector<std::string>()> get;  // what is set now; nothing: not set
  // In place of these, where a value has a structure.
  std::function<void(const YAML::Node& node, const std::string& file)> read;
  std::function<YAML::Node()> write;

  bool takes_file() const {
    return value.find("FILE") != std::string::npos || value == "DIR" || value == "MODEL";
  }
  std::vector<std::string> choices() const;
};

struct Range {
  std::int64_t low, high;
};

// The flags of a command, parsed by CLI11 under rules that are the same for all of octet: long names accept
// `-` and `_` alike, `--flag value` and `--flag=value`; a boolean stands alone or takes True/False in any
// case; when a single-valued flag is repeated the last one counts; one that may be repeated takes all values
// that follow it, in commands without positional arguments. The targets hold the defaults and must outlive
// parse().
//
//   Args args("run", "Run a model on arrays.");
//   args.group("Model");
//   args.add("model", &model, "MODEL", "a model directory or file").required = true;
//   if (!args.parse(words)) std::cout << args.help();   // --help was among them
//
// A name with a dot in it, such as "lr_scheduler.power", is a key of recipes alone.
class Args {
 public:
  Args(std::string command, std::string summary);

  void group(std::string title) { group_ = std::move(title); }        // of the flags that follow
  void section(std::string path) { section_ = std::move(path); }      // of recipes, for the same; "" ends it
  void note(std::string text) { notes_.push_back(std::move(text)); }  // a paragraph at the end of the help
  void example(std::string line) { examples_.push_back(std::move(line)); }

  Flag& add(std::string name, std::string* target, std::string value, std::string help);
  Flag& add(std::string name, std::optional<std::string>* target, std::string value, std::string help);
  Flag& add(std::string name, int* target, Range range, std::string help);
  Flag& add(std::string name, std::optional<int>* target, Range range, std::string help);
  Flag& add(std::string name, double* target, std::string help);  // any number that is not negative
  Flag& add(std::string name, std::optional<double>* target, std::string help);
  Flag& add(std::string name, bool* target, std::string help);
  Flag& add(std::string name, std::optional<bool>* target, std::string help);
  Flag& add(std::string name, std::vector<int>* target,
            std::string help);  // whole numbers that are not negative
  Flag& add(std::string name, std::vector<double>* target, std::string help);
  Flag& add(std::string name, std::array<int, 2>* target, std::string help);  // width and height
  Flag& add(std::string name, std::optional<std::array<float, 3>>* target, std::string help);
  Flag& add(std::string name, std::vector<std::string>* target, std::string value, std::string help);
  Flag& add_positional(std::string name, std::string* target, std::string value, std::string help);

  // The first word that is no flag, and all that follow it, are another command line, and go to `target`.
  void add_command_line(std::string name, std::vector<std::string>* target);

  // A key of recipes, or with a name without a dot a flag, whose `read` and `write`, or `set` and `get`, are
  // the caller's.
  Flag& add_key(std::string path, std::string value, std::string help);
  // A key of recipes that has one value only.
  void add_fixed(std::string path, std::string text, std::string help);

  // --config FILE: a recipe, and --opts KEY=VALUE: what takes the place of its values. `then` is called when
  // it is read, before the flags of the command line are.
  void add_config(std::function<void()> then = {});

  // The same two for a command that takes what `load` makes of them, in place of its own rows.
  void add_config(std::string help,
                  std::function<void(const std::string& file, const std::vector<std::string>& opts)> load);

  // When this flag is given, `then` is called with its value before a recipe and the other flags are read.
  void read_first(std::string flag, std::function<void(const std::string& value)> then);

  // Fills the targets. False: `--help` was asked for and nothing else was looked at.
  bool parse(std::span<const std::string> words);

  const std::string& command() const { return command_; }
  const std::string& summary() const { return summary_; }
  const std::deque<Flag>& flags() const { return flags_; }
  Flag& at(std::string_view name);  // by its name or an alias, with `-`
  std::vector<Flag*> rows();        // of recipes: what has a path, and the flags that have none
  std::string help() const;

 private:
  Flag& add_flag(std::string name, std::string value, std::string help);
  const Flag* find(std::string_view name) const;  // by its name or an alias, with `-`
  std::vector<std::string> normalise(std::span<const std::string> words) const;
  std::string see_help() const;

  std::string command_, summary_, group_ = "Flags", section_;
  std::string line_name_, config_;
  std::vector<std::string> opts_;
  std::function<void(const std::string&, const std::vector<std::string>&)> load_config_;
  std::string first_;
  std::function<void(const std::string&)> at_first_;
  std::vector<std::string>* line_ = nullptr;  // of add_command_line
  std::vector<std::string> notes_, examples_;
  std::deque<Flag> flags_, keys_;  // deques: references stay valid while flags are added
};

// True/False, yes/no, on/off, 1/0 in any case.
std::optional<bool> parse_bool(std::string_view text);

// The parts of `text` between the separators; empty ones are left out.
std::vector<std::string> split(std::string_view text, std::string_view separators);

// `text` broken at spaces into lines of at most `width` columns.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace octet::cli
