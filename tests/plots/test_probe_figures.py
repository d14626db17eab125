from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from depthlaw.plots import probe as plots
from depthlaw.plots.style import figure, rendered
from depthlaw.plots.trajectories import draw_plane, draw_trajectories
from depthlaw.probe.family import family
from depthlaw.probe.trajectories import trajectories

LAYERS = 10


def curve(name="theta_state", layers=LAYERS, level=0.3):
    mean = np.full(layers, level)
    mean[[0, -1]] = 1.3
    return plots.LayerCurve(name, np.arange(layers), mean, 0.01 * mean, 0.8 * mean, 1.2 * mean)


def tokens(*, stop):
    rng = np.random.default_rng(0)
    theta = 0.3 + 0.02 * rng.standard_normal((900, LAYERS)) + 0.02 * rng.standard_normal((900, 1))
    first = np.arange(900) % 30 == 0
    if stop:
        theta[first, 1:-1] = 0.02 + 0.005 * rng.standard_normal((first.sum(), LAYERS - 2))
    theta[5, 2] = np.nan
    return trajectories(theta, document=np.arange(900) // 30, is_first=first)


@pytest.fixture
def ax():
    with figure() as (_, axes):
        yield axes[0]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_plane_shows_clusters_and_ideals(ax):
    found = tokens(stop=True)
    assert draw_plane(ax, found) is ax
    assert legend(ax) == ["others (97%)", "turn least (3.3%)", "ideal: stops", "ideal: even"]
    assert "of variance" in ax.get_xlabel()
    drawn = sum(len(line.get_xdata()) for line in ax.get_lines() if line.get_marker() == ".")
    assert drawn == 899  # the token with an angle that is not finite has no place


def test_plane_without_a_second_cluster(ax):
    draw_plane(ax, tokens(stop=False))
    assert legend(ax) == ["tokens (100%)", "ideal: stops", "ideal: even"]


def test_plane_needs_two_directions(ax):
    with pytest.raises(ValueError, match="one direction"):
        draw_plane(ax, trajectories(np.linspace(0.1, 0.2, 40)[:, None] * np.ones(5)))


def test_trajectories_of_the_clusters(ax):
    found = tokens(stop=True)
    draw_trajectories(ax, found)
    assert legend(ax) == ["ideal: stops", "ideal: even", "others", "turn least"]
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    np.testing.assert_allclose(lines["turn least"], found.early.mean)
    assert lines["ideal: stops"].tolist() == [np.pi / 2, *[0.0] * (LAYERS - 2), np.pi / 2]


def test_tokens_behind_the_means_and_the_normed_end(ax):
    found = tokens(stop=True)
    theta = np.full((900, LAYERS), 0.3)
    theta[5, 2] = np.nan
    draw_trajectories(ax, found, theta=theta, normed_last=1.7)
    faint = [line for line in ax.get_lines() if line.get_rasterized()]
    assert 60 < len(faint) <= 150
    # Of both clusters, and none that is not finite.
    assert len({line.get_color() for line in faint}) == 2
    assert all(np.isfinite(line.get_ydata()).all() for line in faint)
    assert legend(ax) == ["ideal: stops", "ideal: even", "others", "turn least", "normed"]
    assert ax.get_ylim()[1] > 1.7


def test_angles_stand_at_blocks_and_updates_between_them(ax):
    plots.draw_angles(ax, curve(), normed_last=1.5)
    assert ax.get_legend_handles_labels()[1] == ["5% to 95% of tokens", "normed", "mean"]
    with figure() as (_, other):
        plots.draw_angles(other[0], curve("theta_update", LAYERS - 1))
        line = next(line for line in other[0].get_lines() if len(line.get_xdata()) == LAYERS - 1)
        assert line.get_xdata()[0] == 1.5
        assert line.get_xdata()[-1] == LAYERS - 0.5
        assert other[0].get_xlim() == ax.get_xlim()


def test_a_model_at_a_glance(ax):
    plots.draw_glance(ax, curve(), curve("theta_update", LAYERS - 1, level=1.7))
    assert len(ax.patches) == LAYERS
    assert ax.get_ylim()[1] > 1.7
    with figure() as (_, other):
        plots.draw_glance(other[0], curve(), None)


def test_lens_names_the_models_own_loss(ax):
    plots.draw_lens(ax, curve("lens_ce", level=3.0))
    assert [text.get_text() for text in ax.texts] == ["the model: 1.30"]


def test_lens_beside_one_that_sees_later_tokens(ax):
    plots.draw_lens(ax, curve("lens_ce", level=3.0), unmasked=curve("paper_lens_ce", level=2.0))
    assert legend(ax) == ["last block sees later tokens", "mean ± s.e."]


def test_family_with_its_law(ax):
    made = {f"m{d}": np.r_[1.4, np.full(d - 2, 4 / d), 1.5] for d in (6, 12, 24)}
    plots.draw_family(ax, family(made))
    assert any(r"\ell^{-1.00}" in label for label in legend(ax))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_the_band_of_a_family_is_as_wide_as_the_interval_of_its_exponent(ax, level):
    made = {f"m{d}": np.r_[1.4, np.full(d - 2, f * 4 / d), 1.5] for d, f in ((6, 1), (12, 1.05), (24, 1))}
    found = family(made, level=level)
    plots.draw_family(ax, found)
    (band,) = (part for part in ax.collections if isinstance(part, PolyCollection))
    x, y = band.get_paths()[0].vertices.T
    heights = [np.ptp(np.log(y[x == end])) / 2 for end in (x.min(), np.unique(x)[50], x.max())]
    low, high = found.beta.interval
    # Far from the middle depth, where only the exponent matters, the band opens as its interval does.
    lever = np.log(x.max() / x.min()) / 2
    height_of_exponent = np.sqrt(heights[0] ** 2 - heights[1] ** 2)
    assert height_of_exponent / lever == pytest.approx((high - low) / 2, rel=0.02)


def test_similarity_leaves_undefined_pairs_grey(ax):
    matrix = np.eye(4)
    matrix[3] = np.nan
    plots.draw_similarity(ax, matrix, label="unbiased CKA")
    assert np.ma.count_masked(ax.images[0].get_array()) == 4


class Result:
    """Stands for a `ProbeResult`."""

    def layers(self, quantity, statistic="mean", tokens="all"):
        assert (quantity, tokens) == ("theta_state", "rest")
        return {"layer": np.arange(3.0), "q05": np.zeros(3), "q95": np.ones(3)}.get(
            statistic, np.full(3, 0.1)
        )


def test_curves_come_out_of_a_result():
    found = plots.layer_curve(Result(), "theta_state", "rest")
    assert found.layer.tolist() == [0, 1, 2]
    assert found.mean.tolist() == [0.1] * 3
    assert found.high.tolist() == [1, 1, 1]


def test_the_same_data_give_the_same_bytes(tmp_path: Path):
    def draw():
        with figure(2) as (made, axes):
            plots.draw_angles(axes[0], curve())
            draw_plane(axes[1], tokens(stop=True))
            return rendered(made, "probe")

    assert draw() == draw()
