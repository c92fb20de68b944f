#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/journal.h"
#include "cli/command.h"
#include "cli/model_flags.h"
#include "cli/output.h"
#include "cli/tensors.h"
#include "formats/format.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

const SaveOptions kUsual = {.model_file = "inference.pdmodel", .weights_file = "inference.pdiparams"};

struct Options {
  ModelFlags model;
  std::string output;
  SaveOptions save = kUsual;
};

void report(const fs::path& path) {
  std::error_code error;
  std::uintmax_t bytes = fs::file_size(path, error);
  if (!error) say("wrote {} ({})\n", printable(path.string()), format_bytes(bytes));
}

// A line such as `  model: model.pdmodel` with the file's new name; any other line as it is.
std::string rename_in_line(const std::string& line, const std::string& key, const std::string& from,
                           const std::string& to) {
  std::size_t at = line.find_first_not_of(" -");
  std::string entry = key + ": " + from;
  if (at == std::string::npos || line.substr(at) != entry) return line;
  return line.substr(0, at) + key + ": " + to;
}

// The preprocessing belongs to the model. The file may say how the model's files are called; the rest stays
// as it is.
bool copy_deploy_yaml(AtomicFiles& files, const ModelPaths& from, const ModelPaths& to) {
  fs::path source = from.model.parent_path() / "deploy.yaml", target = to.model.parent_path() / "deploy.yaml";
  std::error_code error;
  if (!fs::is_regular_file(whole_file(source), error)) return false;
  std::string text = read_text(source, 1 << 20), result;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    line = rename_in_line(line, "model", from.model.filename(), to.model.filename());
    const std::string renamed =
        rename_in_line(line, "params", from.weights.filename(), to.weights.filename());
    const bool gone = renamed != line && to.weights.empty();  // the parameters are in the model's file
    if (!gone) result += renamed;
    if (!gone && end < text.size()) result += '\n';
    at = end + 1;
  }
  files.add(target, result);
  return true;
}

int convert(Options options) {
  take_file_name(&options.output, &options.save);
  const SaveOptions save = saved_files(options.save, kUsual);
  ModelPaths from = find_model(options.model.path, options.model.files);
  fs::path directory = options.output;
  // Over its own files too: they are replaced whole, while the old ones stay mapped.
  const Model model = Model::load(options.model.path, options.model.files);
  make_directory(directory);
  AtomicFiles files;
  const ModelPaths to = add_model(files, *model.graph(), directory, save);
  const bool has_deploy_yaml = copy_deploy_yaml(files, from, to);
  files.commit();
  report(to.model);
  if (!to.weights.empty()) report(to.weights);
  if (has_deploy_yaml) report(directory / "deploy.yaml");
  return 0;
}

}  // namespace

std::function<int()> declare_convert(Args& args) {
  auto options = std::make_shared<Options>();
  add_model_flags(args, &options->model);
  add_shape_flag(args, &options->model);
  args.group("Output");
  args.add("output", &options->output, "DIR_OR_FILE",
           "the directory to write to, made if need be; or an ONNX file, whose name ends in .onnx")
      .required = true;
  add_format_flags(args, &options->save);
  args.add("save-model-filename", &options->save.model_file, "NAME", "the program's file");
  args.add("save-params-filename", &options->save.weights_file, "NAME", "the parameters' file");
  args.note(
      "What octet does not change is written as it was read, byte for byte, including ops it doesn't know. A "
      "deploy.yaml beside the model goes along. Files appear whole or not at all.");
  args.example("octet convert --model old_model --output new_model");
  args.example("octet convert --model old_model --output for_paddle_3 --format paddle3");
  args.example("octet convert --model model.onnx --output paddle_model");
  args.example("octet convert --model paddle_model --output model.onnx");
  args.example("octet convert --model new_model --output legacy --save_model_filename __model__ \\");
  args.example("    --save_params_filename __params__");
  return [options] { return convert(*options); };
}

}  // namespace octet::cli
