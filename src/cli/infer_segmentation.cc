#include "cli/infer_segmentation.h"

#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "cli/benchmark_report.h"
#include "cli/model_runner.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/stopwatch.h"
#include "cli/tensors.h"
#include "data/loader.h"
#include "data/mask.h"
#include "tasks/segmentation.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;

class Inference {
 public:
  explicit Inference(const SegmentationInference& options)
      : options_(options),
        pool_(options.config.cpu_math_library_num_threads()),
        runner_(options.path, options.model, options.config, pool_),
        pictures_(find_pictures(options.img_path)) {
    std::set<fs::path> names;
    for (const Picture& picture : pictures_)
      if (!names.insert(mask_path(picture)).second)
        fail("{}: two pictures would be written to {}; rename one", options.img_path,
             mask_path(picture).string());
  }

  int run() {
    Dataset dataset;
    for (const Picture& picture : pictures_) dataset.entries.push_back({picture.path});
    const std::int64_t count = std::ssize(pictures_);
    Loader loader(std::move(dataset), options_.transforms,
                  {.batching = Batching::kEach,
                   .batch_size = options_.batch_size,
                   .workers = pool_.threads(),
                   .prefetch = options_.benchmark ? 0 : 2});
    Progress progress("pictures", count);
    std::int64_t broken = 0;
    while (const std::optional<Batch> batch = next(loader)) {
      progress.clear();
      for (const std::string& message : batch->broken) {
        if (count == 1) fail("{}", message);
        print_warning(message + "; skipped");
      }
      broken += std::ssize(batch->broken);
      if (batch->size() > 0) answer(*batch);
      progress.update(done_ + broken);
    }
    progress.clear();
    if (done_ == 0) fail("{}: none of the {} pictures can be read", options_.img_path, count);
    if (options_.benchmark) print_benchmark();
    return 0;
  }

 private:
  fs::path mask_path(const Picture& picture) const {
    return (fs::path(options_.save_dir) / picture.name).replace_extension(".png");
  }

  std::optional<Batch> next(Loader& loader) {
    preprocess_time_.start();
    std::optional<Batch> batch = loader.next();
    preprocess_time_.stop();
    return batch;
  }

  void answer(const Batch& batch) {
    if (done_ == 0)
      for (int i = 0; i < options_.warmup; ++i) runner_.run({batch.pixels});
    inference_time_.start();
    const Tensor output = runner_.run({batch.pixels}).at(0);
    inference_time_.stop();
    if (!is_segmentation(output, batch.size()))
      fail("{}: the first output is {}, not scores or a class for each pixel of the {} pictures",
           options_.path, describe(output.dtype(), output.shape()), batch.size());
    postprocess_time_.start();
    const std::vector<std::int64_t> classes = classes_of_pixels(output);
    const auto plane = static_cast<std::size_t>(output.dim(-1) * output.dim(-2));
    for (std::size_t n = 0; n < batch.entries.size(); ++n) {
      Mask mask(static_cast<int>(output.dim(-1)), static_cast<int>(output.dim(-2)));
      for (std::size_t i = 0; i < plane; ++i) {
        const std::int64_t id = classes[n * plane + i];
        if (id >= 0 && id < Mask::kIgnored) mask.pixels[i] = static_cast<std::uint8_t>(id);
      }
      const Picture& picture = pictures_[batch.entries[n]];
      const fs::path path = mask_path(picture);
      make_directory(path.parent_path());
      save_file(path, encode_mask(mask));
      say("image_name: {}, mask: {}\n", printable(picture.path.string()), printable(path.string()));
    }
    flush_output();
    postprocess_time_.stop();
    done_ += batch.size();
    ++batches_;
  }

  std::string input_shape() const {
    const std::vector<std::int64_t> shape = options_.model.inputs().at(0).shape;
    if (std::any_of(shape.begin() + 1, shape.end(), [](std::int64_t size) { return size < 0; }))
      return "dynamic";
    return fmt::format("[{}]", fmt::join(shape.begin() + 1, shape.end(), ", "));
  }

  void print_benchmark() const {
    write_output(format_benchmark(
        {.model = options_.path,
         .precision = runner_.precision(),
         .device = options_.config.use_gpu() ? "gpu" : "cpu",
         .isa = options_.config.isa(),
         .input_shape = input_shape(),
         .ir_optim = options_.config.ir_optim(),
         .threads = options_.config.cpu_math_library_num_threads(),
         .batch_size = options_.batch_size,
         .pictures = done_,
         .batches = batches_,
         .preprocess_ms = preprocess_time_.ms(),
         .inference_ms = inference_time_.ms(),
         .postprocess_ms = postprocess_time_.ms(),
         .wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count()}));
  }

  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  const SegmentationInference& options_;
  ThreadPool pool_;
  ModelRunner runner_;
  const std::vector<Picture> pictures_;
  Stopwatch preprocess_time_, inference_time_, postprocess_time_;
  std::int64_t done_ = 0, batches_ = 0;
};

}  // namespace

int infer_segmentation(const SegmentationInference& options) {
  return Inference(options).run();
}

}  // namespace octet::cli
