// Partial gradients of the groups of a batch, summed in order and put into the caller's layout.
#pragma once

#include "mlp.h"

namespace depthlaw {
namespace {

template <class T>
struct Groups {
    const T *const *partials;
    int count;

    INLINE Vec<T> sum(long at) const {
        Vec<T> total = load(partials[0] + at);
        for (int g = 1; g < count; ++g) total += load(partials[g] + at);
        return total;
    }
};

// First `count` lanes, to an address that need not be aligned.
template <class T>
INLINE void store_some(T *p, Vec<T> x, int count) {
    typedef T Unaligned __attribute__((vector_size(VEC_BYTES), may_alias, aligned(sizeof(T))));
    if (count >= W<T>)
        *reinterpret_cast<Unaligned *>(p) = x;
    else
        for (int k = 0; k < count; ++k) p[k] = x[k];
}

// Sum of (rows, padded(columns)) into (rows, columns).
template <class T>
void sum_matrix(const Groups<T> &groups, long offset, int rows, int columns, T *out) {
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; j += W<T>)
            store_some(out + long(i) * columns + j, groups.sum(offset + long(i) * padded<T>(columns) + j),
                       columns - j);
}

// Sum of (rows, padded(columns)) into its transpose (columns, rows).
template <class T>
void sum_transposed(const Groups<T> &groups, long offset, int rows, int columns, T *out) {
    constexpr int w = W<T>;
    for (int i = 0; i < rows; i += w)
        for (int j = 0; j < columns; j += w) {
            Vec<T> x[w];
            for (int k = 0; k < w; ++k)
                x[k] = i + k < rows ? groups.sum(offset + long(i + k) * padded<T>(columns) + j) : Vec<T>{};
            transpose_square(x);
            for (int k = 0; k < w && j + k < columns; ++k) store_some(out + long(j + k) * rows + i, x[k], rows - i);
        }
}

// Sum of (rows, W) into (rows,), the lanes in order.
template <class T>
void sum_lanes(const Groups<T> &groups, long offset, int rows, T *out) {
    for (int i = 0; i < rows; ++i) {
        const Vec<T> lanes = groups.sum(offset + long(i) * W<T>);
        T total = lanes[0];
        for (int k = 1; k < W<T>; ++k) total += lanes[k];
        out[i] = total;
    }
}

template <class T>
void reduce(const Shape &shape, const Net<T> &grad, const T *const *partials, int count) {
    const int m = shape.width, h = shape.hidden, stages = grad.blocks * grad.stages;
    const long matrix = long(h) * padded<T>(m), size = Partial<T>::size(m, h);
    const Groups<T> groups{partials, count};
    for (long s = 0; s < stages; ++s) {
        sum_matrix(groups, s * size, h, m, grad.A + s * h * m);
        sum_transposed(groups, s * size + matrix, h, m, grad.B + s * h * m);
        sum_lanes(groups, s * size + 2 * matrix, h, grad.b + s * h);
    }
    if (grad.head) sum_matrix(groups, stages * size, shape.classes, m, grad.head);
}

}  // namespace
}  // namespace depthlaw
