#include "runtime/plan.h"

#include <gtest/gtest.h>

#include "kernels/ref/random.h"
#include "support/graph_runner.h"
#include "support/small_models.h"

namespace octet {
namespace {

using namespace octet::testing;

// A chain of `length` layers on 1x4x16x16.
Graph chain(int length) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, kUnknown, kUnknown});
  for (int i = 0; i < length; ++i)
    x = b.conv2d(x, b.constant("w" + std::to_string(i), ramp({4, 4, 3, 3}, static_cast<std::uint32_t>(i))),
                 {.paddings = {1, 1, 1, 1}});
  return b.build({b.relu(x)});
}

TEST(Plan, BuffersAreReused) {
  ThreadPool pool(1);
  auto executable = prepare(chain(10), {false, "ref"});
  Plan plan = make_plan(*executable, {{1, 4, 16, 16}}, pool);
  EXPECT_EQ(plan.unshared_bytes, 10u * 4 * 16 * 16 * 4);
  EXPECT_EQ(plan.arena_bytes, 2u * 4 * 16 * 16 * 4);
}

TEST(Plan, NoTwoLivingValuesShareMemory) {
  // Values that live long, short and crosswise.
  Builder b;
  ValueId x = b.input("x", {1, 4, 8, 8});
  std::vector<ValueId> made = {x};
  std::uint32_t state = 7;
  for (int i = 0; i < 40; ++i) {
    state = state * 1664525u + 1013904223u;
    ValueId left = made[state / 7 % made.size()], right = made[state / 101 % made.size()];
    made.push_back(i % 3 == 0 ? b.relu(left) : b.add(left, right));
  }
  ValueId sum = made[1];
  for (ValueId id : made) sum = b.add(sum, id);
  Graph graph = b.build({sum});
  for (const char* isa : {"ref", ""}) {
    ThreadPool pool(1);
    auto executable = prepare(graph, {false, isa});
    Plan plan = make_plan(*executable, {{1, 4, 8, 8}}, pool);
    const Graph& ours = executable->graph;
    std::vector<int> first(ours.values.size(), -1), last(ours.values.size(), -1);
    for (std::size_t i = 0; i < ours.nodes.size(); ++i) {
      for (ValueId id : ours.nodes[i].inputs) last[static_cast<std::size_t>(id)] = static_cast<int>(i);
      first[static_cast<std::size_t>(ours.nodes[i].outputs[0])] = static_cast<int>(i);
    }
    for (std::size_t a = 0; a < first.size(); ++a)
      for (std::size_t c = a + 1; c < first.size(); ++c) {
        const Plan::Slot &s = plan.values[a], &t = plan.values[c];
        if (s.offset < 0 || t.offset < 0) continue;
        // One may begin where the other ends: that is what in place means.
        bool together = first[a] < last[c] && first[c] < last[a];
        bool overlap = s.offset < t.offset + static_cast<std::int64_t>(t.bytes) &&
                       t.offset < s.offset + static_cast<std::int64_t>(s.bytes);
        EXPECT_FALSE(together && overlap) << a << " and " << c;
      }
    // And the result is that of a run without any sharing.
    Tensor input = ramp({1, 4, 8, 8});
    Session session(executable, pool);
    std::vector<float> once = values<float>(session.run({input})[0]);
    EXPECT_EQ(values<float>(session.run({input})[0]), once);
    EXPECT_EQ(once, values<float>(run_graph(graph, {input})[0]));
  }
}

TEST(Plan, AReshapeIsNoCopy) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 4, 4});
  ValueId y = b.op("reshape", {b.relu(x)}, {{"shape", Ints{0, 16}}});
  Graph graph = b.build({b.sigmoid(y)});
  ThreadPool pool(1);
  auto executable = prepare(graph, {false, "ref"});
  Plan plan = make_plan(*executable, {{2, 4, 4}}, pool);
  EXPECT_EQ(plan.arena_bytes, 128u);
  EXPECT_TRUE(plan.skip[1]);
  Tensor input = ramp({2, 4, 4});
  EXPECT_EQ(run_graph(graph, {input})[0].shape(), (Shape{2, 16}));
}

TEST(Plan, ASumTakesThePlaceOfItsResidual) {
  for (bool read_later : {false, true}) {
    Builder b;
    ValueId x = b.input("x", {1, 8, 5, 5}, DType::kInt8), y = b.input("y", {1, 24, 5, 5});
    ValueId residual = b.op("softmax", {y}, {{"axis", std::int64_t{-1}}});
    ValueId w = b.constant("w", random_int8s({24, 8, 1, 1}, 1));
    ValueId multiplier = b.constant("m", random_floats({24}, 3, 1e-4f, 3e-4f));
    ValueId sum = b.op("qconv2d", {x, w, multiplier, kNoValue, kNoValue, residual}, {});
    ValueId end = b.op("softmax", {sum}, {{"axis", std::int64_t{2}}});
    Graph graph = b.build({read_later ? b.add(end, residual) : end});
    ThreadPool pool(1);
    auto executable = prepare(graph, {});
    if (executable->isa->name == "ref") GTEST_SKIP() << "no fast kernels here";
    Plan plan = make_plan(*executable, {{1, 8, 5, 5}, {1, 24, 5, 5}}, pool);
    for (const Node& node : executable->graph.nodes)
      if (node.op == "qconv2d") {
        auto offset = [&](ValueId id) { return plan.values[static_cast<std::size_t>(id)].offset; };
        EXPECT_EQ(offset(node.inputs[5]) == offset(node.outputs[0]), !read_later);
      }
    std::vector<Tensor> inputs = {random_int8s({1, 8, 5, 5}, 2), ramp({1, 24, 5, 5})};
    Session session(executable, pool);
    EXPECT_EQ(values<float>(session.run(inputs)[0]), values<float>(run_graph(graph, inputs)[0]));
  }
}

TEST(Session, KeepsPlansForSeveralShapes) {
  ThreadPool pool(1);
  Graph graph = chain(3);
  Session session(prepare(graph, {false, "ref"}), pool);
  for (int round = 0; round < 2; ++round)
    for (std::int64_t size : {5, 9, 3, 12, 7, 8}) {  // more than are kept
      Tensor x = ramp({1, 4, size, size});
      EXPECT_EQ(values<float>(session.run({x})[0]), values<float>(run_graph(graph, {x})[0])) << size;
    }
}

TEST(Session, RunsWhereOnlyTheRunKnowsAShape) {
  // The new shape depends on the elements of an input.
  Builder b;
  ValueId x = b.input("x", {kUnknown, kUnknown});
  ValueId shape = b.input("shape", {2}, DType::kInt32);
  ValueId y = b.op("reshape", {b.relu(x), shape});
  Graph graph = b.build({b.sigmoid(b.add(y, y))});
  ThreadPool pool(1);
  for (const char* isa : {"ref", ""}) {
    Session session(prepare(graph, {true, isa}), pool);
    for (const std::vector<std::int32_t>& dims : {std::vector<std::int32_t>{2, 6}, {4, 3}, {12, 1}}) {
      Tensor result = session.run({ramp({3, 4}), Tensor::of<std::int32_t>({2}, dims)})[0];
      EXPECT_EQ(result.shape(), (Shape{dims[0], dims[1]}));
    }
  }
}

TEST(Session, TellsHowLongEachStepTook) {
  ThreadPool pool(1);
  Session session(prepare(chain(2), {false, "ref"}), pool);
  std::vector<StepTime> times;
  session.run({ramp({1, 4, 8, 8})}, &times);
  ASSERT_EQ(times.size(), 3u);
  EXPECT_EQ(times[0].op, "conv2d");
  EXPECT_EQ(times[0].kernel, "ref");
  EXPECT_EQ(times[0].output, (Shape{1, 4, 8, 8}));
  EXPECT_EQ(times[0].macs, 8 * 8 * 4 * 4 * 9);
  EXPECT_EQ(times[2].macs, 0);
}

// As exporters write "1.5 times as large": in floats, and by way of comparisons.
TEST(Plan, WhatIsComputedOfShapesIsKnownBeforeTheRun) {
  Builder b;
  ValueId x = b.input("x", {kUnknown, 2, kUnknown, kUnknown});
  ValueId dims = b.op("shape", {x}, {{"dtype", "int64"}});
  ValueId sides = b.op("gather", {dims, b.constant("i", Tensor::of<std::int64_t>({2}, {2, -1}))});
  ValueId larger = b.op("floor", {b.scale(b.cast(sides, DType::kFloat32), 1.5)});
  ValueId wide = b.op("less", {larger, b.constant("limit", Tensor::scalar(8.0f))});
  ValueId size = b.op("where", {wide, b.constant("eight", Tensor::scalar(8.0f)), larger});
  Graph graph = b.build({b.op("resize", {x, b.cast(size, DType::kInt64)})});
  ThreadPool pool(1);
  auto executable = prepare(graph, {false, "ref"});
  Plan plan = make_plan(*executable, {{1, 2, 7, 5}}, pool);
  EXPECT_EQ(plan.infos[static_cast<std::size_t>(graph.outputs[0])].shape, (Shape{1, 2, 10, 8}));
  for (std::size_t i = 0; i + 1 < graph.nodes.size(); ++i) EXPECT_TRUE(plan.skip[i]) << graph.nodes[i].op;
  std::vector<Tensor> result = execute(executable, {Tensor(DType::kFloat32, {1, 2, 7, 5}).clone()}, pool);
  EXPECT_EQ(result[0].shape(), (Shape{1, 2, 10, 8}));
}

}  // namespace
}  // namespace octet
