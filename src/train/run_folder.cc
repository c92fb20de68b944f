#include "train/run_folder.h"

#include "base/file.h"
#include "data/deploy_yaml.h"

namespace octet::train {

void prepare_run_folder(const TrainOptions& options, const std::vector<std::string>& class_names) {
  const std::filesystem::path folder = options.output_dir;
  make_directory(folder);
  AtomicFiles files;
  files.add(folder / "recipe.yaml", options.recipe);
  files.add(folder / "deploy.yaml", write_deploy_yaml(options.val_transforms, "", "", class_names));
  files.commit();
}

}  // namespace octet::train
