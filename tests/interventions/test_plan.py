import pytest
from hypothesis import given
from hypothesis import strategies as st

from depthlaw.errors import UsageError
from depthlaw.interventions.generators import expand_plans
from depthlaw.interventions.plan import Plan, parse_plan

DEPTH = 16


@pytest.mark.parametrize(
    ("text", "blocks", "echo"),
    [
        (
            "0-7,12,12,8-11,13-",
            [0, 1, 2, 3, 4, 5, 6, 7, 12, 12, 8, 9, 10, 11, 13, 14, 15],
            "0-7,12,12,8-11,13-15",
        ),
        ("0,1,1,2,3", [0, 1, 1, 2, 3], "0-1,1-3"),
        ("5-3", [5, 4, 3], "5-3"),
        (" -2 , 15 ", [0, 1, 2, 15], "0-2,15"),
        ("0", [0], "0"),
        ("3,(4-6),7,(1,2)", [3, 4, 5, 6, 7, 1, 2], "3,(4-6),7,(1-2)"),
    ],
)
def test_ranges_hold_both_ends(text, blocks, echo):
    plan = parse_plan(text, DEPTH)
    assert list(plan.executed) == blocks
    assert plan.text() == echo
    assert parse_plan(echo, DEPTH).steps == plan.steps


def test_the_listing_is_the_order_in_full():
    assert parse_plan("0-2,(4,5),2", DEPTH).listing() == "0 1 2 (4 5) 2"


@given(
    st.lists(st.lists(st.integers(0, DEPTH - 1), min_size=1, max_size=4).map(tuple), min_size=1, max_size=20)
)
def test_what_is_echoed_is_read_back(steps):
    plan = Plan("any", tuple(steps))
    assert parse_plan(plan.text(), DEPTH).steps == plan.steps


@pytest.mark.parametrize(
    "text", ["", ",", "0,,1", "-", "0-99", "16", "1.5", "a-b", "0,(1", "()", "0 1", "1--2"]
)
def test_what_cannot_be_meant_is_refused(text):
    with pytest.raises(UsageError, match="plan"):
        parse_plan(text, DEPTH)


def test_a_wrong_block_says_which_there_are():
    with pytest.raises(UsageError, match="no block 16; the network has blocks 0 … 15"):
        parse_plan("0-16", DEPTH)


@pytest.mark.parametrize(
    ("name", "orders"),
    [
        ("skip each", ["1-4", "0,2-4", "0-1,3-4", "0-2,4", "0-3"]),
        ("skip window 3", ["3-4", "0,4", "0-1"]),
        ("swap neighbours", ["1-0,2-4", "0,2-1,3-4", "0-1,3-2,4", "0-2,4-3"]),
        ("swap distance 3", ["3,1-2,0,4", "0,4,2-3,1"]),
        ("repeat each", ["0,0-4", "0-1,1-4", "0-2,2-4", "0-3,3-4", "0-4,4"]),
        ("reverse middle", ["0,3-1,4"]),
        ("parallel middle", ["0,(1-3),4"]),
    ],
)
def test_generators(name, orders):
    plans = expand_plans([name], 5)
    assert [plan.text() for plan in plans] == orders
    assert all(plan.kind == name.split()[0] for plan in plans)


def test_shuffles_are_seeded_and_keep_the_ends():
    plans = expand_plans(["shuffle middle --samples 4"], 12, seed=1)
    assert len(plans) == 4
    assert len({plan.steps for plan in plans}) == 4
    for plan in plans:
        assert (plan.executed[0], plan.executed[-1]) == (0, 11)
        assert sorted(plan.executed) == list(range(12))
    assert plans == expand_plans(["shuffle middle"], 12, samples=4, seed=1)
    assert plans != expand_plans(["shuffle middle"], 12, samples=4, seed=2)


def test_names_and_orders_mix():
    names = [plan.name for plan in expand_plans(["0-2,4-", "skip window 4", "reverse middle"], 5)]
    assert names == ["0-2,4-", "skip 0-3", "skip 1-4", "reverse middle"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("swap neighbor", "Did you mean swap neighbours"),
        ("skip window", "not found"),
        ("skip each 3", "not found"),
        ("skip window 5", "gives nothing"),
        ("drop all", "have: skip each"),
    ],
)
def test_unknown_names(name, words):
    with pytest.raises(UsageError) as caught:
        expand_plans([name], 5)
    assert words in str(caught.value)


def test_shared_prefix():
    assert parse_plan("0-5,7-", 9).shared == 6
    assert parse_plan("1-", 9).shared == 0
    assert parse_plan("0-", 9).shared == 9
    assert parse_plan("0-3", 9).shared == 4
    assert not parse_plan("0-3", 9).is_identity(9)
