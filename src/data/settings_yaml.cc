#include "data/settings_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"

namespace octet {

namespace {

// Which settings there are.
class Names : public Settings {
 public:
  std::vector<std::string> names = {"type"};

  void required(std::string_view name, int&) override { names.emplace_back(name); }
  void optional(std::string_view name, int&) override { names.emplace_back(name); }
  void optional(std::string_view name, double&) override { names.emplace_back(name); }
  void optional(std::string_view name, bool&) override { names.emplace_back(name); }
  void optional(std::string_view name, std::string&) override { names.emplace_back(name); }
  void optional(std::string_view name, Interpolation&) override { names.emplace_back(name); }
  void optional(std::string_view name, std::array<int, 2>&) override { names.emplace_back(name); }
  void optional(std::string_view name, std::array<double, 2>&) override { names.emplace_back(name); }
  void optional(std::string_view name, std::array<float, 3>&) override { names.emplace_back(name); }
  void optional(std::string_view name, std::optional<int>&) override { names.emplace_back(name); }
  void optional(std::string_view name, std::optional<double>&) override { names.emplace_back(name); }
  void optional(std::string_view name, std::vector<double>&) override { names.emplace_back(name); }
  bool spelled(std::string_view, bool) override { return true; }
};

class Reader : public Settings {
 public:
  Reader(const YAML::Node& node, const std::string& file, const std::string& owner)
      : node_(node), file_(file), owner_(owner) {}

  void required(std::string_view name, int& size) override {
    const YAML::Node value = find(name);
    if (!value) fail_at(file_, node_, fmt::format("{} needs a '{}'", owner_, name));
    if (!decode(value, size) || size < 1)
      fail_at(file_, value, fmt::format("'{}' must be a positive whole number", name));
  }
  void optional(std::string_view name, int& number) override { read(name, number, "must be a whole number"); }
  void optional(std::string_view name, double& number) override { read(name, number, "must be a number"); }
  void optional(std::string_view name, bool& value) override { read(name, value, "must be True or False"); }
  void optional(std::string_view name, std::string& word) override { read(name, word, "must be a word"); }
  void optional(std::string_view name, Interpolation& interpolation) override {
    const YAML::Node value = find(name);
    if (!value) return;
    if (!value.IsScalar()) fail_at(file_, value, fmt::format("'{}' must be a name", name));
    try {
      interpolation = parse_interpolation(shortened(value.Scalar()), /*in_floats=*/name == "interp");
    } catch (const Error& problem) {
      fail_at(file_, value, problem.what());
    }
  }
  void optional(std::string_view name, std::array<int, 2>& size) override {
    read(name, size, "must be a list of two whole numbers: width and height");
  }
  void optional(std::string_view name, std::array<double, 2>& range) override {
    read(name, range, "must be a list of two numbers");
  }
  void optional(std::string_view name, std::array<float, 3>& channels) override {
    const YAML::Node value = find(name);
    const YAML::Node one = value && value.IsSequence() && value.size() == 1 ? value[0] : value;
    float number = 0;
    if (one && one.IsScalar() && decode(one, number))
      channels.fill(number);  // it stands for all
    else
      read(name, channels, "must be one number or a list of three");
  }
  void optional(std::string_view name, std::optional<int>& number) override {
    if (find(name)) optional(name, number.emplace());
  }
  void optional(std::string_view name, std::optional<double>& number) override {
    if (find(name)) optional(name, number.emplace());
  }
  void optional(std::string_view name, std::vector<double>& numbers) override {
    const YAML::Node value = find(name);
    if (!value) return;
    bool good = value.IsSequence() || value.IsScalar();
    numbers.assign(good && value.IsSequence() ? value.size() : 1, 0);
    for (std::size_t i = 0; good && i < numbers.size(); ++i)
      good = decode(value.IsSequence() ? value[i] : value, numbers[i]);
    if (!good) fail_at(file_, value, fmt::format("'{}' must be a number or a list of numbers", name));
  }
  bool spelled(std::string_view name, bool) override { return find(name).IsDefined(); }

 private:
  // Nothing where it is null, which stands for the default in PaddleSeg's files.
  YAML::Node find(std::string_view name) const {
    const YAML::Node value = node_[std::string(name)];
    return value && !value.IsNull() ? value : YAML::Node(YAML::NodeType::Undefined);
  }

  template <class T>
  static bool decode(const YAML::Node& value, T& number) {
    return value.IsScalar() && YAML::convert<T>::decode(value, number);
  }
  template <class T, std::size_t kSize>
  static bool decode(const YAML::Node& value, std::array<T, kSize>& numbers) {
    bool good = value.IsSequence() && value.size() == kSize;
    for (std::size_t i = 0; good && i < kSize; ++i) good = decode(value[i], numbers[i]);
    return good;
  }
  template <class T>
  void read(std::string_view name, T& to, const char* what) {
    const YAML::Node value = find(name);
    if (value && !decode(value, to)) fail_at(file_, value, fmt::format("'{}' {}", name, what));
  }

  const YAML::Node& node_;
  const std::string& file_;
  const std::string& owner_;
};

class Writer : public Settings {
 public:
  explicit Writer(YAML::Emitter& out) : out_(out) {}

  void required(std::string_view name, int& size) override { write(name, size); }
  void optional(std::string_view name, int& value) override { write(name, value); }
  void optional(std::string_view name, double& value) override { write(name, value); }
  void optional(std::string_view name, bool& value) override { write(name, value); }
  void optional(std::string_view name, std::string& word) override {
    if (!word.empty()) write(name, word);
  }
  void optional(std::string_view name, Interpolation& value) override { write(name, name_of(value)); }
  void optional(std::string_view name, std::array<int, 2>& size) override { write_list(name, size); }
  void optional(std::string_view name, std::array<double, 2>& range) override { write_list(name, range); }
  void optional(std::string_view name, std::array<float, 3>& values) override { write_list(name, values); }
  void optional(std::string_view name, std::optional<int>& value) override {
    if (value) write(name, *value);
  }
  void optional(std::string_view name, std::optional<double>& value) override {
    if (value) write(name, *value);
  }
  void optional(std::string_view name, std::vector<double>& values) override {
    if (!values.empty()) write_list(name, values);
  }
  bool spelled(std::string_view, bool preferred) override { return preferred; }

 private:
  template <class T>
  void write(std::string_view name,
             const T& value) {  // a number as the shortest text that reads back the same
    out_ << YAML::Key << std::string(name) << YAML::Value << fmt::format("{}", value);
  }
  template <class T>
  void write_list(std::string_view name, const T& values) {
    out_ << YAML::Key << std::string(name) << YAML::Value << YAML::Flow << YAML::BeginSeq;
    for (auto value : values) out_ << fmt::format("{}", value);
    out_ << YAML::EndSeq;
  }

  YAML::Emitter& out_;
};

}  // namespace

void read_settings(const YAML::Node& map, const std::string& file, const std::string& owner,
                   const NameSettings& settings) {
  Names known;
  settings(known);
  for (const auto& entry : map) {
    const std::string key = entry.first.IsScalar() ? shortened(entry.first.Scalar()) : "?";
    if (std::ranges::find(known.names, key) != known.names.end()) continue;
    const std::string meant = nearest(key, known.names);
    fail_at(file, entry.first,
            fmt::format("'{}' is not a setting of {}; {}", key, owner,
                        meant.empty() ? fmt::format("there are {}", fmt::join(known.names, ", "))
                                      : fmt::format("did you mean '{}'?", meant)));
  }
  Reader reader(map, file, owner);
  settings(reader);
}

void write_settings(YAML::Emitter& out, const NameSettings& settings) {
  Writer writer(out);
  settings(writer);
}

std::string type_of(const YAML::Node& map, const std::string& file, const std::string& thing,
                    const std::string& example) {
  if (!map.IsMap() || !map["type"] || !map["type"].IsScalar())
    fail_at(file, map, fmt::format("{} must be a map with a 'type', such as {}", thing, example));
  return map["type"].Scalar();
}

void fail_at(const std::string& name, const YAML::Node& node, const std::string& what) {
  if (name.starts_with("--opts ")) fail("{}: {}", name, what);
  fail("{}:{}: {}", name, std::max(node.Mark().line, 0) + 1, what);
}

std::string shortened(std::string text) {
  if (text.size() > 80) text.replace(80, std::string::npos, "...");
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::string listed(std::vector<std::string> names) {
  if (names.size() < 2) return names.empty() ? "" : names[0];
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

}  // namespace octet
