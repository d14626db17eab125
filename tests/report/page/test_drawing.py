"""Only what draws comes out of an SVG file, under ids of its own."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from depthlaw.plots.style import figure, rendered
from depthlaw.report.page.drawing import drawing

HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 72 36">'
)


def drawn(inside: str) -> str:
    return drawing(f"{HEAD}{inside}</svg>".encode(), "p-").markup


def test_ids_and_references_get_the_prefix() -> None:
    markup = drawn(
        '<clipPath id="a"><rect width="1"/></clipPath><path id="b" d="M 0 0"/>'
        '<g clip-path="url(#a)" style="fill: url(#b); stroke: #000">'
        '<use xlink:href="#b"/><use href="#b"/></g>'
    )
    assert re.findall(r'id="([^"]*)"', markup) == ["p-a", "p-b"]
    assert 'clip-path="url(#p-a)"' in markup
    assert 'style="fill:url(#p-b);stroke:#000"' in markup
    assert markup.count('href="#p-b"') == 2


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        '<g onload="alert(1)" ONCLICK="alert(1)"/>',
        '<foreignObject><body xmlns="http://www.w3.org/1999/xhtml"><script>alert(1)</script></body></foreignObject>',
        '<a xlink:href="javascript:alert(1)"><rect/></a>',
        '<use href="https://example.org/alert.svg#x"/>',
        '<image href="https://example.org/alert.png"/>',
        '<image href="data:image/svg+xml;base64,alert"/>',
        '<image xlink:href="file:///alert"/>',
        "<style>* { background: url(https://example.org/alert) }</style>",
        '<rect style="fill: url(https://example.org/alert)"/>',
        '<rect style="fill: URL(alert)"/>',
        '<rect fill="url(//example.org/alert)"/>',
        '<rect style="background-image: image-set(&quot;alert&quot; 1x)"/>',
        '<animate attributeName="href" to="javascript:alert(1)"/>',
        '<set attributeName="onclick" to="alert(1)"/>',
        '<script xmlns="http://www.w3.org/1999/xhtml">alert(1)</script>',
        '<g class="badge alert"/>',
        "<!-- alert --><?alert?><metadata>alert</metadata><title>alert</title>",
        "<g>alert</g>alert",
    ],
)
def test_nothing_runs_and_nothing_is_fetched(inside: str) -> None:
    markup = drawn(f'<rect id="kept"/>{inside}')
    assert "alert" not in markup
    assert "p-kept" in markup


def test_hostile_words_stay_words() -> None:
    markup = drawn(
        '<text id="&quot;&gt;&lt;script&gt;">&lt;script&gt;alert(1)&lt;/script&gt;<tspan>x</tspan></text>'
    )
    root = ElementTree.fromstring(f"<svg>{markup}</svg>")
    assert [element.tag for element in root.iter()] == ["svg", "text", "tspan"]
    assert root[0].text == "<script>alert(1)</script>"


@pytest.mark.parametrize(
    ("svg", "said"),
    [
        (b"", "no XML"),
        (b"\x89PNG", "no XML"),
        (HEAD.encode(), "no XML"),
        (b"<html/>", "no viewBox"),
        (b'<html viewBox="0 0 1 1"/>', "no SVG"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "no viewBox"),
        (b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 nan 1"/>', "no SVG"),
        (b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 -5 1"/>', "no SVG"),
        (b'<!DOCTYPE svg [<!ENTITY a "aaaa">]><svg/>', "entities"),
    ],
)
def test_what_is_no_figure_is_refused(svg: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        drawing(svg, "p-")


def test_a_figure_of_ours_is_whole() -> None:
    with figure(2) as (made, axes):
        axes[0].plot([1, 2], [3, 4], "o-", label="$\\alpha$")
        axes[0].legend()
        axes[1].imshow([[1, 2], [3, 4]])
        svg = rendered(made, "x")["x.svg"]
    found = drawing(svg, "p-")
    for tag in ("path", "use", "image", "clipPath", "rect"):
        before = len(re.findall(rf"<{tag}\b", svg.decode()))
        assert before == len(re.findall(rf"<{tag}\b", found.markup)) > 0
    ids = set(re.findall(r'\bid="([^"]*)"', found.markup))
    used = re.findall(r'href="#([^"]*)"', found.markup) + re.findall(r"url\(#([^)]*)\)", found.markup)
    assert used
    assert set(used) <= ids
    assert (found.box, found.width, found.height) == (
        "0 0 446.4 194.4",
        pytest.approx(595.2),
        pytest.approx(259.2),
    )
