#pragma once
#include "base/threads.h"
#include "graph/graph.h"
#include "quant/weights.h"

namespace octet::quant {

// Chooses for each weight of a layer whether it is rounded up or down, so that the layer's output changes
// least (the aim of AdaRound). The output's squared error is a quadratic function of the roundings, of which
// only the products of all pairs of inputs need to be known, summed over places of the output. It is brought
// down by flipping one rounding after the other for as long as a flip helps: no gradients, no learning rate,
// the same result each time.
class OutputRounding {
 public:
  // The bytes that one for this layer takes; 0: its kind of layer can't be rounded like this, or it is too
  // large.
  static std::size_t bytes(const Node& layer, const Shape& weight);

  OutputRounding(const Node& layer, Tensor weight, std::int64_t axis);

  // What the layer reads in the float model, and in the quantized one, for whose errors it is to make up (or
  // the same once more: for none). This will be called `calls` times in all. Another layer that shares the
  // weight may be added, too.
  void add(const Node& layer, const Tensor& exact, const Tensor& given, std::int64_t calls, ThreadPool& pool);
  // `shift_is_free`: what moves a whole channel will be taken out by its bias.
  void round(QuantizedWeight* weight, bool shift_is_free, ThreadPool& pool);

 private:
  // For each group a matrix, columns x columns: sums of products of two inputs, of the same place.
  void add_squares(const Tensor& rows,
                   ThreadPool& pool);  // above the diagonal alone, where there is one group
  void add_products(const Tensor& left, const Tensor& right, std::vector<float>* products, ThreadPool& pool);
  void centre(std::vector<float>* products, const std::vector<double>& left,
              const std::vector<double>& right) const;
  Tensor times(const Tensor& rows, const std::vector<float>& products, ThreadPool& pool) const;

  Tensor weight_;
  std::int64_t axis_;              // of the output channels
  std::int64_t groups_, columns_;  // columns: the inputs of a channel
  std::vector<float> squares_;     // of given inputs
  std::vector<float> missing_;     // of what is missing in the given inputs, with these; may be empty
  std::vector<double> sums_, missing_sums_;  // of the inputs of all groups
  std::int64_t count_ = 0;                   // of the places that were looked at
};

}  // namespace octet::quant
