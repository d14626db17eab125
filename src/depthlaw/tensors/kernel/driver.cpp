#include "driver.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <numeric>
#include <span>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace depthlaw {
namespace {

// A batch is cut into at most this many groups of panels. Each (student, group) has a partial gradient of its
// own, summed in order, so that bits depend neither on the number of threads nor on who did what when.
constexpr long GROUPS = 4;

// Students go through together as long as their partial gradients fit; many of them would fill the memory.
constexpr std::size_t PARTIAL_BYTES = 64u << 20;

// Runs body(worker, task) for all tasks; tasks are handed out in order. Threads are started for each call:
// some 20 microseconds each, nothing spins or sleeps between calls, and a forked process works.
template <class Body>
void parallel(int threads, long tasks, const Body &body) {
    std::atomic<long> next{0};
    const auto work = [&](int worker) {
        for (long task; (task = next.fetch_add(1)) < tasks;) body(worker, task);
    };
    struct Joined : std::vector<std::thread> {
        ~Joined() {
            for (auto &thread : *this) thread.join();
        }
    } others;
    try {
        for (int worker = 1; worker < std::min<long>(threads, tasks); ++worker) others.emplace_back(work, worker);
    } catch (const std::system_error &) {
        // The system gives no more threads: fewer do all tasks.
    }
    work(0);
}

// Memory that outlives the call: fetching fresh pages from the system costs milliseconds a step.
class Arena {
   public:
    Arena() {
        const std::lock_guard lock(mutex);
        if (!idle.empty()) {
            block = std::move(idle.back());
            idle.pop_back();
        }
    }
    ~Arena() {
        const std::lock_guard lock(mutex);
        idle.push_back(std::move(block));
    }
    Arena(const Arena &) = delete;
    Arena &operator=(const Arena &) = delete;

    template <class T>
    T *reserve(std::size_t count) {
        if (block.bytes < count * sizeof(T)) {
            block.data.reset();
            block.bytes = 0;
            block.data.reset(static_cast<std::byte *>(::operator new(count * sizeof(T), std::align_val_t{64})));
            block.bytes = count * sizeof(T);
        }
        return reinterpret_cast<T *>(block.data.get());
    }

   private:
    struct Free {
        void operator()(std::byte *p) const { ::operator delete(p, std::align_val_t{64}); }
    };
    struct Block {
        std::unique_ptr<std::byte, Free> data;
        std::size_t bytes = 0;
    };
    Block block;
    static inline std::mutex mutex;
    static inline std::vector<Block> idle;
};

// Elements, rounded up so that the next buffer is aligned as well.
std::size_t aligned(long count) { return (std::size_t(count) + 63) / 64 * 64; }

}  // namespace

std::vector<std::string> supported() {
    std::vector<std::string> names;
#ifdef DEPTHLAW_X86
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
        names.push_back("avx512");
    if (avx2) names.push_back("avx2");
#endif
    names.push_back("baseline");
    return names;
}

const KernelSet &kernels(const std::string &isa) {
    const auto names = supported();
    if (std::find(names.begin(), names.end(), isa) == names.end())
        throw std::invalid_argument("no kernel for instruction set " + isa);
#ifdef DEPTHLAW_X86
    if (isa == "avx512") return kernels_avx512;
    if (isa == "avx2") return kernels_avx2;
#endif
    return kernels_baseline;
}

template <>
const Kernels<float> &select<float>(const std::string &isa) {
    return kernels(isa).f32;
}
template <>
const Kernels<double> &select<double>(const std::string &isa) {
    return kernels(isa).f64;
}

template <class T>
void forward(const Kernels<T> &kernel, const Shape &shape, const Net<const T> &net, const T *x, long rows, T *out,
             int threads) {
    const long panels = (rows + kernel.panel - 1) / kernel.panel;
    threads = int(std::min<long>(threads, panels));
    const std::size_t size = aligned(kernel.workspace_size(shape, net));
    Arena arena;
    T *memory = arena.reserve<T>(size * std::size_t(threads));
    parallel(threads, panels, [&](int worker, long panel) {
        kernel.forward(shape, net, x, out, panel * kernel.panel, std::min(rows, (panel + 1) * kernel.panel),
                       memory + size * std::size_t(worker));
    });
}

// Students that go through together, and where their partial gradients lie.
template <class T>
struct Company {
    std::span<const Student<T>> students;
    std::vector<std::size_t> size, offset;  // of each student's partial; of its first one
    std::size_t total = 0;

    // As many of the students as fit, at least one.
    Company(const Kernels<T> &kernel, const Shape &shape, std::span<const Student<T>> all, std::size_t groups) {
        std::size_t count = 0;
        for (; count < all.size(); ++count) {
            const auto &student = all[count];
            const std::size_t one = student.grad.A ? aligned(kernel.partial_size(shape, student.net)) : 0;
            if (count > 0 && (total + one * groups) * sizeof(T) > PARTIAL_BYTES) break;
            size.push_back(one);
            offset.push_back(total);
            total += one * groups;
        }
        students = all.first(count);
    }

    // Deepest first: what is handed out last is short.
    std::vector<std::size_t> order() const {
        std::vector<std::size_t> order(students.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto stages = [&](std::size_t k) { return students[k].net.blocks * students[k].net.stages; };
        std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return stages(a) > stages(b); });
        return order;
    }
};

template <class T>
std::vector<double> train(const Kernels<T> &kernel, const Shape &shape, const std::vector<Student<T>> &students,
                          const Batch<T> &batch, int threads) {
    const long panels = (batch.rows + kernel.panel - 1) / kernel.panel;
    const std::size_t groups = std::size_t(std::min(GROUPS, panels));
    const auto group_begin = [&](std::size_t g) {
        return std::min(batch.rows, panels * long(g) / long(groups) * kernel.panel);
    };
    threads = int(std::min(std::size_t(threads), groups * students.size()));
    std::size_t workspace = 0;
    for (const auto &student : students)
        workspace = std::max(workspace, aligned(kernel.workspace_size(shape, student.net)));

    std::vector<double> losses;
    Arena arena;
    for (std::span<const Student<T>> rest = students; !rest.empty();) {
        const Company<T> company(kernel, shape, rest, groups);
        rest = rest.subspan(company.students.size());
        T *workspaces = arena.reserve<T>(workspace * std::size_t(threads) + company.total);
        T *partials = workspaces + workspace * std::size_t(threads);
        const auto partial = [&](std::size_t k, std::size_t g) {
            return company.size[k] ? partials + company.offset[k] + g * company.size[k] : nullptr;
        };

        const auto order = company.order();
        std::vector<double> shares(order.size() * groups);
        std::vector<std::atomic<std::size_t>> done(order.size());  // groups of each student
        parallel(threads, long(shares.size()), [&](int worker, long task) {
            const std::size_t k = order[std::size_t(task) / groups], g = std::size_t(task) % groups;
            const auto &[net, grad, objective] = company.students[k];
            shares[k * groups + g] =
                kernel.train(shape, net, objective, batch, group_begin(g), group_begin(g + 1), partial(k, g),
                             grad.head != nullptr, workspaces + workspace * std::size_t(worker));
            if (done[k].fetch_add(1) + 1 < groups || !grad.A) return;
            const T *sources[GROUPS];  // whoever comes last sums, in the order of the groups
            for (std::size_t from = 0; from < groups; ++from) sources[from] = partial(k, from);
            kernel.reduce(shape, grad, sources, int(groups));
        });
        for (std::size_t k = 0; k < order.size(); ++k) {
            losses.push_back(0);
            for (std::size_t g = 0; g < groups; ++g) losses.back() += shares[k * groups + g];
        }
    }
    return losses;
}

template <class T>
void adam(const Kernels<T> &kernel, const std::vector<Adam<T>> &entries, const std::vector<long> &sizes,
          int threads) {
    constexpr long PIECE = 1 << 16;
    struct Piece {
        std::size_t entry;
        long begin;
    };
    std::vector<Piece> pieces;
    for (std::size_t k = 0; k < entries.size(); ++k)
        for (long begin = 0; begin < sizes[k]; begin += PIECE) pieces.push_back({k, begin});
    parallel(threads, long(pieces.size()), [&](int, long task) {
        const auto [k, begin] = pieces[std::size_t(task)];
        kernel.adam(entries[k], begin, std::min(sizes[k], begin + PIECE));
    });
}

#define DEPTHLAW_INSTANTIATE(T)                                                                                  \
    template void forward<T>(const Kernels<T> &, const Shape &, const Net<const T> &, const T *, long, T *, int); \
    template std::vector<double> train<T>(const Kernels<T> &, const Shape &, const std::vector<Student<T>> &,     \
                                          const Batch<T> &, int);                                                 \
    template void adam<T>(const Kernels<T> &, const std::vector<Adam<T>> &, const std::vector<long> &, int);
DEPTHLAW_INSTANTIATE(float)
DEPTHLAW_INSTANTIATE(double)

}  // namespace depthlaw
