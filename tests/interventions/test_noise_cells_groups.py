import numpy as np
import pytest
import torch

from depthlaw.errors import UsageError
from depthlaw.interventions.cells import Cone, cone_of, window_of
from depthlaw.interventions.corruption import draw, spread
from depthlaw.interventions.effects import average_effects, role_of
from depthlaw.interventions.groups import find_groups, is_damaged
from depthlaw.interventions.noise import Noise, parse_noise


@pytest.mark.parametrize(
    ("text", "noise"),
    [
        ("s3", Noise("gaussian", 3.0, True)),
        ("0.1", Noise("gaussian", 0.1, False)),
        ("u3", Noise("uniform", 3.0, True)),
        ("s.5", Noise("gaussian", 0.5, True)),
        ("t", Noise("other", 0.0, False)),
    ],
)
def test_noise_is_read(text, noise):
    assert parse_noise(text) == noise


@pytest.mark.parametrize("text", ["", "3s", "s", "-1", "x2", "s0", "nan"])
def test_other_noise_is_refused(text):
    with pytest.raises(UsageError, match="noise"):
        parse_noise(text)


def test_draws_have_the_size_that_was_asked_for_and_a_seed():
    clean = torch.randn(40, 50, generator=torch.Generator().manual_seed(0)) * 0.2
    unit = spread([clean[:10], clean[10:]])
    assert unit == pytest.approx(float(clean.std()), rel=1e-6)
    gauss = draw(parse_noise("s3"), clean, unit, 20, 1, 0, []) - clean
    assert float(gauss.std()) == pytest.approx(3 * unit, rel=0.02)
    flat = draw(parse_noise("u3"), clean, unit, 20, 1, 0, []) - clean
    assert float(flat.abs().max()) == pytest.approx(3 * unit, rel=0.01)
    assert float(flat.std()) == pytest.approx(3 * unit / 3**0.5, rel=0.02)
    fixed = draw(parse_noise("0.7"), clean, unit, 20, 1, 0, []) - clean
    assert float(fixed.std()) == pytest.approx(0.7, rel=0.02)
    same, other = (draw(parse_noise("s3"), clean, unit, 20, seed, 0, []) for seed in (1, 2))
    assert torch.equal(same - clean, gauss)
    assert not torch.equal(other, same)
    # More draws begin with the same ones.
    assert torch.equal(draw(parse_noise("s3"), clean, unit, 5, 1, 0, []), same[:5])


def test_another_subject_is_cut_or_repeated():
    clean, short, long = torch.zeros(3, 2), torch.ones(1, 2), torch.arange(10.0).reshape(5, 2)
    drawn = draw(parse_noise("t"), clean, float("nan"), 4, 0, 0, [short, long])
    assert drawn.shape == (4, 3, 2)
    kinds = {tuple(d.flatten().tolist()) for d in drawn}
    assert kinds == {(1.0,) * 6, tuple(range(6))}
    with pytest.raises(UsageError, match="--other"):
        draw(parse_noise("t"), clean, float("nan"), 4, 0, 0, [])


@pytest.mark.parametrize(
    ("kind", "first", "last", "positions", "cone"),
    [
        # 6 blocks; subject at 2, 3; token 7 is read.
        ("block", 0, 0, [1], Cone.CORRUPTED),
        ("block", 0, 0, [8], Cone.CORRUPTED),
        ("block", 0, 0, [2], Cone.COMPUTE),
        ("block", 4, 4, [7], Cone.COMPUTE),
        ("block", 5, 5, [7], Cone.CLEAN),
        ("block", 5, 5, [6], Cone.CORRUPTED),
        ("block", 3, 5, [7], Cone.CLEAN),
        ("block", 4, 5, [6], Cone.COMPUTE),
        ("attention", 5, 5, [7], Cone.COMPUTE),
        ("mlp", 5, 5, [6], Cone.CORRUPTED),
        ("mlp", 0, 0, [0, 1], Cone.CORRUPTED),
        ("block", 0, 0, [1, 2], Cone.COMPUTE),
    ],
)
def test_the_causal_cone(kind, first, last, positions, cone):
    assert cone_of(kind, first, last, positions, 2, [7], 6) is cone


def test_windows_are_centred_and_cut_at_the_ends():
    assert [window_of(b, 1, 6) for b in (0, 5)] == [(0, 0), (5, 5)]
    assert [window_of(b, 3, 6) for b in (0, 3, 5)] == [(0, 1), (2, 4), (4, 5)]
    assert [window_of(b, 4, 6) for b in (0, 3)] == [(0, 2), (2, 5)]


def test_groups_of_a_made_map():
    effect = np.zeros((10, 3))
    effect[0:4, 0] = [0.2, 0.2, 0.3, 0.3]
    effect[6:10, 2] = [0.25, 0.1, 0.3, 0.4]
    effect[:, 1] = 0.05
    groups = find_groups(effect)
    found = [(g.token, g.first, g.last, g.low, g.high) for g in groups]
    assert found == [(0, 0, 3, 0.0, 0.4), (2, 6, 6, 0.6, 0.7), (2, 8, 9, 0.8, 1.0)]
    assert groups[0].mean == pytest.approx(0.25)
    assert groups[0].fluctuation == pytest.approx(np.std([0.2, 0.2, 0.3, 0.3], ddof=1) / 0.25)
    assert np.isnan(groups[1].fluctuation)
    assert groups[2].peak == 0.4
    assert find_groups(np.full((4, 2), -0.1)) == ()


@pytest.mark.parametrize(
    ("clean", "corrupted", "stderr", "damaged"),
    [
        (0.5, 0.2, 0.1, True),
        (0.5, 0.2, 0.2, False),
        (0.5, 0.2, float("nan"), True),
        (0.029, 0.046, 0.001, False),
        (4e-9, 1e-9, 1e-12, False),
    ],
)
def test_damage_is_a_hundredth_and_twice_its_error(clean, corrupted, stderr, damaged):
    assert is_damaged(clean, corrupted, stderr) is damaged


def test_roles_of_tokens():
    # <s> The Space Need le is in downtown
    roles = [role_of(token, (2, 5), 7) for token in range(8)]
    assert roles == [
        "before",
        "before",
        "first subject token",
        "middle subject tokens",
        "last subject token",
        "first token after",
        "further tokens",
        "last token",
    ]
    assert role_of(0, (0, 1), 3) == "last subject token"
    assert role_of(1, (0, 1), 1) == "last token"


def test_averages_over_prompts_with_intervals():
    maps = [np.array([[1.0, 2.0, 3.0]]), np.array([[2.0, 6.0, 5.0]]), np.array([[3.0, 4.0]])]
    found = average_effects(maps, [(0, 1), (0, 2), (0, 1)], [2, 2, 1])
    assert found.roles == (
        "first subject token",
        "last subject token",
        "first token after",
        "last token",
    )
    assert found.prompts.tolist() == [1, 3, 1, 3]
    assert found.mean[:, 0].tolist() == [2.0, 10 / 3, 2.0, 4.0]
    assert found.stderr[3, 0] == pytest.approx(1 / 3**0.5)
    assert found.half_width[3, 0] == pytest.approx(4.30265 / 3**0.5, rel=1e-5)
    assert np.isnan(found.stderr[0, 0])
