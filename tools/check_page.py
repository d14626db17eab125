"""Look at pages of ``depthlaw report`` in a real browser: both themes, the widths of a desk and of a phone.

    python tools/check_page.py PAGE...

Checked: nothing on the console, no request to anywhere, every figure of the report.json beside the page
drawn, no sideways scrolling, no accessibility violation of impact serious or critical (axe-core), every
table a download with as many rows as it says. Prints a line a page and what is wrong; exits 1 if anything is.

Needs Playwright (``pip install playwright``), Chromium at $CHROMIUM and axe-core's script at $AXE.
``.ci/browser`` finds or installs all three.
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

THEMES = ("light", "dark")
WIDTHS = (1280, 390)
IMPACTS = ("serious", "critical")
# Chromium drops, without a word, what a page downloads beyond ten files a second.
DOWNLOAD_PAUSE = 150  # ms


def problems(browser: Browser, path: Path, axe: str) -> Iterator[str]:
    """Yield what is wrong with a page."""
    expected = json.loads(path.with_suffix(".json").read_bytes())
    figures = sum(len(section["figures"]) for kind in ("experiments", "runs") for section in expected[kind])
    for theme in THEMES:
        for width in WIDTHS:
            context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=theme)
            page, said = context.new_page(), []
            page.on("console", lambda message, said=said: said.append(f"console: {message.text}"))
            page.on("pageerror", lambda error, said=said: said.append(f"script: {error}"))
            page.on("request", lambda request, said=said: said.extend(_outside(request.url, path)))
            page.on("dialog", lambda dialog, said=said: (said.append("a script runs"), dialog.dismiss()))
            page.goto(path.as_uri())
            found = [*said, *_drawn(page, figures), *_overflow(page, width)]
            # Contrast depends on the theme and structure on the width: once each is enough of a slow check.
            if THEMES.index(theme) == WIDTHS.index(width):
                found += _violations(page, axe)
            yield from (f"{theme}, {width} px: {problem}" for problem in found)
            if (theme, width) == (THEMES[0], WIDTHS[0]):
                yield from _downloads(page)
            context.close()


def _outside(url: str, path: Path) -> list[str]:
    return [] if url.startswith("data:") or url == path.as_uri() else [f"asks for {url}"]


def _drawn(page: Page, figures: int) -> Iterator[str]:
    boxes = page.evaluate(
        """() => [...document.querySelectorAll("figure svg[role=img]")].map(svg => ({
            id: svg.closest("figure").id,
            name: document.getElementById(svg.getAttribute("aria-labelledby"))?.textContent.trim(),
            ink: Math.min(svg.getBBox().width, svg.getBBox().height),
            shown: Math.min(svg.getBoundingClientRect().width, svg.getBoundingClientRect().height),
            lost: [...svg.querySelectorAll("use")].filter(
                use => !document.getElementById(use.getAttribute("href").slice(1))
            ).length,
        }))"""
    )
    if len(boxes) != figures:
        yield f"{len(boxes)} figures, report.json has {figures}"
    for box in boxes:
        if min(box["ink"], box["shown"]) < 50 or box["lost"] or not box["name"]:
            yield f"figure {box['id']} is not drawn whole: {box}"
    doubled = page.evaluate(
        """() => { const ids = [...document.querySelectorAll("[id]")].map(e => e.id);
                   return ids.filter((id, i) => ids.indexOf(id) < i).slice(0, 3); }"""
    )
    if doubled:
        yield f"ids that stand twice: {', '.join(doubled)}"


def _overflow(page: Page, width: int) -> Iterator[str]:
    wide = page.evaluate("document.documentElement.scrollWidth")
    if wide > width:
        yield f"the page is {wide} px wide"


def _violations(page: Page, axe: str) -> Iterator[str]:
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")
    page.evaluate(axe)
    result: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    for violation in result["violations"]:
        if violation["impact"] in IMPACTS:
            yield f"{violation['id']}: {violation['help']} ({violation['nodes'][0]['html'][:120]})"


def _downloads(page: Page) -> Iterator[str]:
    for link in page.locator("a[download]").all():
        with page.expect_download() as download:
            link.click()
        name = download.value.suggested_filename
        said = int(link.locator("xpath=..").inner_text().removeprefix(name).split()[0])
        with open(download.value.path(), encoding="utf-8", newline="") as file:
            rows = len(list(csv.reader(file))) - 1
        if rows != said:
            yield f"{name} has {rows} rows, the page says {said}"
        page.wait_for_timeout(DOWNLOAD_PAUSE)


def main() -> int:
    """Check the pages that are named; 1 if anything is wrong with one."""
    axe = Path(os.environ["AXE"]).read_text(encoding="utf-8")
    wrong = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=os.environ["CHROMIUM"],
            args=["--no-sandbox"],  # Chromium refuses to run as root with one
        )
        for path in (Path(name).resolve() for name in sys.argv[1:]):
            found = list(problems(browser, path, axe))
            wrong += len(found)
            print(
                f"{path.name} of {path.parent.name}: {'; '.join(found) or 'fine in both themes and widths'}"
            )
        browser.close()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
