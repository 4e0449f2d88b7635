"""What in a note's own text makes it private: a tag, or a property. Pure; who asks, and what follows, is decided elsewhere.

Where Obsidian's rules leave a doubt whether a word is a tag, it is one here: a note is rather hidden than shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from vaultwire.vault.disk.paths import fold, is_canvas, is_note

if TYPE_CHECKING:
    from vaultwire.markdown.yaml_core import PropertyValue

_CLOSING = re.compile(r"\n---[ \t]*+(?:\n|\Z)")

# What says "no" as a property's value; anything else that stands there says "yes".
_NO: tuple[PropertyValue, ...] = (None, False, 0, "", [], {}, "false", "no", "off", "0")


def may_say_so(path: str) -> bool:
    """Tell whether a file of this path can be private by what it says: notes, and canvases by their cards."""
    return is_note(path) or is_canvas(path)


class Privacy:
    """Tags and properties that make a note private; ``#a`` is there in ``#a/b``. Names are compared without case."""

    def __init__(self, tags: Iterable[str] = (), properties: Mapping[str, str | None] | None = None) -> None:
        """``properties``: the value that makes a note private, by the property's name; None for any but no, or none."""
        self._tags = frozenset(fold(tag.strip().removeprefix("#").strip("/")) for tag in tags)
        self._properties = {
            fold(name): None if value is None else fold(value) for name, value in (properties or {}).items()
        }
        self._names = (*self._properties, *self._tags)

    def dumped(self) -> str:
        """Return the same text for the same tags and properties."""
        return json.dumps([sorted(self._tags), self._properties])

    def covers(self, data: bytes) -> bool:
        """Tell whether a note of these bytes is private."""
        has_properties = data.startswith((b"---", b"\xef\xbb\xbf---"))
        if not has_properties and not (self._tags and b"#" in data):
            return False
        from vaultwire.vault.disk.plain import plain_text  # noqa: PLC0415 - a policy is read before the first answer

        text = plain_text(data)
        closing = _CLOSING.search(text, 3) if has_properties else None
        head = fold(text[: closing.start()] if closing else text) if has_properties else ""
        is_named = any(name in head for name in self._names)
        # The quick way for most notes. YAML can spell any character as an escape.
        if not is_named and "\\" not in head:
            if not self._tags:
                return False
            folded = fold(text)
            if "#" not in folded or not any(tag in folded for tag in self._tags):
                return False
        return self._covers_text(text, is_named=is_named)

    def covers_file(self, path: str, data: bytes) -> bool:
        """Tell whether a file of these bytes is private: a note, or a canvas with a card that would make a note so.

        Obsidian counts no tags in canvases; who writes a private tag there means it all the same.
        """
        if not is_canvas(path):
            return is_note(path) and self.covers(data)
        from vaultwire.markdown.canvas import cards  # noqa: PLC0415 - as below
        from vaultwire.vault.disk.plain import plain_text  # noqa: PLC0415

        return any(self.covers(card.encode()) for _, card in cards(plain_text(data)))

    def _covers_text(self, text: str, *, is_named: bool) -> bool:
        """Tell whether a text is private; ``is_named``: what stands before it mentions one of the names."""
        from vaultwire.markdown.parse import parse_note  # noqa: PLC0415 - as above
        from vaultwire.markdown.possible_tags import possible_tags  # noqa: PLC0415 - as above

        parsed = parse_note(text)
        broken = parsed.frontmatter.problems
        has_unread = len(parsed.problems) > len(broken)  # a note is looked into up to a bound
        if (is_named and broken) or (self._tags and has_unread):
            return True  # it may say so where nobody can tell
        for name, value in parsed.frontmatter.values.items():
            folded = fold(name)
            if folded in self._properties and _says(value, self._properties[folded]):
                return True
        return bool(self._tags) and any(self._covers_tag(fold(tag)) for tag in possible_tags(text, parsed))

    def _covers_tag(self, tag: str) -> bool:
        return tag in self._tags or any(tag.startswith(f"{own}/") for own in self._tags)


def _says(value: PropertyValue, wanted: str | None) -> bool:
    """Tell whether a property's value is the wanted one, or one of its values is; without one, whether it says yes."""
    if isinstance(value, list):
        return any(_says(each, wanted) for each in value)
    if wanted is None:
        return (fold(value.strip()) if isinstance(value, str) else value) not in _NO
    text = {True: "true", False: "false", None: ""}.get(value) if isinstance(value, bool | None) else str(value)
    return text is not None and fold(text.strip()) == wanted
