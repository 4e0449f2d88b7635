"""Link text: what stands between ``[[`` and ``]]``, taken apart."""

from __future__ import annotations

from typing import NamedTuple


class LinkText(NamedTuple):
    """``linkpath#subpath|display``; the parts that are not there are empty."""

    linkpath: str
    subpath: str
    display: str


def parse_linktext(text: str) -> LinkText:
    """Take link text apart, brackets and the ``!`` of an embed allowed.

    The display text is split off first, then the path ends at the first ``#`` (obsidian.d.ts ``parseLinktext``). Inside
    a table the bar is written ``\\|``.
    """
    text = text.strip()
    text = text.removeprefix("!")
    if text.startswith("[[") and text.endswith("]]"):
        text = text[2:-2]
    target, _, display = text.replace("\\|", "|").partition("|")
    linkpath, _, subpath = target.partition("#")
    return LinkText(linkpath.strip(), subpath.strip(), display.strip())
