"""Parameters of the notifications to an editor's clients, paths as clients write them, and what differs between clients.

What clients do with them was measured (``docs/editors.md``). Paths are absolute: a client shows any path, but passes a
wrong one on to its model.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from vaultwire.editor.proposals import Diff
from vaultwire.editor.state import Mention, Position, Selection
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.errors import VaultError
from vaultwire.vault.links.faults import Finding
from vaultwire.vault.vault import Vault


class Quirks(NamedTuple):
    """Where a client differs: it counts lines from 1, needs lines in every mention, wants no quotes around paths, or
    compares diagnostics (``editors.diagnostics``). ``name`` is for people.
    """

    name: str = "an assistant"
    first_line: int = 0
    whole_needs_lines: bool = False
    quotes: bool = True
    compares: bool = False


_QUIRKS = {
    "claude-code": Quirks("Claude Code", compares=True),
    "opencode": Quirks("opencode", first_line=1, whole_needs_lines=True, quotes=False),
}
_NONE = Quirks()

# With one of these in its path no form of a mention attaches the file.
_UNMENTIONABLE = ('"', "#")


def quirks_of(client: str) -> Quirks:
    """Return where a client differs, by its name in the handshake."""
    return _QUIRKS.get(client, _NONE)


class ClientPaths:
    """Turns the paths of one vault into those of clients, and back."""

    def __init__(self, root: str) -> None:
        """``root`` is the vault's folder as the person named it."""
        self.root = os.path.abspath(root)
        self._real = os.path.realpath(root)

    def absolute(self, path: str) -> str:
        """Return the absolute path of a file."""
        return os.path.join(self.root, *path.split("/"))

    def uri(self, path: str) -> str:
        """Return a file's URI."""
        return Path(self.absolute(path)).as_uri()

    def vault_path(self, given: str) -> str | None:
        """Return the path in the vault for a client's name of a file; None if it is outside the vault.

        The name is a URI, percent-encoded or not, an absolute path or, as the contract has it, a path from the vault's root.
        """
        text = given.removeprefix("_claude_fs_right:").removeprefix("_claude_fs_left:")
        texts = [text]
        if text.startswith("file://"):
            bare = text.removeprefix("file://").removeprefix("localhost")
            texts = [bare] if "%" not in bare else [bare, unquote(bare)]  # a file name may have a percent sign itself
        found = [path for each in texts if (path := self._below(each)) is not None]
        there = [path for path in found if os.path.lexists(self.absolute(path))]
        return next(iter([*there, *found[::-1]]), None)

    def _below(self, text: str) -> str | None:
        if os.name == "nt" and text[:1] == "/" and text[2:3] == ":":  # file:///C:/…
            text = text[1:]
        if not os.path.isabs(text):
            return _inner(text)
        for root in (self.root, self._real):
            relative = (
                os.path.relpath(text, root) if os.path.splitdrive(text)[0] == os.path.splitdrive(root)[0] else ".."
            )
            if relative != ".." and not relative.startswith(".." + os.sep):
                return relative.replace(os.sep, "/")
        # From the vault's root, as the contract has it, if there is such a file.
        inner = _inner(text.lstrip("/"))
        return inner if inner is not None and os.path.lexists(self.absolute(inner)) else None

    def selection(self, selection: Selection, quirks: Quirks) -> dict[str, Any]:
        """Return the parameters of ``selection_changed``. An empty path clears what the client shows."""
        if not selection.path:
            return {"text": "", "filePath": "", "fileUrl": "", "selection": _range(selection, 0)}
        return {
            "text": selection.text,
            "filePath": self.absolute(selection.path),
            "fileUrl": self.uri(selection.path),
            "selection": _range(selection, quirks.first_line),
        }

    def mention(self, mention: Mention, quirks: Quirks) -> dict[str, Any] | None:
        """Return the parameters of ``at_mentioned``; None where no form of it attaches the file."""
        place = self.absolute(mention.path)
        quoted = quirks.quotes and any(map(str.isspace, place))  # wide and no-break spaces, too
        if any(sign in (place if quoted else mention.path) for sign in _UNMENTIONABLE):
            return None
        first, last = mention.first_line, max(mention.last_line, mention.first_line)
        if quoted:
            # Without quotes the client attaches nothing. With them, it reads lines only inside the quotes, from 1.
            lines = f"#L{first}" + (f"-{last}" if last != first else "") if first else ""
            return {"filePath": f'"{place}{lines}"'}
        if not first:
            if not quirks.whole_needs_lines:
                return {"filePath": place}
            first = last = 1
        shift = quirks.first_line - 1
        return {"filePath": place, "lineStart": first + shift, "lineEnd": last + shift}


def _inner(text: str) -> str | None:
    """Return a path from the vault's root, None if it leads out of the vault."""
    path = text.replace(os.sep, "/")
    return None if os.path.isabs(path) or posixpath.normpath(path).split("/")[0] == ".." else path


def _range(selection: Selection, first_line: int) -> dict[str, Any]:
    def spot(place: Position) -> dict[str, int]:
        return {"line": place.line + first_line, "character": place.character}

    return {"start": spot(selection.start), "end": spot(selection.end), "isEmpty": selection.start == selection.end}


# Answers ``getDiagnostics`` for one client, which compares answers. Finding the problems is ``vault.links.checks``.
#
# Claude Code asks about a file just before it writes it, and about all these files when a round of edits is over. It tells its
# model what is new. Measured, it makes two mistakes, which are corrected here: it takes a problem that has moved for a new one,
# and after two edits of a file in one round it has forgotten the first answer.

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


# From a client's words for a change to the diff that the person sees: which file is meant, and what may be read of it.


def make_diff(vault: Vault, paths: ClientPaths, given: str, label: str, new: str) -> Diff:
    """Return what a client proposes for a file. ``given`` is the client's name of the file.

    Of a file outside the vault, or one that is hidden or private, nothing is read.
    """
    path = paths.vault_path(given)
    place = os.path.abspath(given) if path is None else paths.absolute(path)
    if path is not None:
        try:
            found, file = vault.read_file(path, MAX_NOTE_BYTES)
            return Diff(found, label, file.data, new)
        except VaultError:
            if not os.path.lexists(place) and vault.may_have(path):
                return Diff(path, label, None, new)
    return Diff(os.path.basename(place) or place, label, None, new, outside=place)
