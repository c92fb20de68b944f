// Writes a log for the test that reads it with VisualDL: five steps from FIRST on, and a picture.
#include <fmt/format.h>

#include <string>

#include "base/error.h"
#include "report/visualdl.h"

int main(int argc, char** argv) {
  using namespace octet;
  if (argc != 4) {
    fmt::print(stderr, "usage: {} DIR new|continue FIRST\n", argv[0]);
    return 2;
  }
  try {
    VisualDLWriter log(argv[1], argv[2] == std::string("continue") ? VisualDLWriter::Mode::kContinue
                                                                   : VisualDLWriter::Mode::kNew);
    const std::int64_t first = std::stoll(argv[3]);
    for (std::int64_t step = first; step < first + 5; ++step) {
      log.add_scalar("train/loss", step, 1.0 / static_cast<double>(step + 1));
      log.add_scalar("学习率", step, static_cast<double>(step) * 1e9);
    }
    Image image(3, 2);
    for (std::size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<std::uint8_t>(10 * i);
    log.add_image("pictures", first, image);
    fmt::print("{}\n", log.path().string());
  } catch (const Error& error) {
    fmt::print(stderr, "octet: error: {}\n", error.what());
    return 2;
  }
  return 0;
}
