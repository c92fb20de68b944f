#include "tasks/task.h"

#include "tasks/classification.h"
#include "tasks/segmentation.h"

namespace octet {

namespace {

constexpr Task kTasks[] = {kClassification, kSegmentation};

}  // namespace

std::span<const Task> task_table() {
  return kTasks;
}

const Task& default_task() {
  return kTasks[0];
}

}  // namespace octet
