#include "tipc/config.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/nearest.h"

namespace octet::tipc {

namespace {

struct Field {
  std::string_view section;
  std::string_view name;
  std::string_view example;                     // a line to add when it is missing; "": it may be missing
  std::array<std::string_view, 2> others = {};  // by which other programs know it
};

constexpr Field kFields[] = {
    {"train_params", "model-name", "model_name:mobilenet_v3_small"},
    {"train_params", "python", "python:octet"},
    {"train_params", "gpu-list", "gpu_list:0|0,1 (-1 for the CPU)"},
    {"train_params", "use-gpu", "use-gpu:True", {"device"}},
    {"train_params", "epochs", "--epochs:lite_train_lite_infer=5", {"epoch", "iters"}},
    {"train_params", "output-dir", "--output-dir:./output/", {"save-dir"}},
    {"train_params", "batch-size", "--batch-size:lite_train_lite_infer=4"},
    {"train_params", "pretrained", "--pretrained:null", {"model-path"}},
    {"train_params", "train-model-name", "train_model_name:latest.pdparams"},
    {"train_params", "data-path", "", {"data-dir"}},
    {"train_params", "trainer", "trainer:norm_train"},
    {"eval_params", "eval", "eval:null"},
    {"infer_params", "save-inference-dir", "--save-inference-dir:./output/"},
    {"infer_params", "pretrained", "--pretrained:", {"model-path"}},
    {"infer_params", "norm-export", "norm_export:null"},
    {"infer_params", "train-model", "train_model:null"},
    {"infer_params", "infer-export", "infer_export:null"},
    {"infer_params", "inference", "inference:deploy/inference_python/infer.py"},
    {"infer_params", "use-gpu", "--use-gpu:True|False", {"device"}},
    {"infer_params", "batch-size", "--batch-size:1"},
    {"infer_params", "model-dir", "--model-dir:null"},
    {"infer_params", "img-path", "--img-path:./images/demo.jpg", {"image-dir", "image-path"}},
    {"infer_params", "benchmark", "--benchmark:True"},
    {"ptq_params", "model-name", "model_name:mobilenet_v3_small"},
    {"ptq_params", "python", "python:octet"},
    {"ptq_params", "use-gpu", "--use_gpu:False", {"device"}},
    {"ptq_params", "model-path", "--model_path:./mobilenet_v3_small_infer/", {"model-dir"}},
    {"ptq_params", "output-dir", "--output_dir:./mobilenet_v3_small_infer_ptq/", {"save-dir"}},
    {"ptq_params", "data-dir", "", {"data-path"}},
    {"ptq_params", "batch-num", "--batch_num:null"},
    {"ptq_params", "batch-size", "--batch_size:null"},
    {"ptq_params", "trainer", "trainer:PTQ"},
};

// Fields whose value the runner makes up, so that a flag is needed to hand it over.
constexpr std::string_view kFilledIn[] = {"output-dir", "save-inference-dir", "model-dir", "model-path"};

std::string_view trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string field_name(std::string_view key) {
  std::string name(key.substr(std::min(key.find_first_not_of('-'), key.size())));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

const Field* find_field(std::string_view section, std::string_view key) {
  const std::string name = field_name(key);
  for (const Field& field : kFields)
    if (field.section == section &&
        (field.name == name || std::ranges::find(field.others, name) != field.others.end()))
      return &field;
  return nullptr;
}

bool is_section(std::string_view name) {
  return std::ranges::any_of(kFields, [&](const Field& field) { return field.section == name; });
}

// The mode that `mode=value` begins with; "" for a value of all modes.
std::string_view mode_of(std::string_view alternative) {
  std::string_view word = alternative.substr(0, alternative.find('='));
  return word.size() < alternative.size() && word.ends_with("_infer") ? word : "";
}

std::optional<std::string_view> heading(std::string_view line) {
  if (!line.starts_with("===")) return std::nullopt;
  const std::size_t begin = line.find_first_not_of('=');
  if (begin == std::string_view::npos) return std::nullopt;
  return trim(line.substr(begin, line.find_last_not_of('=') - begin + 1));
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.emplace_back(trim(text.substr(at, end - at)));
    at = end + 1;
  }
  return parts;
}

std::string Line::flag(std::string_view text) const {
  return is_flag() && !is_null(text) ? fmt::format("{}={}", key, text) : "";
}

Config Config::load(const std::filesystem::path& path) {
  return parse(read_text(path, 1 << 20), path.string());
}

Config Config::parse(std::string_view text, std::string name) {
  Config config;
  config.name_ = std::move(name);
  config.read(text);
  const bool ptq = config.is_ptq();
  if (ptq && config.find_section("train_params"))
    fail("{}:{}: both train_params and ptq_params; make two files of it", config.name_,
         config.find_section("ptq_params")->number);
  using Names = std::vector<std::string_view>;
  for (std::string_view section :
       ptq ? Names{"ptq_params", "infer_params"} : Names{"train_params", "eval_params", "infer_params"})
    if (!config.find_section(section))
      fail("{}: the section {} is missing; it begins with a line ======{}======", config.name_, section,
           section);
  for (const Section& section : config.sections_) config.check_section(section);
  return config;
}

void Config::read(std::string_view text) {
  int number = 0;
  for (std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trim(text.substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || line.starts_with("#")) continue;
    if (std::optional<std::string_view> title = heading(line)) {
      if (!is_section(*title))
        fail("{}:{}: unknown section '{}'; there are train_params, eval_params, infer_params and ptq_params",
             name_, number, printable(*title));
      if (find_section(*title))
        fail("{}:{}: the section {} is already in line {}", name_, number, *title,
             find_section(*title)->number);
      sections_.push_back({std::string(*title), number, {}});
      continue;
    }
    const std::size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos)
      fail("{}:{}: '{}' is not key:value, ======section====== or ##", name_, number, printable(line));
    if (sections_.empty())
      fail("{}:{}: before the first section; begin with ======train_params====== or ======ptq_params======",
           name_, number);
    const std::string_view key = trim(line.substr(0, colon));
    if (key == "null") continue;  // null:null fills a line that this program has no use for
    sections_.back().lines.push_back({std::string(key), std::string(trim(line.substr(colon + 1))), number});
  }
}

const Config::Section* Config::find_section(std::string_view name) const {
  auto found = std::ranges::find(sections_, name, &Section::name);
  return found == sections_.end() ? nullptr : &*found;
}

bool Config::is_trainer(const Section& section, std::string_view key) const {
  const Line* trainer = find(section.name, "trainer");
  if (!trainer) return false;
  std::vector<std::string> names = split(trainer->value, '|');
  return std::ranges::find(names, key) != names.end();
}

void Config::check_section(const Section& section) const {
  const bool ptq = is_ptq();
  auto belongs = [&](const Field& field) {
    // With PTQ nothing is exported.
    constexpr std::string_view kExport[] = {"save-inference-dir", "pretrained", "norm-export", "train-model",
                                            "infer-export"};
    return field.section == section.name &&
           !(ptq && std::ranges::find(kExport, field.name) != std::end(kExport));
  };
  for (const Line& line : section.lines) {
    const Field* field = find_field(section.name, line.key);
    if (field) {
      const Line* first = find(section.name, field->name);
      if (first != &line)
        fail("{}:{}: {} is already in line {}, as {}", name_, line.number, line.key, first->number,
             first->key);
    } else if (!line.is_flag() && !is_trainer(section, line.key)) {
      std::vector<std::string> known;
      for (const Field& other : kFields)
        if (other.section == section.name) known.emplace_back(other.name);
      if (const Line* trainer = find(section.name, "trainer"))
        for (const std::string& name : split(trainer->value, '|')) known.push_back(name);
      const std::string meant = nearest(line.key, known);
      fail("{}:{}: unknown key '{}' in {}; {}", name_, line.number, printable(line.key), section.name,
           meant.empty() ? "begin it with -- to pass it on to the program"
                         : fmt::format("did you mean '{}'?", meant));
    }
  }
  for (const Field& field : kFields) {
    if (!belongs(field)) continue;
    const Line* line = find(section.name, field.name);
    if (!line && !field.example.empty())
      fail("{}:{}: {} has no {}; add a line such as {}", name_, section.number, section.name, field.name,
           field.example);
    constexpr std::string_view kNeedValue[] = {"model-name", "python", "gpu-list", "train-model-name",
                                               "trainer"};
    if (line && is_null(line->value) && std::ranges::find(kNeedValue, field.name) != std::end(kNeedValue))
      fail("{}:{}: {} has no value; write {}", name_, line->number, line->key, field.example);
    if (line && !line->is_flag() && std::ranges::find(kFilledIn, field.name) != std::end(kFilledIn))
      fail("{}:{}: {} must be a flag of the program, which gets a folder by it; write --{}:{}", name_,
           line->number, line->key, line->key, line->value);
  }
  if (const Line* trainer = find(section.name, "trainer"))
    for (const std::string& name : split(trainer->value, '|'))
      if (std::ranges::find(section.lines, name, &Line::key) == section.lines.end())
        fail("{}:{}: the trainer {} has no command; add a line {}:COMMAND, or {}:null to leave it out", name_,
             trainer->number, name, name, name);
}

const std::string& Config::model_name() const {
  return get(is_ptq() ? "ptq_params" : "train_params", "model-name").value;
}

const std::string& Config::program() const {
  return get(is_ptq() ? "ptq_params" : "train_params", "python").value;
}

const Line* Config::find(std::string_view section_name, std::string_view field) const {
  const Section* section = find_section(section_name);
  if (!section) return nullptr;
  for (const Line& line : section->lines)
    if (const Field* found = find_field(section_name, line.key); found && found->name == field) return &line;
  return nullptr;
}

const Line& Config::get(std::string_view section, std::string_view field) const {
  const Line* line = find(section, field);
  check(line != nullptr, "a field of a TIPC config that was checked is missing");
  return *line;
}

std::vector<std::string> Config::other_flags(std::string_view section_name, To to) const {
  std::vector<std::string> flags;
  const Section* section = find_section(section_name);
  if (!section) return flags;
  To now = To::kFirst;
  for (const Line& line : section->lines) {
    const Field* field = find_field(section_name, line.key);
    if (field && field->name == "inference") now = To::kInference;
    if (!field && now == to && !line.flag().empty()) flags.push_back(line.flag());
  }
  return flags;
}

std::vector<std::string> Config::values(const Line& line, std::string_view mode) const {
  std::vector<std::string> result, others;
  for (const std::string& alternative : split(line.value, '|')) {
    const std::string_view only = mode_of(alternative);
    if (!only.empty() && std::ranges::find(kModes, only) == std::end(kModes))
      fail("{}:{}: {}: there is no mode '{}', only {}", name_, line.number, line.key, printable(only),
           fmt::join(kModes, ", "));
    if (only.empty())
      result.push_back(alternative);
    else if (only == mode)
      result.push_back(alternative.substr(only.size() + 1));
    else
      others.emplace_back(only);
  }
  if (result.empty())
    fail("{}:{}: {} has no value for the mode {}, only for {}; add |{}=VALUE", name_, line.number, line.key,
         mode, fmt::join(others, ", "), mode);
  return result;
}

std::string Config::value(const Line& line, std::string_view mode) const {
  std::vector<std::string> all = values(line, mode);
  if (all.size() > 1)
    fail("{}:{}: {} can have one value only, not {}", name_, line.number, line.key, fmt::join(all, " and "));
  return all.front();
}

std::vector<Config::Trainer> Config::trainers() const {
  const Section& section = *find_section(is_ptq() ? "ptq_params" : "train_params");
  std::vector<Trainer> trainers;
  for (const std::string& name : split(get(section.name, "trainer").value, '|'))
    trainers.push_back({name, &*std::ranges::find(section.lines, name, &Line::key)});
  return trainers;
}

}  // namespace octet::tipc
