#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>

#include "data/classification.h"
#include "data/loader.h"
#include "support/pictures.h"
#include "support/temp_dir.h"

// How many training pictures a second one thread makes: whole epochs of the loader, decoding included.
//
//   build/release/octet_bench --benchmark_filter=loader
namespace octet {
namespace {

// Smooth with some grain, so that a JPEG of it is as long as a photo's (some 40 KB).
Image photo(int width, int height, std::uint64_t seed) {
  Random random({seed});
  Image image = resize(test_image(8 + static_cast<int>(seed % 5), 7), width, height, Interpolation::kBicubic);
  for (std::uint8_t& value : image.pixels)
    value = static_cast<std::uint8_t>(std::clamp<std::int64_t>(value + random.below(17) - 8, 0, 255));
  return image;
}

void run_epochs(benchmark::State& state, const Dataset& dataset, const Transforms& transforms) {
  Loader loader(dataset, transforms,
                {.batching = Batching::kFull, .batch_size = 32, .workers = 0, .seed = 0});
  std::int64_t pictures = 0, epoch = 0;
  for (auto _ : state) {
    loader.start_epoch(epoch++);
    while (std::optional<Batch> batch = loader.next()) pictures += batch->pixels.dim(0);
  }
  state.counters["pictures/s"] =
      benchmark::Counter(static_cast<double>(pictures), benchmark::Counter::kIsRate);
}

void jpeg(benchmark::State& state, const TrainingPictures& pictures) {
  TempDir dir;
  Dataset dataset;
  for (int i = 0; i < 64; ++i) {
    dataset.entries.push_back({dir / fmt::format("{}.jpg", i), 0});
    write_file(dataset.entries.back().path, encode_jpeg(photo(500, 375, static_cast<std::uint64_t>(i))));
  }
  run_epochs(state, dataset, training_transforms(pictures));
}

// Pictures of 28x28, as in Fashion-MNIST.
void idx(benchmark::State& state, const TrainingPictures& pictures) {
  IdxPictures gray{4096, 28, 28, {}};
  for (std::size_t i = 0; i < 4096 * 28 * 28; ++i) gray.pixels.push_back(static_cast<std::uint8_t>(i * i));
  Dataset dataset;
  for (std::int64_t i = 0; i < gray.count; ++i) dataset.entries.push_back({"train-images-idx3-ubyte", 0, i});
  dataset.idx = std::make_shared<const IdxPictures>(std::move(gray));
  run_epochs(state, dataset, training_transforms(pictures));
}

const TrainingPictures kIdx{.size = 32, .pad = 4};

BENCHMARK_CAPTURE(jpeg, loader_224, TrainingPictures{})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(jpeg, loader_224_all,
                  TrainingPictures{.auto_augment = true, .color_jitter = 0.4, .random_erase = 0.25})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(idx, loader_32, kIdx)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(idx, loader_64, TrainingPictures{.size = 64})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace octet
