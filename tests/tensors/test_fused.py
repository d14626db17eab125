from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from depthlaw.errors import UsageError  # noqa: E402
from depthlaw.numerics.runge_kutta import MIDPOINT, RESIDUAL  # noqa: E402
from depthlaw.tensors import fused  # noqa: E402
from depthlaw.tensors.fused import Isa, Net  # noqa: E402
from depthlaw.tensors.residual_mlp import Weights, output  # noqa: E402

ISAS = fused.supported()
DTYPES = [np.float32, np.float64]
GRAD_TOLERANCE = {np.float32: 1e-5, np.float64: 1e-12}
NAMES = ("A", "b", "B", "head")

pytestmark = pytest.mark.skipif(
    not ISAS and not os.environ.get("DEPTHLAW_REQUIRE_FUSED"), reason=f"kernel {fused.available()}"
)


@pytest.fixture(autouse=True, scope="module")
def _one_torch_thread():
    """The references are small; threads of two libraries side by side only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def make_net(rng, dtype, blocks=5, stages=1, hidden=128, width=32, classes=None) -> Net:
    def uniform(*shape, fan_in):
        return (rng.uniform(-1, 1, shape) / fan_in**0.5).astype(dtype)

    return Net(
        uniform(blocks, stages, hidden, width, fan_in=width),
        uniform(blocks, stages, hidden, fan_in=width),
        uniform(blocks, stages, width, hidden, fan_in=hidden),
        None if classes is None else uniform(classes, width, fan_in=width),
    )


def like(net: Net, *, head: bool = True) -> Net:
    """Gradients to be overwritten: NaN everywhere."""
    arrays = {name: getattr(net, name) for name in NAMES}
    arrays["head"] = arrays["head"] if head else None
    return Net(**{name: None if a is None else np.full_like(a, np.nan) for name, a in arrays.items()})


def reference(net: Net, x, target, temperatures):
    """Loss and gradients by float64 autograd."""
    leaves = {
        name: torch.tensor(array, dtype=torch.float64, requires_grad=True)
        for name in NAMES
        if (array := getattr(net, name)) is not None
    }
    out = output(
        torch.tensor(x, dtype=torch.float64),
        Weights(**leaves, tableau=RESIDUAL if net.A.shape[1] == 1 else MIDPOINT),
    )
    goal = torch.tensor(target, dtype=torch.float64)
    if temperatures is None:
        loss = (out - goal).square().mean()
    else:
        log_p = torch.log_softmax(goal / temperatures[0], -1)
        log_q = torch.log_softmax(out / temperatures[1], -1)
        loss = (log_p.exp() * (log_p - log_q)).sum(-1).mean()
    loss.backward()
    return loss.item(), {name: leaf.grad.numpy() for name, leaf in leaves.items()}


def distance(found, wanted) -> float:
    return float(np.linalg.norm(found.astype(float) - wanted) / np.linalg.norm(wanted))


def check(rng, dtype, isa, *, batch, temperatures=None, learned=True, stages=1, **sizes) -> None:
    classes = sizes.pop("classes", 128)
    classes = classes if temperatures else None
    net = make_net(rng, dtype, stages=stages, classes=classes, **sizes)
    teacher = make_net(rng, dtype, classes=classes, **sizes)
    x = rng.standard_normal((batch, net.A.shape[3])).astype(dtype)
    target = fused.forward(teacher, x, isa=isa)
    grad = like(net, head=learned)
    pairs = [temperatures] if temperatures else None
    (loss,) = fused.loss_and_grad([net], x, target, [grad], temperatures=pairs, threads=2, isa=isa)
    wanted_loss, wanted = reference(net, x, target, temperatures)
    assert loss == pytest.approx(wanted_loss, rel=GRAD_TOLERANCE[dtype])
    assert fused.loss_and_grad([net], x, target, None, temperatures=pairs, isa=isa) == pytest.approx(
        [loss], rel=1e-6 if dtype == np.float32 else 1e-14
    )
    for name in NAMES:
        if getattr(grad, name) is not None:
            assert distance(getattr(grad, name), wanted[name]) <= GRAD_TOLERANCE[dtype], name


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
class TestGradients:
    @pytest.mark.parametrize("batch", [1, 7, 31, 33, 64, 257, 1000, 1024])
    def test_squared_error(self, dtype, isa, batch):
        check(np.random.default_rng(batch), dtype, isa, batch=batch)

    @pytest.mark.parametrize(
        ("batch", "temperatures", "learned"),
        [
            (1, (1.0, 1.0), True),
            (7, (0.1, 1.0), True),
            (64, (0.01, 1.0), True),
            (1000, (0.3, 1.0), True),
            (7, (0.01, 0.01), False),
            (1024, (1.0, 1.0), False),
        ],
    )
    def test_divergence(self, dtype, isa, batch, learned, temperatures):
        check(
            np.random.default_rng(batch), dtype, isa, batch=batch, learned=learned, temperatures=temperatures
        )

    @pytest.mark.parametrize("batch", [1, 7, 100])
    @pytest.mark.parametrize("temperatures", [None, (0.1, 1.0)])
    def test_midpoint(self, dtype, isa, batch, temperatures):
        check(np.random.default_rng(batch), dtype, isa, batch=batch, stages=2, temperatures=temperatures)

    @pytest.mark.parametrize("stages", [1, 2])
    @pytest.mark.parametrize("temperatures", [None, (0.5, 1.0)])
    @pytest.mark.parametrize(
        ("width", "hidden", "classes"), [(5, 3, 2), (19, 37, 13), (48, 96, 200), (64, 256, 9)]
    )
    def test_any_size(self, dtype, isa, width, hidden, classes, stages, temperatures):
        check(
            np.random.default_rng(width),
            dtype,
            isa,
            batch=70,
            stages=stages,
            temperatures=temperatures,
            width=width,
            hidden=hidden,
            classes=classes,
        )


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_forward(dtype, isa):
    rng = np.random.default_rng(1)
    for stages, classes, batch in [(1, None, 100), (2, None, 1), (1, 128, 65), (2, 7, 1000)]:
        net = make_net(rng, dtype, stages=stages, classes=classes)
        x = rng.standard_normal((batch, 32)).astype(dtype)
        weights = {name: torch.tensor(a).double() for name in NAMES if (a := getattr(net, name)) is not None}
        wanted = output(
            torch.tensor(x).double(), Weights(**weights, tableau=MIDPOINT if stages == 2 else RESIDUAL)
        )
        found = fused.forward(net, x, threads=2, isa=isa)
        assert found.dtype == dtype
        assert distance(found, wanted.numpy()) < (1e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("temperatures", [None, (0.1, 1.0)])
def test_same_bits_for_any_thread_count_and_company(isa, temperatures):
    rng = np.random.default_rng(2)
    classes = 128 if temperatures else None
    nets = [make_net(rng, np.float32, blocks=blocks, classes=classes) for blocks in (6, 3, 9)]
    x = rng.standard_normal((1000, 32)).astype(np.float32)
    target = fused.forward(make_net(rng, np.float32, classes=classes), x, isa=isa)

    def run(which, threads):
        grads = [like(nets[k]) for k in which]
        pairs = [temperatures] * len(which) if temperatures else None
        chosen = [nets[k] for k in which]
        losses = fused.loss_and_grad(chosen, x, target, grads, temperatures=pairs, threads=threads, isa=isa)
        flat = [a for grad in grads for name in NAMES if (a := getattr(grad, name)) is not None]
        return losses.tobytes(), b"".join(a.tobytes() for a in flat)

    first = run([0, 1, 2], 1)
    for threads in (1, 2, 3, 4, 64):
        assert run([0, 1, 2], threads) == first
        assert fused.forward(nets[0], x, threads=threads, isa=isa).tobytes() == (
            fused.forward(nets[0], x, threads=1, isa=isa).tobytes()
        )
    alone = [run([k], 2) for k in range(3)]
    assert (b"".join(loss for loss, _ in alone), b"".join(grads for _, grads in alone)) == first


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(
    ("temperatures", "where"),
    [(None, "x"), (None, "A"), (None, "b"), (None, "B"), ((0.1, 1.0), "A"), ((0.1, 1.0), "head")],
)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_shows_in_the_loss(isa, temperatures, where, value):
    rng = np.random.default_rng(3)
    net, healthy = (make_net(rng, np.float32, classes=128 if temperatures else None) for _ in range(2))
    x = rng.standard_normal((45, 32)).astype(np.float32)
    target = fused.forward(healthy, x, isa=isa)
    if where == "x":
        x[-1, 3] = value
    else:
        getattr(net, where).flat[0] = value
    pairs = [temperatures] * 2 if temperatures else None
    sick, well = fused.loss_and_grad(
        [net, healthy], x, target, [like(net), like(healthy)], temperatures=pairs, isa=isa
    )
    assert not np.isfinite(sick)
    assert np.isfinite(well) or where == "x"


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_adam_follows_torch(dtype, isa):
    rng = np.random.default_rng(4)
    sizes, lr = (100_003, 5), (1e-3, 2e-2)
    params, first, second = ([np.zeros(size, dtype) for size in sizes] for _ in range(3))
    ours = [torch.zeros(size, dtype=torch.float64, requires_grad=True) for size in sizes]
    peer = torch.optim.Adam([{"params": [p], "lr": rate} for p, rate in zip(ours, lr, strict=True)])
    for step in range(1, 21):
        scale = dtype(10.0 ** rng.integers(-6, 3))
        grads = [rng.standard_normal(size).astype(dtype) * scale for size in sizes]
        fused.adam(params, grads, first, second, step=step, lr=lr, threads=2, isa=isa)
        for p, grad in zip(ours, grads, strict=True):
            p.grad = torch.tensor(grad).double()
        peer.step()
    for found, wanted in zip(params, ours, strict=True):
        assert distance(found, wanted.detach().numpy()) < (1e-6 if dtype == np.float32 else 1e-14)


@pytest.mark.parametrize("isa", ISAS)
def test_many_students_in_one_call(isa):
    """More partial gradients than are held at once."""
    rng = np.random.default_rng(5)
    nets = [make_net(rng, np.float64, blocks=24) for _ in range(8)]
    x = rng.standard_normal((300, 32))
    target = fused.forward(nets[0], x, isa=isa)
    grads = [like(net) for net in nets]
    losses = fused.loss_and_grad(nets, x, target, grads, isa=isa)
    assert losses[0] == 0
    for k in (1, 7):
        grad = like(nets[k])
        assert fused.loss_and_grad([nets[k]], x, target, [grad], isa=isa)[0] == losses[k]
        assert np.array_equal(grad.A, grads[k].A)


class TestErrors:
    rng = np.random.default_rng(6)
    net = make_net(rng, np.float32)
    x = np.zeros((4, 32), np.float32)

    def test_shape(self):
        with pytest.raises(UsageError, match=r"x: shape \(4, 31\), expected \(any, 32\)"):
            fused.forward(self.net, self.x[:, :31])

    def test_empty(self):
        with pytest.raises(UsageError, match="x: shape"):
            fused.forward(self.net, self.x[:0])

    def test_dtype(self):
        with pytest.raises(UsageError, match="x: float64"):
            fused.forward(self.net, self.x.astype(float))
        half = Net(*(getattr(self.net, name).astype(np.float16) for name in ("A", "b", "B")))
        with pytest.raises(UsageError, match="float16"):
            fused.forward(half, self.x.astype(np.float16))

    def test_order(self):
        with pytest.raises(UsageError, match="not C-contiguous"):
            fused.forward(self.net, np.asfortranarray(self.x))

    def test_stages(self):
        with pytest.raises(UsageError, match="4 stages"):
            fused.forward(make_net(self.rng, np.float32, stages=4), self.x)

    def test_heads(self):
        with pytest.raises(UsageError, match=r"nets\[0\].head"):
            fused.loss_and_grad([self.net], self.x, np.zeros((4, 7), np.float32), None, temperatures=[(1, 1)])

    def test_temperatures(self):
        with pytest.raises(UsageError, match="2 pairs for 1"):
            fused.loss_and_grad([self.net], self.x, self.x, None, temperatures=[(1, 1)] * 2)

    def test_grads(self):
        wrong = Net(self.net.A, self.net.b[:1], self.net.B)
        with pytest.raises(UsageError, match=r"grads\[0\].b: shape"):
            fused.loss_and_grad([self.net], self.x, self.x, [wrong])

    def test_threads(self):
        with pytest.raises(UsageError, match="threads: 0"):
            fused.forward(self.net, self.x, threads=0)


@pytest.mark.parametrize("name", [*Isa, "sse9"])
def test_forced_instruction_set(name):
    code = "from depthlaw.tensors import fused; print(fused.available())"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "DEPTHLAW_ISA": name},
        capture_output=True,
        text=True,
        check=False,
    )
    if name in ISAS:
        assert run.stdout.strip() == name
    else:
        assert "UsageError: DEPTHLAW_ISA" in run.stderr
