// The extension module depthlaw.tensors._fused. Arguments are checked in fused.py; here only their types.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <thread>

#include "driver.h"

namespace nb = nanobind;
using namespace depthlaw;

namespace {

template <class T>
using Array = nb::ndarray<T, nb::c_contig, nb::device::cpu>;
template <class T>
using NetArrays = std::tuple<Array<T>, Array<T>, Array<T>, std::optional<Array<T>>>;  // A, b, B, head

template <class T>
Net<T> view(const NetArrays<T> &net) {
    const auto &[A, b, B, head] = net;
    return {A.data(), b.data(), B.data(), head ? head->data() : nullptr, int(A.shape(0)), int(A.shape(1))};
}

template <class T>
void bind(nb::module_ &m) {
    m.def("forward", [](const NetArrays<const T> &net, Array<const T> x, Array<T> out, int threads,
                        const std::string &isa) {
        const auto &A = std::get<0>(net);
        const Shape shape{int(A.shape(3)), int(A.shape(2)), int(out.shape(1))};
        const auto viewed = view<const T>(net);
        const nb::gil_scoped_release release;
        forward<T>(select<T>(isa), shape, viewed, x.data(), long(x.shape(0)), out.data(), threads);
    });
    // temperatures: empty for the squared error, else (teacher, student) of each net.
    m.def("train", [](const std::vector<NetArrays<const T>> &nets, Array<const T> x, Array<const T> target,
                      const std::vector<NetArrays<T>> &grads,
                      const std::vector<std::tuple<double, double>> &temperatures, int threads,
                      const std::string &isa) {
        std::vector<Student<T>> students;
        for (std::size_t k = 0; k < nets.size(); ++k) {
            Student<T> student{view<const T>(nets[k]), {}, {false, 1, 1}};
            if (!grads.empty()) student.grad = view<T>(grads[k]);
            if (!temperatures.empty())
                student.objective = {true, std::get<0>(temperatures[k]), std::get<1>(temperatures[k])};
            students.push_back(student);
        }
        const auto &A = std::get<0>(nets.at(0));
        const int classes = temperatures.empty() ? 0 : int(target.shape(1));
        const Shape shape{int(A.shape(3)), int(A.shape(2)), classes};
        const Batch<T> batch{x.data(), target.data(), long(x.shape(0))};
        const nb::gil_scoped_release release;
        return train<T>(select<T>(isa), shape, students, batch, threads);
    });
    m.def("adam", [](const std::vector<std::tuple<Array<T>, Array<const T>, Array<T>, Array<T>, double>> &entries,
                     long step, double beta1, double beta2, double eps, int threads, const std::string &isa) {
        std::vector<Adam<T>> views;
        std::vector<long> sizes;
        for (const auto &[param, grad, first, second, lr] : entries) {
            views.push_back({param.data(), grad.data(), first.data(), second.data(), lr, beta1, beta2, eps, step});
            sizes.push_back(long(param.size()));
        }
        const nb::gil_scoped_release release;
        adam<T>(select<T>(isa), views, sizes, threads);
    });
}

// float32 multiply-adds in registers on all threads at once, in FLOP/s: what no program can exceed.
double peak_flops(int threads, const std::string &isa) {
    const auto run = kernels(isa).peak_flop;
    const nb::gil_scoped_release release;
    constexpr long ROUNDS = 2'000'000;
    std::vector<double> work(static_cast<std::size_t>(threads));
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> pool;
    for (auto &done : work) pool.emplace_back([&done, run] { done = run(ROUNDS); });
    for (auto &thread : pool) thread.join();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    double sum = 0;
    for (const double done : work) sum += done;
    return sum / seconds.count();
}

}  // namespace

NB_MODULE(_fused, m) {
    m.def("supported", &supported);
    m.def("peak_flops", &peak_flops);
    bind<float>(m);
    bind<double>(m);
}
