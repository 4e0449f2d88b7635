"""Which files searches and listings leave out: Obsidian's "Excluded files", and the lines of ``.vaultwireignore``.

A matter of order, not of secrecy, as in Obsidian: links to such files lead where they led, and who names one gets it. So
a rule that cannot be used hides nothing, and ``doctor`` is told. Files whose names start with a dot are not known here;
the walk passes over them anyway.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, NamedTuple

from vaultwire.vault.errors import VaultError
from vaultwire.vault.paths import compose
from vaultwire.vault.settings import Content, KeptFile, KeptSettings
from vaultwire.vault.terms import (
    EXACT,
    BadRegexError,
    Budget,
    Forms,
    Pattern,
    RegexNeedle,
    check_regex,
    fold_text,
)
from vaultwire.vault.walk import Oddity

IGNORE_FILE = ".vaultwireignore"
_FILTERS_AT = "userIgnoreFilters in app.json"

# A path takes a regular expression some microseconds. One that needs more than a hundred for each, or once half a second
# besides, backtracks without end: 50,000 paths would take it longer than a person waits.
_SECONDS_A_PATH = 0.000_1
_SECONDS_BESIDES = 0.5

# Every "*" multiplies the ways to match by a name's length, every "**" by the folder's depth, and Python's ``re`` cannot be
# stopped. With these the worst path (255 times the same letter, 500 times the same folder) takes it a second; with one
# more, half a minute. Real lines have one or two.
_MOST_STARS = 4
_MOST_DOUBLE_STARS = 3

# Looking at a path takes microseconds, some for each rule, and a search asks about each. 20 MB for paths of usual length.
_MOST_KNOWN = 100_000


class _Expression(NamedTuple):
    """One of Obsidian's filters written as ``/…/``, ready to be looked for on the time it has left."""

    source: str
    needle: RegexNeedle
    budget: Budget


class _Line(NamedTuple):
    """One line of the ignore file: what it matches whole, path or name, and whether it hides that or shows it (``!``)."""

    matches: re.Pattern[str]
    by_name: bool
    hides: bool


class Excludes:
    """The rules of one moment, and what they hide. Safe to use from several threads.

    ``stamp`` is the same text for the same rules, in another process too, and ``""`` for none: what an index notes beside
    what it hid.
    """

    def __init__(self, filters: tuple[str, ...] = (), ignore: Content = Content(None)) -> None:  # noqa: B008 - a constant
        """``filters`` are Obsidian's ``userIgnoreFilters``, ``ignore`` is what is in ``.vaultwireignore``.

        Obsidian takes a filter between slashes for a JavaScript regular expression, looked for anywhere in the path, and
        any other for the beginning of paths, character by character: ``Arch`` hides ``Archive/a.md``. Neither minds case:
        so does the app compile them as far as others who read this setting found (the plugin Advanced Exclude), and so
        are names compared in all the rest of a vault.
        """
        self._problems: list[Oddity] = []
        self._prefixes: tuple[str, ...] = ()
        self._expressions: tuple[_Expression, ...] = ()
        for text in filters:
            self._add_filter(text)
        self._any_path: re.Pattern[str] | None = None
        self._any_name: re.Pattern[str] | None = None
        self._lines: list[_Line] = []
        self._folders: dict[str, bool] = {}
        self._known: dict[str, bool] = {}
        if ignore.problem:
            self._problems.append(Oddity(IGNORE_FILE, ignore.problem))
        self._ignore = ignore.text or ""
        if self._ignore.strip():
            self._add_lines(self._ignore.split("\n"))
        self.stamp = self._make_stamp()

    @property
    def is_empty(self) -> bool:
        """Whether there is no rule, so that nothing needs to be asked."""
        return not (self._prefixes or self._expressions or self._any_path or self._any_name)

    @property
    def problems(self) -> tuple[Oddity, ...]:
        """What is wrong with the rules. An expression that takes too long is known when it has been used."""
        return tuple(self._problems)

    def hides(self, path: str, is_folder: bool = False) -> bool:
        """Tell whether the file is left out; for a folder, whether all that is in it is, so that a walk can pass it over.

        A regular expression says nothing about a folder: Obsidian asks it about files.
        """
        if self.is_empty:
            return False
        entry = path + "/" if is_folder else path
        hidden = self._known.get(entry)
        if hidden is None:
            hidden = self._hides(entry)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
                self._folders.clear()
            self._known[entry] = hidden
        return hidden

    def _hides(self, entry: str) -> bool:
        if self._prefixes and fold_text(entry).startswith(self._prefixes):
            return True
        if self._lines and self._is_ignored(entry if entry.isascii() else compose(entry)):
            return True
        if entry.endswith("/") or not self._expressions:
            return False
        forms = Forms(entry)
        return any(self._finds(expression, forms) for expression in self._expressions)

    # ------------------------------------------------------------------ Obsidian's filters

    def _add_filter(self, text: str) -> None:
        is_expression = len(text) > 1 and text.startswith("/") and text.endswith("/")
        text = text[1:-1] if is_expression else text
        if not text:
            self._problems.append(
                Oddity(_FILTERS_AT, "has an empty filter, which would hide everything; it hides nothing")
            )
        elif not is_expression:
            self._prefixes += (fold_text(text),)
        else:
            try:
                check_regex(text)
            except BadRegexError as error:
                reason = f"/{text}/ is no regular expression: {error.reason} (character {error.position + 1})"
                self._problems.append(Oddity(_FILTERS_AT, f"{reason}; it hides nothing"))
                return
            budget = Budget(_SECONDS_BESIDES)
            needle = RegexNeedle(Pattern(text, match_case=False, position=0), budget)
            self._expressions += (_Expression(text, needle, budget),)

    def _finds(self, expression: _Expression, path: Forms) -> bool:
        try:
            found = expression.needle.find(path, EXACT) >= 0
        except VaultError:  # too slow
            self._drop(expression)
            return False
        expression.budget.left = min(expression.budget.left + _SECONDS_A_PATH, _SECONDS_BESIDES)
        return found

    def _drop(self, expression: _Expression) -> None:
        """Do without the expression from now on. The rules are others then, so the stamp changes."""
        if expression in self._expressions:
            self._expressions = tuple(other for other in self._expressions if other is not expression)
            reason = f"/{expression.source}/ takes too long on some paths; avoid repetitions inside repetitions"
            self._problems.append(Oddity(_FILTERS_AT, f"{reason}. It hides nothing"))
            self._known.clear()
            self.stamp = self._make_stamp()

    # ------------------------------------------------------------------ the ignore file

    def _add_lines(self, lines: list[str]) -> None:
        # 60 ms, which only a vault with such a file should pay.
        from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415

        for number, text in enumerate(lines, 1):
            line = compose(text.removesuffix("\r"))
            if _has_too_many_stars(line) and not line.startswith("#"):
                self._problems.append(Oddity(IGNORE_FILE, f"line {number} has too many '*'; it hides nothing"))
                continue
            try:
                # The library takes "a/**/" for "a/"; to Git it is the folders in a.
                source, hides = GitIgnoreSpecPattern.pattern_to_regex(_FOLDERS_BELOW.sub("/**/*/", line))
                if source is None or hides is None:  # a comment, or nothing
                    continue
                # A line without a slash, but at its end, is about names: several times as fast to look for.
                by_name = source.startswith(_ANYWHERE) and "/" not in line.rstrip().removesuffix("/")
                source = source.removeprefix(_ANYWHERE if by_name else "")
                self._lines.append(_Line(re.compile(_whole(source, anchored=by_name)), by_name, hides))
            except (ValueError, re.error) as error:
                self._problems.append(Oddity(IGNORE_FILE, f"line {number}: {error}; it hides nothing"))
        self._lines.reverse()
        self._any_path = _any(line for line in self._lines if line.hides and not line.by_name)
        self._any_name = _any(line for line in self._lines if line.hides and line.by_name)

    def _is_ignored(self, entry: str) -> bool:
        """Tell whether the file is ignored, or the folder if the entry ends in ``/``.

        https://git-scm.com/docs/gitignore: the last line that matches decides, and what lies in an ignored folder is
        ignored, whatever other lines say.
        """
        folder, _, name = entry.rstrip("/").rpartition("/")
        if folder:
            hidden = self._folders.get(folder)
            if hidden is None:
                parts = folder.split("/")
                above = zip(accumulate(parts, "{}/{}".format), parts, strict=True)
                hidden = self._folders[folder] = any(self._decides(f"{path}/", f"{part}/") for path, part in above)
            if hidden:
                return True
        return self._decides(entry, f"{name}/" if entry.endswith("/") else name)

    def _decides(self, entry: str, name: str) -> bool:
        # That no line matches is found several times as fast at once as line by line.
        if not (
            (self._any_name and self._any_name.fullmatch(name)) or (self._any_path and self._any_path.fullmatch(entry))
        ):
            return False
        return next(line.hides for line in self._lines if line.matches.fullmatch(name if line.by_name else entry))

    # ------------------------------------------------------------------

    def _make_stamp(self) -> str:
        if self.is_empty:
            return ""
        sources = [expression.source for expression in self._expressions]
        facts = repr((self._prefixes, sources, self._ignore))
        return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _has_too_many_stars(line: str) -> bool:
    """Tell whether the expression made of the line could hold up the program."""
    parts = line.split("/")
    doubles = parts.count("**")
    return doubles > _MOST_DOUBLE_STARS or any(part.count("*") > _MOST_STARS for part in parts)


_ANYWHERE: Final = "^(?:.+/)?"  # how the library's expressions begin that are about a name in whichever folder
_FOLDERS_BELOW: Final = re.compile(r"/\*\*/\s*$")
_SET: Final = re.compile(r"\\.|\[(\^?)(\]?(?:\\.|[^\]\\])*)\]", re.DOTALL)
_NAMED_GROUP: Final = re.compile(r"\(\?P<\w+>")


def _any(lines: Iterable[_Line]) -> re.Pattern[str] | None:
    """Return the expression for what any of the lines matches; None if there are none."""
    sources = "|".join(line.matches.pattern for line in lines)
    return re.compile(sources) if sources else None


def _whole(source: str, *, anchored: bool) -> str:
    """Return the expression that matches the whole of an entry, where the library's is looked for at the beginning.

    The library's ends with a slash for all that is in a folder (``a/**``), with a dot for all there is, and else in the
    group for what may follow a name. Its own matching is not used: it is made for files, and asked about folders, as Git
    asks, it gets ``!*/`` wrong.
    """
    before = "" if anchored or source.startswith("^") else r"[\s\S]*"
    after = "" if source.endswith(")") else r"[\s\S]+" if source.endswith("/") else r"[\s\S]*"
    # The name of a group may stand only once in an expression made of several.
    return before + _SET.sub(_plain_set, _NAMED_GROUP.sub("(?:", source)) + after


def _plain_set(match: re.Match[str]) -> str:
    """Return a set as Python and Git both read it. Raises ValueError for what only Git knows."""
    negated, members = match.groups()
    if members is None or members == "/":  # an escaped character; what the library writes for "*"
        return match[0]
    if "--" in members or "[:" in members:
        raise ValueError(f"sets with '--' or '[:' are not understood: {match[0]!r}")
    # A negated set matches no slash. Python warns of what may become operators in sets.
    return ("(?!/)[^" if negated else "[") + re.sub(r"[\[&~|]", r"\\\g<0>", members) + "]"


class KeptExcludes:
    """The rules of one vault, always as they are now; asking costs a look at the files that hold them."""

    def __init__(self, root: str, settings: KeptSettings) -> None:
        self._settings = settings
        self._file = KeptFile(os.path.join(root, IGNORE_FILE))
        self._kept: tuple[tuple[tuple[str, ...], Content], Excludes] = (((), Content(None)), Excludes())

    def get(self) -> Excludes:
        """Return the rules; the same object as long as they are the same. Never raises."""
        rules = (self._settings.get().user_ignore_filters, self._file.content())
        if rules != self._kept[0]:
            self._kept = (rules, Excludes(*rules))
        return self._kept[1]
