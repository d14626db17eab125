// Calls the kernels of the chosen instruction set from several threads. Baseline code.
#pragma once

#include <string>
#include <vector>

#include "abi.h"

namespace depthlaw {

// Names of the instruction sets that this processor has and the kernels are built for, best first.
std::vector<std::string> supported();

// Throws std::invalid_argument for a name that is not in supported().
const KernelSet &kernels(const std::string &isa);

template <class T>
const Kernels<T> &select(const std::string &isa);

template <class T>
void forward(const Kernels<T> &, const Shape &, const Net<const T> &, const T *x, long rows, T *out, int threads);

template <class T>
struct Student {
    Net<const T> net;
    Net<T> grad;  // null pointers: only the loss, or no gradient of the head
    Objective objective;
};

template <class T>
std::vector<double> train(const Kernels<T> &, const Shape &, const std::vector<Student<T>> &, const Batch<T> &,
                          int threads);

template <class T>
void adam(const Kernels<T> &, const std::vector<Adam<T>> &, const std::vector<long> &sizes, int threads);

}  // namespace depthlaw
