#pragma once

// Numbers alone: the sources of kernels/simd, which are compiled for each instruction set, must not bring
// functions with them.
namespace octet {

// The error function is x + x * p(x^2) below 1, with the first polynomial, and 1 - exp(p(x)) from there on,
// with the second, which falls without end. Fitted for the least largest error, the constant term first.
inline constexpr float kErfNear[] = {
    0.12837916612625122f,  -0.3761262595653534f,    0.11283600330352783f,   -0.026854444295167923f,
    0.005189535208046436f, -0.0008020839304663241f, 7.889113476267084e-05f,
};
inline constexpr float kErfFar[] = {
    -8.001241440069862e-06f, -1.1287336349487305f,   -0.6347427368164062f,    -0.10693139582872391f,
    0.02435893379151821f,    -0.003920997958630323f, 0.00039009147440083325f, -1.7819218555814587e-05f,
};

}  // namespace octet
