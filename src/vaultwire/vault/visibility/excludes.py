"""Which files searches and listings leave out: Obsidian's "Excluded files", and the lines of ``.vaultwireignore``.

This keeps a vault tidy, not secret, as in Obsidian: links to excluded files still lead there, and a caller that names one
gets it. So a rule that cannot be used excludes nothing, and ``doctor`` reports it. Hidden files do not come here, the walk
passes over them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Final, NamedTuple

from vaultwire.markdown.patterns import compile_pattern
from vaultwire.vault.disk.paths import IGNORE_FILE, compose
from vaultwire.vault.errors import VaultError
from vaultwire.vault.search.terms import (
    EXACT,
    BadRegexError,
    Pattern,
    RegexBudget,
    RegexNeedle,
    TextForms,
    check_regex,
    fold_case,
)
from vaultwire.vault.settings.obsidian_settings import CachedFile, CachedSettings, FileContent
from vaultwire.vault.value_types import Problem

# Rules in the syntax of gitignore, and which paths they match. The caller decides whether a match excludes, hides or allows.
#
# Case and Unicode form matter here. A caller for whom they do not matter folds the rules and the paths.

# Every "*" multiplies the ways to match by a name's length, every "**" by the folder's depth, and Python's ``re`` cannot be
# stopped. With these limits the worst path (255 times the same letter, 500 times the same folder) takes a second; with one
# star more, half a minute. Real rules have one or two.
_MOST_STARS = 4
_MOST_DOUBLE_STARS = 3
# Folders whose answers are cached.
_MOST_FOLDERS = 100_000


class BadRuleError(Exception):
    """A rule that cannot be used. The message says why; it follows the rule or its number without a space."""


class GitignoreRule(NamedTuple):
    """One rule: what it matches as a whole, a path or a name; whether it includes or, with ``!``, excludes that; its text."""

    matches: re.Pattern[str]
    by_name: bool
    includes: bool
    text: str


def compile_rule(line: str) -> GitignoreRule | None:
    """Return the rule of a line, None for a comment or an empty line. Raises BadRuleError.

    Git's ``dir.c`` and ``wildmatch.c`` say what a line means. Git counts bytes, here ``?`` and sets are about characters.
    """
    pattern = _without_last_spaces(line.removeprefix("!"))
    must_be_folder = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if line.startswith("#") or not pattern:
        if line.startswith("!"):
            raise BadRuleError(": nothing stands behind '!'")
        return None
    if _has_too_many_stars(line):
        raise BadRuleError(" has too many '*'")
    anywhere = _ANYWHERE.match(pattern)
    if anywhere and anywhere.end() < len(pattern) and "/" not in pattern[anywhere.end() :]:
        pattern = pattern[anywhere.end() :]
    # A rule without a slash is about names, which match several times as fast.
    by_name = "/" not in pattern
    source = "".join(_pieces(pattern if by_name else pattern.removeprefix("/"), by_name=by_name))
    end = "/" if must_be_folder else "/?"
    return GitignoreRule(re.compile(source + end), by_name, not line.startswith("!"), line)


_ANYWHERE: Final = re.compile(r"\*\*+/")
_ANY: Final = r"[\s\S]"
_SET: Final = compile_pattern(r"\[([!^]?+)(\]?+(?:\\.|[^\]\\])*+)\]", re.DOTALL)
_MEMBER: Final = re.compile(r"\\?(.)(?:-(?!\Z)\\?(.))?", re.DOTALL)


def _without_last_spaces(text: str) -> str:
    """Return the text without spaces at its end; one behind a backslash stays."""
    bare = text.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return text[: len(bare) + 1] if backslashes % 2 else bare


def _pieces(pattern: str, *, by_name: bool) -> Iterator[str]:
    """Yield the parts of the expression for a pattern."""
    at = 0
    while at < len(pattern):
        character = pattern[at]
        begins = at == 0 or pattern[at - 1] == "/"
        start, at = at, at + 1
        if character == "*":
            while pattern.startswith("*", at):
                at += 1
            is_deep = begins and at - start > 1 and not by_name
            if is_deep and pattern.startswith("/", at):
                yield f"(?:{_ANY}+/)?"
                at += 1
            else:
                # No name is empty.
                letters = _ANY if is_deep and (at == len(pattern) or pattern.startswith("\\/", at)) else "[^/]"
                yield f"{letters}{'+' if begins and at == len(pattern) else '*'}"
        elif character == "?":
            yield "[^/]"
        elif character == "[":
            letters_of_set = _SET.match(pattern, start)
            if letters_of_set is None:
                raise BadRuleError(" has a '[' without its ']'")
            yield _set(*letters_of_set.groups())
            at = letters_of_set.end()
        elif character == "\\":
            if at == len(pattern):
                raise BadRuleError(" ends in a backslash")
            yield re.escape(pattern[at])
            at += 1
        else:
            yield re.escape(character)


def _set(negated: str, members: str) -> str:
    """Return the expression for a set, which never means a slash."""
    if "[:" in members:  # names of kinds of letters: a policy folds them, so they would not mean what they say
        raise BadRuleError(": sets with '[:' are not understood")
    ranges = [(first, last or first) for first, last in _MEMBER.findall(members)]
    if any(last < first for first, last in ranges):  # Git takes the first letter alone, which nobody means
        raise BadRuleError(f": a range ends before it begins: [{members}]")
    inner = "".join(f"{re.escape(first)}-{re.escape(last)}" for first, last in ranges)
    return f"(?!/)[{'^' if negated else ''}{inner}]"


class GitignoreRules:
    """The rules of one list, in order. Safe to use from several threads."""

    def __init__(self, rules: Iterable[GitignoreRule] = ()) -> None:
        self._rules = [*rules][::-1]
        self.is_empty = not any(rule.includes for rule in self._rules)
        """Whether nothing can match."""
        self._folders: dict[str, GitignoreRule | None] = {}

    def matches(self, entry: str) -> bool:
        """Tell whether the rules include the file, or the folder if the entry ends in ``/``."""
        return self.find(entry) is not None

    def find(self, entry: str) -> GitignoreRule | None:
        """Return the rule that includes the entry; None if none does.

        https://git-scm.com/docs/gitignore: the last rule that matches decides. All that lies in an included folder is
        included, even if another rule excludes it.
        """
        folder, _, name = entry.rstrip("/").rpartition("/")
        if folder:
            try:  # another thread may clear the cache at any moment
                above = self._folders[folder]
            except KeyError:
                above = self._find_above(folder)
            if above is not None:
                return above
        return self._decide(entry, f"{name}/" if entry.endswith("/") else name)

    def _find_above(self, folder: str) -> GitignoreRule | None:
        parts = folder.split("/")
        above = zip(accumulate(parts, "{}/{}".format), parts, strict=True)
        decided = (self._decide(f"{path}/", f"{part}/") for path, part in above)
        if len(self._folders) >= _MOST_FOLDERS:
            self._folders.clear()
        found = self._folders[folder] = next((rule for rule in decided if rule is not None), None)
        return found

    def _decide(self, entry: str, name: str) -> GitignoreRule | None:
        matching = (rule for rule in self._rules if rule.matches.fullmatch(name if rule.by_name else entry))
        found = next(matching, None)
        return found if found is not None and found.includes else None


def _has_too_many_stars(line: str) -> bool:
    """Tell whether the expression made of the line could block the program."""
    parts = line.split("/")
    doubles = parts.count("**")
    return doubles > _MOST_DOUBLE_STARS or any(part.count("*") > _MOST_STARS for part in parts)


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
    """One state of the rules, and what they exclude. Safe to use from several threads.

    ``stamp`` is a text that is equal for equal rules, in another process too, and ``""`` for none. An index stores it beside
    what it left out.
    """

    def __init__(self, filters: tuple[str, ...] = (), ignore: FileContent = FileContent(None)) -> None:  # noqa: B008 - a constant
        """``filters`` are Obsidian's ``userIgnoreFilters``, ``ignore`` is the content of ``.vaultwireignore``.

        For Obsidian a filter between slashes is a JavaScript regular expression that may match anywhere in the path. Any
        other filter is the beginning of paths: ``Arch`` excludes ``Archive/a.md``. Case does not matter for either: the app
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

    def is_excluded(self, path: str) -> bool:
        """Tell whether the file is left out."""
        if self.is_empty:
            return False
        is_excluded = self._cached.get(path)
        if is_excluded is None:
            is_excluded = self._meets_rule(path)
            if len(self._cached) >= _MOST_CACHED:
                self._cached.clear()
            self._cached[path] = is_excluded
        return is_excluded

    def _meets_rule(self, path: str) -> bool:
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
                Problem(_FILTERS_AT, "has an empty filter, which would exclude everything; it excludes nothing")
            )
        elif not is_expression:
            self._prefixes += (fold_case(text),)
        else:
            try:
                check_regex(text)
            except BadRegexError as error:
                reason = f"/{text}/ is no regular expression: {error.reason} (character {error.position + 1})"
                self._problems.append(Problem(_FILTERS_AT, f"{reason}; it excludes nothing"))
                return
            budget = RegexBudget(_SECONDS_TO_START)
            needle = RegexNeedle(Pattern(0, text, match_case=False), budget)
            self._expressions += (_Expression(text, needle, budget),)

    def _finds(self, expression: _Expression, path: TextForms) -> bool:
        try:
            is_found = expression.needle.find(path, EXACT) >= 0
        except VaultError:  # too slow
            self._drop(expression)
            return False
        expression.budget.left = min(expression.budget.left + _SECONDS_PER_PATH, _SECONDS_TO_START)
        return is_found

    def _drop(self, expression: _Expression) -> None:
        """Use the expression no more. This changes the rules, so it changes the stamp."""
        if expression in self._expressions:
            self._expressions = tuple(other for other in self._expressions if other is not expression)
            reason = f"/{expression.source}/ takes too long on some paths; avoid repetitions inside repetitions"
            self._problems.append(Problem(_FILTERS_AT, f"{reason}. It excludes nothing"))
            self._cached.clear()
            self.stamp = self._make_stamp()

    # ------------------------------------------------------------------ the ignore file

    def _add_lines(self, lines: list[str]) -> None:
        globs: list[GitignoreRule] = []
        for number, text in enumerate(lines, 1):
            try:
                glob = compile_rule(compose(text.removesuffix("\r")))
            except BadRuleError as error:
                self._problems.append(Problem(IGNORE_FILE, f"line {number}{error}; it excludes nothing"))
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
