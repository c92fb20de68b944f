#include "tipc/prepare.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "models/models.h"
#include "tipc/lite_data.h"
#include "tipc/process.h"

namespace octet::tipc {

namespace {

namespace fs = std::filesystem;

class Preparation {
 public:
  Preparation(const Config& config, std::string_view mode, const PrepareOptions& options)
      : config_(config), mode_(mode), options_(options) {}

  void run() {
    make_data();
    if (config_.is_ptq())
      make_inference_model(config_.get("ptq_params", "model-path").value);
    else if (mode_ == "whole_infer" && !is_null(config_.get("infer_params", "infer-export").value))
      make_checkpoint(config_.get("infer_params", "train-model").value);
  }

 private:
  void say(const std::string& text) const {
    if (options_.say) options_.say(text);
  }

  void make_data() {
    const fs::path folder = "lite_data", archive = "lite_data.tar", demo = "images/demo.jpg", link = "data";
    if (!fs::exists(folder) && fs::exists(archive)) {
      run("tar -xf lite_data.tar");
      say("unpacked lite_data.tar into lite_data");
    }
    if (!fs::exists(folder)) {
      write_lite_data(folder);
      say(fmt::format("drew lite_data: {} classes, {} pictures each in train and val", kLiteClasses,
                      kLiteClasses * kLitePictures));
    }
    if (!fs::exists(archive)) {
      run("tar -zcf lite_data.tar lite_data");
      say(fmt::format("packed lite_data.tar, {:.1f} MB", static_cast<double>(fs::file_size(archive)) / 1e6));
    }
    if (!fs::exists(demo)) {
      fs::create_directories(demo.parent_path());
      save_file(demo, encode_jpeg(draw_lite_picture(0, 1000)));
      say("drew images/demo.jpg");
    }
    if (!fs::exists(fs::symlink_status(link))) {
      fs::create_directory_symlink(folder, link);
      say("data is a link to lite_data, for programs that are given no path");
    }
  }

  // A network of the zoo that has seen lite_data a few times.
  fs::path train_briefly(const std::string& missing) {
    const std::vector<std::string>& names = models::model_names();
    const std::string& model = config_.model_name();
    if (std::ranges::find(names, model) == names.end())
      fail("{} is missing, and octet can't make it: it has no network {}; put the model there", missing,
           model);
    const fs::path folder = fs::path("pretrain_models") / model;
    say(fmt::format("training {} for {}, which is missing", model, missing));
    octet(fmt::format(
        "train --model {} --data-path lite_data --epochs 2 --batch-size 4 --lr 0.02 --output-dir {}", model,
        quoted(folder)));
    return folder / "latest.pdparams";
  }

  void make_checkpoint(const std::string& path) {
    if (is_null(path) || fs::exists(path)) return;
    const fs::path trained = train_briefly(path);
    if (fs::path(path).has_parent_path()) fs::create_directories(fs::path(path).parent_path());
    fs::copy_file(trained, path);
    say("made " + path);
  }

  void make_inference_model(const std::string& folder) {
    if (is_null(folder) || (fs::is_directory(folder) && !fs::is_empty(folder))) return;
    const fs::path trained = train_briefly(folder);
    octet(fmt::format("export --model {} --pretrained {} --save-inference-dir {}", config_.model_name(),
                      quoted(trained), quoted(folder)));
    say("made " + folder);
  }

  static std::string quoted(const fs::path& path) {
    std::string text = "'";
    for (char c : path.string()) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
  }

  void octet(const std::string& arguments) const { run(quoted(options_.octet) + " " + arguments); }

  void run(const std::string& command) const {
    const fs::path log = fs::path("log") / "prepare.log";
    fs::create_directories(log.parent_path());
    const ProcessResult result = run_process(command, {.log = log, .stop = options_.stop});
    if (!result.succeeded())
      fail("{}: {}; what it printed is in {}", command, result.describe(), log.string());
  }

  const Config& config_;
  std::string_view mode_;
  const PrepareOptions& options_;
};

}  // namespace

void prepare(const Config& config, std::string_view mode, const PrepareOptions& options) {
  Preparation(config, mode, options).run();
}

}  // namespace octet::tipc
