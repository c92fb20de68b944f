#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/progress.h"
#include "base/threads.h"
#include "cli/command.h"
#include "cli/model_runner.h"
#include "cli/output.h"
#include "cli/pictures.h"
#include "cli/segment_flags.h"
#include "cli/segmentation_model.h"
#include "cli/tensors.h"
#include "data/image.h"
#include "data/mask.h"
#include "data/transform.h"
#include "tasks/segmentation.h"

namespace octet::cli {

namespace {

namespace fs = std::filesystem;
using Color = std::array<std::uint8_t, 3>;

struct Options {
  std::optional<train::TrainOptions> config;
  ModelFlags model;
  std::string image_path;
  std::string save_dir = "./output/result";
  SegmentFlags segment;
  std::vector<int> custom_color;  // r, g, b, r, g, b, ... from class 0 on
  RuntimeFlags runtime;
};

std::vector<Color> colors_of(const std::vector<int>& numbers) {
  if (numbers.size() % 3 != 0)
    fail("--custom-color: {} numbers; a colour has three, red, green and blue", numbers.size());
  std::vector<Color> colors(numbers.size() / 3);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] > 255) fail("--custom-color: {} is not a number from 0 to 255", numbers[i]);
    colors[i / 3][i % 3] = static_cast<std::uint8_t>(numbers[i]);
  }
  if (colors.size() > 256) fail("--custom-color: {} colours; masks have up to 256", colors.size());
  return colors;
}

// The picture with the colours of the classes over it: 0.6 of the one and 0.4 of the other, as OpenCV's
// addWeighted has it.
Image overlay(const Image& picture, const Mask& mask, const std::vector<Color>& colors) {
  Image result(picture.width, picture.height);
  for (std::size_t i = 0; i < mask.pixels.size(); ++i) {
    const std::size_t id = mask.pixels[i];
    const Color color = id < colors.size() ? colors[id] : color_of_class(static_cast<int>(id));
    for (std::size_t c = 0; c < 3; ++c) {
      const float mixed =
          static_cast<float>(picture.pixels[3 * i + c]) * 0.6f + static_cast<float>(color[c]) * 0.4f;
      result.pixels[3 * i + c] = static_cast<std::uint8_t>(std::min(std::lrint(mixed), 255L));
    }
  }
  return result;
}

class Prediction {
 public:
  explicit Prediction(const Options& options)
      : options_(options),
        colors_(colors_of(options.custom_color)),
        segment_(segment_options(options.segment, options.config->test)),
        runtime_(make_config(options.runtime)),
        pool_(runtime_.cpu_math_library_num_threads()),
        transforms_(options.config->val_transforms),
        runner_(options.model.path, load_scoring_model(*options.config, options.model), runtime_, pool_) {}

  int run() {
    const std::vector<Picture> pictures = find_pictures(options_.image_path);
    Progress progress("pictures", std::ssize(pictures));
    std::int64_t done = 0, written = 0;
    for (const Picture& picture : pictures) {
      try {
        predict(picture);
        ++written;
      } catch (const BrokenPicture& problem) {
        if (pictures.size() == 1) fail("{}", problem.what);
        progress.clear();
        print_warning(problem.what + "; skipped");
      }
      progress.update(++done);
    }
    progress.clear();
    if (written == 0) fail("{}: none of the {} pictures can be read", options_.image_path, pictures.size());
    say("Predicted images are saved in {} and {} .\n", printable((folder("added_prediction") / "").string()),
        printable((folder("pseudo_color_prediction") / "").string()));
    return 0;
  }

 private:
  struct BrokenPicture {
    std::string what;
  };

  fs::path folder(const char* name) const { return fs::path(options_.save_dir) / name; }

  static Image load(const Picture& picture) try {
    return load_image(picture.path);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& error) {
    throw BrokenPicture{error.what()};
  }

  void predict(const Picture& picture) {
    const Image image = load(picture);
    Example example{.image = image};
    Random random({});
    transforms_.apply_to_pixels(example, random);
    Tensor pixels(DType::kFloat32, {1, transforms_.channels(), example.height(), example.width()});
    transforms_.apply_to_planes(example, random, pixels.mutable_data<float>());
    const SegmentationModel model = [&](const Tensor& x) {
      Tensor output = runner_.run({x}).at(0);
      if (!is_segmentation(output, 1))
        fail("{}: the first output is {}, not scores or a class for each pixel", options_.model.path,
             describe(output.dtype(), output.shape()));
      return output;
    };
    const bool is_new = options_.config->paddleseg == train::PaddleSeg::k2_9;
    const Mask mask =
        classes_of(segment(model, pixels, segment_, is_new ? Summands::kScores : Summands::kProbabilities),
                   example.changes);
    if (mask.width != image.width || mask.height != image.height)
      fail("{}: the answer is {} x {} pixels, and the picture {} x {}", picture.path.string(), mask.width,
           mask.height, image.width, image.height);
    const Image mixed = overlay(image, mask, colors_);
    fs::path added = folder("added_prediction") / picture.name;
    std::string ending = added.extension().string();
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
    const bool is_jpeg = ending == ".jpg" || ending == ".jpeg";
    if (!is_jpeg) added.replace_extension(".png");
    constexpr int kQuality = 95;  // OpenCV's
    save(added, is_jpeg ? encode_jpeg(mixed, kQuality) : encode_png(mixed));
    save((folder("pseudo_color_prediction") / picture.name).replace_extension(".png"),
         encode_mask(mask, colors_));
  }

  static void save(const fs::path& path, const std::string& bytes) {
    make_directory(path.parent_path());
    save_file(path, bytes);
  }

  const Options& options_;
  const std::vector<Color> colors_;
  const SegmentOptions segment_;
  const Config runtime_;
  ThreadPool pool_;
  const PreparedTransforms transforms_;
  ModelRunner runner_;
};

}  // namespace

std::function<int()> declare_predict(Args& args) {
  auto options = std::make_shared<Options>();
  args.group("Model");
  add_segmentation_config(args, &options->config);
  Flag& model = args.add("model-path", &options->model.path, "FILE_OR_DIR",
                         "a checkpoint of the config's network, or a model that was exported, float or int8");
  model.aliases = {"model", "model-dir"};
  model.required = true;
  add_file_flags(args, &options->model);
  args.group("Pictures");
  Flag& pictures = args.add("image-path", &options->image_path, "FILE_OR_DIR",
                            "a picture, a folder of them, or a list with a path in each line");
  pictures.aliases = {"img-path"};
  pictures.required = true;
  args.group("Output");
  args.add("save-dir", &options->save_dir, "DIR", "where added_prediction and pseudo_color_prediction go");
  Flag& colors = args.add("custom-color", &options->custom_color,
                          "colours in place of the usual ones: red, green, blue of class 0, of class 1, ...");
  colors.value = "R,G,B,...";
  add_segment_flags(args, &options->segment, "aug-pred");
  add_runtime_flags(args, &options->runtime);
  args.note(
      "Writes for each picture a mask with its class for each pixel (an 8-bit palette PNG in "
      "pseudo_color_prediction), and the picture with the colours of the classes over it (in "
      "added_prediction), both as "
      "large as the picture. A picture that can't be read is skipped with a warning.");
  args.example(
      "octet predict --config configs/quick_start/bisenet_optic_disc_512x512_1k.yml --model_path "
      "output/best_model/model.pdparams --image_path docs/images/optic_test_image.jpg --save_dir "
      "output/result");
  return [options] {
    if (!options->config) fail("--config is missing: what network and preprocessing the model has");
    fetch_model(options->model.path);
    return Prediction(*options).run();
  };
}

}  // namespace octet::cli
