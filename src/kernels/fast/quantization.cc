#include "graph/quantization.h"
#include "kernels/fast/layout.h"
#include "kernels/quantizer.h"
#include "kernels/ref/ref.h"

namespace octet::fast {
namespace {

void quantize(const KernelArgs& args) {
  const float* x = args.inputs[0]->data<float>().data();
  std::int8_t* y = args.outputs[0].mutable_data<std::int8_t>().data();
  const Quantizer quantizer(quantization_of(args.node, *args.input("scale"), args.input("zero_point")));
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    args.simd->unary.quantize(quantizer, x + begin, y + begin, end - begin);
  });
}

void dequantize(const KernelArgs& args) {
  const std::int8_t* x = args.inputs[0]->data<std::int8_t>().data();
  float* y = args.outputs[0].mutable_data<float>().data();
  const Quantization how = quantization_of(args.node, *args.input("scale"), args.input("zero_point"));
  const bool by_step = how.unit == ScaleUnit::kStep;
  const auto zero = static_cast<float>(how.zero_point());
  const float factor = args.input("scale")->data<float>()[0],
              bound = by_step ? 1 : static_cast<float>(how.qmax());
  for_blocks(args.pool, args.outputs[0].size(), [&](std::int64_t begin, std::int64_t end) {
    args.simd->unary.dequantize(x + begin, zero, factor, bound, y + begin, end - begin);
  });
}

void qlut(const KernelArgs& args) {
  const std::int8_t* x = args.inputs[0]->data<std::int8_t>().data();
  const std::int8_t* table = args.input("table")->data<std::int8_t>().data();
  std::int8_t* y = args.outputs[0].mutable_data<std::int8_t>().data();
  for_blocks(
      args.pool, args.outputs[0].size(),
      [&](std::int64_t begin, std::int64_t end) {
        args.simd->unary.lookup(table, x + begin, y + begin, end - begin);
      },
      1 << 16);
}

bool one_scale(const PrepareArgs& args) {
  return attr<std::int64_t>(args.node, "axis") == -1;
}

bool one_scale_to_int8(const PrepareArgs& args) {
  return one_scale(args) && attr<std::string>(args.node, "dtype") == "int8";
}

bool one_scale_from_int8(const PrepareArgs& args) {
  return one_scale(args) && args.value("x")->dtype == DType::kInt8;
}

}  // namespace

std::vector<Implementation> quantization() {
  auto row = [](std::string_view op, std::string_view name, Kernel kernel, bool (*fits)(const PrepareArgs&)) {
    return Implementation{.op = op, .name = name, .layout = LayoutNeed::kSame, .run = kernel, .fits = fits};
  };
  std::vector<Implementation> rows = {row("quantize", "vector", quantize, one_scale_to_int8),
                                      row("dequantize", "vector", dequantize, one_scale_from_int8),
                                      row("qlut", "vector", qlut, nullptr)};
  rows.back().in_place = 0;
  // With one scale each element is for itself, and the reference is right in any layout.
  for (std::string_view op :
       {"quantize", "dequantize", "fake_quant", "dynamic_quantize", "dynamic_fake_quant"})
    rows.push_back(row(op, "ref", ref::find(op)->run, one_scale));
  rows.push_back(row("dequantize_range", "ref", ref::dequantize_range, nullptr));
  return rows;
}

}  // namespace octet::fast
