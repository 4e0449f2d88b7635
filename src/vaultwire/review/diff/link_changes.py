"""The links that changed, in words: where each leads now, and where it led before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

from vaultwire.markdown.diffs import differences
from vaultwire.markdown.inline import read_inline
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.review.diff.characters import visible
from vaultwire.review.diff.words import LineKind

Resolve: TypeAlias = Callable[[str, str], str | None]
"""Where a link leads: its linktext and the path of the note that has it → the path of a file, None if it leads nowhere."""

# Entries, and lines with links that are read: a person reads the first few.
_MOST_LINKS = 200
_MOST_LINES = 4_000
_MAX_LINE = 20_000
# The parser of notes returns only links within the vault.
_ADDRESS = compile_pattern(r"\[([^\[\]]*+)\]\([ \t]*+<?([A-Za-z][A-Za-z0-9+.-]{1,30}:[^\s()<>]++)")


class _Link(NamedTuple):
    """A link of a line, from 0, with what a reader sees of it."""

    place: int
    linktext: str
    display: str
    is_embed: bool
    is_address: bool = False  # leads out of the vault

    @property
    def shown(self) -> str:
        is_size = self.is_embed and self.display.replace("x", "").isdecimal()  # of a picture
        return self.linktext if is_size or not self.display else self.display


class Side(NamedTuple):
    """One side of a file: the path it has there, its lines and their kinds."""

    path: str
    lines: list[str]
    kinds: list[LineKind]


class LinkChanges:
    """Finds the links that changed in the hunks of a file, up to a bound."""

    def __init__(self, old: Side, new: Side, resolve: Resolve | None, *, is_new: bool) -> None:
        self._old, self._new = old, new
        self._resolve = resolve
        self._is_new = is_new
        self._lines_left = _MOST_LINES
        self.found: list[dict[str, Any]] = []

    def add(self, old_places: range, new_places: range) -> None:
        """Add the links that differ between removed and added lines."""
        if len(self.found) >= _MOST_LINKS or self._lines_left <= 0:
            return
        old = list(self._links(self._old, old_places))
        new = list(self._links(self._new, new_places))
        if not old and not new:
            return
        found = differences([_key(link) for link in old], [_key(link) for link in new], 20_000)
        for place in found:
            removed, added = old[place.start : place.end], new[place.new_start : place.new_end]
            for one, other in _pairs(removed, added):
                if len(self.found) < _MOST_LINKS and (entry := self._entry(one, other)):
                    self.found.append(entry)

    def _links(self, side: Side, places: range) -> Iterator[_Link]:
        for place in places:
            line = side.lines[place]
            if ("[[" in line or "](" in line) and side.kinds[place] != "code" and len(line) <= _MAX_LINE:
                self._lines_left -= 1
                if self._lines_left <= 0:
                    return
                links = [
                    (link.start, _Link(place, link.linktext, link.display, link.is_embed))
                    for link in read_inline(line)[1]
                ]
                if "](" in line:
                    links += [
                        (found.start(), _Link(place, found[2], found[1], False, is_address=True))
                        for found in _ADDRESS.finditer(line)
                    ]
                yield from (link for _, link in sorted(links))

    def _entry(self, old: _Link | None, new: _Link | None) -> dict[str, Any] | None:
        link = new or old
        assert link is not None
        if old is not None and new is not None and old.linktext == new.linktext:
            return None  # only what is shown differs: the words say so
        before = None if old is None else self._target(old, self._old.path)
        after = None if new is None else self._target(new, self._new.path)
        if self._is_new and (new is None or self._resolve is None or after is not None or new.is_address):
            return None  # of a new note only links that lead nowhere are worth a line
        words = self._words(old, new, before, after)
        return {"line": link.place + 1, "text": visible(link.shown), "old": before, "new": after, "words": words}

    def _target(self, link: _Link, source: str) -> str | None:
        if self._resolve is None or link.is_address:
            return None
        return self._resolve(link.linktext, source)

    def _words(self, old: _Link | None, new: _Link | None, before: str | None, after: str | None) -> str:
        if new is None:
            assert old is not None
            return f"{'embed' if old.is_embed else 'link'} removed; it {_led(self._place(old, before))}"
        leads = _leads(self._place(new, after))
        if old is None:
            return f"new {'embed' if new.is_embed else 'link'}, {leads}"
        if self._place(old, before) == self._place(new, after):
            return f"still {leads}"
        place = self._place(old, before)
        # Links are looked up in the vault as it is now: a note that was moved is not found by its old name any more.
        return f"{leads} now; it {_led(place)} before" if place else f"{leads} now"

    def _place(self, link: _Link, path: str | None) -> str:
        """Return where a link leads, for a sentence; empty for nowhere."""
        if link.is_address:
            return visible(link.linktext)
        if self._resolve is None:
            return visible(f"“{link.linktext}”")
        _, mark, subpath = link.linktext.partition("#")
        return "" if path is None else visible(path + mark + subpath)


def _leads(place: str) -> str:
    return f"leads to {place}" if place else "leads nowhere"


def _led(place: str) -> str:
    return f"led to {place}" if place else "led nowhere"


def _key(link: _Link) -> str:
    return f"{link.linktext}\n{link.display}\n{link.is_embed}"


def _pairs(old: list[_Link], new: list[_Link]) -> Iterator[tuple[_Link | None, _Link | None]]:
    """Yield which links are the same before and after: those that show the same text, then the others in their order."""
    left = list(old)
    partners: list[_Link | None] = []
    for link in new[:_MOST_LINKS]:
        partner = next((each for each in left[:_MOST_LINKS] if link.display and each.display == link.display), None)
        partner = partner or next((each for each in left[:_MOST_LINKS] if each.linktext == link.linktext), None)
        if partner is not None:
            left.remove(partner)
        partners.append(partner)
    for place, link in enumerate(new[:_MOST_LINKS]):
        if partners[place] is None and left and not (link.display and left[0].display):
            partners[place] = left.pop(0)
        yield partners[place], link
    for link in left[:_MOST_LINKS]:
        yield link, None
