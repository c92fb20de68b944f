#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/recipe.h"

namespace octet::cli {

namespace {

using Texts = std::vector<std::string>;

constexpr std::size_t kHelpColumns = 100;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

int parse_int(const std::string& text, Range range) {
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < range.low || number > range.high)
    fail("'{}' is not a whole number between {} and {}", text, range.low, range.high);
  return static_cast<int>(number);
}

template <class T>
std::optional<T> parse_number(const std::string& text) {
  T number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number)) return std::nullopt;
  return number;
}

double parse_amount(const Flag& flag, const std::string& text) {
  const std::optional<double> number = parse_number<double>(text);
  if (!number || *number < 0) fail("'{}' is not a number of 0 or more", text);
  if (*number >= flag.below) fail("'{}' is not below {}", text, flag.below);
  return *number;
}

bool parse_switch(const std::string& text) {
  const std::optional<bool> on = parse_bool(text);
  if (!on) fail("'{}' is not True or False", text);
  return *on;
}

template <class T>
Texts texts_of(const T& numbers) {
  Texts texts;
  for (const auto& number : numbers) texts.push_back(fmt::format("{}", number));
  return texts;
}

std::optional<float> parse_float(const std::string& text) {
  return parse_number<float>(text);
}

bool is_number_list(const std::string& text) {
  std::vector<std::string> parts = split(text, ",");
  return !parts.empty() &&
         std::all_of(parts.begin(), parts.end(), [](auto& part) { return parse_float(part); });
}

// The text, or the word that it stands for.
std::string choice(const Flag& flag, const std::string& text) {
  for (const auto& [other, word] : flag.synonyms)
    if (other == text) return word;
  std::vector<std::string> words = flag.choices();
  if (!words.empty() && std::find(words.begin(), words.end(), text) == words.end())
    fail("'{}' is not one of {}", text, fmt::join(words, ", "));
  return text;
}

// Sets a flag of the command line; an error names it.
void set_flag(const Flag& flag, const std::string& text) try { flag.set(text); } catch (const Error& error) {
  fail("{}{}: {}", flag.positional ? "" : "--", flag.name, error.what());
}

// What a flag is given, once words are in the one spelling of Args::normalise.
Texts values_of(const std::string& flag, const Texts& words) {
  Texts values;
  for (std::size_t i = 0; i + 1 < words.size() && words[i] != "--"; ++i)
    if (words[i] == "--" + flag) values.push_back(words[++i]);
  return values;
}

std::string left_column(const Flag& flag) {
  if (flag.positional) return "  " + flag.name;
  std::string text = "  ";
  for (const std::string& alias : flag.aliases)
    if (alias.size() == 1) text += "-" + alias + ", ";
  text += "--" + flag.name;
  if (flag.boolean) return text + " [" + flag.value + "]";
  return text + " " + flag.value;
}

std::string right_column(const Flag& flag) {
  std::string text = flag.help;
  if (flag.required) text += " (required)";
  if (flag.repeatable) text += " (may be repeated)";
  if (!flag.default_text.empty()) text += " (default: " + flag.default_text + ")";
  return text;
}

}  // namespace

std::vector<std::string> split(std::string_view text, std::string_view separators) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find_first_of(separators, at), text.size());
    if (end > at) parts.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::optional<bool> parse_bool(std::string_view text) {
  std::string word = lower(text);
  if (word == "true" || word == "yes" || word == "on" || word == "1") return true;
  if (word == "false" || word == "no" || word == "off" || word == "0") return false;
  return std::nullopt;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  for (std::string& word : split(text, " ")) {
    if (!lines.empty() && lines.back().size() + 1 + word.size() <= width)
      lines.back() += " " + word;
    else
      lines.push_back(std::move(word));
  }
  return lines;
}

std::vector<std::string> Flag::choices() const {
  return value.find('|') == std::string::npos ? std::vector<std::string>() : split(value, "|");
}

Args::Args(std::string command, std::string summary)
    : command_(std::move(command)), summary_(std::move(summary)) {}

Flag& Args::add_flag(std::string name, std::string value, std::string help) {
  const bool is_key = name.find('.') != std::string::npos;
  Flag& flag = is_key ? keys_.emplace_back() : flags_.emplace_back();
  if (is_key) flag.path = name;
  if (!section_.empty()) {
    flag.path = section_ + "." + name;
    std::replace(flag.path.begin(), flag.path.end(), '-', '_');
  }
  flag.name = std::move(name);
  flag.value = std::move(value);
  flag.help = std::move(help);
  flag.group = group_;
  return flag;
}

Flag& Args::add(std::string name, std::string* target, std::string value, std::string help) {
  Flag& flag = add_flag(std::move(name), std::move(value), std::move(help));
  flag.default_text = *target;
  flag.set = [&flag, target](const std::string& text) { *target = choice(flag, text); };
  flag.get = [target] { return target->empty() ? Texts() : Texts{*target}; };
  return flag;
}

Flag& Args::add(std::string name, std::optional<std::string>* target, std::string value, std::string help) {
  Flag& flag = add_flag(std::move(name), std::move(value), std::move(help));
  flag.set = [&flag, target](const std::string& text) { *target = choice(flag, text); };
  flag.get = [target] { return *target ? Texts{**target} : Texts(); };
  return flag;
}

Flag& Args::add(std::string name, int* target, Range range, std::string help) {
  Flag& flag = add_flag(std::move(name), "N", std::move(help));
  flag.default_text = std::to_string(*target);
  flag.set = [target, range](const std::string& text) { *target = parse_int(text, range); };
  flag.get = [target] { return Texts{std::to_string(*target)}; };
  return flag;
}

Flag& Args::add(std::string name, std::optional<int>* target, Range range, std::string help) {
  Flag& flag = add_flag(std::move(name), "N", std::move(help));
  flag.set = [target, range](const std::string& text) { *target = parse_int(text, range); };
  flag.get = [target] { return *target ? Texts{std::to_string(**target)} : Texts(); };
  return flag;
}

Flag& Args::add(std::string name, double* target, std::string help) {
  Flag& flag = add_flag(std::move(name), "X", std::move(help));
  flag.default_text = fmt::format("{}", *target);
  flag.set = [&flag, target](const std::string& text) { *target = parse_amount(flag, text); };
  flag.get = [target] { return Texts{fmt::format("{}", *target)}; };
  return flag;
}

Flag& Args::add(std::string name, std::optional<double>* target, std::string help) {
  Flag& flag = add_flag(std::move(name), "X", std::move(help));
  flag.set = [&flag, target](const std::string& text) { *target = parse_amount(flag, text); };
  flag.get = [target] { return *target ? Texts{fmt::format("{}", **target)} : Texts(); };
  return flag;
}

Flag& Args::add(std::string name, bool* target, std::string help) {
  Flag& flag = add_flag(std::move(name), "True|False", std::move(help));
  flag.boolean = true;
  flag.default_text = *target ? "True" : "False";
  flag.set = [target](const std::string& text) { *target = parse_switch(text); };
  flag.get = [target] { return Texts{*target ? "True" : "False"}; };
  return flag;
}

Flag& Args::add(std::string name, std::optional<bool>* target, std::string help) {
  Flag& flag = add_flag(std::move(name), "True|False", std::move(help));
  flag.boolean = true;
  flag.set = [target](const std::string& text) { *target = parse_switch(text); };
  flag.get = [target] { return *target ? Texts{**target ? "True" : "False"} : Texts(); };
  return flag;
}

Flag& Args::add(std::string name, std::vector<int>* target, std::string help) {
  Flag& flag = add_flag(std::move(name), "N,N,...", std::move(help));
  flag.number_list = true;
  flag.most_numbers = 1024;
  flag.set = [target](const std::string& text) {
    std::vector<int> numbers;
    for (const std::string& part : split(text, ", ")) numbers.push_back(parse_int(part, {0, 1 << 30}));
    *target = std::move(numbers);
  };
  flag.get = [target] { return texts_of(*target); };
  return flag;
}

Flag& Args::add(std::string name, std::vector<double>* target, std::string help) {
  Flag& flag = add_flag(std::move(name), "X,X,...", std::move(help));
  flag.number_list = true;
  flag.most_numbers = 1024;
  flag.set = [&flag, target](const std::string& text) {
    std::vector<double> numbers;
    for (const std::string& part : split(text, ", ")) numbers.push_back(parse_amount(flag, part));
    *target = std::move(numbers);
  };
  flag.get = [target] { return texts_of(*target); };
  return flag;
}

Flag& Args::add(std::string name, std::array<int, 2>* target, std::string help) {
  Flag& flag = add_flag(std::move(name), "W,H", std::move(help));
  flag.number_list = true;
  flag.most_numbers = 2;
  flag.set = [target](const std::string& text) {
    const Texts parts = split(text, ", ");
    if (parts.size() != 2) fail("'{}' is not a width and a height, such as 1024,512", text);
    for (std::size_t i = 0; i < 2; ++i) (*target)[i] = parse_int(parts[i], {1, 1 << 20});
  };
  flag.get = [target] { return (*target)[0] == 0 ? Texts() : texts_of(*target); };
  return flag;
}

Flag& Args::add(std::string name, std::optional<std::array<float, 3>>* target, std::string help) {
  Flag& flag = add_flag(std::move(name), "R,G,B", std::move(help));
  flag.number_list = true;
  flag.set = [target](const std::string& text) {
    std::vector<std::string> parts = split(text, ", ");
    std::array<float, 3> numbers{};
    bool good = parts.size() == 1 || parts.size() == 3;
    for (std::size_t i = 0; good && i < 3; ++i) {
      std::optional<float> number = parse_float(parts[parts.size() == 1 ? 0 : i]);
      good = number.has_value();
      if (good) numbers[i] = *number;
    }
    if (!good) fail("'{}' is not one number or three, such as 0.485,0.456,0.406", text);
    *target = numbers;
  };
  flag.get = [target] { return *target ? texts_of(**target) : Texts(); };
  return flag;
}

Flag& Args::add(std::string name, std::vector<std::string>* target, std::string value, std::string help) {
  Flag& flag = add_flag(std::move(name), std::move(value), std::move(help));
  flag.repeatable = true;
  flag.set = [target](const std::string& text) { target->push_back(text); };
  flag.clear = [target] { target->clear(); };
  flag.get = [target] { return *target; };
  return flag;
}

Flag& Args::add_positional(std::string name, std::string* target, std::string value, std::string help) {
  Flag& flag = add(std::move(name), target, std::move(value), std::move(help));
  flag.positional = true;
  return flag;
}

Flag& Args::add_key(std::string path, std::string value, std::string help) {
  return add_flag(std::move(path), std::move(value), std::move(help));
}

void Args::add_fixed(std::string path, std::string text, std::string help) {
  Flag& flag = add_key(std::move(path), text, std::move(help));
  flag.set = [text](const std::string& other) {
    if (other != text) fail("'{}' is not {}, the only one there is", other, text);
  };
  flag.get = [text] { return Texts{text}; };
}

Flag& Args::at(std::string_view name) {
  const Flag* flag = find(name);
  check(flag, "a flag that is not declared is asked for");
  return const_cast<Flag&>(*flag);
}

std::vector<Flag*> Args::rows() {
  std::vector<Flag*> rows;
  for (Flag& flag : flags_)
    if (!flag.positional && flag.name != "config" && flag.name != "opts") rows.push_back(&flag);
  for (Flag& key : keys_) rows.push_back(&key);
  return rows;
}

const Flag* Args::find(std::string_view name) const {
  for (const Flag& flag : flags_) {
    bool is_alias = std::find(flag.aliases.begin(), flag.aliases.end(), name) != flag.aliases.end();
    if (!flag.positional && (flag.name == name || is_alias)) return &flag;
  }
  return nullptr;
}

std::string Args::see_help() const {
  return "`octet " + command_ + " --help` lists what it takes";
}

// Brings the words into the one spelling that CLI11 is told of: each flag is followed by its value, a word of
// its own.
std::vector<std::string> Args::normalise(std::span<const std::string> words) const {
  std::vector<std::string> result;
  const bool takes_positionals =
      std::any_of(flags_.begin(), flags_.end(), [](const Flag& flag) { return flag.positional; });
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      result.insert(result.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (word == "-h") {
      result.push_back("--help");
      continue;
    }
    if (word.empty()) fail("an argument is empty; {}", see_help());
    if (word.size() < 2 || word[0] != '-') {
      result.push_back(word);
      continue;
    }
    std::size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    if (name == "--help") {
      result.push_back(name);
      continue;
    }
    const bool is_letter = name.size() == 2 && name[1] != '-';
    const Flag* flag = is_letter || name.starts_with("--")
                           ? find(std::string_view(name).substr(is_letter ? 1 : 2))
                           : nullptr;
    if (!flag) {
      std::vector<std::string> known = {"--help"};
      for (const Flag& other : flags_)
        if (!other.positional) known.push_back("--" + other.name);
      std::string meant = nearest(name, known);
      if (meant.empty()) fail("unknown flag {}; {}", word.substr(0, equals), see_help());
      fail("unknown flag {}; did you mean {}?", word.substr(0, equals), meant);
    }
    auto next_is_flag = [&] {
      std::string next = words[i + 1].substr(0, words[i + 1].find('='));
      std::replace(next.begin(), next.end(), '_', '-');
      return next.starts_with("--") && (next == "--" || next == "--help" || find(next.substr(2)));
    };
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (flag->boolean) {
      value = i + 1 < words.size() && parse_bool(words[i + 1]) ? words[++i] : "True";
    } else if (i + 1 < words.size() && !next_is_flag()) {
      value = words[++i];
      for (int n = 1; n < flag->most_numbers && flag->number_list && i + 1 < words.size() &&
                      is_number_list(words[i + 1]);
           ++n)
        value += "," + words[++i];
    }
    if (value.empty()) fail("{} needs a value: {} {}", name, name, flag->value);
    result.push_back("--" + flag->name);
    result.push_back(std::move(value));
    if (!flag->repeatable || equals != std::string::npos || takes_positionals) continue;
    const auto is_value = [](const std::string& next) {  // a negative number is none of the flags
      return !next.empty() && (!next.starts_with("-") || is_number_list(next));
    };
    for (; i + 1 < words.size() && is_value(words[i + 1]); ++i) {
      result.push_back("--" + flag->name);
      result.push_back(words[i + 1]);
    }
  }
  return result;
}

void Args::add_command_line(std::string name, std::vector<std::string>* target) {
  line_name_ = std::move(name);
  line_ = target;
}

void Args::add_config(std::function<void()> then) {
  add_config("a recipe, or a file of lines `flag: value`; the command line wins",
             [this, then = std::move(then)](const std::string& file, const Texts& opts) {
               load_recipe(*this, file, opts);
               if (then) then();
             });
}

void Args::add_config(std::string help, std::function<void(const std::string&, const Texts&)> load) {
  add("config", &config_, "FILE", std::move(help)).aliases = {"c"};
  add("opts", &opts_, "KEY=VALUE", "override values of the config: optimizer.momentum=0.8").aliases = {"o"};
  load_config_ = std::move(load);
}

void Args::read_first(std::string flag, std::function<void(const std::string& value)> then) {
  first_ = std::move(flag);
  at_first_ = std::move(then);
}

bool Args::parse(std::span<const std::string> words) {
  if (line_) {
    std::size_t end = 0;
    while (end < words.size() && words[end].starts_with("-")) {
      bool alone = words[end].find('=') != std::string::npos || words[end] == "-h" || words[end] == "--help";
      end += alone ? 1 : 2;
    }
    end = std::min(end, words.size());
    line_->assign(words.begin() + static_cast<std::ptrdiff_t>(end), words.end());
    words = words.first(end);
  }
  std::vector<std::string> normal = normalise(words);
  if (at_first_)
    if (const Texts values = values_of(first_, normal); !values.empty()) at_first_(values.back());
  if (load_config_) {
    const Texts files = values_of("config", normal), opts = values_of("opts", normal);
    if (!files.empty() || !opts.empty()) load_config_(files.empty() ? "" : files.back(), opts);
  }
  CLI::App app(summary_, command_);
  app.set_help_flag("--help");
  for (const Flag& flag : flags_) {
    auto set = [&flag](const std::vector<std::string>& texts) {
      for (const std::string& text : texts) set_flag(flag, text);
    };
    CLI::Option* option = app.add_option_function<std::vector<std::string>>(
        flag.positional ? flag.name : "--" + flag.name, set);
    option->expected(1)->allow_extra_args(false)->required(flag.required && !flag.in_recipe);
    if (flag.repeatable)
      option->take_all();
    else
      option->take_last();
  }
  std::reverse(normal.begin(), normal.end());  // CLI11 takes the words from the back
  try {
    app.parse(std::move(normal));
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ExtrasError&) {
    fail("too many arguments: '{}' is not expected; {}",
         app.remaining().empty() ? "" : app.remaining().front(), see_help());
  } catch (const CLI::ParseError& error) {
    fail("{}; {}", error.what(), see_help());
  }
  return true;
}

std::string Args::help() const {
  std::string out = "octet " + command_ + ": " + summary_ + "\n\nUsage: octet " + command_;
  for (const Flag& flag : flags_)
    if (flag.required) out += flag.positional ? " " + flag.name : " --" + flag.name + " " + flag.value;
  for (const Flag& flag : flags_)
    if (flag.positional && !flag.required) out += " [" + flag.name + "]";
  out += " [flags]" + (line_ ? " " + line_name_ : "") + "\n";

  constexpr std::size_t kColumn = 30;
  std::vector<std::string> groups;
  for (const Flag& flag : flags_)
    if (std::find(groups.begin(), groups.end(), flag.group) == groups.end()) groups.push_back(flag.group);
  auto print_row = [&](std::string left, const std::string& right) {
    if (left.size() + 2 > kColumn) {
      out += left + "\n";
      left.clear();
    }
    for (const std::string& line : wrap(right, kHelpColumns - kColumn)) {
      out += left + std::string(kColumn - left.size(), ' ') + line + "\n";
      left.clear();
    }
  };
  for (const std::string& group : groups) {
    out += "\n" + group + ":\n";
    for (const Flag& flag : flags_)
      if (flag.group == group) print_row(left_column(flag), right_column(flag));
  }
  out += "\nOther:\n";
  print_row("  -h, --help", "this text");
  for (const std::string& note : notes_) {
    out += "\n";
    for (const std::string& line : wrap(note, kHelpColumns)) out += line + "\n";
  }
  if (!examples_.empty()) out += "\nExamples:\n";
  for (const std::string& line : examples_) out += "  " + line + "\n";
  return out;
}

}  // namespace octet::cli
