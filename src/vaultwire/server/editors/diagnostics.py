"""Answers ``getDiagnostics`` for one client, which compares answers. Finding the problems is ``vault.links.checks``.

Claude Code asks about a file just before it writes it, and about all these files when a round of edits is over. It tells its
model what is new. Measured, it makes two mistakes, which are corrected here: it takes a problem that has moved for a new one,
and after two edits of a file in one round it has forgotten the first answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from vaultwire.vault.links.checks import Finding

MODELS_CALL = "claudecode/toolUseId"  # in the ``_meta`` of a call that the client makes for its model
_MAX_FILES = 50  # it asks about all of them each time the person says something


class Diagnostics:
    """The diagnostics that one client has seen."""

    def __init__(self) -> None:
        # By path, the latest last: the URI that the client uses for the file, and what was wrong with it then.
        self._asked: dict[str, tuple[str, list[Finding]]] = {}
        self._this_round: set[str] = set()

    def of_file(self, path: str, uri: str, found: list[Finding], *, compares: bool, is_models: bool) -> dict[str, Any]:
        """Return the problems of a file. ``compares``: the client compares them with a later answer.

        ``is_models``: its model asks, for the present state.
        """
        if is_models and path in self._asked:
            return _to_json(uri, found)
        if compares and path in self._this_round:
            found = self._asked[path][1]
        self._asked.pop(path, None)
        self._asked[path] = uri, found
        if not is_models:
            self._this_round.add(path)
        if len(self._asked) > _MAX_FILES:
            oldest = next(iter(self._asked))
            del self._asked[oldest]
            self._this_round.discard(oldest)
        return _to_json(uri, found)

    def of_all(self, check: Callable[[str], list[Finding]], *, compares: bool, is_models: bool) -> list[dict[str, Any]]:
        """Return the problems of all files that the client has asked about. See ``of_file``."""
        if not is_models:
            self._this_round.clear()
        answers: list[dict[str, Any]] = []
        for path, (uri, before) in self._asked.items():
            found = check(path)
            answers.append(_to_json(uri, _at_old_places(found, before) if compares and not is_models else found))
        return answers


def _at_old_places(found: Iterable[Finding], before: Sequence[Finding]) -> list[Finding]:
    """Return the problems found. Those that were there before have the place that they had then."""
    places: dict[tuple[str, str], list[Finding]] = {}
    for finding in reversed(before):
        places.setdefault((finding.kind, finding.message), []).append(finding)
    return [earlier.pop() if (earlier := places.get((each.kind, each.message))) else each for each in found]


def _to_json(uri: str, findings: Iterable[Finding]) -> dict[str, Any]:
    return {"uri": uri, "diagnostics": [_diagnostic(finding) for finding in findings]}


def _diagnostic(finding: Finding) -> dict[str, Any]:
    line = finding.line - 1
    return {
        "message": finding.message,
        "severity": "Error" if finding.is_error else "Warning",
        "range": {
            "start": {"line": line, "character": finding.column - 1},
            "end": {"line": line, "character": max(finding.end, finding.column) - 1},
        },
        "source": "obsidian",
        "code": finding.kind,
    }
