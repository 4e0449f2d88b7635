"""What a rendered note may consist of: the elements, attributes and addresses of a tree. Pure.

A tree is JSON: a text, or ``[element, attributes, children]``. Whatever made a tree, ``only_allowed`` is its last step. The
page (``desk/page/glance/tree.js``) has the same list a second time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeAlias

from vaultwire.vault.disk.paths import is_base, is_note

Tree: TypeAlias = list[Any]
"""Nodes: texts and ``[element, attributes, children]``."""

_NAMES = """
    a blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr li mark ol p pre section span strong sub sup table tbody
    td th thead tr ul
"""
_CLASS_NAMES = """
    attachment block-math box changed callout callout-title embed footnote footnotes math missing note outside-picture
    properties rest tag task
"""
ELEMENTS = frozenset(_NAMES.split())
CLASSES = frozenset(_CLASS_NAMES.split())
MAX_NODES = 20_000
"""Of a tree: more would make the page slow. Texts count, too."""
MAX_DEPTH = 60
"""Of elements in each other: quotes and lists go 20 deep in a parsed note."""
REST = ["p", {"class": "rest"}, ["The rest of this note is not shown here: it is too large."]]

_MAX_ADDRESS = 4_000
# Browsers leave out tabs and line ends within an address, so an address with any control character is refused.
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\\]")
_OUTSIDE = re.compile(r"(?:https?://[^/]|mailto:)", re.IGNORECASE)
# Other actions, and other parameters of this one (append, prepend), write notes when such a link is opened; plugins add more.
_IN_APP = re.compile(r"obsidian://open/?\?(?:vault|file)=[^&#]*(?:&(?:vault|file)=[^&#]*)?\Z")
_NOTE = re.compile(r"#/[A-Za-z0-9%._~-]+/note/[A-Za-z0-9%._~/-]+(?:\?line=[0-9]{1,9})?\Z")
_BASE = re.compile(
    r"#/[A-Za-z0-9%._~-]+/base/[A-Za-z0-9%._~/-]+"
    r"(?:\?(?:view|block|this)=[A-Za-z0-9%._~-]+(?:&(?:view|block|this)=[A-Za-z0-9%._~-]+){0,2})?\Z"
)
_CALLOUT = re.compile(r"[a-z][a-z0-9-]{0,30}\Z")
_TEXT_ATTRIBUTES = frozenset(("title", "data-callout", "data-mark"))
_NUMBERS = frozenset(("start", "data-line"))


def is_allowed_address(address: object) -> bool:
    """Tell whether a link may lead to the address: http, https, mailto, a file in Obsidian, a note or base of this page."""
    if not isinstance(address, str) or len(address) > _MAX_ADDRESS or _UNSAFE.search(address):
        return False
    return any(allowed.match(address) for allowed in (_OUTSIDE, _IN_APP, _NOTE, _BASE))


def only_allowed(nodes: object) -> Tree:
    """Return the nodes without any element or attribute that is not in the list. Of an unknown element the children stay."""
    cleaner = _Cleaner()
    found = cleaner.clean(nodes, 0)
    if cleaner.is_cut:
        found.append([*REST])
    return found


class _Cleaner:
    def __init__(self) -> None:
        self.left = MAX_NODES
        self.is_cut = False

    def clean(self, nodes: object, depth: int) -> Tree:
        if not isinstance(nodes, list | tuple):
            return []
        found: Tree = []
        for node in nodes:
            if self.left <= 0 or depth > MAX_DEPTH:
                self.is_cut = True
                break
            self.left -= 1
            if isinstance(node, str):
                found.append(node)
            elif isinstance(node, Sequence) and len(node) == 3:  # noqa: PLR2004 - see the head
                self._element(node, depth, found)
        return found

    def _element(self, node: Sequence[Any], depth: int, found: Tree) -> None:
        name, attributes, children = node
        inner = self.clean(children, depth + 1)
        if not isinstance(name, str) or name not in ELEMENTS:
            found.extend(inner)
            return
        found.append([name, _attributes(name, attributes), inner])


def _attributes(name: str, given: object) -> dict[str, str | int]:
    if not isinstance(given, dict):
        return {}
    return {key: value for key, value in given.items() if _is_allowed(name, key, value)}


def _is_allowed(name: str, key: object, value: object) -> bool:
    if key == "href":
        return name == "a" and is_allowed_address(value)
    if key == "class":
        return isinstance(value, str) and value in CLASSES
    if key == "data-callout":
        return isinstance(value, str) and _CALLOUT.match(value) is not None
    if key in _NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return key in _TEXT_ATTRIBUTES and isinstance(value, str)


# Addresses on the page of the desk: of a note, a base, any file. Pure.
#
# ``desk/page/glance/shared.js`` makes the address of a note, too.

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-/")


def quoted(text: str) -> str:
    """Return a text as a part of an address, with ``/`` as it is."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def note_address(vault: str, path: str, line: int = 0) -> str:
    """Return the address of a note on the page."""
    return f"#/{_one_part(vault)}/note/{quoted(path)}{f'?line={line}' if line else ''}"


def base_address(vault: str, path: str, view: str = "", block: int = 0, this: str = "") -> str:
    """Return the address of a base on the page: of a ``.base`` file, or of a block of the note ``path``."""
    # The page decodes each part of an address before it knows of a view, so these values are quoted twice.
    given = (("view", view), ("block", str(block) if block else ""), ("this", this))
    query = "&".join(f"{name}={quoted(_one_part(value))}" for name, value in given if value)
    return f"#/{_one_part(vault)}/base/{quoted(path)}{f'?{query}' if query else ''}"


def file_address(vault: str, path: str, view: str = "", this: str = "") -> str:
    """Return the address of any file: of a note or base on the page, of others in the app. ``view``, ``this``: of a base."""
    if is_base(path):
        return base_address(vault, path, view, this=this)
    return note_address(vault, path) if is_note(path) else f"obsidian://open?vault={quoted(vault)}&file={quoted(path)}"


def _one_part(text: str) -> str:
    return quoted(text).replace("/", "%2F")
