"""Which files searches and listings leave out: Obsidian's "Excluded files", and the lines of ``.vaultwireignore``.

This keeps a vault tidy, not secret, as in Obsidian: links to excluded files still lead there, and a caller that names one
gets it. So a rule that cannot be used hides nothing, and ``doctor`` reports it. Hidden files do not come here, the walk
passes over them.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, NamedTuple

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

# Rules in the syntax of gitignore, and which paths they match. The caller decides whether a match hides or allows.
#
# Case and Unicode form matter here. A caller for whom they do not matter folds the rules and the paths.

# Every "*" multiplies the ways to match by a name's length, every "**" by the folder's depth, and Python's ``re`` cannot be
# stopped. With these limits the worst path (255 times the same letter, 500 times the same folder) takes a second; with one
# star more, half a minute. Real rules have one or two.
_MOST_STARS = 4
_MOST_DOUBLE_STARS = 3
# Folders whose answers are cached.
_MOST_FOLDERS = 100_000

# Names without characters that have, or may have, a special meaning, and without spaces that may not count.
_PLAIN: Final = re.compile(r"(?![#!\s])(?:(?!\*\*)[^\[\]\\/])+(?:/(?:(?!\*\*)[^\[\]\\/])+)*(?<!\s)")
_WILD: Final = {"*": "[^/]*", "?": "[^/]"}
_ANYWHERE: Final = "^(?:.+/)?"  # how the library's expressions for a name in any folder begin
_FOLDERS_BELOW: Final = re.compile(r"/\*\*/\s*$")
_SET: Final = re.compile(r"\\.|\[(\^?)(\]?(?:\\.|[^\]\\])*)\]", re.DOTALL)
_NAMED_GROUP: Final = re.compile(r"\(\?P<\w+>")


class BadRuleError(Exception):
    """A rule that cannot be used. The message says why; it follows the rule or its number without a space."""


class GitignoreRule(NamedTuple):
    """One rule: what it matches as a whole, a path or a name; whether it includes or, with ``!``, excludes that; its text."""

    matches: re.Pattern[str]
    by_name: bool
    includes: bool
    text: str


def compile_rule(line: str) -> GitignoreRule | None:
    """Return the rule of a line, None for a comment or an empty line. Raises BadRuleError."""
    if _has_too_many_stars(line) and not line.startswith("#"):
        raise BadRuleError(" has too many '*'")
    return _compile_plain(line) or compile_any_rule(line)


def compile_any_rule(line: str) -> GitignoreRule | None:
    """Return the rule of a line of any form, as ``compile_rule`` does; ``*`` are not counted.

    The library takes 60 ms to load, before the first answer if a policy has rules. So the usual forms do without it.
    """
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415

    try:
        # The library reads "a/**/" as "a/"; for Git it means the folders in a.
        source, includes = GitIgnoreSpecPattern.pattern_to_regex(_FOLDERS_BELOW.sub("/**/*/", line))
        if source is None or includes is None:
            return None
        # A rule without a slash, except at its end, is about names, which match several times as fast.
        by_name = source.startswith(_ANYWHERE) and "/" not in line.rstrip().removesuffix("/")
        source = source.removeprefix(_ANYWHERE if by_name else "")
        return GitignoreRule(re.compile(_whole(source, anchored=by_name)), by_name, includes, line)
    except (ValueError, re.error) as error:
        raise BadRuleError(f": {error}") from None


def _compile_plain(line: str) -> GitignoreRule | None:
    """Return the rule of a line of the usual form: names with ``*`` and ``?``, slashes, ``**/`` before, ``/**`` after."""
    shown = line.removeprefix("!")
    below = shown.endswith("/**")
    body = shown.removesuffix("/**").removesuffix("/")
    anywhere = body.startswith("**/") or "/" not in shown.removesuffix("/")
    path = body.removeprefix("**/") if body.startswith("**/") else body.removeprefix("/")
    if not _PLAIN.fullmatch(path) or (below and shown != f"{body}/**"):
        return None
    # The name "*" matches any name that is not empty.
    parts = ["[^/]+" if part == "*" else "".join(map(_to_regex, part)) for part in path.split("/")]
    source = "/".join(parts)
    source += "/[\\s\\S]+" if below else "/" if shown.endswith("/") else "/?"
    by_name = anywhere and not below and "/" not in path
    if anywhere and not by_name:
        source = f"(?:[\\s\\S]+/)?{source}"
    return GitignoreRule(re.compile(source), by_name, not line.startswith("!"), line)


def _to_regex(character: str) -> str:
    return _WILD.get(character) or re.escape(character)


class GitignoreRules:
    """The rules of one list, in order. Safe to use from several threads."""

    def __init__(self, rules: Iterable[GitignoreRule] = ()) -> None:
        self._rules = [*rules][::-1]
        self._any_path = _any(rule for rule in self._rules if rule.includes and not rule.by_name)
        self._any_name = _any(rule for rule in self._rules if rule.includes and rule.by_name)
        self._folders: dict[str, GitignoreRule | None] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing can match."""
        return not (self._any_path or self._any_name)

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
        each = (self._decide(f"{path}/", f"{part}/") for path, part in above)
        if len(self._folders) >= _MOST_FOLDERS:
            self._folders.clear()
        found = self._folders[folder] = next((rule for rule in each if rule is not None), None)
        return found

    def _decide(self, entry: str, name: str) -> GitignoreRule | None:
        # All rules in one expression: that none matches is found several times as fast as rule by rule.
        if not (
            (self._any_name and self._any_name.fullmatch(name)) or (self._any_path and self._any_path.fullmatch(entry))
        ):
            return None
        found = next(rule for rule in self._rules if rule.matches.fullmatch(name if rule.by_name else entry))
        return found if found.includes else None


def _has_too_many_stars(line: str) -> bool:
    """Tell whether the expression made of the line could block the program."""
    parts = line.split("/")
    doubles = parts.count("**")
    return doubles > _MOST_DOUBLE_STARS or any(part.count("*") > _MOST_STARS for part in parts)


def _any(rules: Iterable[GitignoreRule]) -> re.Pattern[str] | None:
    """Return the expression that matches what any of the rules matches; None if there are none."""
    sources = "|".join(rule.matches.pattern for rule in rules)
    return re.compile(sources) if sources else None


def _whole(source: str, *, anchored: bool) -> str:
    """Return an expression that matches a whole entry; the library's matches its beginning.

    The library's ends with a slash for all that is in a folder (``a/**``), with a dot for all there is, and else in a group
    for what may follow a name. Its own matching is not used: it is made for files, and wrong for folders with ``!*/``.
    """
    before = "" if anchored or source.startswith("^") else r"[\s\S]*"
    after = "" if source.endswith(")") else r"[\s\S]+" if source.endswith("/") else r"[\s\S]*"
    # A group's name may stand only once, also in an expression made of several.
    return before + _SET.sub(_plain_set, _NAMED_GROUP.sub("(?:", source)) + after


def _plain_set(match: re.Match[str]) -> str:
    """Return a set that Python and Git read alike. Raises ValueError for one that only Git understands."""
    negated, members = match.groups()
    if members is None or members == "/":  # an escaped character; the set that the library writes for "*"
        return match[0]
    if "--" in members or "[:" in members:
        raise ValueError(f"sets with '--' or '[:' are not understood: {match[0]!r}")
    # A negated set matches no slash. Python warns of characters that may become operators in sets.
    return ("(?!/)[^" if negated else "[") + re.sub(r"[\[&~|]", r"\\\g<0>", members) + "]"


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
