#pragma once
#include <string>

#include "cli/model_runner.h"
#include "tasks/task.h"

namespace octet::cli {

// An Error when the model takes anything else than one float32 picture tensor.
void check_takes_pictures(const ModelRunner& model, const Task& task);
// An Error when what it gave for so many pictures is not what the task takes.
void check_answers(const ModelRunner& model, const Task& task, const Tensor& output, std::int64_t pictures);

// A model that takes pictures and answers what its task asks.
class PictureModel : public ModelRunner {
 public:
  PictureModel(std::string path, Model model, const Config& config, const Task& task, ThreadPool& pool);
  // The same model on other threads, which can run at the same time.
  PictureModel(const PictureModel& other, ThreadPool& pool) : ModelRunner(other, pool), task_(other.task_) {}

  // The output for pixels [N, 3, H, W], which is what the task takes. The next run overwrites it.
  Tensor run(const Tensor& pixels);

  std::string input_shape() const;  // "[3, 224, 224]" of a picture, or "dynamic"

 private:
  const Task& task_;
};

}  // namespace octet::cli
