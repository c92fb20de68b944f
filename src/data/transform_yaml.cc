#include "data/transform_yaml.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/error.h"

namespace octet {

namespace {

// Which settings there are.
class Names : public Settings {
 public:
  std::vector<std::string_view> names = {"type"};

  void required(std::string_view name, int&) override { names.push_back(name); }
  void optional(std::string_view name, int&) override { names.push_back(name); }
  void optional(std::string_view name, double&) override { names.push_back(name); }
  void optional(std::string_view name, Interpolation&) override { names.push_back(name); }
  void optional(std::string_view name, std::array<double, 2>&) override { names.push_back(name); }
  void optional(std::string_view name, std::array<float, 3>&) override { names.push_back(name); }
};

class Reader : public Settings {
 public:
  Reader(const YAML::Node& node, const std::string& file) : node_(node), file_(file) {}

  void required(std::string_view name, int& size) override {
    const YAML::Node value = find(name);
    if (!value) fail_at(file_, node_, fmt::format("{} needs a '{}'", node_["type"].Scalar(), name));
    if (!decode(value, size) || size < 1)
      fail_at(file_, value, fmt::format("'{}' must be a positive whole number", name));
  }
  void optional(std::string_view name, int& number) override { read(name, number, "must be a whole number"); }
  void optional(std::string_view name, double& number) override { read(name, number, "must be a number"); }
  void optional(std::string_view name, Interpolation& interpolation) override {
    const YAML::Node value = find(name);
    if (!value) return;
    if (!value.IsScalar()) fail_at(file_, value, fmt::format("'{}' must be a name", name));
    try {
      interpolation = parse_interpolation(shortened(value.Scalar()));
    } catch (const Error& problem) {
      fail_at(file_, value, problem.what());
    }
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

 private:
  YAML::Node find(std::string_view name) const { return node_[std::string(name)]; }

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
};

class Writer : public Settings {
 public:
  explicit Writer(YAML::Emitter& out) : out_(out) {}

  void required(std::string_view name, int& size) override { write(name, size); }
  void optional(std::string_view name, int& value) override { write(name, value); }
  void optional(std::string_view name, double& value) override { write(name, value); }
  void optional(std::string_view name, Interpolation& value) override { write(name, name_of(value)); }
  void optional(std::string_view name, std::array<double, 2>& range) override { write_list(name, range); }
  void optional(std::string_view name, std::array<float, 3>& values) override { write_list(name, values); }

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

// "a, b and c"
std::string list_of_names(bool random_allowed) {
  std::vector<std::string_view> names;
  for (const TransformRow* row : transform_table())
    if (random_allowed || !row->is_random) names.push_back(row->name);
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} and {}", fmt::join(names, ", "), last);
}

void check_keys(const TransformRow& row, const YAML::Node& node, const std::string& file) {
  Names known;
  row.read(known);
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "?";
    if (std::ranges::find(known.names, key) == known.names.end())
      fail_at(file, entry.first,
              fmt::format("'{}' is not a setting of {}; there are {}", shortened(key), row.name,
                          fmt::join(known.names, ", ")));
  }
}

Transform read_transform(const YAML::Node& node, const std::string& file, bool random_allowed) {
  if (!node.IsMap() || !node["type"] || !node["type"].IsScalar())
    fail_at(file, node, "a transform must be a map with a 'type', such as {type: CenterCrop, size: 224}");
  const std::string type = node["type"].Scalar();
  const auto table = transform_table();
  const auto found = std::ranges::find(table, type, &TransformRow::name);
  if (found == table.end())
    fail_at(file, node,
            fmt::format("transform '{}' is not supported; there are {}", shortened(type),
                        list_of_names(random_allowed)));
  const TransformRow& row = **found;
  if (row.is_random && !random_allowed)
    fail_at(file, node,
            fmt::format("{} is random, which only training is; there are {}", type, list_of_names(false)));
  check_keys(row, node, file);
  Reader reader(node, file);
  return row.read(reader);
}

}  // namespace

void fail_at(const std::string& name, const YAML::Node& node, const std::string& what) {
  fail("{}:{}: {}", name, std::max(node.Mark().line, 0) + 1, what);
}

std::string shortened(std::string text) {
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

Transforms read_transforms(const YAML::Node& list, const std::string& name, bool random_allowed) {
  if (!list.IsSequence()) fail_at(name, list, "'transforms' must be a list");
  Transforms transforms;
  for (const YAML::Node& node : list) {
    const Transform transform = read_transform(node, name, random_allowed);
    try {
      check_next(transforms, transform);
    } catch (const Error& problem) {
      fail_at(name, node, problem.what());
    }
    transforms.push_back(transform);
  }
  try {
    check_transforms(transforms);
  } catch (const Error& problem) {
    fail_at(name, list, problem.what());
  }
  return transforms;
}

void write_transforms(YAML::Emitter& out, const Transforms& transforms) {
  out << YAML::BeginSeq;
  for (const Transform& transform : transforms) {
    out << YAML::BeginMap << YAML::Key << "type" << YAML::Value << std::string(transform.row().name);
    Writer writer(out);
    transform.write(writer);
    out << YAML::EndMap;
  }
  out << YAML::EndSeq;
}

Transforms read_transforms(const std::string& text, const std::string& name, bool random_allowed) {
  try {
    return read_transforms(YAML::Load(text), name, random_allowed);
  } catch (const YAML::Exception& problem) {
    fail("{}:{}: not a YAML file: {}", name, std::max(problem.mark.line, 0) + 1, shortened(problem.msg));
  }
}

std::string write_transforms(const Transforms& transforms) {
  YAML::Emitter out;
  write_transforms(out, transforms);
  return out.c_str();
}

}  // namespace octet
