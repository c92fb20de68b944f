#pragma once
// What octet uses of libtorch: tensors, their operations and gradients. Slow to compile, so it is
// precompiled, and only this folder sees it.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>
