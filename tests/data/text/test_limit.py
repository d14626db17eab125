import pytest

from depthlaw.data.text.limit import Limit, parse_limit, read_more
from depthlaw.errors import UsageError


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("800", Limit(documents=800)),
        ("800 documents", Limit(documents=800)),
        ("1 document", Limit(documents=1)),
        ("4,800 docs", Limit(documents=4800)),
        ("50k tokens", Limit(tokens=50_000)),
        ("1.5M Tokens", Limit(tokens=1_500_000)),
        (" 2b tokens ", Limit(tokens=2 * 10**9)),
        ("5k", Limit(documents=5000)),
    ],
)
def test_limits_as_people_write_them(text, limit):
    assert parse_limit(text) == limit


@pytest.mark.parametrize("text", ["", "0", "-3", "1.5", "1.5 documents", "ten", "10 rows", "10 tokens more"])
def test_what_is_no_limit(text):
    with pytest.raises(UsageError, match="not understood"):
        parse_limit(text)


def test_reached():
    assert not Limit().reached(10**9, 10**12)
    assert Limit(documents=2).reached(2, 0)
    assert Limit(tokens=5).reached(0, 7)
    assert not Limit(tokens=5).reached(9, 4)


def test_more_than_the_limit_is_said():
    assert [notice.code for notice in read_more(Limit(tokens=10), 442)] == ["limit"]
    assert "442 tokens were read for a limit of 10" in read_more(Limit(tokens=10), 442)[0].message
    assert not read_more(Limit(tokens=400), 440)
    assert not read_more(Limit(documents=1), 442)
    assert not read_more(None, 442)
