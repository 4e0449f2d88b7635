"""Decides which files a run may see and change, by path, and which changes the person wants to see first. Pure.

``PathRules`` is what ``visibility.visible_files.VisibilityRules`` asks for, ``ReviewRules`` what ``vault.holding.review_mode``
does. ``policy_file`` reads them.

Patterns are those of ``.vaultwireignore`` (Git's syntax). They ignore case and Unicode form, as names in a vault do.
Deny wins over everything else.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from vaultwire.toolkit.catalog import all_work, always_done, names_of
from vaultwire.vault.disk.paths import fold, lies_in, original_of_rescued
from vaultwire.vault.holding.review_mode import Mode, PlannedChange
from vaultwire.vault.visibility.excludes import BadRuleError, GitignoreRule, GitignoreRules, compile_rule
from vaultwire.vault.visibility.visible_files import PrivacyRules

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
        self._folders: tuple[str, ...] | None = None
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

    def only_in(self, folders: Iterable[str]) -> PathRules:
        """Return these rules, narrowed to what is in some folders of the vault. They are no patterns."""
        narrowed = copy.copy(self)
        narrowed.hold_to(folders)
        return narrowed

    def hold_to(self, folders: Iterable[str]) -> None:
        """Narrow these rules, before anything was asked of them."""
        self._folders = tuple(sorted({f"{_entry(folder)}/" for folder in folders}))
        self.sees = functools.lru_cache(_MAX_CACHED)(self._sees)
        self.sees_folder = functools.lru_cache(_MAX_CACHED)(self._sees_folder)
        facts = repr((self.stamp, self._folders)).encode("utf-8", "surrogatepass")
        self.stamp = hashlib.blake2b(facts, digest_size=12).hexdigest()

    def _sees(self, path: str) -> bool:
        """Tell whether a file of this path may be seen."""
        return self.explain_seeing(path).is_allowed

    def _sees_folder(self, folder: str) -> bool | None:
        """Tell whether the folder may be seen; None if that depends on its content."""
        entry = f"{_entry(folder)}/"
        if self._deny.find(entry) is not None:
            return False
        if self._folders is not None and not entry.startswith(self._folders):
            return None if any(own.startswith(entry.lstrip("/")) for own in self._folders) else False
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
        if self._folders is not None and not entry.startswith(self._folders):
            return Reason(False, "it is in none of the folders that this client was allowed")
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


# ---------------------------------------------------------------------- changes that the person wants to see first

MODES: tuple[Mode, ...] = ("record", "ask", "hold")
"""The modes, the strictest last."""
_ANY = "*"


class ReviewRule(NamedTuple):
    """One table: its mode, and the conditions, which must all be met. None for a condition that is not given."""

    mode: Mode
    clients: tuple[str, ...] | None = None
    folders: tuple[str, ...] | None = None
    tools: tuple[str, ...] | None = None
    above_notes: int | None = None
    above_bytes: int | None = None

    def is_met_by_part(self, planned: PlannedChange) -> bool:
        """Tell whether a part of the change meets all conditions but ``clients``: one of its paths, one kind of its work."""
        if not self._is_large_enough(planned) or not any(self.names_tool(each) for each in all_work(planned.tool)):
            return False
        return self.folders is None or any(
            _lies_in(path, place) or _lies_in(place, path) for path in planned.paths for place in self._places(planned)
        )

    def is_met_by_all(self, planned: PlannedChange) -> bool:
        """Tell whether the whole change meets all conditions but ``clients``: all its paths, all kinds of its work."""
        if not self._is_large_enough(planned) or not all(
            self.names_tool(each) for each in (planned.tool, *planned.also)
        ):
            return False
        return self.folders is None or all(
            any(_lies_in(path, place) for place in self._places(planned)) for path in planned.paths
        )

    def names_tool(self, tool: str) -> bool:
        """Tell whether the rule is about the work of this tool."""
        return self.tools is None or any(
            fnmatchcase(name, pattern) for name in names_of(tool) for pattern in self.tools
        )

    def _is_large_enough(self, planned: PlannedChange) -> bool:
        return (self.above_notes is None or planned.files > self.above_notes) and (
            self.above_bytes is None or planned.written > self.above_bytes
        )

    def _places(self, planned: PlannedChange) -> list[str]:
        """Return the folders, and where those that are links lead."""
        folders = self.folders or ()
        return [*folders, *(planned.real_folders[each] for each in folders if each in planned.real_folders)]

    def names(self, client: str) -> bool:
        """Tell whether the rule names this client."""
        return self.clients is not None and client in self.clients

    def is_for(self, client: str) -> bool:
        """Tell whether the rule holds for this client."""
        return self.clients is None or _ANY in self.clients or client in self.clients


class ReviewRules:
    """The rules of one policy in their order. The first that all of a change meets decides, or else the end: it is recorded.

    A rule before it that only a part of the change meets can make the answer stricter, and never looser.
    """

    def __init__(self, rules: Sequence[ReviewRule]) -> None:
        self.rules = tuple(rules)

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that they name."""
        return tuple({folder: None for rule in self.rules for folder in rule.folders or ()})

    @property
    def can_hold(self) -> bool:
        """Whether any change can be held by them."""
        return any(rule.mode != "record" for rule in self.rules)

    def mode(self, planned: PlannedChange) -> Mode:
        """Return what is done with a change.

        With a principal, the name that the client gives itself can only make it stricter: it can choose any name.
        """
        name = planned.principal or planned.client
        mode = _mode((rule for rule in self.rules if rule.is_for(name)), planned)
        if not planned.principal:
            return mode
        return _stricter(mode, _mode((rule for rule in self.rules if rule.names(planned.client)), planned))

    def surprises(self, tools: Iterable[str]) -> list[str]:
        """Return what the person may not expect of the order of the rules, one sentence each. ``tools``: all there are."""
        sentences = []
        names = sorted(tools)
        for number, rule in enumerate(self.rules, 1):
            stricter = [each for each in self.rules if _is_looser(rule, each)]
            undone = [each for each in names if stricter and rule.names_tool(each) and not _frees(rule, each)]
            sentences += [
                f"review {number} never decides about {tool} alone, which also does the work of "
                f"{', '.join(always_done(tool))}: name that, too"
                for tool in undone
            ]
            for later, other in enumerate(self.rules[number:], number + 1):
                if not _is_looser(rule, other) or not _overlap(rule, other, names):
                    continue
                if _is_within(other, rule, names):
                    sentences.append(
                        f"review {later} decides about nothing, because review {number} before it is met first"
                    )
                elif not _is_within(rule, other, names) and any(
                    rule[2:]
                ):  # else an exception, or all that a client does
                    sentences.append(
                        f"review {number} comes before review {later} and also frees changes that {later} would "
                        f"{other.mode}; put {later} first if it is to decide about them"
                    )
        return sentences


def _mode(rules: Iterable[ReviewRule], planned: PlannedChange) -> Mode:
    mode: Mode = "record"
    for rule in rules:
        if rule.is_met_by_part(planned):
            mode = _stricter(mode, rule.mode)
            if rule.is_met_by_all(planned):
                break
    return mode


def _stricter(one: Mode, other: Mode) -> Mode:
    return max(one, other, key=MODES.index)


def _is_looser(one: ReviewRule, other: ReviewRule) -> bool:
    return MODES.index(one.mode) < MODES.index(other.mode)


def _frees(rule: ReviewRule, tool: str) -> bool:
    """Tell whether the rule is about all that the tool does in each call."""
    return all(rule.names_tool(each) for each in (tool, *always_done(tool)))


def _overlap(looser: ReviewRule, stricter: ReviewRule, tools: Sequence[str]) -> bool:
    """Tell whether a change can meet all of the looser rule and a part of the stricter one."""
    clients, others = _clients(looser), _clients(stricter)
    return (
        (clients is None or others is None or not clients.isdisjoint(others))
        and any(_frees(looser, tool) and any(map(stricter.names_tool, all_work(tool))) for tool in tools)
        and any(
            _lies_in(one, other) or _lies_in(other, one)
            for one in looser.folders or ("",)
            for other in stricter.folders or ("",)
        )
    )


def _is_within(one: ReviewRule, other: ReviewRule, tools: Sequence[str]) -> bool:
    """Tell whether each change that one rule is about is one that the other is about, too."""
    clients, others = _clients(one), _clients(other)
    return (
        (others is None or (clients is not None and clients <= others))
        and all(other.names_tool(tool) for tool in tools if one.names_tool(tool))
        and all(any(_lies_in(each, wide) for wide in other.folders or ("",)) for each in one.folders or ("",))
        and all((mine or 0) >= (theirs or 0) for mine, theirs in zip(one[4:], other[4:], strict=True))
    )


def _clients(rule: ReviewRule) -> set[str] | None:
    return None if rule.clients is None or _ANY in rule.clients else set(rule.clients)


def _lies_in(path: str, folder: str) -> bool:
    return not folder or lies_in(fold(path), fold(folder))
