"""Which files searches and listings leave out: Obsidian's "Excluded files", and the lines of ``.vaultwireignore``.

This keeps a vault tidy, not secret, as in Obsidian: links to excluded files still lead there, and a caller that names one
gets it. So a rule that cannot be used hides nothing, and ``doctor`` reports it. Hidden files do not come here, the walk
passes over them.
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

# A regular expression takes some microseconds for a path. One that needs more than a hundred for each path, after half a
# second to start with, backtracks without end: for 50,000 paths a person would wait too long.
_SECONDS_PER_PATH = 0.000_1
_SECONDS_TO_START = 0.5

# Checking a path takes 10 µs for three rules, looking up the answer 0.1 µs: a scan of 10,000 notes saves 100 ms. So many
# paths of usual length take 20 MB.
_MOST_CACHED = 100_000


class _Expression(NamedTuple):
    """One of Obsidian's filters written as ``/…/``, ready to be looked for, and its time budget."""

    source: str
    needle: RegexNeedle
    budget: RegexBudget


class Excludes:
    """One state of the rules, and what they hide. Safe to use from several threads.

    ``stamp`` is a text that is equal for equal rules, in another process too, and ``""`` for none. An index stores it beside
    what it hid.
    """

    def __init__(self, filters: tuple[str, ...] = (), ignore: FileContent = FileContent(None)) -> None:  # noqa: B008 - a constant
        """``filters`` are Obsidian's ``userIgnoreFilters``, ``ignore`` is the content of ``.vaultwireignore``.

        For Obsidian a filter between slashes is a JavaScript regular expression that may match anywhere in the path. Any
        other filter is the beginning of paths: ``Arch`` hides ``Archive/a.md``. Case does not matter for either: the app
        compiles them so, as the plugin Advanced Exclude found, and compares names so in the rest of a vault.
        """
        self._problems: list[Problem] = []
        self._prefixes: tuple[str, ...] = ()
        self._expressions: tuple[_Expression, ...] = ()
        for text in filters:
            self._add_filter(text)
        self._lines = GitignoreRules()
        self._cached: dict[str, bool] = {}
        if ignore.problem:
            self._problems.append(Problem(IGNORE_FILE, ignore.problem))
        self._ignore = ignore.text or ""
        if self._ignore.strip():
            self._add_lines(self._ignore.split("\n"))
        self.stamp = self._make_stamp()

    @property
    def is_empty(self) -> bool:
        """Whether there are no rules."""
        return self._lines.is_empty and not (self._prefixes or self._expressions)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with the rules. That an expression takes too long is known once it was used."""
        return tuple(self._problems)

    def hides(self, path: str) -> bool:
        """Tell whether the file is left out."""
        if self.is_empty:
            return False
        hidden = self._cached.get(path)
        if hidden is None:
            hidden = self._hides(path)
            if len(self._cached) >= _MOST_CACHED:
                self._cached.clear()
            self._cached[path] = hidden
        return hidden

    def _hides(self, path: str) -> bool:
        if fold_case(path).startswith(self._prefixes):
            return True
        if self._lines.matches(compose(path)):
            return True
        forms = TextForms(path)
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
            budget = RegexBudget(_SECONDS_TO_START)
            needle = RegexNeedle(Pattern(0, text, match_case=False), budget)
            self._expressions += (_Expression(text, needle, budget),)

    def _finds(self, expression: _Expression, path: TextForms) -> bool:
        try:
            found = expression.needle.find(path, EXACT) >= 0
        except VaultError:  # too slow
            self._drop(expression)
            return False
        expression.budget.left = min(expression.budget.left + _SECONDS_PER_PATH, _SECONDS_TO_START)
        return found

    def _drop(self, expression: _Expression) -> None:
        """Use the expression no more. This changes the rules, so it changes the stamp."""
        if expression in self._expressions:
            self._expressions = tuple(other for other in self._expressions if other is not expression)
            reason = f"/{expression.source}/ takes too long on some paths; avoid repetitions inside repetitions"
            self._problems.append(Problem(_FILTERS_AT, f"{reason}. It hides nothing"))
            self._cached.clear()
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
    """The rules of one vault, always as they are now. Each question looks at the files that hold them."""

    def __init__(self, root: str, settings: CachedSettings) -> None:
        self._settings = settings
        self._file = CachedFile(os.path.join(root, IGNORE_FILE))
        self._cached: tuple[tuple[tuple[str, ...], FileContent], Excludes] = (((), FileContent(None)), Excludes())

    def get(self) -> Excludes:
        """Return the rules; the same object as long as they do not change. Never raises."""
        rules = (self._settings.get().user_ignore_filters, self._file.content())
        if rules != self._cached[0]:
            self._cached = (rules, Excludes(*rules))
        return self._cached[1]
