#include "tipc/prepare.h"

#include <algorithm>
#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "data/synth_disc.h"
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
    if (segments())
      make_discs();
    else
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

  bool segments() const {
    const std::string& model = config_.model_name();
    return is_network(model) && models::task_of(model) == models::Task::kSegmentation;
  }

  static bool is_network(const std::string& name) {
    return std::ranges::find(models::model_names(), name) != models::model_names().end();
  }

  // Pictures with masks. In a folder of their own: data/optic_disc_seg is the real data set's, which training
  // fetches when it is missing.
  void make_discs() {
    const fs::path folder = "lite_disc";
    if (fs::exists(folder)) return;
    const SynthDiscOptions discs{.count = 20, .width = 128, .height = 128};
    write_disc_pictures(folder, discs);
    const SynthDiscParts parts = parts_of(discs.count);
    say(fmt::format("drew lite_disc: {} pictures of optic discs with masks in train, {} in val", parts.train,
                    parts.val));
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

  // The words `--config FILE` of the command that exports or quantizes: a segmentation network is described
  // by a file.
  std::string config_words() const {
    const std::string& command = config_.is_ptq() ? config_.trainers().at(0).command->value
                                                  : config_.get("infer_params", "infer-export").value;
    std::vector<std::string> words = split(command, ' ');
    std::erase(words, "");
    for (std::size_t i = 0; i + 1 < words.size(); ++i)
      if (words[i] == "--config" || words[i] == "-c") return "--config " + quoted(words[i + 1]);
    fail("{}: '{}' names no --config, which says what {} is trained on", config_.name(), command,
         config_.model_name());
  }

  // A network of the zoo that has seen the drawn pictures a few times.
  fs::path train_briefly(const std::string& missing) {
    const std::string& model = config_.model_name();
    if (!is_network(model))
      fail("{} is missing, and octet can't make it: it has no network {}; put the model there", missing,
           model);
    const fs::path folder = fs::path("pretrain_models") / model;
    say(fmt::format("training {} for {}, which is missing", model, missing));
    if (segments()) {
      octet(fmt::format("train {} --iters 20 --save_interval 20 --do_eval --save_dir {}", config_words(),
                        quoted(folder)));
      return folder / "best_model" / "model.pdparams";
    }
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
    octet(fmt::format("export {} --pretrained {} --save-inference-dir {}",
                      segments() ? config_words() : "--model " + config_.model_name(), quoted(trained),
                      quoted(folder)));
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
