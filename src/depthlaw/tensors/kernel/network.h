// A panel of samples through a whole network, forward and back.
#pragma once

#include "losses.h"

namespace depthlaw {
namespace {

// Sizes of one network and addresses inside the buffers that the driver hands over.
template <class T, class D>
struct Layout {
    const D &d;
    const Shape &shape;
    const Net<const T> &net;

    INLINE long panel() const { return long(d.width) * N<T>; }
    INLINE int stages() const { return net.blocks * net.stages; }
    INLINE long saved_size() const { return Saved<T>::size(d.width, d.hidden); }
    INLINE long scratch_size() const {
        const long back = Scratch<T>::size(d.width, d.hidden);
        const long loss = 2l * shape.classes * N<T> + N<T> * padded<T>(d.width);
        return back > loss ? back : loss;
    }
    // States h, one more of a midpoint block and dstate; saved stages, one more for the output's norm.
    INLINE long workspace_size() const { return 3 * panel() + (stages() + 1) * saved_size() + scratch_size(); }
    INLINE long partial_size() const {
        return stages() * Partial<T>::size(d.width, d.hidden) + long(shape.classes) * padded<T>(d.width);
    }
    INLINE const T *A(int s) const { return net.A + long(s) * d.hidden * d.width; }
    INLINE const T *b(int s) const { return net.b + long(s) * d.hidden; }
    INLINE const T *B(int s) const { return net.B + long(s) * d.hidden * d.width; }
    INLINE Partial<T> partial(T *memory, int s) const {
        return Partial<T>::at(memory + s * Partial<T>::size(d.width, d.hidden), d.width, d.hidden);
    }
    INLINE T *partial_head(T *memory) const { return memory + stages() * Partial<T>::size(d.width, d.hidden); }
};

template <class T, class D>
struct Panel {
    const Layout<T, D> &at;
    long begin, end;     // rows of the batch, at most N
    T *h, *half, *dout;  // (width, N)
    T *scratch, *saved_memory;

    INLINE Panel(const Layout<T, D> &at, T *memory, long begin, long end) : at(at), begin(begin), end(end) {
        h = memory;
        half = h + at.panel();
        dout = half + at.panel();
        scratch = dout + at.panel();
        saved_memory = scratch + at.scratch_size();
    }
    INLINE Saved<T> saved(int stage) const {
        return Saved<T>::at(saved_memory + stage * at.saved_size(), at.d.width);
    }
    // The output's norm, v: the normalised state.
    INLINE Saved<T> output() const { return saved(at.stages()); }

    // keep: save what the backward pass needs; otherwise every stage uses the first one's memory.
    INLINE void forward(const T *x, bool keep) {
        gather(x, at.d.width, begin, end, h);
        rms_norm(at.d.width, h, h, output().r);
        const auto f = [&](int s, const T *in, T factor, T *out) {
            Saved<T> save = saved(keep ? s : 0);
            if (!keep) save.p = nullptr;
            stage(at.d, at.A(s), at.b(s), at.B(s), in, h, factor, out, save, scratch);
        };
        for (int block = 0; block < at.net.blocks; ++block)
            if (at.net.stages == 1) {
                f(block, h, T(1), h);
            } else {
                f(2 * block, h, T(0.5), half);
                f(2 * block + 1, half, T(1), h);
            }
        rms_norm(at.d.width, h, output().v, output().r);
    }

    // Share of the loss; with partial, h becomes the derivative by the last state. fresh: partial is unset.
    INLINE double loss(const Objective &objective, const Batch<T> &batch, T *partial, bool head_grad, bool fresh) {
        const Saved<T> out = output();
        const double share =
            objective.divergence
                ? divergence(at.d.width, at.shape.classes, at.net.head, objective, out.v, batch, begin, end,
                             partial ? dout : nullptr, head_grad ? at.partial_head(partial) : nullptr, fresh, scratch)
                : squared_error(at.d.width, out.v, batch, begin, end, dout);
        if (partial) {
            for (long k = 0; k < at.panel(); ++k) h[k] = 0;
            rms_norm_back(at.d.width, out.v, out.r, dout, h);
        }
        return share;
    }

    // From the derivative in h back through all blocks.
    INLINE void backward(T *partial, bool fresh) {
        const auto room = Scratch<T>::at(scratch, at.d.width, at.d.hidden);
        const auto f = [&](int s, const T *dy, T *out) {
            stage_back(at.d, at.A(s), at.B(s), saved(s), dy, out, at.partial(partial, s), fresh, room);
        };
        for (int block = at.net.blocks - 1; block >= 0; --block) {
            if (at.net.stages == 1) {
                f(block, h, h);
                continue;
            }
            for (long k = 0; k < at.panel(); ++k) half[k] = 0;
            f(2 * block + 1, h, half);
            for (long k = 0; k < at.panel(); ++k) {
                h[k] += half[k];
                half[k] *= T(0.5);
            }
            f(2 * block, half, h);
        }
    }
};

}  // namespace
}  // namespace depthlaw
