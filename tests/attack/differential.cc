// octet_differential COUNT|SECONDSs [--seed N | --graph N]: random small graphs through the reference kernels
// and through those of every instruction set that this CPU has, with and without the rewrites, on one thread
// and on three. Float results may differ by rounding; a quantized graph gives the same bytes everywhere.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>

#include "base/error.h"
#include "graph/activation.h"
#include "graph/builder.h"
#include "octet/quantize.h"
#include "runtime/executor.h"

namespace octet::attack {
namespace {

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : random_(seed) {}

  std::int64_t pick(std::initializer_list<std::int64_t> list) {
    return list.begin()[random_() % list.size()];
  }
  std::int64_t up_to(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return up_to(0, 99) < percent; }

  Tensor noise(Shape shape, float scale = 1) {
    Tensor tensor(DType::kFloat32, std::move(shape));
    std::uniform_real_distribution<float> number(-scale, scale);
    for (float& value : tensor.mutable_data<float>()) value = number(random_);
    // Zeros and ends of ranges come up more often than chance would have it.
    for (float& value : tensor.mutable_data<float>())
      if (chance(3)) value = chance(50) ? 0.0f : scale;
    return tensor;
  }

  // Which of two scores is larger may be a matter of rounding.
  bool gives_classes() const { return gives_classes_; }

  Graph graph(Shape* input) {
    const std::int64_t side = chance(15) ? 40 : 19;
    *input = {up_to(1, 3), pick({1, 3, 4, 7, 8, 16, 17, 33}), up_to(1, side), up_to(1, side)};
    ValueId x = b_.input("x", {kUnknown, (*input)[1], (*input)[2], (*input)[3]});
    images_ = {x};
    for (std::int64_t left = up_to(1, 7), tries = 0; left > 0 && tries < 60; ++tries) {
      try {
        images_.push_back(layer(images_[chance(70) ? images_.size() - 1 : index(images_.size())]));
        --left;
      } catch (const Error&) {  // it does not fit there
      }
    }
    ValueId y = images_.back();
    try {
      if (chance(40))
        y = head(y);
      else if (chance(20))
        y = classes(y);
    } catch (const Error&) {
    }
    return b_.build({y});
  }

 private:
  // Of the pixels of enlarged scores.
  ValueId classes(ValueId x) {
    gives_classes_ = true;
    const ValueId y = b_.resize(x, {.mode = "bilinear",
                                    .out_h = up_to(1, 70),
                                    .out_w = up_to(1, 70),
                                    .align_corners = chance(30),
                                    .align_mode = up_to(0, 1)});
    return b_.arg_max(y, 1);
  }

  std::size_t index(std::size_t count) { return static_cast<std::size_t>(random_() % count); }
  ValueId constant(Shape shape, float scale = 1) {
    return b_.constant(fmt::format("c{}", ++constants_), noise(std::move(shape), scale));
  }
  std::vector<std::int64_t> pair(std::int64_t most) {
    const std::int64_t a = up_to(1, most);
    return chance(70) ? std::vector{a, a} : std::vector{a, up_to(1, most)};
  }
  std::vector<std::int64_t> pads(std::int64_t most) {
    std::vector<std::int64_t> p = {up_to(0, most), 0, 0, 0};
    for (std::size_t i = 1; i < 4; ++i) p[i] = chance(70) ? p[0] : up_to(0, most);
    return p;
  }

  ValueId convolution(ValueId x) {
    const std::int64_t channels = b_.shape(x)[1], size = pick({1, 1, 2, 3, 3, 5});
    std::int64_t groups = 1, out = pick({1, 3, 4, 8, 15, 16, 17, 32, 40});
    if (chance(30)) groups = channels, out = channels * pick({1, 1, 2});
    if (chance(10))
      for (std::int64_t g : {2, 3, 4})
        if (channels % g == 0) groups = g, out = g * up_to(1, 9);
    const std::int64_t per_group = channels / groups;
    const float scale = 1 / std::sqrt(static_cast<float>(per_group * size * size));
    ConvOptions options{
        .strides = pair(2), .paddings = pads(2), .dilations = pair(chance(20) ? 3 : 1), .groups = groups};
    if (chance(60)) options.bias = constant({out});
    return b_.conv2d(x, constant({out, per_group, size, size}, scale), options);
  }

  ValueId transposed(ValueId x) {
    const std::int64_t channels = b_.shape(x)[1], size = up_to(1, 4), out = pick({1, 3, 8, 17});
    const float scale = 1 / std::sqrt(static_cast<float>(channels * size));
    return b_.conv2d_transpose(x, constant({channels, out, size, size}, scale),
                               {.strides = pair(3), .paddings = pads(size > 1 ? 1 : 0)});
  }

  ValueId activation(ValueId x) {
    const auto table = activation_table();
    return b_.op(std::string(table[index(table.size())].name), {x});
  }

  ValueId binary(ValueId x) {
    static const char* const kOps[] = {"add", "mul", "sub", "max", "min"};
    const char* const op = kOps[index(5)];
    const std::int64_t channels = b_.shape(x)[1];
    if (chance(25)) return b_.op(op, {x, constant({1, channels, 1, 1})});
    if (chance(10)) return b_.op(op, {x, constant({1})});
    for (std::size_t i = 0; i < images_.size(); ++i) {
      const ValueId other = images_[index(images_.size())];
      if (other != x && b_.shape(other) == b_.shape(x)) return b_.op(op, {x, other});
    }
    return b_.op(op, {x, x});
  }

  ValueId pool(ValueId x) {
    if (chance(25)) return b_.global_avg_pool(x);
    PoolOptions options{.kernel = pair(3),
                        .strides = pair(3),
                        .paddings = pads(1),
                        .ceil_mode = chance(30),
                        .exclusive = chance(70)};
    if (chance(50)) return b_.avg_pool(x, options);
    // The largest of nothing is -3.4e38, and what follows from it soon is no number.
    for (std::size_t axis = 0; axis < 2; ++axis)
      if (options.paddings[2 * axis] >= options.kernel[axis] ||
          options.paddings[2 * axis + 1] + options.strides[axis] > options.kernel[axis])
        options.paddings[2 * axis] = options.paddings[2 * axis + 1] = 0, options.strides[axis] = 1;
    return b_.max_pool(x, options);
  }

  ValueId joined(ValueId x) {
    for (std::size_t i = 0; i < 2 * images_.size(); ++i) {
      const ValueId other = images_[index(images_.size())];
      if (b_.shape(other)[2] == b_.shape(x)[2] && b_.shape(other)[3] == b_.shape(x)[3])
        return b_.concat({x, other}, 1);
    }
    return b_.concat({x, x}, 1);
  }

  ValueId normalised(ValueId x) {
    const Shape c = {b_.shape(x)[1]};
    Tensor variance = noise(c);
    for (float& value : variance.mutable_data<float>()) value = std::fabs(value) + 0.5f;
    return b_.batch_norm(x, constant(c), constant(c), constant(c),
                         b_.constant(fmt::format("c{}", ++constants_), variance));
  }

  ValueId moved(ValueId x) {
    const Shape& shape = b_.shape(x);
    switch (up_to(0, 2)) {
      case 0:
        return b_.transpose(x, {0, 2, 3, 1});
      case 1:
        return b_.slice(x, {1}, {0}, {std::max<std::int64_t>(1, shape[1] / 2)});
      default:
        return b_.slice(x, {2, 3}, {0, 1}, {shape[2], shape[3]});
    }
  }

  ValueId resized(ValueId x) {
    return b_.resize(x, {.mode = chance(50) ? "nearest" : "bilinear",
                         .out_h = up_to(1, 24),
                         .out_w = up_to(1, 24),
                         .align_corners = chance(30),
                         .align_mode = up_to(0, 1)});
  }

  ValueId layer(ValueId x) {
    switch (up_to(0, 15)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return convolution(x);
      case 4:
        return transposed(x);
      case 5:
      case 6:
      case 7:
        return activation(x);
      case 8:
      case 9:
        return binary(x);
      case 10:
        return pool(x);
      case 11:
        return joined(x);
      case 12:
        return normalised(x);
      case 13:
        return resized(x);
      case 14:
        return moved(x);
      default:
        return b_.softmax(x, 1);
    }
  }

  ValueId head(ValueId x) {
    const ValueId flat = b_.flatten(b_.global_avg_pool(x));
    const std::int64_t from = b_.shape(flat)[1], to = pick({1, 5, 16, 33});
    ValueId y = b_.matmul(flat, constant({from, to}, 1 / std::sqrt(static_cast<float>(from))));
    if (chance(60)) y = b_.add(y, constant({to}));
    return chance(50) ? b_.softmax(y) : y;
  }

  std::mt19937_64 random_;
  Builder b_;
  std::vector<ValueId> images_;
  int constants_ = 0;
  bool gives_classes_ = false;
};

// "": they agree.
std::string difference(const Tensor& found, const Tensor& expected, double tolerance) {
  if (found.dtype() != expected.dtype() || found.shape() != expected.shape())
    return fmt::format("{} {} in place of {} {}", name_of(found.dtype()), to_string(found.shape()),
                       name_of(expected.dtype()), to_string(expected.shape()));
  const auto a = found.bytes(), b = expected.bytes();
  if (tolerance == 0 || found.dtype() != DType::kFloat32) {
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i]) return fmt::format("element {} has other bytes", i / size_of(found.dtype()));
    return "";
  }
  double largest = 1e-6;
  const auto x = found.data<float>(), y = expected.data<float>();
  for (float value : y)
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(static_cast<double>(value)));
  if (largest > 1e30) return "";  // an overflow on the way is a matter of the order of sums
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    const double apart = std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i]));
    if (!same && !(apart <= tolerance * largest))
      return fmt::format("element {} is {}, expected {} (largest {})", i, x[i], y[i], largest);
  }
  return "";
}

struct Totals {
  long graphs = 0, quantized = 0, runs = 0, found = 0;
  std::map<std::string, long> kernels;
};

void compare(std::uint64_t number, const Graph& graph, const Tensor& input, bool is_exact, Totals& totals) {
  const auto run = [&](const std::string& isa, bool ir_optim, int threads) {
    ThreadPool pool(threads);
    const auto executable = prepare(graph, {ir_optim, isa});
    if (std::getenv("OCTET_DUMP")) fmt::print(stderr, "{} {}\n{}\n", isa, ir_optim, dump(executable->graph));
    for (const Executable::Step& step : executable->steps)
      if (step.implementation) ++totals.kernels[std::string(step.implementation->name)];
    ++totals.runs;
    return execute(executable, {input}, pool).at(0).clone();
  };
  for (const bool ir_optim : {false, true}) {
    // Rewrites may fold and reorder floats, so that a quantized graph is compared with itself, rewritten.
    const Tensor expected = run("ref", ir_optim && is_exact, 1);
    for (const Isa& isa : isa_list()) {
      if (!isa.available) continue;
      for (const int threads : {1, 3}) {
        const Tensor found = run(std::string(isa.name), ir_optim, threads);
        const std::string wrong = difference(found, expected, is_exact ? 0 : 2e-4);
        if (wrong.empty()) continue;
        ++totals.found;
        fmt::print("graph {}, {}, {}, {} threads, {}: {}\n{}\n", number, is_exact ? "quantized" : "float",
                   isa.name, threads, ir_optim ? "rewritten" : "as it is", wrong, dump(graph));
        std::fflush(stdout);
        return;
      }
    }
  }
}

void one(std::uint64_t number, Totals& totals) {
  Maker maker(number);
  Shape shape;
  const Graph graph = maker.graph(&shape);
  const Tensor input = maker.noise(shape, 2);
  ++totals.graphs;
  if (std::getenv("OCTET_DUMP")) fmt::print(stderr, "{}\n{}\n", to_string(shape), dump(graph));
  if (!maker.gives_classes()) compare(number, graph, input, /*is_exact=*/false, totals);
  if (!maker.chance(60)) return;
  QuantizeOptions options;
  options.algo = "abs_max";
  options.round_type = "round";
  options.threads = 1;
  options.is_full_quantize = maker.chance(50);
  options.fold_batch_norm = maker.chance(70);
  options.bias_correction = false;
  options.weight_quantize_type = maker.chance(70) ? "channel_wise_abs_max" : "abs_max";
  if (maker.chance(20)) options.weight_bits = 4;
  try {
    const Model model = quantize(
        Model(std::make_shared<const Graph>(graph)),
        [&](std::int64_t index, std::vector<FloatArray>& inputs) {
          if (index > 0) return false;
          const auto values = input.data<float>();
          inputs = {{input.shape(), {values.begin(), values.end()}}};
          return true;
        },
        options);
    ++totals.quantized;
    compare(number, *model.graph(), input, /*is_exact=*/true, totals);
  } catch (const Error& error) {
    if (error.kind() == Error::Kind::kUser) return;  // nothing in it to quantize
    ++totals.found;
    fmt::print("graph {}: {}\n{}\n", number, error.what(), dump(graph));
  }
}

}  // namespace
}  // namespace octet::attack

namespace {

volatile std::uint64_t current = 0;  // the graph that is tried

void say_which(int signal) {
  char text[64];
  const int size = std::snprintf(text, sizeof text, "graph %llu: signal %d\n",
                                 static_cast<unsigned long long>(current), signal);
  (void)!::write(STDOUT_FILENO, text, static_cast<std::size_t>(size));
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

int main(int argc, char** argv) {
  for (int signal : {SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL}) std::signal(signal, say_which);
  const std::string amount = argc > 1 ? argv[1] : "";
  const double limit = std::atof(amount.c_str());
  std::uint64_t seed = 1;
  if (argc > 3 && std::strcmp(argv[2], "--seed") == 0) seed = std::strtoull(argv[3], nullptr, 10);
  if (limit < 1) {
    std::fprintf(stderr, "usage: octet_differential COUNT|SECONDSs [--seed N | --graph N]\n");
    return 2;
  }
  octet::attack::Totals totals;
  if (argc > 3 && std::strcmp(argv[2], "--graph") == 0) {
    octet::attack::one(std::strtoull(argv[3], nullptr, 10), totals);
    return totals.found == 0 ? 0 : 1;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  while (amount.ends_with("s") ? passed() < limit : static_cast<double>(totals.graphs) < limit) {
    current = seed * 1000003 + static_cast<std::uint64_t>(totals.graphs);
    octet::attack::one(current, totals);
  }
  fmt::print("{} graphs, {} of them quantized as well, {} runs in {:.0f} s; {} findings\nkernels:",
             totals.graphs, totals.quantized, totals.runs, passed(), totals.found);
  for (const auto& [name, count] : totals.kernels) fmt::print(" {} ({})", name, count);
  fmt::print("\n");
  return totals.found == 0 ? 0 : 1;
}
