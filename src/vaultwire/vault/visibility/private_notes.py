"""Which notes are private by their own text: by a tag or a property. Pure; the caller decides what follows from it.

Where it is doubtful by Obsidian's rules whether a word is a tag, it counts as one: a note is rather hidden than shown.
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

# The values of a property that mean "no". Any other value means "yes".
_NO: tuple[PropertyValue, ...] = (None, False, 0, "", [], {}, "false", "no", "off", "0")


def can_be_private(path: str) -> bool:
    """Tell whether a file of this path can be private by its text: notes can, and canvases by their cards."""
    return is_note(path) or is_canvas(path)


class PrivacyRules:
    """The tags and properties that make a note private. ``#a/b`` counts as ``#a``. Names are compared without case."""

    def __init__(self, tags: Iterable[str] = (), properties: Mapping[str, str | None] | None = None) -> None:
        """``properties``: by the property's name the value that makes a note private; None for any value that means "yes"."""
        self._tags = frozenset(fold(tag.strip().removeprefix("#").strip("/")) for tag in tags)
        self._properties = {
            fold(name): None if value is None else fold(value) for name, value in (properties or {}).items()
        }
        self._names = (*self._properties, *self._tags)

    def to_json(self) -> str:
        """Return the same text for the same tags and properties."""
        return json.dumps([sorted(self._tags), self._properties])

    def is_private_note(self, data: bytes) -> bool:
        """Tell whether a note of these bytes is private."""
        has_properties = data.startswith((b"---", b"\xef\xbb\xbf---"))
        if not has_properties and not (self._tags and b"#" in data):
            return False
        from vaultwire.vault.disk.contents import plain_text  # noqa: PLC0415 - a policy is read before the first answer

        text = plain_text(data)
        closing = _CLOSING.search(text, 3) if has_properties else None
        head = fold(text[: closing.start()] if closing else text) if has_properties else ""
        is_named = any(name in head for name in self._names)
        # Most notes mention no private name, and are not parsed: that saves about a millisecond for each note of the vault.
        # YAML can spell any character as an escape, so a backslash may hide a name.
        if not is_named and "\\" not in head:
            if not self._tags:
                return False
            folded = fold(text)
            if "#" not in folded or not any(tag in folded for tag in self._tags):
                return False
        return self._is_private_text(text, is_named=is_named)

    def is_private_file(self, path: str, data: bytes) -> bool:
        """Tell whether a file of these bytes is private: a note, or a canvas with a card that would make a note private.

        Obsidian does not count tags in canvases, but a person who writes a private tag there means it.
        """
        if not is_canvas(path):
            return is_note(path) and self.is_private_note(data)
        from vaultwire.markdown.canvas import cards  # noqa: PLC0415 - as below
        from vaultwire.vault.disk.contents import plain_text  # noqa: PLC0415

        return any(self.is_private_note(card.encode()) for _, card in cards(plain_text(data)))

    def _is_private_text(self, text: str, *, is_named: bool) -> bool:
        """Tell whether a text is private; ``is_named``: its frontmatter mentions one of the names."""
        from vaultwire.markdown.parse import parse_note  # noqa: PLC0415 - as above
        from vaultwire.markdown.tag_spans import tag_candidates  # noqa: PLC0415 - as above

        parsed = parse_note(text)
        broken = parsed.frontmatter.problems
        has_unread = len(parsed.problems) > len(broken)  # a note is parsed up to a bound
        if (is_named and broken) or (self._tags and has_unread):
            return True  # it may be private by a part that cannot be read
        for name, value in parsed.frontmatter.values.items():
            folded = fold(name)
            if folded in self._properties and _matches(value, self._properties[folded]):
                return True
        return bool(self._tags) and any(self._is_private_tag(fold(tag)) for tag in tag_candidates(text, parsed))

    def _is_private_tag(self, tag: str) -> bool:
        return tag in self._tags or any(tag.startswith(f"{own}/") for own in self._tags)


def _matches(value: PropertyValue, private_value: str | None) -> bool:
    """Tell whether a property's value, or one in its list, equals ``private_value``; for None, whether it means "yes"."""
    if isinstance(value, list):
        return any(_matches(each, private_value) for each in value)
    if private_value is None:
        return (fold(value.strip()) if isinstance(value, str) else value) not in _NO
    text = {True: "true", False: "false", None: ""}.get(value) if isinstance(value, bool | None) else str(value)
    return text is not None and fold(text.strip()) == private_value
