// What the driver and the kernels of each instruction set agree on: plain structs and function tables.
// No library header may be included here (see kernel.cpp).
#pragma once

namespace depthlaw {

// Sizes shared by all networks of a call.
struct Shape {
    int width, hidden, classes;
};

// Parameters, or their gradients, of one network; shapes as in fused.py. head may be null.
template <class T>
struct Net {
    T *A, *b, *B, *head;
    int blocks, stages;
};

// Mean squared error of normalised states, or KL(softmax(target / teacher) || softmax(logits / student)).
struct Objective {
    bool divergence;
    double teacher, student;
};

// Sample-major inputs and targets of the whole batch.
template <class T>
struct Batch {
    const T *x, *target;
    long rows;
};

template <class T>
struct Adam {
    T *param;
    const T *grad;
    T *first, *second;
    double lr, beta1, beta2, eps;
    long step;
};

// Sizes are counted in elements of T. Every buffer that a kernel gets is aligned to 64 bytes.
template <class T>
struct Kernels {
    long (*workspace_size)(const Shape &, const Net<const T> &);
    long (*partial_size)(const Shape &, const Net<const T> &);
    // Writes rows [begin, end) of out: (rows, width) states, or (rows, classes) logits with a head.
    void (*forward)(const Shape &, const Net<const T> &, const T *x, T *out, long begin, long end, T *workspace);
    // Returns the share of the loss that rows [begin, end) have, and overwrites partial (when not null)
    // with their share of the gradients, in the kernel's own layout.
    double (*train)(const Shape &, const Net<const T> &, const Objective &, const Batch<T> &, long begin,
                    long end, T *partial, bool head_grad, T *workspace);
    // Sums a network's partials, in the order given, into grad.
    void (*reduce)(const Shape &, const Net<T> &grad, const T *const *partials, int count);
    void (*adam)(const Adam<T> &, long begin, long end);
    int panel;  // samples carried together
};

struct KernelSet {
    Kernels<float> f32;
    Kernels<double> f64;
    // Sustained multiply-adds per call of an endless chain kept in registers: the machine's peak.
    double (*peak_flop)(long rounds);
};

extern const KernelSet kernels_baseline;
#ifdef DEPTHLAW_X86
extern const KernelSet kernels_avx2;
extern const KernelSet kernels_avx512;
#endif

}  // namespace depthlaw
