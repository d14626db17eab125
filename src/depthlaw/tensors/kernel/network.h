// A tile (PANELS panels) through a whole network, forward and back. Each block's weights are used for all
// panels of the tile while they are in the nearest cache.
#pragma once

#include "losses.h"

namespace depthlaw {
namespace {

constexpr int TILE_BYTES = 256;  // samples of a tile, in bytes of one row
template <class T>
constexpr int PANELS = TILE_BYTES / (N<T> * int(sizeof(T)));
template <class T>
constexpr int TILE = PANELS<T> *N<T>;

// Addresses inside the buffers that the driver hands over.
template <class T, class D>
struct Layout {
    const D &d;
    const Shape &shape;
    const Net<const T> &net;

    INLINE long panel() const { return long(d.width) * N<T>; }
    INLINE int stages() const { return net.blocks * net.stages; }
    INLINE long saved_size() const { return Saved<T>::size(d.width, d.hidden); }
    INLINE long scratch_size() const {
        const long back = Scratch<T>::size(d.width, d.hidden), z = long(d.hidden) * N<T>;
        const long loss = 2l * shape.classes * N<T> + N<T> * padded<T>(d.width);
        return back > loss ? (back > z ? back : z) : (loss > z ? loss : z);
    }
    // Per panel: h and one more state for midpoint blocks; saved stages, one more for the output's norm.
    INLINE long workspace_size() const {
        return PANELS<T> * (2 * panel() + (stages() + 1) * saved_size()) + scratch_size() + panel();
    }
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
struct Tile {
    const Layout<T, D> &at;
    long begin, end;  // rows of the batch
    T *h, *middle;    // (PANELS, width, N)
    T *saved_memory;  // (stages + 1, PANELS, saved)
    T *scratch, *ds;

    INLINE Tile(const Layout<T, D> &at, T *memory, long begin, long end) : at(at), begin(begin), end(end) {
        h = memory;
        middle = h + PANELS<T> * at.panel();
        saved_memory = middle + PANELS<T> * at.panel();
        scratch = saved_memory + PANELS<T> * (at.stages() + 1) * at.saved_size();
        ds = scratch + at.scratch_size();
    }
    INLINE int panels() const { return int((end - begin + N<T> - 1) / N<T>); }
    INLINE Saved<T> saved(int stage, int panel) const {
        return Saved<T>::at(saved_memory + (long(stage) * PANELS<T> + panel) * at.saved_size(), at.d.width);
    }
    // The output's norm, v: the normalised state.
    INLINE Saved<T> output(int panel) const { return saved(at.stages(), panel); }

    // keep: save what the backward pass needs; otherwise every stage uses the first one's memory.
    INLINE void forward(const T *x, bool keep) {
        const D &d = at.d;
        for (int panel = 0; panel < panels(); ++panel) {
            T *state = h + panel * at.panel();
            gather(x, d.width, begin + panel * N<T>, end, state);
            rms_norm(d.width, state, state, output(panel).r);
        }
        for (int block = 0; block < at.net.blocks; ++block)
            for (int panel = 0; panel < panels(); ++panel) {
                T *state = h + panel * at.panel(), *half = middle + panel * at.panel();
                const auto f = [&](int s, const T *in, T factor, T *out) {
                    Saved<T> save = saved(keep ? s : 0, panel);
                    if (!keep) save.p = nullptr;
                    stage(d, at.A(s), at.b(s), at.B(s), in, state, factor, out, save, scratch);
                };
                if (at.net.stages == 1) {
                    f(block, state, T(1), state);
                } else {
                    f(2 * block, state, T(0.5), half);
                    f(2 * block + 1, half, T(1), state);
                }
            }
        for (int panel = 0; panel < panels(); ++panel)
            rms_norm(d.width, h + panel * at.panel(), output(panel).v, output(panel).r);
    }

    // Loss of the tile; with partial, h becomes its derivative by the last state.
    INLINE double loss(const Objective &objective, const Batch<T> &batch, T *partial, bool head_grad, bool fresh) {
        double sum = 0;
        for (int panel = 0; panel < panels(); ++panel) {
            const Saved<T> out = output(panel);
            const long row = begin + panel * N<T>;
            if (objective.divergence)
                sum += divergence(at.d, at.shape.classes, at.net.head, objective, out.v, batch, row, end,
                                  partial ? ds : nullptr, head_grad ? at.partial_head(partial) : nullptr,
                                  fresh && panel == 0, scratch);
            else
                sum += squared_error(at.d.width, out.v, batch, row, end, ds);
            if (!partial) continue;
            T *dh = h + panel * at.panel();
            for (long k = 0; k < at.panel(); ++k) dh[k] = 0;
            rms_norm_back(at.d.width, out.v, out.r, ds, dh);
        }
        return sum;
    }

    // From the derivative in h back through all blocks; fresh: the tile is the first of its partial.
    INLINE void backward(T *partial, bool fresh) {
        const Scratch<T> room = Scratch<T>::at(scratch, at.d.width, at.d.hidden);
        for (int block = at.net.blocks - 1; block >= 0; --block)
            for (int panel = 0; panel < panels(); ++panel) {
                T *dh = h + panel * at.panel(), *half = middle + panel * at.panel();
                const auto f = [&](int s, const T *dy, T *out) {
                    stage_back(at.d, at.A(s), at.B(s), saved(s, panel), dy, out, at.partial(partial, s),
                               fresh && panel == 0, room);
                };
                if (at.net.stages == 1) {
                    f(block, dh, dh);
                    continue;
                }
                for (long k = 0; k < at.panel(); ++k) half[k] = 0;
                f(2 * block + 1, dh, half);
                for (long k = 0; k < at.panel(); ++k) {
                    dh[k] += half[k];
                    half[k] *= T(0.5);
                }
                f(2 * block, half, dh);
            }
    }
};

}  // namespace
}  // namespace depthlaw
