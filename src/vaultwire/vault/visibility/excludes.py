"""Which files searches and listings leave out: Obsidian's "Excluded files", and the lines of ``.vaultwireignore``.

A matter of order, not of secrecy, as in Obsidian: links to such files lead where they led, and who names one gets it. So
a rule that cannot be used hides nothing, and ``doctor`` is told. Files whose names start with a dot are not known here;
the walk passes over them anyway.
"""

from __future__ import annotations

import hashlib
import os
from typing import NamedTuple

from vaultwire.vault.disk.paths import IGNORE_FILE, compose
from vaultwire.vault.errors import VaultError
from vaultwire.vault.search.terms import BadRegexError, Pattern, RegexBudget, RegexNeedle, check_regex
from vaultwire.vault.search.text_forms import EXACT, TextForms, fold_case
from vaultwire.vault.settings.obsidian_settings import CachedFile, CachedSettings, FileContent
from vaultwire.vault.value_types import Problem
from vaultwire.vault.visibility.gitignore import BadRuleError, GitignoreRule, GitignoreRules, compile_rule

_FILTERS_AT = "userIgnoreFilters in app.json"

# A path takes a regular expression some microseconds. One that needs more than a hundred for each, or once half a second
# besides, backtracks without end: 50,000 paths would take it longer than a person waits.
_SECONDS_A_PATH = 0.000_1
_SECONDS_BESIDES = 0.5

# Looking at a path takes microseconds, some for each rule, and a search asks about each. 20 MB for paths of usual length.
_MOST_KNOWN = 100_000


class _Expression(NamedTuple):
    """One of Obsidian's filters written as ``/…/``, ready to be looked for on the time it has left."""

    source: str
    needle: RegexNeedle
    budget: RegexBudget


class Excludes:
    """The rules of one moment, and what they hide. Safe to use from several threads.

    ``stamp`` is the same text for the same rules, in another process too, and ``""`` for none: what an index notes beside
    what it hid.
    """

    def __init__(self, filters: tuple[str, ...] = (), ignore: FileContent = FileContent(None)) -> None:  # noqa: B008 - a constant
        """``filters`` are Obsidian's ``userIgnoreFilters``, ``ignore`` is what is in ``.vaultwireignore``.

        Obsidian takes a filter between slashes for a JavaScript regular expression, looked for anywhere in the path, and
        any other for the beginning of paths, character by character: ``Arch`` hides ``Archive/a.md``. Neither minds case:
        so does the app compile them as far as others who read this setting found (the plugin Advanced Exclude), and so
        are names compared in all the rest of a vault.
        """
        self._problems: list[Problem] = []
        self._prefixes: tuple[str, ...] = ()
        self._expressions: tuple[_Expression, ...] = ()
        for text in filters:
            self._add_filter(text)
        self._lines = GitignoreRules()
        self._known: dict[str, bool] = {}
        if ignore.problem:
            self._problems.append(Problem(IGNORE_FILE, ignore.problem))
        self._ignore = ignore.text or ""
        if self._ignore.strip():
            self._add_lines(self._ignore.split("\n"))
        self.stamp = self._make_stamp()

    @property
    def is_empty(self) -> bool:
        """Whether there is no rule, so that nothing needs to be asked."""
        return self._lines.is_empty and not (self._prefixes or self._expressions)

    @property
    def problems(self) -> tuple[Problem, ...]:
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
            self._known[entry] = hidden
        return hidden

    def _hides(self, entry: str) -> bool:
        if self._prefixes and fold_case(entry).startswith(self._prefixes):
            return True
        if self._lines.matches(entry if entry.isascii() else compose(entry)):
            return True
        if entry.endswith("/") or not self._expressions:
            return False
        forms = TextForms(entry)
        return any(self._finds(expression, forms) for expression in self._expressions)

    # ------------------------------------------------------------------ Obsidian's filters

    def _add_filter(self, text: str) -> None:
        is_expression = len(text) > 1 and text.startswith("/") and text.endswith("/")
        text = text[1:-1] if is_expression else text
        if not text:
            self._problems.append(
                Problem(_FILTERS_AT, "has an empty filter, which would hide everything; it hides nothing")
            )
        elif not is_expression:
            self._prefixes += (fold_case(text),)
        else:
            try:
                check_regex(text)
            except BadRegexError as error:
                reason = f"/{text}/ is no regular expression: {error.reason} (character {error.position + 1})"
                self._problems.append(Problem(_FILTERS_AT, f"{reason}; it hides nothing"))
                return
            budget = RegexBudget(_SECONDS_BESIDES)
            needle = RegexNeedle(Pattern(0, text, match_case=False), budget)
            self._expressions += (_Expression(text, needle, budget),)

    def _finds(self, expression: _Expression, path: TextForms) -> bool:
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
            self._problems.append(Problem(_FILTERS_AT, f"{reason}. It hides nothing"))
            self._known.clear()
            self.stamp = self._make_stamp()

    # ------------------------------------------------------------------ the ignore file

    def _add_lines(self, lines: list[str]) -> None:
        globs: list[GitignoreRule] = []
        for number, text in enumerate(lines, 1):
            try:
                glob = compile_rule(compose(text.removesuffix("\r")))
            except BadRuleError as error:
                self._problems.append(Problem(IGNORE_FILE, f"line {number}{error}; it hides nothing"))
            else:
                globs += [glob] if glob is not None else []
        self._lines = GitignoreRules(globs)

    # ------------------------------------------------------------------

    def _make_stamp(self) -> str:
        if self.is_empty:
            return ""
        sources = [expression.source for expression in self._expressions]
        facts = repr((self._prefixes, sources, self._ignore))
        return hashlib.blake2b(facts.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class CachedExcludes:
    """The rules of one vault, always as they are now; asking costs a look at the files that hold them."""

    def __init__(self, root: str, settings: CachedSettings) -> None:
        self._settings = settings
        self._file = CachedFile(os.path.join(root, IGNORE_FILE))
        self._kept: tuple[tuple[tuple[str, ...], FileContent], Excludes] = (((), FileContent(None)), Excludes())

    def get(self) -> Excludes:
        """Return the rules; the same object as long as they are the same. Never raises."""
        rules = (self._settings.get().user_ignore_filters, self._file.content())
        if rules != self._kept[0]:
            self._kept = (rules, Excludes(*rules))
        return self._kept[1]
