#include "train/sync_batch_norm.h"

namespace octet::train {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::vector<std::int64_t> all_but_channels(const at::Tensor& x) {
  std::vector<std::int64_t> dims = {0};
  for (std::int64_t i = 2; i < x.dim(); ++i) dims.push_back(i);
  return dims;
}

// A vector of channels, to be combined with x.
at::Tensor along_channels(const at::Tensor& vector, const at::Tensor& x) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(x.dim()), 1);
  shape[1] = -1;
  return vector.to(x.scalar_type()).view(shape);
}

// The sum over all processes, in double.
at::Tensor total(std::initializer_list<at::Tensor> parts, Comm& comm) {
  std::vector<at::Tensor> doubles;
  for (const at::Tensor& part : parts) doubles.push_back(part.to(at::kCPU, at::kDouble).reshape({-1}));
  at::Tensor sums = at::cat(doubles).contiguous();
  comm.all_reduce(std::span<double>(sums.data_ptr<double>(), static_cast<std::size_t>(sums.numel())));
  return sums;
}

struct SyncBatchNorm : torch::autograd::Function<SyncBatchNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& scale,
                            const at::Tensor& bias, at::Tensor running_mean, at::Tensor running_variance,
                            double momentum, double epsilon, std::int64_t comm_address) {
    Comm& comm = *reinterpret_cast<Comm*>(comm_address);
    const std::int64_t channels = x.size(1);
    auto [local_variance, local_mean] =
        at::var_mean(x.to(at::kFloat), all_but_channels(x), /*unbiased=*/false);
    const auto local_count = static_cast<double>(x.numel() / channels);
    const at::Tensor m = local_mean.to(at::kDouble), v = local_variance.to(at::kDouble);
    const at::Tensor sums =
        total({m * local_count, (v + m * m) * local_count, at::full({1}, local_count, at::kDouble)}, comm);
    const double count = sums[2 * channels].item<double>();
    const at::Tensor mean = sums.slice(0, 0, channels) / count;
    const at::Tensor variance = at::clamp_min(sums.slice(0, channels, 2 * channels) / count - mean * mean, 0);

    running_mean.lerp_(mean.to(running_mean.options()), momentum);
    running_variance.lerp_((variance * (count / std::max(count - 1, 1.0))).to(running_variance.options()),
                           momentum);
    const at::Tensor mean_here = mean.to(scale.options()), variance_here = variance.to(scale.options());
    const at::Tensor inverse = at::rsqrt(variance + epsilon).to(scale.options());
    context->save_for_backward({x, scale, mean_here, inverse});
    context->saved_data["comm"] = comm_address;
    context->saved_data["count"] = count;
    return at::batch_norm(x, scale, bias, mean_here, variance_here, /*training=*/false, momentum, epsilon,
                          true);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    Comm& comm = *reinterpret_cast<Comm*>(context->saved_data["comm"].toInt());
    const double count = context->saved_data["count"].toDouble();
    const variable_list saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &scale = saved[1], &mean = saved[2], &inverse = saved[3],
                     &gradient = gradients[0];
    const std::vector<std::int64_t> dims = all_but_channels(x);
    const at::Tensor sum = gradient.sum(dims, false, at::kFloat);
    const at::Tensor centred =
        ((x - along_channels(mean, x)) * gradient).sum(dims, false, at::kFloat);  // of gradient * (x - mean)
    const at::Tensor sums = total({sum, centred}, comm) / count;
    const std::int64_t channels = x.size(1);
    const at::Tensor mean_sum = sums.slice(0, 0, channels).to(scale.options()),
                     mean_centred = sums.slice(0, channels).to(scale.options());
    // gradient_x = a * gradient + b * x + c, channel by channel.
    const at::Tensor a = scale * inverse;
    const at::Tensor b = -a * inverse * inverse * mean_centred;
    const at::Tensor c = -a * mean_sum - b * mean;
    at::Tensor gradient_x = gradient * along_channels(a, x);
    gradient_x.addcmul_(x, along_channels(b, x)).add_(along_channels(c, x));
    return {gradient_x, centred * inverse, sum, {}, {}, {}, {}, {}};
  }
};

}  // namespace

at::Tensor sync_batch_norm(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& bias,
                           at::Tensor mean, at::Tensor variance, double momentum, double epsilon,
                           Comm& comm) {
  return SyncBatchNorm::apply(x, scale, bias, mean, variance, momentum, epsilon,
                              reinterpret_cast<std::int64_t>(&comm));
}

}  // namespace octet::train
