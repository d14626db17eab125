"""Figures for a page: of an SVG file only what draws is kept, under ids that no other figure has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"

TAGS = (
    *("svg", "g", "defs", "use", "image", "text", "tspan", "clipPath", "mask", "marker", "pattern"),
    *("path", "rect", "circle", "ellipse", "line", "polyline", "polygon"),
    *("linearGradient", "radialGradient", "stop"),
)
"""Elements that draw. Scripts, styles, links, animations and foreign content are left out."""

_PIXELS_PER_POINT = 4 / 3
_NAME = re.compile(r"[A-Za-z][\w:-]*")
_PLAIN = re.compile(r"[\w\s#.,%()+-]*")
_HERE = re.compile(r"url\(#([^)'\"\s]+)\)")
_PICTURE = re.compile(r"data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=\s]*")


@dataclass(frozen=True)
class Drawing:
    """A figure that can stand in a page.

    Attributes
    ----------
    markup
        The elements inside ``<svg>``: no script, no style sheet, nothing that is fetched.
    box
        Value of ``viewBox``.
    width, height
        Natural size in CSS pixels.
    """

    markup: str
    box: str
    width: float
    height: float


def drawing(svg: bytes, prefix: str) -> Drawing:
    """Take the drawing out of an SVG file.

    Parameters
    ----------
    svg
        The file, from anywhere.
    prefix
        Put before every id, and before every reference to one.

    Raises
    ------
    ValueError
        When the file is not an SVG image of a known size.
    """
    if b"<!ENTITY" in svg:
        raise ValueError("it declares entities")
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"it is no XML ({error})") from None
    box = re.split(r"[\s,]+", root.get("viewBox", "").strip())
    try:
        left, top, width, height = (float(value) for value in box)
    except ValueError:
        raise ValueError("it has no viewBox") from None
    if root.tag != f"{SVG}svg" or not (0 < width < 1e5 and 0 < height < 1e5):
        raise ValueError("it is no SVG image")
    parts = [_copied(child, prefix) for child in _kept(root)]
    return Drawing(
        "".join(ElementTree.tostring(part, encoding="unicode") for part in parts),
        f"{left:g} {top:g} {width:g} {height:g}",
        width * _PIXELS_PER_POINT,
        height * _PIXELS_PER_POINT,
    )


def _kept(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    # Comments have no text as their tag.
    return (child for child in element if str(child.tag).removeprefix(SVG) in TAGS and SVG in str(child.tag))


def _copied(element: ElementTree.Element, prefix: str) -> ElementTree.Element:
    name = element.tag.removeprefix(SVG)
    copy = ElementTree.Element(name, dict(_attributes(element, prefix)))
    if name in ("text", "tspan"):
        copy.text, copy.tail = element.text, element.tail if name == "tspan" else None
    copy.extend(_copied(child, prefix) for child in _kept(element))
    return copy


def _attributes(element: ElementTree.Element, prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in element.attrib.items():
        if name in ("href", LINK):
            if value.startswith("#"):
                yield "href", f"#{prefix}{value[1:]}"
            elif _PICTURE.fullmatch(value):
                yield "href", re.sub(r"\s", "", value)
        elif name == "id":
            yield "id", f"{prefix}{value}"
        elif name == "style":
            if style := ";".join(_declarations(value, prefix)):
                yield "style", style
        elif _NAME.fullmatch(name) and not name.lower().startswith("on") and name != "class":
            here = _HERE.sub(rf"url(#{prefix}\1)", value)
            if _harmless(here):
                yield name, re.sub(r"\s*\n\s*", " ", here).strip()


def _declarations(style: str, prefix: str) -> Iterator[str]:
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        here = _HERE.sub(rf"url(#{prefix}\1)", value)
        if re.fullmatch(r"[a-z-]+", name) and _harmless(here):
            yield f"{name}:{here}"


def _harmless(value: str) -> bool:
    """Whether a value holds nothing but words, numbers and references within the figure."""
    rest = _HERE.sub("", value)
    return _PLAIN.fullmatch(rest) is not None and "url(" not in rest.lower()
