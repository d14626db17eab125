// The two losses on one panel of normalised states, with their derivatives.
#pragma once

#include "mlp.h"

namespace depthlaw {
namespace {

// Rows [begin, begin + N) of a sample-major array as a panel; beyond end the last row is repeated, so that
// spare lanes overflow only where a real one does.
template <class T>
INLINE void gather(const T *array, int columns, long begin, long end, T *panel) {
    for (int lane = 0; lane < N<T>; ++lane) {
        const T *row = array + (begin + lane < end ? begin + lane : end - 1) * columns;
        for (int j = 0; j < columns; ++j) panel[j * N<T> + lane] = row[j];
    }
}

template <class T>
INLINE void scatter(const T *panel, int columns, long begin, long end, T *array) {
    for (int lane = 0; lane < N<T> && begin + lane < end; ++lane)
        for (int j = 0; j < columns; ++j) array[(begin + lane) * columns + j] = panel[j * N<T> + lane];
}

// Sum over the real lanes, in double.
template <class T>
INLINE double lane_sum(const T *lanes, long begin, long end) {
    double sum = 0;
    for (int lane = 0; lane < N<T> && begin + lane < end; ++lane) sum += double(lanes[lane]);
    return sum;
}

// factor for real lanes, zero for spare ones.
template <class T>
INLINE void lane_weights(long begin, long end, T factor, T *weights) {
    for (int lane = 0; lane < N<T>; ++lane) weights[lane] = begin + lane < end ? factor : T(0);
}

// Squared error of the panel's states, its share of the batch mean; ds (width, N) its derivative.
template <class T>
INLINE double squared_error(int width, const T *state, const Batch<T> &batch, long begin, long end, T *ds) {
    alignas(64) T weights[N<T>], sums[N<T>];
    const double mean = 1.0 / (double(batch.rows) * width);
    lane_weights(begin, end, T(2 * mean), weights);
    gather(batch.target, width, begin, end, ds);
    for (int lane = 0; lane < N<T>; lane += W<T>) {
        Vec<T> sum{};
        for (int j = 0; j < width; ++j) {
            const Vec<T> error = load(state + j * N<T> + lane) - load(ds + j * N<T> + lane);
            sum += error * error;
            store(ds + j * N<T> + lane, load(weights + lane) * error);
        }
        store(sums + lane, sum);
    }
    return lane_sum(sums, begin, end) * mean;
}

// One vector of lanes: logits (classes, N) become ln softmax(logits / temperature).
template <class T>
INLINE void log_softmax(int classes, T temperature, T *logits) {
    const T scale = T(1) / temperature;
    Vec<T> top = load(logits);
    for (int i = 1; i < classes; ++i) {
        const Vec<T> x = load(logits + i * N<T>);
        top = x > top ? x : top;
    }
    Vec<T> sum{};
    for (int i = 0; i < classes; ++i) {
        const Vec<T> x = (load(logits + i * N<T>) - top) * scale;
        sum += exponential<T>(x);
        store(logits + i * N<T>, x);
    }
    alignas(64) T log_sum[W<T>];
    for (int k = 0; k < W<T>; ++k) log_sum[k] = logarithm(sum[k]);
    for (int i = 0; i < classes; ++i) store(logits + i * N<T>, load(logits + i * N<T>) - load(log_sum));
}

// Divergence of the panel, its share of the batch mean. ds (width, N): its derivative by the state; dhead
// (classes, padded(width)), may be null: the panel's gradient of the head is added (stored when fresh).
// scratch: 2 (classes, N) and (N, padded(width)).
template <class T>
INLINE double divergence(int width, int classes, const T *head, const Objective &objective, const T *state,
                         const Batch<T> &batch, long begin, long end, T *ds, T *dhead, bool fresh, T *scratch) {
    T *logits = scratch, *teacher = scratch + long(classes) * N<T>, *transposed = teacher + long(classes) * N<T>;
    alignas(64) T weights[N<T>], sums[N<T>];
    const double mean = 1.0 / double(batch.rows);
    lane_weights(begin, end, T(mean / objective.student), weights);
    product(classes, width, head, width, 1, state, logits);
    gather(batch.target, classes, begin, end, teacher);
    for (int lane = 0; lane < N<T>; lane += W<T>) {
        log_softmax(classes, T(objective.student), logits + lane);
        log_softmax(classes, T(objective.teacher), teacher + lane);
        Vec<T> sum{};
        for (int i = 0; i < classes; ++i) {
            const Vec<T> log_q = load(logits + i * N<T> + lane), log_p = load(teacher + i * N<T> + lane);
            const Vec<T> p = exponential<T>(log_p);
            sum += p * (log_p - log_q);
            store(logits + i * N<T> + lane, (exponential<T>(log_q) - p) * load(weights + lane));
        }
        store(sums + lane, sum);
    }
    if (dhead) {
        const int stride = padded<T>(width);
        transpose(state, width, transposed, stride);
        by_rows(0, classes, [&](auto rows, int i) {
            constexpr int R = decltype(rows)::value;
            add_outer<T, R>(fresh, logits + long(i) * N<T>, transposed, stride, dhead + long(i) * stride);
        });
    }
    if (ds) product(width, classes, head, 1, width, logits, ds);
    return lane_sum(sums, begin, end) * mean;
}

}  // namespace
}  // namespace depthlaw
