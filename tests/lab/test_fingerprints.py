"""Fingerprints of networks that do what is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from depthlaw.lab.experiment import train_lab
from depthlaw.lab.fingerprints import Fingerprints, angle_laws, fingerprint, fingerprints
from depthlaw.lab.networks import Network, draw_teacher
from depthlaw.numerics.runge_kutta import RESIDUAL


def test_a_tied_teacher_flows_and_independent_blocks_wander(small) -> None:
    config = small(width=32, hidden=128)
    x = np.random.default_rng(0).standard_normal((256, 32)).astype(np.float32)
    tied, _ = fingerprint(draw_teacher(config, 0, 1.0), x, RESIDUAL)
    own, _ = fingerprint(draw_teacher(config, 0, 0.0), x, RESIDUAL)
    assert tied["theta_update"].mean() < 0.35
    assert own["theta_update"].mean() == pytest.approx(np.pi / 2, abs=0.1)
    assert tied["projection"][[0, -1]].tolist() == [0, 1]


def test_evenness_is_one_for_equal_steps_and_least_for_one() -> None:
    def network(sizes: list[float]) -> Network:
        depth = len(sizes)
        b = np.zeros((depth, 1, 8))
        b[:, 0, 0] = 1  # f(v) = B e_0 whatever v is
        B = np.zeros((depth, 1, 4, 8))
        B[:, 0, 1, 0] = sizes
        return Network(np.zeros((depth, 1, 8, 4)), b, B)

    x = np.random.default_rng(0).standard_normal((16, 4))
    means, summary = fingerprint(network([0.5] * 6), x, RESIDUAL)
    assert summary.evenness == pytest.approx(1)
    assert summary.middle_update_angle == pytest.approx(0, abs=1e-6)
    assert means["norm_update"] == pytest.approx(0.5)
    assert fingerprint(network([0, 0, 0, 1.0, 0, 0]), x, RESIDUAL)[1].evenness == pytest.approx(1 / 6)


def test_every_student_of_a_run_has_its_rows(small) -> None:
    result = train_lab(small(rho=(0.0, 1.0)))
    found = fingerprints(result.config, result.networks, samples=32)
    assert found.to_table().num_rows == 6
    layers = found.layers.to_pandas()
    assert len(layers) == 2 * sum(depth + 1 for depth in (2, 5, 3))
    deep = layers[(layers.rho == 0) & (layers.depth == 5)].sort_values("layer")
    assert deep.theta_state.notna().tolist() == [True] * 5 + [False]
    assert deep.theta_update.notna().sum() == 4
    assert deep.norm_state.notna().all()


def test_the_middle_angle_of_even_updates_falls_as_one_over_depth() -> None:
    students = [
        {"replica": r, "temperature": None, "rho": 0.0, "depth": d, "middle_angle": (0.4 + 0.1 * r) / d}
        for r in (0, 1)
        for d in (6, 12, 24)
    ]
    students.append({"replica": 0, "temperature": None, "rho": 0.0, "depth": 2, "middle_angle": None})
    table = pa.Table.from_pylist(students)
    (law,) = angle_laws(Fingerprints(table, table))
    assert law.alpha == pytest.approx(1)
    assert law.depths == 3
