"""The rules for changes that the person wants to see first: a planned change in, and what is done with it out. Pure.

``policy_file`` reads them; ``vault.holding.review_mode`` is what the engine knows of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from vaultwire.toolkit.catalog import all_work, always_done, names_of
from vaultwire.vault.disk.paths import fold, lies_in
from vaultwire.vault.holding.review_mode import Mode, PlannedChange

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
