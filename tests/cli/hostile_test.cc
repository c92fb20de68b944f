#include <gmock/gmock.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "attack/sample_graphs.h"
#include "formats/format.h"
#include "octet/quantize.h"
#include "support/run_program.h"
#include "support/sandbox.h"

// Models, pictures and configs that mean harm, and places that are no files: one line, at once, or it works.
namespace octet {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

void expect_refused(const ProgramResult& result, const std::string& part) {
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr(part));
  EXPECT_TRUE(result.err.starts_with("octet: error: ")) << result.err;
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
}

TEST(Hostile, ResultsGoThroughWhatIsNoRegularFile) {
  Sandbox box;
  fs::create_directory(box / "there");
  write_file(box / "there/y.npy", "old");
  fs::create_symlink("there/y.npy", box / "link.npy");
  ASSERT_EQ(::mkfifo((box / "pipe").c_str(), 0600), 0);
  const std::string run = "octet run --model model --input x.npy --output ";
  EXPECT_EQ(run_shell(run + "/dev/null", box.path()).exit_code, 0);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(
      run_shell(run + "link.npy && " + run + "plain.npy && cmp there/y.npy plain.npy", box.path()).exit_code,
      0);
  EXPECT_TRUE(fs::is_symlink(box / "link.npy"));
  EXPECT_EQ(run_shell("cat pipe > got & " + run + "pipe && wait && cmp got plain.npy", box.path()).exit_code,
            0);
  EXPECT_TRUE(fs::is_fifo(box / "pipe"));
  const std::string eval =
      "octet eval --model-path model --data-dir photos --resize-size 4 --crop-size 4 --json ";
  EXPECT_EQ(
      run_shell("cat pipe > got.json & " + eval + "pipe && wait && grep -q ms_per_image got.json", box.path())
          .exit_code,
      0);
  EXPECT_TRUE(fs::is_fifo(box / "pipe"));
  EXPECT_EQ(run_shell(eval + "/dev/stdout | grep -q ms_per_image", box.path()).exit_code, 0);
}

TEST(Hostile, NamesThatLeadNowhere) {
  Sandbox box;
  fs::create_symlink("loop", box / "loop");
  for (const std::string& name : {std::string("loop"), std::string(300, 'a')}) {
    const std::string reason = name == "loop" ? "Too many levels of symbolic links" : "File name too long";
    for (const char* command : {"info ", "run --input x.npy --model ", "convert --output out --model ",
                                "ptq --data-dir photos --output-dir out --model-path ",
                                "eval --data-dir photos --model-path ", "run --model model --input "}) {
      SCOPED_TRACE(command);
      const ProgramResult result = run_shell("octet " + (command + name), box.path());
      expect_refused(result, reason);
      EXPECT_TRUE(result.err.starts_with("octet: error: " + name + ": ")) << result.err;
    }
  }
}

TEST(Hostile, GroupsThatMakeNoSenseAreRefusedAtOnce) {
  TempDir dir;
  save_npy(dir / "x.npy", testing::ramp({1, 4, 6, 6}));
  struct Kind {
    const char* name;
    Shape weight;
    std::int64_t groups;
    bool transposed;
  };
  for (const Kind& kind : {Kind{"conv2d", {8, 4, 3, 3}, 1, false},
                           {"depthwise", {4, 1, 3, 3}, 4, false},
                           {"transpose", {4, 2, 2, 2}, 1, true}})
    for (std::int64_t groups : {std::int64_t{0}, std::int64_t{1} << 30, std::int64_t{-1}}) {
      Builder b;
      const ValueId x = b.input("x", {kUnknown, 4, 6, 6}), w = b.constant("w", testing::ramp(kind.weight));
      const ConvOptions options{.groups = kind.groups};
      Graph graph = b.build({kind.transposed ? b.conv2d_transpose(x, w, options) : b.conv2d(x, w, options)});
      graph.nodes[0].attrs["groups"] = groups;
      save_model(graph, dir / "m");
      for (const char* command :
           {"run --input x.npy --model m", "run --ir-optim False --input x.npy --model m", "info m --plan",
            "ptq --model-path m --data-dir x.npy --output-dir q"}) {
        const auto start = std::chrono::steady_clock::now();
        SCOPED_TRACE(fmt::format("{}, {} groups: {}", kind.name, groups, command));
        expect_refused(run_shell(fmt::format("octet {}", command), dir.path()), "attribute groups is ");
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
      }
    }
}

Graph quantized(const Graph& graph) {
  const Tensor x = testing::ramp({1, 3, 16, 16}, 3);
  const auto batches = [&](std::int64_t index, std::vector<FloatArray>& inputs) {
    inputs = {{x.shape(), {x.data<float>().begin(), x.data<float>().end()}}};
    return index == 0;
  };
  QuantizeOptions options;
  options.algo = "abs_max";
  options.round_type = "round";
  return *quantize(Model(std::make_shared<const Graph>(graph)), batches, options).graph();
}

// Each input of each product is another tensor of the model: runs, or an error about the model.
TEST(Hostile, AnyTensorInPlaceOfAFilter) {
  ThreadPool pool(1);
  const Tensor x = testing::ramp({1, 3, 16, 16}, 3);
  int refused = 0;
  for (const attack::NamedGraph& sample : attack::sample_graphs())
    for (const Graph& graph : {sample.graph, quantized(sample.graph)})
      for (std::size_t at = 0; at < graph.nodes.size(); ++at) {
        if (!is_product(graph.nodes[at])) continue;
        for (std::size_t slot = 0; slot < graph.nodes[at].inputs.size(); ++slot)
          for (std::size_t value = 0; value < graph.values.size(); ++value) {
            Graph changed = graph;
            changed.nodes[at].inputs[slot] = static_cast<ValueId>(value);
            try {
              verify(changed);
              execute(prepare(changed, {.ir_optim = value % 2 == 0}), {x}, pool);
            } catch (const Error& error) {
              ++refused;
              EXPECT_EQ(error.kind(), Error::Kind::kUser) << error.what() << "\n" << dump(changed);
              if (::testing::Test::HasFailure()) return;
            }
          }
      }
  EXPECT_GT(refused, 100);
}

// Files of the newer generation in which every quantize, or every dequantize, only observes.
TEST(Hostile, ObserversWhereScalesAreNeeded) {
  TempDir dir;
  save_npy(dir / "x.npy", testing::ramp({1, 3, 16, 16}, 3));
  save_model(quantized(attack::classifier()), dir / "m");
  const std::string program = read_file(dir / "m/inference.pdmodel");
  const std::string off("only_observer\x10\x06\x50\x00", 17), on("only_observer\x10\x06\x50\x01", 17);
  int found = 0;
  for (std::size_t at = 0; (at = program.find(off, at)) != std::string::npos; ++at, ++found) {
    std::string changed = program;
    changed.replace(at, on.size(), on);
    write_file(dir / "m/inference.pdmodel", changed);
    for (const char* command :
         {"run --model m --input x.npy", "ptq --model-path m --data-dir x.npy --output-dir q"}) {
      const ProgramResult result = run_shell(fmt::format("octet {}", command), dir.path());
      EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 2) << command << ": " << result.err;
      EXPECT_EQ(result.err.find("internal error"), std::string::npos) << result.err;
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(found, 10);
}

TEST(Hostile, LargeAndLaughingConfigsAreRefusedBeforeTheyTakeMemory) {
  Sandbox box;
  std::string list = "transforms: [";
  while (list.size() < 10 << 20) list += "a,";
  write_file(box / "large.yaml", list + "]\n");
  std::string laughs = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 40; ++i) laughs += fmt::format("a{0}: &a{0} [*a{1}, *a{1}]\n", i, i - 1);
  write_file(box / "laughs.yaml", laughs + "epochs: *a39\n");
  write_file(box / "deep.yaml", "epochs: " + std::string(1000, '[') + "\n");
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // which need all of the address space
  const std::string train = "octet train --data-dir photos --config ";
#else
  const std::string train = "ulimit -v 400000; octet train --data-dir photos --config ";
#endif
  expect_refused(run_shell(train + "large.yaml", box.path()), "expected a text file of at most 1048576");
  expect_refused(run_shell(train + "laughs.yaml", box.path()), "more than 524288 values");
  expect_refused(run_shell(train + "deep.yaml", box.path()), "nested too deeply");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which need all of the address space
TEST(MaxMemory, RefusesWhatWouldTakeMore) {
  Sandbox box;
  const std::string run = "octet run --model model --threads 1 --input x.npy ";
  EXPECT_EQ(run_shell(run + "--max-memory 200MB", box.path()).exit_code, 0);
  expect_refused(run_shell(run + "--max-memory 1KB", box.path()), "less than the 64 MB");
  expect_refused(run_shell(run + "--max-memory lots", box.path()), "'lots' is not a size, such as 1GB");

  // A constant that is computed, the plan of a run, packed weights, a picture, a record of parameters.
  Builder made;
  const ValueId x = made.input("x", {kUnknown, 3, kUnknown, kUnknown});
  const ValueId full = made.op("full", {}, {{"shape", std::vector<std::int64_t>{1 << 27}}, {"value", 1.0}});
  save_model(made.build({made.add(made.flatten(x), made.reduce_mean(full, {0}, /*keepdims=*/true))}),
             box / "full");
  expect_refused(run_shell("octet run --model full --input x.npy --threads 1 --max-memory 200MB", box.path()),
                 "out of memory: ");
  Builder large;
  const ValueId y = large.input("x", {kUnknown, 3, 4, 4});
  save_model(large.build({large.relu(large.resize(y, {.out_h = 4000, .out_w = 4000}))}), box / "large");
  expect_refused(
      run_shell("octet run --model large --input x.npy --threads 1 --max-memory 200MB", box.path()),
      "and all together may take 200 MB");
  Builder dense;
  const ValueId z = dense.input("x", {kUnknown, 6000});
  save_model(dense.build({dense.matmul(z, dense.constant("w", Tensor(DType::kFloat32, {6000, 6000})))}),
             box / "dense");
  save_npy(box / "z.npy", Tensor(DType::kFloat32, {1, 6000}));
  expect_refused(
      run_shell("octet run --model dense --input z.npy --threads 1 --max-memory 100MB", box.path()),
      "the packed weights of matmul \"matmul_0\": out of memory: a float32 tensor of shape 36000000 needs");
  write_file(box / "wide.png", encode_png(plain_image(6000, 6000, {1, 2, 3})));
  expect_refused(run_shell("octet infer --model-dir model --img-path wide.png --threads 1 --max-memory 100MB",
                           box.path()),
                 "wide.png");
}
#endif

}  // namespace
}  // namespace octet
