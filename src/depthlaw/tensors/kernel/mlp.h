// RMSNorm and one stage f(v) = B ReLU^2(A RMSNorm(v) + b) of a block, forward and back, on one panel.
// A panel is (rows, N): N samples side by side, one row per feature.
#pragma once

#include "abi.h"
#include "vec.h"

namespace depthlaw {
namespace {

// Width and hidden size, as constants for the case worth it.
template <int M, int H>
struct Fixed {
    static constexpr int width = M, hidden = H;
};
struct Any {
    int width, hidden;
};

template <class T>
constexpr int padded(int rows) {
    return (rows + W<T> - 1) / W<T> * W<T>;
}

// What the backward pass needs of a stage.
template <class T>
struct Saved {
    T *v;  // (width, N) RMSNorm of the stage's input
    T *r;  // (N,) 1 / root mean square
    T *p;  // (hidden, N) ReLU(A v + b); null when there is no backward pass

    static INLINE long size(int width, int hidden) { return long(width + hidden + 1) * N<T>; }
    static INLINE Saved at(T *memory, int width) {
        return {memory, memory + width * N<T>, memory + (width + 1) * N<T>};
    }
};

// Partial gradients of a stage, each (hidden, padded(width)) but b: (hidden, W), its lanes not yet summed.
// B is kept transposed, so that both matrices are products of (hidden, N) and (N, width).
template <class T>
struct Partial {
    T *A, *B, *b;

    static INLINE long size(int width, int hidden) { return long(hidden) * (2 * padded<T>(width) + W<T>); }
    static INLINE Partial at(T *memory, int width, int hidden) {
        const long matrix = long(hidden) * padded<T>(width);
        return {memory, memory + matrix, memory + 2 * matrix};
    }
};

// out (rows, N) = a b, a element (i, k) at a[i * row + k * col], b (count, N).
template <class T>
INLINE void product(int rows, int count, const T *a, long row, long col, const T *b, T *out) {
    for (int lane = 0; lane < N<T>; lane += PAIR<T>)
        by_rows(0, rows, [&](auto many, int i) {
            constexpr int R = decltype(many)::value;
            Vec<T> sum[R][COLS] = {};
            multiply_add(count, a + i * row, row, col, b + lane, N<T>, sum);
            for (int r = 0; r < R; ++r)
                for (int c = 0; c < COLS; ++c) store(out + long(i + r) * N<T> + lane + c * W<T>, sum[r][c]);
        });
}

template <class T>
INLINE void rms_norm(int width, const T *in, T *v, T *r) {
    const T eps = sizeof(T) == 4 ? T(__FLT_EPSILON__) : T(__DBL_EPSILON__);
    for (int lane = 0; lane < N<T>; lane += W<T>) {
        Vec<T> square{};
        for (int j = 0; j < width; ++j) {
            const Vec<T> x = load(in + j * N<T> + lane);
            square += x * x;
        }
        square = square / T(width) + eps;
        for (int k = 0; k < W<T>; ++k) r[lane + k] = T(1) / root(square[k]);
        const Vec<T> scale = load(r + lane);
        for (int j = 0; j < width; ++j) store(v + j * N<T> + lane, load(in + j * N<T> + lane) * scale);
    }
}

// out += J^T dv, J the Jacobian of v = RMSNorm(h).
template <class T>
INLINE void rms_norm_back(int width, const T *v, const T *r, const T *dv, T *out) {
    for (int lane = 0; lane < N<T>; lane += W<T>) {
        Vec<T> dot{};
        for (int j = 0; j < width; ++j) dot += load(v + j * N<T> + lane) * load(dv + j * N<T> + lane);
        dot = dot / T(width);
        const Vec<T> scale = load(r + lane);
        for (int j = 0; j < width; ++j) {
            T *target = out + j * N<T> + lane;
            store(target, load(target) + scale * (load(dv + j * N<T> + lane) - load(v + j * N<T> + lane) * dot));
        }
    }
}

// out = base + factor * f(in). z: scratch (hidden, PAIR). out may be in or base.
template <class T, class D>
INLINE void stage(const D &d, const T *A, const T *b, const T *B, const T *in, const T *base, T factor, T *out,
                  const Saved<T> &saved, T *z) {
    rms_norm(d.width, in, saved.v, saved.r);
    for (int lane = 0; lane < N<T>; lane += PAIR<T>) {
        by_rows(0, d.hidden, [&](auto rows, int i) {
            constexpr int R = decltype(rows)::value;
            Vec<T> u[R][COLS];
            for (int r = 0; r < R; ++r)
                for (int c = 0; c < COLS; ++c) u[r][c] = splat(b[i + r]);
            multiply_add(d.width, A + long(i) * d.width, d.width, 1, saved.v + lane, N<T>, u);
            for (int r = 0; r < R; ++r)
                for (int c = 0; c < COLS; ++c) {
                    const Vec<T> p = u[r][c] < T(0) ? Vec<T>{} : u[r][c];  // this way round NaN stays NaN
                    if (saved.p) store(saved.p + long(i + r) * N<T> + lane + c * W<T>, p);
                    store(z + long(i + r) * PAIR<T> + c * W<T>, p * p);
                }
        });
        by_rows(0, d.width, [&](auto rows, int j) {
            constexpr int R = decltype(rows)::value;
            Vec<T> sum[R][COLS] = {};
            multiply_add(d.hidden, B + long(j) * d.hidden, d.hidden, 1, z, PAIR<T>, sum);
            for (int r = 0; r < R; ++r)
                for (int c = 0; c < COLS; ++c) {
                    const long at = long(j + r) * N<T> + lane + c * W<T>;
                    store(out + at, load(base + at) + factor * sum[r][c]);
                }
        });
    }
}

// sum (rows, stride) += a (rows, N) b^T, b transposed (N, stride); overwrites when fresh.
template <class T, int R>
INLINE void add_outer(bool fresh, const T *a, const T *b, int stride, T *sum) {
    const auto columns = [&](auto cols, int at) {
        constexpr int C = decltype(cols)::value;
        Vec<T> acc[R][C] = {};
        if (!fresh)
            for (int r = 0; r < R; ++r)
                for (int c = 0; c < C; ++c) acc[r][c] = load(sum + r * stride + at + c * W<T>);
        multiply_add(N<T>, a, N<T>, 1, b + at, stride, acc);
        for (int r = 0; r < R; ++r)
            for (int c = 0; c < C; ++c) store(sum + r * stride + at + c * W<T>, acc[r][c]);
    };
    int at = 0;
    for (; at + COLS * W<T> <= stride; at += COLS * W<T>) columns(Int<COLS>{}, at);
    if (at < stride) columns(Int<1>{}, at);
}

// Scratch of the backward pass.
template <class T>
struct Scratch {
    T *z;       // (ROWS, N)
    T *du;      // (hidden, N)
    T *dv;      // (width, N)
    T *v, *dy;  // (N, padded(width)), transposed

    static INLINE long size(int width, int hidden) {
        return long(N<T>) * (ROWS + hidden + width + 2 * padded<T>(width));
    }
    static INLINE Scratch at(T *memory, int width, int hidden) {
        T *du = memory + ROWS * N<T>, *dv = du + hidden * N<T>, *v = dv + width * N<T>;
        return {memory, du, dv, v, v + padded<T>(width) * N<T>};
    }
};

// With dy = dloss/df(in): adds J^T dy to out (which may be dy) and the gradients of A, b, B to partial.
template <class T, class D>
INLINE void stage_back(const D &d, const T *A, const T *B, const Saved<T> &saved, const T *dy, T *out,
                       const Partial<T> &partial, bool fresh, const Scratch<T> &scratch) {
    const int stride = padded<T>(d.width);
    transpose(saved.v, d.width, scratch.v, stride);
    transpose(dy, d.width, scratch.dy, stride);
    by_rows(0, d.hidden, [&](auto rows, int i) {
        constexpr int R = decltype(rows)::value;
        T *du = scratch.du + long(i) * N<T>;
        for (int lane = 0; lane < N<T>; lane += PAIR<T>) {
            Vec<T> dz[R][COLS] = {};
            multiply_add(d.width, B + i, 1, d.hidden, dy + lane, N<T>, dz);
            for (int r = 0; r < R; ++r) {
                Vec<T> db = fresh && lane == 0 ? Vec<T>{} : load(partial.b + (i + r) * W<T>);
                for (int c = 0; c < COLS; ++c) {
                    const int at = r * N<T> + lane + c * W<T>;
                    const Vec<T> p = load(saved.p + long(i) * N<T> + at);
                    const Vec<T> x = (p + p) * dz[r][c];
                    db += x;
                    store(du + at, x);
                    store(scratch.z + at, p * p);
                }
                store(partial.b + (i + r) * W<T>, db);
            }
        }
        add_outer<T, R>(fresh, du, scratch.v, stride, partial.A + long(i) * stride);
        add_outer<T, R>(fresh, scratch.z, scratch.dy, stride, partial.B + long(i) * stride);
    });
    product(d.width, d.hidden, A, 1, d.width, scratch.du, scratch.dv);
    rms_norm_back(d.width, saved.v, saved.r, scratch.dv, out);
}

}  // namespace
}  // namespace depthlaw
