import numpy as np
import pytest

from depthlaw.errors import InputError, UsageError
from depthlaw.numerics.streaming import Covariance
from depthlaw.probe.principal import ideal_trajectories, principal_components
from depthlaw.probe.shares import share_of
from depthlaw.probe.trajectories import trajectories

LAYERS = 12


def tokens(n_documents=60, length=20, *, stop=True, seed=0):
    """Trajectories of even tokens, with first tokens of documents that stop in the middle."""
    rng = np.random.default_rng(seed)
    document = np.repeat(np.arange(n_documents), length)
    is_first = np.tile(np.arange(length) == 0, n_documents)
    level = (
        0.25 + 0.01 * rng.standard_normal(n_documents)[document] + 0.01 * rng.standard_normal(len(document))
    )
    theta = level[:, None] + 0.02 * rng.standard_normal((len(document), LAYERS))
    theta[:, [0, -1]] += 1.2
    if stop:
        theta[is_first, 1:-1] = 0.03 + 0.01 * rng.standard_normal((is_first.sum(), LAYERS - 2))
    return theta, document, is_first


def test_components_of_the_streamed_covariance_are_those_of_the_tokens():
    theta, *_ = tokens()
    pieces = [Covariance.of(part) for part in np.array_split(theta, 7)]
    streamed = pieces[0]
    for piece in pieces[1:]:
        streamed = streamed.merge(piece)
    found = principal_components(streamed)
    _, values, rows = np.linalg.svd(theta - theta.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(found.variance, values[:2] ** 2 / (len(theta) - 1), rtol=1e-10)
    np.testing.assert_allclose(np.abs(found.components @ rows[:2].T), np.eye(2), atol=1e-6)
    assert (found.components.max(axis=1) == np.abs(found.components).max(axis=1)).all()
    np.testing.assert_allclose(found.total, theta.var(axis=0, ddof=1).sum(), rtol=1e-10)
    np.testing.assert_allclose(found.project(theta).var(axis=0, ddof=1), found.variance, rtol=1e-10)


def test_directions_without_variance_are_left_out():
    theta = np.linspace(0, 1, 50)[:, None] * np.ones(LAYERS)
    assert principal_components(Covariance.of(theta)).components.shape == (1, LAYERS)
    with pytest.raises(InputError, match="two tokens"):
        principal_components(Covariance.of(theta[:1]))


def test_ideals():
    stops, even = ideal_trajectories(5, 0.45)
    assert stops.tolist() == [np.pi / 2, 0, 0, 0, np.pi / 2]
    assert even.tolist() == [np.pi / 2, 0.45, 0.45, 0.45, np.pi / 2]


def test_first_tokens_that_stop_are_found():
    theta, document, is_first = tokens()
    found = trajectories(theta, document=document, is_first=is_first)
    assert found.two
    assert found.early.share.value == pytest.approx(0.05, abs=1e-12)
    assert found.early.first == 1.0
    assert np.isnan(found.early.special)
    assert found.late.first == 0.0
    assert found.early.middle == pytest.approx(0.03, abs=0.005)
    assert found.late.middle == pytest.approx(0.25, abs=0.01)
    assert ((found.probability > 0.5) == is_first).all()
    assert [half.supported for half in found.halves] == [True, True]
    assert found.agreement == 1.0
    assert found.statement.startswith("Two clusters: 5.00% of the tokens (")
    # The early ones lie towards the ideal that stops.
    stop, even = (np.linalg.norm(found.points - ideal, axis=1) for ideal in (found.stops, found.even))
    assert (stop[is_first] < even[is_first]).mean() > 0.95
    assert (stop[~is_first] > even[~is_first]).all()


def test_without_them_the_data_do_not_support_a_second_cluster():
    supported = 0
    for seed in range(5):
        theta, document, is_first = tokens(40, stop=False, seed=seed)
        found = trajectories(theta, document=document, is_first=is_first)
        supported += found.two
    assert supported == 0
    assert found.early is None
    assert found.late.share.value == 1.0
    assert (found.probability == 0).all()
    assert np.isnan(found.agreement)
    assert "do not support a second cluster" in found.statement


def test_the_middle_of_the_even_ideal():
    theta, *_ = tokens()
    assert trajectories(theta, paper=True).even_middle == 0.45
    assert trajectories(theta).even_middle == pytest.approx(theta[:, 1:-1].mean())


def test_part_of_the_tokens_with_the_covariance_of_all():
    theta, document, _ = tokens()
    whole = Covariance.of(theta)
    found = trajectories(theta[::3], document=document[::3], covariance=whole)
    assert found.principal.n_tokens == len(theta)
    assert found.points.shape == (400, 4)


def test_angles_that_are_not_finite_are_left_out_and_counted():
    theta, document, is_first = tokens()
    theta[7, 3] = np.nan
    found = trajectories(theta, document=document, is_first=is_first)
    assert found.n_left_out == 1
    assert np.isnan(found.points[7]).all()
    assert np.isnan(found.probability[7])
    assert found.two


def test_the_same_input_gives_the_same_result():
    theta, document, _ = tokens()
    one, other = (trajectories(theta, document=document) for _ in range(2))
    np.testing.assert_array_equal(one.probability, other.probability)
    assert one.statement == other.statement


def test_one_document_has_no_halves():
    theta, document, _ = tokens()
    assert "of the documents shows it alone" in trajectories(theta, document=document).statement
    one = trajectories(theta, document=np.zeros(len(theta), dtype=int))
    assert one.two
    assert "alone" not in one.statement


def test_tokens_that_are_all_alike_are_one_cluster():
    found = trajectories(np.full((50, 5), 0.3))
    assert found.points.shape == (50, 0)
    assert found.late.middle == pytest.approx(0.3)
    assert "too few different points" in found.statement


def test_what_cannot_be_asked():
    with pytest.raises(InputError, match="finite angles at least, not 0"):
        trajectories(np.full((9, 4), np.nan), covariance=Covariance.of(np.eye(4)))
    with pytest.raises(UsageError, match="three layers"):
        trajectories(np.zeros((9, 2)))
    with pytest.raises(UsageError, match=r"is_first has shape \(3,\)"):
        trajectories(np.zeros((9, 4)), is_first=[True] * 3)


@pytest.mark.parametrize(("documents", "tokens"), [(3, 400), (10, 200), (80, 20)])
def test_intervals_of_shares_cover_over_documents(documents, tokens):
    rng, hits = np.random.default_rng(9), 0
    for _ in range(200):
        document = np.repeat(np.arange(documents), rng.integers(tokens // 4, 2 * tokens, size=documents))
        chance = rng.beta(0.4, 19.6, size=documents)  # a fiftieth on average
        share = share_of(rng.random(len(document)) < chance[document], document)
        hits += share.low <= 0.02 <= share.high
    assert 0.85 < hits / 200 <= 1.0


def test_shares_at_the_ends_have_no_interval():
    nobody = share_of([False] * 4, [0, 0, 1, 1])
    assert (nobody.value, nobody.count) == (0.0, 0)
    assert np.isnan([nobody.low, nobody.high]).all()
    assert np.isnan(share_of([True, False], [0, 0]).low)
