"""Teachers, students and batches: distributions, correlation, and that streams depend on what they should."""

from __future__ import annotations

import numpy as np
import pytest

from depthlaw.lab.config import LabConfig, Student, Teacher
from depthlaw.lab.networks import draw_student, draw_teacher
from depthlaw.lab.streams import Batches, Purpose

CONFIG = LabConfig(teacher=Teacher(depth=64))


@pytest.mark.parametrize("rho", [0.0, 0.1, 0.5, 1.0])
def test_rho_is_the_correlation_of_two_blocks_weights_and_keeps_their_variance(rho: float) -> None:
    teacher = draw_teacher(CONFIG, 0, rho)
    A = teacher.A[:, 0].reshape(64, -1)
    assert A.var() == pytest.approx(1 / 32 / 3, rel=0.03)
    found = np.corrcoef(A)[np.triu_indices(64, 1)].mean()
    assert found == pytest.approx(rho, abs=0.02)
    assert teacher.B.var() == pytest.approx(1 / 128 / 3 / 64, rel=0.03)


def test_tied_teacher_repeats_its_first_block() -> None:
    teacher = draw_teacher(CONFIG, 0, 1.0)
    for array in (teacher.A, teacher.b, teacher.B):
        assert (array == array[:1]).all()


def test_teachers_bounds_are_those_of_the_paper() -> None:
    teacher = draw_teacher(LabConfig(loss="kl", head="learned"), 0, 0.0)
    for array, bound in ((teacher.A, 32**-0.5), (teacher.b, 32**-0.5), (teacher.B, 128**-0.5 * 128**-0.5)):
        assert np.abs(array).max() == pytest.approx(bound, rel=1e-3)
    assert teacher.head is not None
    assert np.abs(teacher.head).max() == pytest.approx(32**-0.5, rel=1e-2)


def test_fixed_head_is_normal_and_the_students() -> None:
    config = LabConfig(loss="kl", head="fixed")
    teacher = draw_teacher(config, 0, 1.0)
    student = draw_student(config, 0, 6, 1.0, teacher)
    assert teacher.head is not None
    assert teacher.head.std() == pytest.approx(32**-0.5, rel=0.05)
    assert np.array_equal(student.head, teacher.head)


def test_students_start_at_nothing() -> None:
    config = LabConfig(loss="kl", head="learned", student=Student(depths=(3,), order=2))
    student = draw_student(config, 0, 3, 1.0, draw_teacher(config, 0, 0.0))
    assert student.A.shape == (3, 2, 128, 32)
    assert student.b.shape == (3, 2, 128)
    assert student.B.shape == (3, 2, 32, 128)
    assert not student.B.any()
    assert not student.head.any()
    assert student.A.any()


def test_draws_depend_on_replicate_and_depth_and_temperature_alone() -> None:
    teacher = draw_teacher(CONFIG, 0, 0.0)
    other = LabConfig(teacher=Teacher(depth=64), student=Student(depths=(12, 3)), rho=(0.5,))
    same = draw_student(CONFIG, 0, 12, None, teacher)
    assert np.array_equal(same.A, draw_student(other, 0, 12, None, teacher).A)
    for replicate, depth, temperature in ((1, 12, None), (0, 12, 1.0), (0, 12, 0.5)):
        assert not np.array_equal(same.A, draw_student(CONFIG, replicate, depth, temperature, teacher).A)
    assert not np.array_equal(teacher.A, draw_teacher(CONFIG, 1, 0.0).A)


def test_any_batch_can_be_made_without_those_before() -> None:
    batches = Batches(0, 0, Purpose.TRAINING, (1024, 32))
    tenth = batches(10)
    again = Batches(0, 0, Purpose.TRAINING, (1024, 32))
    for step in (3, 11, 10):
        last = again(step)
    assert np.array_equal(tenth, last)
    assert tenth.dtype == np.float32
    assert tenth.mean() == pytest.approx(0, abs=0.02)
    assert tenth.std() == pytest.approx(1, abs=0.02)


def test_batches_differ_by_seed_replicate_purpose_step_and_part() -> None:
    shape = (64, 32)
    drawn = [
        Batches(0, 0, Purpose.TRAINING, shape)(1),
        Batches(0, 0, Purpose.TRAINING, shape)(2),
        Batches(0, 0, Purpose.TRAINING, shape)(1, 1),
        Batches(0, 0, Purpose.TEST, shape)(1),
        Batches(0, 1, Purpose.TRAINING, shape)(1),
        Batches(1, 0, Purpose.TRAINING, shape)(1),
    ]
    for i, one in enumerate(drawn):
        for other in drawn[:i]:
            assert np.isin(one, other).mean() < 0.01  # some of 2^24 values coincide
