// Vectors of the compiler's vector extension: one source for every instruction set, no intrinsics.
#pragma once

#if defined(__AVX512F__)
#define VEC_BYTES 64
#elif defined(__AVX2__)
#define VEC_BYTES 32
#else
#define VEC_BYTES 16
#endif

#define INLINE inline __attribute__((always_inline))

namespace depthlaw {
namespace {

template <class T>
struct VecOf {
    typedef T type __attribute__((vector_size(VEC_BYTES), may_alias));
};
template <class T>
using Vec = typename VecOf<T>::type;

template <class T>
constexpr int W = VEC_BYTES / sizeof(T);  // lanes of a vector
constexpr int COLS = 2;                   // vectors side by side in one product
template <class T>
constexpr int PAIR = COLS *W<T>;  // and their lanes
template <class T>
constexpr int N = 128 / sizeof(T);  // samples of a panel, a multiple of PAIR: more spill from the nearest cache
#if VEC_BYTES == 64 || defined(__aarch64__)
constexpr int ROWS = 8;  // ROWS x COLS accumulators: 32 registers
#else
constexpr int ROWS = 4;  // 16 registers
#endif

template <class T>
INLINE Vec<T> load(const T *p) {
    return *reinterpret_cast<const Vec<T> *>(p);
}
template <class T>
INLINE void store(T *p, Vec<T> x) {
    *reinterpret_cast<Vec<T> *>(p) = x;
}
template <class T>
INLINE Vec<T> splat(T x) {
    return x - Vec<T>{};
}

INLINE float root(float x) { return __builtin_sqrtf(x); }
INLINE double root(double x) { return __builtin_sqrt(x); }
INLINE float logarithm(float x) { return __builtin_logf(x); }
INLINE double logarithm(double x) { return __builtin_log(x); }

// Interleaves the lower and the upper halves of a and b.
template <class V>
INLINE void zip(V a, V b, V &low, V &high) {
    constexpr int lanes = sizeof(V) / sizeof(a[0]);
    if constexpr (lanes == 2) {
        low = __builtin_shufflevector(a, b, 0, 2);
        high = __builtin_shufflevector(a, b, 1, 3);
    } else if constexpr (lanes == 4) {
        low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
        high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    } else if constexpr (lanes == 8) {
        low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    } else {
        low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        high = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    }
}

// log2(W) perfect shuffles transpose a square.
template <class V, int w>
INLINE void transpose_square(V (&x)[w]) {
    for (int round = 1; round < w; round *= 2) {
        V y[w];
        for (int k = 0; k < w / 2; ++k) zip(x[k], x[k + w / 2], y[2 * k], y[2 * k + 1]);
        for (int k = 0; k < w; ++k) x[k] = y[k];
    }
}

// Panel (rows, N) -> (N, stride), stride >= rows a multiple of W; columns from `rows` on are zero.
template <class T>
INLINE void transpose(const T *panel, int rows, T *out, int stride) {
    constexpr int w = W<T>;
    for (int row = 0; row < stride; row += w)
        for (int lane = 0; lane < N<T>; lane += w) {
            Vec<T> x[w];
            for (int k = 0; k < w; ++k)
                x[k] = row + k < rows ? load(panel + (row + k) * N<T> + lane) : Vec<T>{};
            transpose_square(x);
            for (int k = 0; k < w; ++k) store(out + (lane + k) * stride + row, x[k]);
        }
}

template <int Value>
struct Int {
    static constexpr int value = Value;
};

// Calls body(Int<R>, row) over [begin, end) with R = ROWS as long as it fits, then with smaller ones.
template <int R = ROWS, class Body>
INLINE void by_rows(int begin, int end, const Body &body) {
    for (; begin + R <= end; begin += R) body(Int<R>{}, begin);
    if constexpr (R > 1)
        if (begin < end) by_rows<R / 2>(begin, end, body);
}

// acc[r][c] += sum_k a[r * row + k * col] * b[k * ldb + c * W]: the one matrix product of the kernel.
template <class T, int R, int C>
INLINE void multiply_add(int count, const T *a, long row, long col, const T *b, long ldb, Vec<T> (&acc)[R][C]) {
    for (int k = 0; k < count; ++k) {
        Vec<T> x[C];
        for (int c = 0; c < C; ++c) x[c] = load(b + k * ldb + c * W<T>);
        for (int r = 0; r < R; ++r) {
            const Vec<T> scalar = splat(a[r * row + k * col]);
            for (int c = 0; c < C; ++c) acc[r][c] += scalar * x[c];
        }
    }
}

// e^x for x <= 0; NaN stays NaN, and what would underflow becomes about 1e-38 (1e-308).
template <class T>
INLINE Vec<T> exponential(Vec<T> x);

template <>
INLINE Vec<float> exponential<float>(Vec<float> x) {
    typedef int Bits __attribute__((vector_size(VEC_BYTES), may_alias));
    x = x < -87.0f ? splat(-87.0f) : x;
    const Vec<float> shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23: rounds, and holds n in its low bits
    const Vec<float> n = shifted - 12582912.0f;
    const Vec<float> r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Vec<float> sum = splat(1.0f / 5040);
    const float taylor[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
    for (float term : taylor) sum = sum * r + term;
    return sum * (Vec<float>)((((Bits)shifted) << 23) + (127 << 23));
}

template <>
INLINE Vec<double> exponential<double>(Vec<double> x) {
    typedef long long Bits __attribute__((vector_size(VEC_BYTES), may_alias));
    x = x < -708.0 ? splat(-708.0) : x;
    const Vec<double> shifted = x * 1.4426950408889634 + 6755399441055744.0;  // 1.5 * 2^52
    const Vec<double> n = shifted - 6755399441055744.0;
    const Vec<double> r = (x - n * 6.93145751953125e-1) - n * 1.42860682030941723212e-6;
    Vec<double> sum = splat(1.0 / 6227020800);
    const double taylor[] = {1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040,
                             1.0 / 720,       1.0 / 120,      1.0 / 24,      1.0 / 6,      0.5,         1.0,
                             1.0};
    for (double term : taylor) sum = sum * r + term;
    return sum * (Vec<double>)((((Bits)shifted) << 52) + (1023ll << 52));
}

}  // namespace
}  // namespace depthlaw
