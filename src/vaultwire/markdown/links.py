"""The parts of a link: linkpath, subpath and display text between ``[[`` and ``]]``, and the destination of a Markdown link.

``inline`` finds the links of a text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# At least two letters: ``C:`` is no protocol.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
# CommonMark 0.31 "Backslash escapes": ASCII punctuation only.
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_RESERVED = re.compile(r"[^A-Za-z0-9/._~-]")
_PERCENTS = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


class LinkText(NamedTuple):
    """``linkpath#subpath|display``; missing parts are empty."""

    linkpath: str
    subpath: str
    display: str


def parse_linktext(text: str) -> LinkText:
    """Return the parts of a link text, with or without brackets and the ``!`` of an embed.

    The display text is split off first, then the path ends at the first ``#`` (obsidian.d.ts ``parseLinktext``). Inside
    a table the bar is written ``\\|``.
    """
    target, display = split_display(unbracketed(text))
    linkpath, _, subpath = target.partition("#")
    return LinkText(linkpath.strip(), subpath.strip(), display)


def is_wikilink(text: str) -> bool:
    """Tell whether a text is written as a wikilink or an embed."""
    return text.strip().startswith(("[[", "![["))


def unbracketed(text: str) -> str:
    """Return the text without the brackets of a wikilink, and without the ``!`` of an embed, if it has them."""
    text = text.strip()
    return text.removeprefix("!")[2:-2] if is_wikilink(text) and text.endswith("]]") else text


def linkpath_written(text: str) -> str:
    """Return the linkpath of a text that is written as a wikilink; any other text as it is, without spaces around it."""
    return parse_linktext(text).linkpath if is_wikilink(text) else text.strip()


def split_display(text: str) -> tuple[str, str]:
    """Split ``linktext|display`` at its first bar, which a table writes ``\\|`` (engine facts §2.1)."""
    if "|" not in text:
        return text.strip(), ""
    target, _, display = text.replace("\\|", "|").partition("|")
    return target.strip(), display.strip()


def decoded_destination(destination: str) -> str:
    """Return the link text of a Markdown link's destination; empty if it leads out of the vault.

    Percent-encoded bytes are decoded as UTF-8 (engine facts §2.1); if they are not UTF-8, the text stays as written.
    """
    if _SCHEME.match(destination):
        return ""
    if "\\" in destination:
        destination = _ESCAPED.sub(r"\1", destination)
    if "%" not in destination:
        return destination.strip()
    try:
        return percent_decoded(destination).strip()
    except UnicodeDecodeError:
        return destination.strip()


def percent_decoded(text: str) -> str:
    """Return the text with percent-encoded bytes decoded as UTF-8. Raises UnicodeDecodeError."""
    return _PERCENTS.sub(lambda run: bytes.fromhex(run[0].replace("%", "")).decode(), text)


def percent_encoded(text: str) -> str:
    """Return the text with all percent-encoded but slashes and the characters that RFC 3986 §2.3 calls unreserved."""
    return _RESERVED.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), text)
