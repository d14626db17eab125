// The kernels of one instruction set: compiled once for each, with DEPTHLAW_KERNELS naming the table.
//
// No library header is included and everything but the table is internal: an inline function that two
// instruction sets both emit would be merged by the linker, and the baseline could get AVX-512 code.
#include "abi.h"
#include "network.h"
#include "reduce.h"

namespace depthlaw {
namespace {

// Calls body with constants in the case of the paper, width 32 and hidden size 128, and with variables else.
template <class Body>
INLINE auto with_sizes(const Shape &shape, const Body &body) {
    if (shape.width == 32 && shape.hidden == 128) return body(Fixed<32, 128>{});
    return body(Any{shape.width, shape.hidden});
}

template <class T>
long workspace_size(const Shape &shape, const Net<const T> &net) {
    const Any d{shape.width, shape.hidden};
    return Layout<T, Any>{d, shape, net}.workspace_size();
}

template <class T>
long partial_size(const Shape &shape, const Net<const T> &net) {
    const Any d{shape.width, shape.hidden};
    return Layout<T, Any>{d, shape, net}.partial_size();
}

template <class T>
void forward(const Shape &shape, const Net<const T> &net, const T *x, T *out, long begin, long end, T *workspace) {
    with_sizes(shape, [&](auto d) {
        const Layout<T, decltype(d)> at{d, shape, net};
        for (long row = begin; row < end; row += N<T>) {
            Panel panel(at, workspace, row, row + N<T> < end ? row + N<T> : end);
            panel.forward(x, false);
            const T *state = panel.output().v;
            if (net.head) product(shape.classes, d.width, net.head, d.width, 1, state, panel.scratch);
            scatter(net.head ? panel.scratch : state, net.head ? shape.classes : d.width, row, panel.end, out);
        }
    });
}

template <class T>
double train(const Shape &shape, const Net<const T> &net, const Objective &objective, const Batch<T> &batch,
             long begin, long end, T *partial, bool head_grad, T *workspace) {
    return with_sizes(shape, [&](auto d) {
        const Layout<T, decltype(d)> at{d, shape, net};
        double loss = 0;
        for (long row = begin; row < end; row += N<T>) {
            Panel panel(at, workspace, row, row + N<T> < end ? row + N<T> : end);
            panel.forward(batch.x, partial != nullptr);
            loss += panel.loss(objective, batch, partial, head_grad, row == begin);
            if (partial) panel.backward(partial, row == begin);
        }
        return loss;
    });
}

double power(double base, long exponent) {
    double result = 1;
    for (; exponent > 0; exponent /= 2, base *= base)
        if (exponent % 2) result *= base;
    return result;
}

template <class T>
void adam(const Adam<T> &a, long begin, long end) {
    const T rate = T(a.lr / (1 - power(a.beta1, a.step))), eps = T(a.eps);
    const T correction = T(1 / root(1 - power(a.beta2, a.step)));
    const T beta1 = T(a.beta1), beta2 = T(a.beta2), rest1 = T(1 - a.beta1), rest2 = T(1 - a.beta2);
    T *__restrict param = a.param, *__restrict first = a.first, *__restrict second = a.second;
    const T *__restrict grad = a.grad;
    for (long k = begin; k < end; ++k) {
        const T g = grad[k];
        first[k] = beta1 * first[k] + rest1 * g;
        second[k] = beta2 * second[k] + rest2 * g * g;
        param[k] -= rate * first[k] / (root(second[k]) * correction + eps);
    }
}

double peak_flop(long rounds) {
    constexpr int CHAINS = 12;
    Vec<float> x[CHAINS], factor = splat(0.999f), term = splat(0.001f);
    for (int k = 0; k < CHAINS; ++k) x[k] = splat(float(k + 2));
    for (long round = 0; round < rounds; ++round) {
        for (int k = 0; k < CHAINS; ++k) x[k] = x[k] * factor + term;
    }
    float sum = 0;
    for (int k = 0; k < CHAINS; ++k) sum += x[k][0];
    volatile float sink = sum;
    (void)sink;
    return 2.0 * double(rounds) * CHAINS * W<float>;
}

template <class T>
constexpr Kernels<T> table{workspace_size<T>, partial_size<T>, forward<T>, train<T>, reduce<T>, adam<T>, N<T>};

}  // namespace

extern const KernelSet DEPTHLAW_KERNELS = {table<float>, table<double>, peak_flop};

}  // namespace depthlaw
