#include "train/run_folder.h"

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "data/deploy_yaml.h"

namespace octet::train {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIteration = "iter_";

}  // namespace

void RunFolder::prepare(const std::vector<std::string>& class_names) const {
  make_directory(folder_);
  AtomicFiles files;
  files.add(folder_ / "recipe.yaml", options_.recipe);
  if (!goes_by_iterations(options_))
    files.add(folder_ / "deploy.yaml", write_deploy_yaml(options_.val_transforms, "", "", class_names));
  files.commit();
}

void RunFolder::continue_from(const fs::path& checkpoint, std::int64_t iteration) {
  last_ = checkpoint;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    std::int64_t number = 0;
    if (!name.starts_with(kIteration) || !entry.is_directory(error)) continue;
    const char *begin = name.data() + kIteration.size(), *end = name.data() + name.size();
    const auto [stop, problem] = std::from_chars(begin, end, number);
    if (problem == std::errc() && stop == end && number <= iteration) saved_.push_back(number);
  }
  std::ranges::sort(saved_);
}

void RunFolder::save_iteration(const State& state, const Position& position) {
  const std::string name = fmt::format("{}{}", kIteration, position.done);
  make_directory(folder_ / name);
  save_checkpoint(folder_ / name, {"model"}, state.network, state.optimizer, position, state.names,
                  state.trained);
  last_ = folder_ / name / "model.pdparams";
  std::erase(saved_, position.done);
  saved_.push_back(position.done);
  while (std::ssize(saved_) > options_.keep_checkpoint_max) {
    // Only what a run wrote: a folder with other files in it stays.
    const fs::path old = folder_ / fmt::format("{}{}", kIteration, saved_.front());
    std::error_code error;
    for (const char* file : {"model.pdopt", "model.pdparams"}) fs::remove(old / file, error);
    fs::remove(old, error);
    saved_.pop_front();
  }
}

void RunFolder::save_stopped(const State& state, const Position& position) {
  if (goes_by_iterations(options_)) return save_iteration(state, position);
  save_checkpoint(folder_, {"latest"}, state.network, state.optimizer, position, state.names, state.trained);
  last_ = folder_ / "latest.pdparams";
}

void RunFolder::save(const State& state, const Position& position, bool is_best) {
  if (goes_by_iterations(options_)) {
    // The best first: whoever goes on with iter_N, which knows of it, finds it.
    if (is_best) {
      make_directory(folder_ / "best_model");
      save_parameters(folder_ / "best_model" / "model.pdparams", state.network, state.names);
    }
    return save_iteration(state, position);
  }
  std::vector<std::string> stems = {fmt::format("model_{}", position.epoch_done), "latest"};
  if (is_best) stems.emplace_back("best");
  save_checkpoint(folder_, stems, state.network, state.optimizer, position, state.names, state.trained);
  last_ = folder_ / "latest.pdparams";
}

std::string RunFolder::how_to_resume() const {
  if (goes_by_iterations(options_)) return "--resume_model " + last_.parent_path().string();
  return "--resume " + options_.output_dir;
}

}  // namespace octet::train
