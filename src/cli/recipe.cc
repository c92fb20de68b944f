#include "cli/recipe.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <list>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"
#include "data/transform_yaml.h"
#include "data/yaml.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

// The value that a document gives to a row.
struct Entry {
  Flag* row;
  YAML::Node value;
  std::string file;
};

std::string join(const std::string& prefix, const std::string& key) {
  return prefix.empty() ? key : prefix + "." + key;
}

bool is_below(const std::string& path, const std::string& prefix) {
  return path == prefix || path.starts_with(prefix + ".");
}

class Reader {
 public:
  explicit Reader(Args& args) : rows_(args.rows()) {
    for (Flag* row : rows_) {
      if (!row->path.empty()) by_path_[row->path] = row;
      for (const std::string& path : row->other_paths) by_path_[path] = row;
    }
  }

  void load(const fs::path& file, int depth = 0) {
    constexpr int kMaxDepth = 16;
    if (depth == kMaxDepth)
      fail("{}: recipes are based on each other more than {} deep", file.string(), depth);
    const YAML::Node document = parse(read_text(file, kMaxYamlBytes), file.string());
    if (const YAML::Node base = document["_base_"]) {
      std::vector<std::string> files;
      for (const YAML::Node& item : base.IsSequence() ? base : YAML::Node(std::vector{base})) {
        if (!item.IsScalar()) fail_at(file.string(), base, "_base_ must be a file or a list of files");
        files.insert(files.begin(), item.Scalar());
      }
      for (const std::string& name : files) load(file.parent_path() / name, depth + 1);
    }
    walk(document, "", file.string());
  }

  // "a.b=1": in place of what the files say.
  void override(const std::string& opt) {
    const std::size_t equals = opt.find('=');
    if (equals == std::string::npos || equals == 0)
      fail("--opts {}: it must be KEY=VALUE, such as optimizer.momentum=0.8", opt);
    const std::string path = opt.substr(0, equals), name = "--opts " + path;
    const YAML::Node value = parse_value(opt.substr(equals + 1), name);
    if (!replace_inside(path, value, name)) add(path, value, value, name);
  }

  void read(const std::string& text, const std::string& name) { walk(parse(text, name), "", name); }

  // In the order of the rows: what a row sets may change what a row before it has set.
  void apply() {
    for (Flag* row : rows_)
      for (const Entry& entry : entries_)
        if (entry.row == row && !entry.value.IsNull()) set(entry);
  }

 private:
  static YAML::Node parse(const std::string& text, const std::string& file) {
    YAML::Node document = parse_yaml(text, file);
    if (!document.IsMap()) fail("{}: not a recipe, and no list of lines `name: value`", file);
    return document;
  }

  // As Python spells it, or YAML.
  static YAML::Node parse_value(const std::string& text, const std::string& name) {
    if (text == "None") return YAML::Node(YAML::NodeType::Null);
    return parse_yaml(text, name);
  }

  // A value inside of one that has a structure, such as a list of transforms. False: there is no such row.
  bool replace_inside(const std::string& path, const YAML::Node& value, const std::string& name) {
    for (Entry& entry : entries_) {
      const std::string& row = entry.row->path;
      if (!entry.row->read || row.empty() || !path.starts_with(row + ".")) continue;
      YAML::Node node = entry.value;
      std::string at = row;
      std::vector<std::string> keys = split(path.substr(row.size() + 1), ".");
      const std::string last = keys.back();
      keys.pop_back();
      for (const std::string& key : keys) node.reset(child_of(node, key, at, name));
      if (node.IsSequence())
        child_of(node, last, at, name) = value;
      else
        node[last] = value;
      entry.file = name;
      return true;
    }
    return false;
  }

  static YAML::Node child_of(const YAML::Node& node, const std::string& key, std::string& at,
                             const std::string& name) {
    std::size_t place = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), place);
    const bool is_number = error == std::errc() && end == key.data() + key.size();
    if (node.IsSequence() && (!is_number || place >= node.size()))
      fail("{}: {} is a list of {}, of which '{}' is none; they are counted from 0", name, at, node.size(),
           key);
    if (!node.IsSequence() && !(node.IsMap() && node[key])) fail("{}: {} has no key '{}'", name, at, key);
    at += "." + key;
    return node.IsSequence() ? node[place] : node[key];
  }

  void walk(const YAML::Node& map, const std::string& prefix, const std::string& file) {
    if (const YAML::Node inherited = map["_inherited_"]; inherited && inherited.IsScalar())
      if (parse_bool(inherited.Scalar()) == false) drop(prefix);
    for (const auto& item : map) {
      if (!item.first.IsScalar()) fail_at(file, item.first, "a key must be a word");
      const std::string& key = item.first.Scalar();
      if (key == "_inherited_" || (key == "_base_" && prefix.empty())) continue;
      add(join(prefix, key), item.first, item.second, file);
    }
  }

  void add(const std::string& path, const YAML::Node& key, const YAML::Node& value, const std::string& file) {
    if (Flag* row = row_of(path, value)) {
      if (value.IsMap()) fail_at(file, key, fmt::format("{} needs a value, and no keys", path));
      std::erase_if(entries_, [&](const Entry& entry) { return entry.row == row; });
      entries_.push_back({row, value, file});
      return;
    }
    const std::vector<std::string> keys = keys_below(path);
    if (keys.empty() && by_path_.contains(path))
      fail_at(file, key, fmt::format("{} needs a value, and no keys", path));
    if (keys.empty()) fail_unknown(path, key, file);
    if (value.IsMap()) return walk(value, path, file);
    if (value.IsScalar()) fail_at(file, key, fmt::format("{} needs keys: {}", path, fmt::join(keys, ", ")));
    drop(path);  // a list takes the place of the one before
    for (std::size_t i = 0; value.IsSequence() && i < value.size(); ++i)
      add(join(path, std::to_string(i)), value[i], value[i], file);
  }

  // By its path; at the top also by the name of a flag.
  Flag* row_of(const std::string& path, const YAML::Node& value) const {
    if (const auto found = by_path_.find(path); found != by_path_.end() && !value.IsMap())
      return found->second;
    std::string name = path;
    std::replace(name.begin(), name.end(), '_', '-');
    for (Flag* row : rows_)
      if (!value.IsMap() &&
          (row->name == name || std::ranges::find(row->aliases, name) != row->aliases.end()))
        return row;
    return nullptr;
  }

  // The keys that may follow this path.
  std::vector<std::string> keys_below(const std::string& prefix) const {
    std::vector<std::string> keys;
    for (const auto& [path, row] : by_path_) {
      if (!prefix.empty() && !path.starts_with(prefix + ".")) continue;
      const std::size_t begin = prefix.empty() ? 0 : prefix.size() + 1;
      const std::string key = path.substr(begin, path.find('.', begin) - begin);
      if (keys.empty() || keys.back() != key) keys.push_back(key);
    }
    return keys;
  }

  [[noreturn]] void fail_unknown(const std::string& path, const YAML::Node& key,
                                 const std::string& file) const {
    const std::size_t dot = path.rfind('.');
    const std::string prefix = dot == std::string::npos ? "" : path.substr(0, dot);
    std::vector<std::string> known;
    for (const std::string& other : keys_below(prefix)) known.push_back(join(prefix, other));
    if (prefix.empty())
      for (const Flag* row : rows_) known.push_back(row->name);
    const std::string meant = nearest(path, known);
    if (!meant.empty())
      fail_at(file, key, fmt::format("there is no key '{}'; did you mean '{}'?", path, meant));
    if (prefix.empty()) fail_at(file, key, fmt::format("there is no key '{}'", path));
    fail_at(file, key, fmt::format("there is no key '{}'; there are {}", path, fmt::join(known, ", ")));
  }

  void drop(const std::string& prefix) {
    std::erase_if(entries_, [&](const Entry& entry) { return is_below(entry.row->path, prefix); });
  }

  static void set(const Entry& entry) {
    Flag& row = *entry.row;
    row.in_recipe = true;
    if (row.read) return row.read(entry.value, entry.file);
    std::vector<std::string> texts;
    for (const YAML::Node& item :
         entry.value.IsSequence() ? entry.value : YAML::Node(std::vector{entry.value})) {
      if (!item.IsScalar())
        fail_at(entry.file, entry.value, row.path + " needs a value, or a list of values");
      texts.push_back(item.Scalar());
    }
    try {
      if (row.clear) row.clear();
      if (!row.repeatable) texts = {fmt::format("{}", fmt::join(texts, ","))};
      for (const std::string& text : texts) row.set(text);
    } catch (const Error& error) {
      fail_at(entry.file, entry.value,
              fmt::format("{}: {}", row.path.empty() ? row.name : row.path, error.what()));
    }
  }

  const std::vector<Flag*> rows_;
  std::map<std::string, Flag*> by_path_;
  std::list<Entry> entries_;  // for a YAML::Node can't be moved to another place: to assign one changes both
};

// The node at a path, which is made.
YAML::Node node_at(YAML::Node node, const std::string& path) {
  for (const std::string& key : split(path, "."))
    node.reset(key.find_first_not_of("0123456789") == std::string::npos ? node[std::stoul(key)] : node[key]);
  return node;
}

}  // namespace

void load_recipe(Args& args, const fs::path& file, const std::vector<std::string>& opts) {
  Reader reader(args);
  if (!file.empty()) reader.load(file);
  for (const std::string& opt : opts) reader.override(opt);
  reader.apply();
}

void read_recipe(Args& args, const std::string& text, const std::string& name) {
  Reader reader(args);
  reader.read(text, name);
  reader.apply();
}

void add_transforms(Args& args, std::string path, Transforms* list, bool random_allowed, std::string help) {
  Flag& key = args.add_key(std::move(path), "LIST", std::move(help));
  key.read = [list, random_allowed](const YAML::Node& node, const std::string& file) {
    *list = read_transforms(node, file, random_allowed);
  };
  key.write = [list] { return list->empty() ? YAML::Node() : YAML::Load(write_transforms(*list)); };
}

std::string write_recipe(Args& args) {
  YAML::Node document(YAML::NodeType::Map);
  for (const Flag* row : args.rows()) {
    if (row->path.empty()) continue;
    if (row->write) {
      if (const YAML::Node node = row->write(); !node.IsNull()) node_at(document, row->path) = node;
      continue;
    }
    const std::vector<std::string> texts = row->get();
    if (texts.empty()) continue;
    YAML::Node node = row->repeatable || row->number_list ? YAML::Node(texts) : YAML::Node(texts.front());
    if (node.IsSequence()) node.SetStyle(YAML::EmitterStyle::Flow);
    node_at(document, row->path) = node;
  }
  return YAML::Dump(document) + "\n";
}

}  // namespace octet::cli
