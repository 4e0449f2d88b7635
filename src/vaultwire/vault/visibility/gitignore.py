"""Lines of patterns in Git's syntax (gitignore), and which paths they match. Whether that hides or allows is the asker's.

Case and Unicode form count as they stand: who does not mind them folds both the lines and the paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate
from typing import Final, NamedTuple

# Every "*" multiplies the ways to match by a name's length, every "**" by the folder's depth, and Python's ``re`` cannot be
# stopped. With these the worst path (255 times the same letter, 500 times the same folder) takes it a second; with one
# more, half a minute. Real lines have one or two.
_MOST_STARS = 4
_MOST_DOUBLE_STARS = 3
# Folders of a vault, with what was found of each.
_MOST_FOLDERS = 100_000

# Names without characters that mean something else, or may, and without blanks that may not count.
_PLAIN: Final = re.compile(r"(?![#!\s])(?:(?!\*\*)[^\[\]\\/])+(?:/(?:(?!\*\*)[^\[\]\\/])+)*(?<!\s)")
_WILD: Final = {"*": "[^/]*", "?": "[^/]"}
_ANYWHERE: Final = "^(?:.+/)?"  # how the library's expressions begin that are about a name in whichever folder
_FOLDERS_BELOW: Final = re.compile(r"/\*\*/\s*$")
_SET: Final = re.compile(r"\\.|\[(\^?)(\]?(?:\\.|[^\]\\])*)\]", re.DOTALL)
_NAMED_GROUP: Final = re.compile(r"\(\?P<\w+>")


class BadRuleError(Exception):
    """A line that cannot be used; the message says why, to stand right behind the line or its number."""


class GitignoreRule(NamedTuple):
    """One line: what it matches whole, path or name, whether it takes that in or leaves it out (``!``), and its text."""

    matches: re.Pattern[str]
    by_name: bool
    takes: bool
    text: str


def compile_rule(line: str) -> GitignoreRule | None:
    """Return what a line matches, None for a comment or an empty one. Raises BadRuleError."""
    if _has_too_many_stars(line) and not line.startswith("#"):
        raise BadRuleError(" has too many '*'")
    return _compile_plain(line) or compile_any_rule(line)


def compile_any_rule(line: str) -> GitignoreRule | None:
    """Return what a line matches that has not too many ``*``, as ``compile_rule``, in whatever form it is written."""
    # 60 ms, which only who has such lines should pay.
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern  # noqa: PLC0415

    try:
        # The library takes "a/**/" for "a/"; to Git it is the folders in a.
        source, takes = GitIgnoreSpecPattern.pattern_to_regex(_FOLDERS_BELOW.sub("/**/*/", line))
        if source is None or takes is None:
            return None
        # A line without a slash, but at its end, is about names: several times as fast to look for.
        by_name = source.startswith(_ANYWHERE) and "/" not in line.rstrip().removesuffix("/")
        source = source.removeprefix(_ANYWHERE if by_name else "")
        return GitignoreRule(re.compile(_whole(source, anchored=by_name)), by_name, takes, line)
    except (ValueError, re.error) as error:
        raise BadRuleError(f": {error}") from None


def _compile_plain(line: str) -> GitignoreRule | None:
    """Return what a line of the usual form matches: names with ``*`` and ``?``, slashes, ``**/`` before, ``/**`` behind."""
    shown = line.removeprefix("!")
    below = shown.endswith("/**")
    body = shown.removesuffix("/**").removesuffix("/")
    anywhere = body.startswith("**/") or "/" not in shown.removesuffix("/")
    path = body.removeprefix("**/") if body.startswith("**/") else body.removeprefix("/")
    if not _PLAIN.fullmatch(path) or (below and shown != f"{body}/**"):
        return None
    # A name that is but "*" is not empty.
    parts = ["[^/]+" if part == "*" else "".join(map(_spelt, part)) for part in path.split("/")]
    source = "/".join(parts)
    source += "/[\\s\\S]+" if below else "/" if shown.endswith("/") else "/?"
    by_name = anywhere and not below and "/" not in path
    if anywhere and not by_name:
        source = f"(?:[\\s\\S]+/)?{source}"
    return GitignoreRule(re.compile(source), by_name, not line.startswith("!"), line)


def _spelt(character: str) -> str:
    return _WILD.get(character) or re.escape(character)


class _Unknown:
    """A folder nobody has asked about."""


_UNKNOWN: Final = _Unknown()


class GitignoreRules:
    """Lines of one list, in order. Safe to use from several threads."""

    def __init__(self, globs: Iterable[GitignoreRule] = ()) -> None:
        self._globs = [*globs][::-1]
        self._any_path = _any(glob for glob in self._globs if glob.takes and not glob.by_name)
        self._any_name = _any(glob for glob in self._globs if glob.takes and glob.by_name)
        self._folders: dict[str, GitignoreRule | None] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing can match."""
        return not (self._any_path or self._any_name)

    def matches(self, entry: str) -> bool:
        """Tell whether the file is taken in, or the folder if the entry ends in ``/``."""
        return self.find(entry) is not None

    def find(self, entry: str) -> GitignoreRule | None:
        """Return the line that takes the entry in; None if none does.

        https://git-scm.com/docs/gitignore: the last line that matches decides, and what lies in a folder that is taken in
        is taken in, whatever other lines say.
        """
        folder, _, name = entry.rstrip("/").rpartition("/")
        if folder:
            above = self._folders.get(folder, _UNKNOWN)
            if isinstance(above, _Unknown):
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
        found = self._folders[folder] = next((glob for glob in each if glob is not None), None)
        return found

    def _decide(self, entry: str, name: str) -> GitignoreRule | None:
        # That no line matches is found several times as fast at once as line by line.
        if not (
            (self._any_name and self._any_name.fullmatch(name)) or (self._any_path and self._any_path.fullmatch(entry))
        ):
            return None
        found = next(glob for glob in self._globs if glob.matches.fullmatch(name if glob.by_name else entry))
        return found if found.takes else None


def _has_too_many_stars(line: str) -> bool:
    """Tell whether the expression made of the line could hold up the program."""
    parts = line.split("/")
    doubles = parts.count("**")
    return doubles > _MOST_DOUBLE_STARS or any(part.count("*") > _MOST_STARS for part in parts)


def _any(globs: Iterable[GitignoreRule]) -> re.Pattern[str] | None:
    """Return the expression for what any of the lines matches; None if there are none."""
    sources = "|".join(glob.matches.pattern for glob in globs)
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
