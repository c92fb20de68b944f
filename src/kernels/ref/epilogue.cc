#include "kernels/ref/epilogue.h"

namespace octet::ref {

Store::Store(const KernelArgs& args) : epilogue_(read_epilogue(args.node, args.input("out_scale"))) {
  const Tensor* residual = args.input("residual");
  if (residual && residual->dtype() == DType::kInt8) {
    residual_integers_ = residual->data<std::int8_t>().data();
    residual_step_ = attr<float>(args.node, "residual_step");
  } else if (residual) {
    residual_ = residual->data<float>().data();
  }
  for (Tensor& output : args.outputs) {
    if (output.dtype() == DType::kInt8)
      integers_ = output.mutable_data<std::int8_t>().data();
    else
      floats_ = output.mutable_data<float>().data();
  }
}

void Store::operator()(float value, std::int64_t index) const {
  if (residual_) value += residual_[index];
  if (residual_integers_) value += static_cast<float>(residual_integers_[index]) * residual_step_;
  value = epilogue_.activate(value);
  if (integers_) integers_[index] = epilogue_.quantizer.to_int8(value);
  if (floats_) floats_[index] = value;
}

}  // namespace octet::ref
