#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/output.h"
#include "data/synth_disc.h"

namespace octet::cli {

namespace {

struct Options {
  std::string what, output, size = "512x512";
  SynthDiscOptions discs;
  int seed = 0;
};

int make_data(Options& options) {
  if (options.what != "synth-disc") fail("there is no data '{}'; octet makes synth-disc", options.what);
  const std::vector<std::string> sides = split(options.size, "x");
  const auto side = [&](std::size_t i) {
    constexpr int kLeast = 32, kMost = 4096;
    const bool is_number = sides.size() == 2 && sides[i].find_first_not_of("0123456789") == std::string::npos;
    const int length = is_number && sides[i].size() < 6 ? std::stoi(sides[i]) : 0;
    if (length < kLeast || length > kMost)
      fail("--size {}: it must be WxH, such as 512x512, with sides from {} to {}", options.size, kLeast,
           kMost);
    return length;
  };
  options.discs.width = side(0);
  options.discs.height = side(1);
  options.discs.seed = static_cast<std::uint64_t>(options.seed);
  make_directory(options.output);
  check_writable(options.output);
  write_disc_pictures(options.output, options.discs);
  const SynthDiscParts parts = parts_of(options.discs.count);
  say("{}: {} pictures to train on, {} to evaluate on, {} to test on\n", options.output, parts.train,
      parts.val, parts.test);
  return 0;
}

}  // namespace

std::function<int()> declare_data(Args& args) {
  auto options = std::make_shared<Options>();
  args.add_positional("WHAT", &options->what, "synth-disc",
                      "synth-disc: pictures of the retina, with the optic disc in masks")
      .required = true;
  args.add("output", &options->output, "DIR", "they go there, in the layout of PaddleSeg's OpticDiscSeg")
      .required = true;
  args.add("count", &options->discs.count, {10, 9999},
           "how many; of ten, seven are to train on, two to evaluate, one to test");
  args.add("size", &options->size, "WxH", "width and height");
  args.add("seed", &options->seed, {0, 1 << 30}, "another one makes other pictures");
  args.example("octet data synth-disc --output data/synth_disc --count 200 --size 256x256");
  return [options] { return make_data(*options); };
}

}  // namespace octet::cli
