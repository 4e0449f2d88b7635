"""The site that ``make docs`` has built: it loads nothing from elsewhere, its links lead somewhere, it can be read on a phone.

The folder is named by ``VAULTWIRE_SITE``. ``VAULTWIRE_PICTURES=FOLDER`` keeps screenshots of what is looked at.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from support.chromium import CHROMIUM, WHY_NOT, Tab, open_tab

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason=WHY_NOT)
SITE = Path(os.environ["VAULTWIRE_SITE"])
PAGES = sorted(path.name for path in SITE.glob("*.html") if path.name != "404.html")
# What makes a browser load something; other links wait for a click.
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "srcset", "use": "href", "video": "src"}
LOADING_RELATIONS = {"stylesheet", "icon", "preload", "preconnect", "dns-prefetch", "modulepreload", "manifest"}
WIDTHS = (390, 1440)
# How the pages look differs by these: text, wide tables, code, diagrams, long lists of fields.
LOOKED_AT = ("index.html", "first-hour.html", "architecture.html", "policy.html", "tools.html", "command-line.html")


class Addresses(HTMLParser):
    """What a page loads, what it links to, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and LOADING_RELATIONS & set(values.get("rel", "").split()):
            self.loads.append(values["href"])
        elif tag in LOADING and LOADING[tag] in values:
            self.loads.append(values[LOADING[tag]])


@cache
def addresses(name: str) -> Addresses:
    return Addresses(SITE / name)


def styled(text: str) -> list[str]:
    """Return the addresses that a style loads."""
    return re.findall(r"url\(\s*[\"']?(?!data:|#)([^\"')]+)|@import\s+[\"']([^\"']+)", text)


def test_there_are_pages() -> None:
    assert len(PAGES) > 15
    assert all((SITE / name).stat().st_size for name in ("llms.txt", "llms-full.txt", "index.md", "search.json"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_loads_nothing_from_elsewhere(name: str) -> None:
    outside = [address for address in addresses(name).loads if urlsplit(address).netloc]
    assert outside == []
    assert [found for found in styled((SITE / name).read_text(encoding="utf-8")) if "//" in "".join(found)] == []


def test_no_style_and_no_picture_loads_anything_from_elsewhere() -> None:
    for path in [*SITE.rglob("*.css"), *SITE.rglob("*.svg")]:
        outside = [found for found in styled(path.read_text(encoding="utf-8")) if "//" in "".join(found)]
        assert outside == [], path


@pytest.mark.parametrize("name", PAGES)
def test_a_link_leads_to_a_file_and_an_anchor_that_exist(name: str) -> None:
    page = addresses(name)
    for address in {*page.links, *page.loads}:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (SITE / name).parent / unquote(parts.path) if parts.path else SITE / name
        target = target / "index.html" if target.is_dir() else target
        assert target.is_file(), address
        if parts.fragment and target.suffix == ".html" and not parts.fragment.startswith("__"):
            assert unquote(parts.fragment) in addresses(target.name).anchors, address


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with open_tab() as opened:
        yield opened


@pytest.fixture(autouse=True)
def _only_from_the_site(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "tab" in request.fixturenames:
        asked = request.getfixturevalue("tab").requested
        outside = [url for url in asked if not url.startswith((SITE.as_uri(), "about:", "data:", "blob:"))]
        assert asked
        assert outside == []


def go(tab: Tab, name: str, width: int = 1440) -> None:
    """Open a page and wait until its diagrams are drawn."""
    tab.resize(width, 900)
    tab.go((SITE / name).as_uri())
    tab.wait_for("!document.querySelector('pre.mermaid')")


@needs_chromium
@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_the_screen(tab: Tab, name: str) -> None:
    for width in WIDTHS:
        go(tab, name, width)
        tab.wait_for(f"document.documentElement.scrollWidth <= {width}")
        if name in LOOKED_AT:
            tab.shoot(f"site-{name.removesuffix('.html')}-{width}")


@needs_chromium
def test_the_search_finds_pages_where_no_web_server_runs(tab: Tab) -> None:
    go(tab, "index.html")
    tab.click(".md-search__button")
    box = "[...document.querySelectorAll('*')].find((e) => e.shadowRoot?.querySelector('input')).shadowRoot"
    tab.wait_for(f"{box}.activeElement.tagName === 'INPUT'")
    tab.type("policy")
    tab.wait_for(f"[...{box}.querySelectorAll('a')].some((a) => /policy\\.html/.test(a.href))")
    tab.shoot("site-search")


@needs_chromium
def test_the_button_copies_commands_without_the_prompt(tab: Tab) -> None:
    go(tab, "first-hour.html")
    tab.evaluate("document.execCommand = () => { window.copied = getSelection().toString(); return true; }")
    tab.evaluate("navigator.clipboard && (navigator.clipboard.writeText = async (text) => { window.copied = text; })")
    tab.wait_for("document.querySelector('[data-md-type=copy], .md-clipboard, .md-code__button')")
    tab.click("[data-md-type=copy], .md-clipboard, .md-code__button")
    tab.wait_for("window.copied || document.activeElement.value")
    assert tab.evaluate("window.copied || document.activeElement.value").startswith("vaultwire demo --keep")


@needs_chromium
@pytest.mark.parametrize("name", [name for name in PAGES if 'class="mermaid"' in (SITE / name).read_text("utf-8")])
def test_a_diagram_is_drawn(tab: Tab, name: str) -> None:
    go(tab, name)
    assert tab.evaluate("Math.min(...[...document.querySelectorAll('.mermaid')].map((e) => e.offsetHeight))") > 100
