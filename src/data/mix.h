#pragma once
#include "base/random.h"
#include "data/batch.h"

namespace octet {

// How much of Beta(A, A) is drawn for; 0: not done. With both, a batch has the one or the other.
struct MixOptions {
  double mixup = 0;   // pictures become weighted means of two
  double cutmix = 0;  // a rectangle of another picture is put into each
};

// Mixes the pictures of a batch with each other: picture i with the picture whose turn a random order says.
// `shared` decides what is done and how much of it, `own` the order, so that processes do the same to
// different pictures. `labels` then has the class of the larger part, and `mixture` that of the rest.
void mix(Batch& batch, const MixOptions& options, Random shared, Random own);

// A number of Beta(a, a).
double draw_beta(double a, Random& random);

}  // namespace octet
