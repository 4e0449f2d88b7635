"""Decides which files a run may see and change, by path. Pure. It implements ``visibility.visible_files.Rules``.

Patterns are those of ``.vaultwireignore`` (Git's syntax). They ignore case and Unicode form, as names in a vault do.
Deny wins over everything else.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable
from typing import NamedTuple

from vaultwire.vault.disk.paths import fold, original_of_rescued
from vaultwire.vault.visibility.gitignore import BadRuleError, GitignoreRule, GitignoreRules, compile_rule
from vaultwire.vault.visibility.private_notes import PrivacyRules

# Decisions that are remembered: 20 MB with usual paths. To decide again would take 0.1 s for a list of 10,000 notes.
_MAX_CACHED = 100_000
# Windows also finds "a" by the names "a." and "a ".
_IGNORED_ENDS = re.compile(r"[. ]+(?=/|\Z)")


class Rule(NamedTuple):
    """One pattern of the file: its list, its text, its line."""

    kind: str
    text: str
    line: int


class Reason(NamedTuple):
    """Whether something is allowed, why, and the rule that decided, if any."""

    is_allowed: bool
    text: str
    rule: Rule | None = None


class _List:
    """The patterns of one list, each with its rule."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules: dict[str, Rule] = {}
        globs: list[GitignoreRule] = []
        for rule in rules:
            for text in _with_own_folder(fold(rule.text)) if rule.kind == "deny" else (fold(rule.text),):
                glob = compile_rule(text)
                if glob is not None:
                    globs.append(glob)
                    self._rules.setdefault(text, rule)
        self._globs = GitignoreRules(globs)

    def find(self, entry: str) -> Rule | None:
        """Return the rule that matches the entry, None for none."""
        glob = self._globs.find(entry)
        return None if glob is None else self._rules[glob.text]


class PathRules:
    """The rules of one policy about files. Safe to use from several threads."""

    def __init__(
        self,
        *,
        read: tuple[Rule, ...] | None = None,
        write: tuple[Rule, ...] | None = None,
        deny: tuple[Rule, ...] = (),
        types: tuple[str, ...] | None = None,
        follows_links: bool = False,
        privacy: PrivacyRules | None = None,
        note_bytes: int = 0,
    ) -> None:
        """``read``: only these files are seen; ``write``: only these are changed; None for all. Raises BadRuleError.

        ``types`` are extensions without the dot; ``note_bytes`` is part of ``stamp``, as an index depends on it.
        """
        self._read = None if read is None else _List(read)
        self._write = None if write is None else _List(write)
        self._deny = _List(deny)
        self._types = None if types is None else frozenset(map(fold, types))
        self._hidden = _List(rule for rule in write or () if _names_hidden(rule.text))
        self.follows_links = follows_links
        self.privacy = privacy
        lists = {"deny": deny, "read": read, "write": write}
        self.patterns = {kind: [rule.text for rule in rules] for kind, rules in lists.items() if rules}
        if self._types is not None:
            self.patterns["types"] = sorted(self._types)
        self.sees = functools.lru_cache(_MAX_CACHED)(self._sees)
        self.sees_folder = functools.lru_cache(_MAX_CACHED)(self._sees_folder)
        facts = (
            [rule.text for rule in deny],
            None if read is None else [rule.text for rule in read],
            None if self._types is None else sorted(self._types),
            follows_links,
            None if privacy is None else privacy.to_json(),
            note_bytes,
        )
        self.stamp = hashlib.blake2b(repr(facts).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()

    def _sees(self, path: str) -> bool:
        """Tell whether a file of this path may be seen."""
        return self.explain_seeing(path).is_allowed

    def _sees_folder(self, folder: str) -> bool | None:
        """Tell whether the folder may be seen; None if that depends on its content."""
        entry = f"{_entry(folder)}/"
        if self._deny.find(entry) is not None:
            return False
        return True if self._read is None or self._read.find(entry) is not None else None

    def may_change(self, path: str) -> bool:
        """Tell whether a file of this path may be made, changed, moved or deleted."""
        return self.sees(path) and self.explain_changing(path).is_allowed

    # ------------------------------------------------------------------ why

    def explain_seeing(self, path: str) -> Reason:
        """Return whether a file of this path may be seen, and why."""
        entry = _entry(path)
        rule = self._deny.find(entry)
        if rule is not None:
            return Reason(False, "it is denied", rule)
        original = original_of_rescued(path)
        if original is not None and not (seen := self.explain_seeing(original)).is_allowed:
            return Reason(False, f"it holds what was saved as {original!r}; {seen.text}", seen.rule)
        name = entry.rpartition("/")[2]
        if self._types is not None and (name.rpartition(".")[2] if "." in name else "") not in self._types:
            return Reason(False, f"its type is not one of {', '.join(sorted(self._types))}")
        if self._read is None:
            return Reason(True, "no rule is against it")
        rule = self._read.find(entry)
        return Reason(
            rule is not None, "it may be read" if rule else "it is not among the files that may be read", rule
        )

    def explain_changing(self, path: str) -> Reason:
        """Return whether a file of this path may be changed, and why."""
        seen = self.explain_seeing(path)
        if not seen.is_allowed:
            return seen
        entry = _entry(path)
        if any(part.startswith(".") for part in path.split("/")):
            rule = self._hidden.find(entry)
            named = "it is hidden, and named" if rule else "it is hidden, and no rule names it"
            return Reason(rule is not None, named, rule)
        if self._write is None:
            return Reason(True, "no rule is against it")
        rule = self._write.find(entry)
        return Reason(
            rule is not None, "it may be written" if rule else "it is not among the files that may be written", rule
        )


def check_pattern(text: str) -> str | None:
    """Return what is wrong with a pattern, None for nothing."""
    try:
        glob = compile_rule(fold(text))
    except BadRuleError as error:
        return f"{text!r}{error}"
    return f"{text!r} matches nothing" if glob is None else None


def _entry(path: str) -> str:
    return _IGNORED_ENDS.sub("", fold(path))


def _names_hidden(text: str) -> bool:
    return any(part.startswith(".") and part.strip(".") for part in text.removeprefix("!").split("/"))


def _with_own_folder(text: str) -> tuple[str, ...]:
    """Return a pattern for everything in a folder together with one for the folder: its name is a secret, too."""
    if not text.endswith("/**") or text.startswith(("!", "#")):
        return (text,)
    folder = text[:-2]
    return text, folder if folder.startswith(("/", "**/")) else f"/{folder}"
