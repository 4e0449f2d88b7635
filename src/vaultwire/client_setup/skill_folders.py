"""Puts our skills into the folder in which a client reads skills, and takes them out: first as a plan, then on the disk.

A file is ours if its bytes are those that we wrote there. What a person changed, or had there before, is never written over and
never taken away; nor is anything behind a link below that folder, which is somebody's own arrangement. Several clients read
one folder (``.agents/skills``): the skills go when the last of them is undone.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from vaultwire.client_setup.clients import SetupError
from vaultwire.client_setup.installing import Content, delete, digest, locked, replace
from vaultwire.skills import bundled_skills, read_bundled
from vaultwire.vault.disk.file_operations import make_private, write_private

_RECORDS = "skill-folders.json"


class Record(NamedTuple):
    """What was put into one folder: for which clients, by which hashes each file is ours, and the folders made for it."""

    clients: tuple[str, ...]
    files: Mapping[str, tuple[str, ...]]
    made: tuple[str, ...]


class Plan(NamedTuple):
    """A change of one folder of skills. All paths are relative to ``folder``, with ``/``.

    ``write`` and ``remove`` have the bytes before; ``stay`` are files that are not ours; ``after`` is None where nothing of
    ours is left. ``others`` are clients for which the files stay.
    """

    folder: str
    write: Mapping[str, tuple[bytes | None, bytes]]
    remove: Mapping[str, bytes]
    stay: tuple[str, ...]
    after: Record | None
    others: tuple[str, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether a file is written or removed."""
        return bool(self.write or self.remove)


def plan(folder: str, client: str, state: str) -> Plan:
    """Return what puts our skills into a folder. Raises SetupError."""
    folder = os.path.realpath(folder)
    known = _records(state).get(folder, Record((), {}, ()))
    write: dict[str, tuple[bytes | None, bytes]] = {}
    files: dict[str, tuple[str, ...]] = {}
    stay: list[str] = []
    for path, data in _bundled().items():
        ours = known.files.get(path, ())
        try:
            now = _bytes_at(folder, path)
        except _NotOursError:
            stay.append(path)
            continue
        if now is None or digest(now) in ours:
            files[path] = (digest(data),)
            if now != data:
                write[path] = now, data
        elif now != data:
            stay.append(path)
            if ours:  # should the person take their change back, it is ours again
                files[path] = ours
    remove = _unchanged(folder, {path: known.files[path] for path in known.files.keys() - _bundled().keys()})
    clients = tuple(sorted({*known.clients, client}))
    made = known.made or tuple(_missing(folder))
    return Plan(folder, write, remove, tuple(stay), Record(clients, files, made))


def plan_undo(folder: str, client: str, state: str) -> Plan:
    """Return what takes our skills out of a folder again: the files that still are as they were written. Raises SetupError."""
    folder = os.path.realpath(folder)
    known = _records(state).get(folder)
    if known is None or client not in known.clients:
        return Plan(folder, {}, {}, (), known)
    others = tuple(each for each in known.clients if each != client)
    if others:
        return Plan(folder, {}, {}, (), known._replace(clients=others), others)
    remove = _unchanged(folder, known.files)
    stay = tuple(path for path in known.files if path not in remove and os.path.lexists(_path(folder, path)))
    return Plan(folder, {}, remove, stay, None)


def carry_out(change: Plan, state: str) -> None:
    """Write and remove the files as planned, and remember what is ours. Raises SetupError.

    What is going to be written is on record first, beside what is there: after a crash, the next run goes on, and an undo finds
    all of it.
    """
    with locked(state):
        known = _records(state)
        records = dict(known)
        before = records.pop(change.folder, None)
        after = change.after if change.after is not None and change.after.files else None
        if after is not None and change.write:
            old = {path: (digest(data),) for path, (data, _) in change.write.items() if data is not None}
            both = {path: (*old.get(path, ()), *ours) for path, ours in after.files.items()}
            _keep(state, {**records, change.folder: after._replace(files=both)})
        for path, (now, data) in change.write.items():
            replace(_path(change.folder, path), Content(now, ""), data)
        for path, data in change.remove.items():
            delete(_path(change.folder, path), Content(data, ""))
        _remove_empty(change, before)
        if after is not None:
            records[change.folder] = after
        if records != known or change.write:
            _keep(state, records)


class _NotOursError(Exception):
    """At the place of a file is something that is not ours: a link, a folder, or what cannot be read."""


def _bundled() -> dict[str, bytes]:
    return {
        f"{skill.name}/{path}": read_bundled(skill.name, path) for skill in bundled_skills() for path in skill.files
    }


def _path(folder: str, path: str) -> str:
    return os.path.join(folder, *path.split("/"))


def _bytes_at(folder: str, path: str) -> bytes | None:
    """Return what a file holds, None if it is not there. ``folder`` has no link in it. Raises _NotOursError."""
    target = _path(folder, path)
    # Also a junction of Windows leads elsewhere. A drive's letter has two cases.
    if os.path.normcase(os.path.realpath(target)) != os.path.normcase(target):
        raise _NotOursError
    if not os.path.lexists(target):
        parent = os.path.dirname(target)
        if os.path.lexists(parent) and not os.path.isdir(parent):
            raise _NotOursError
        return None
    if not os.path.isfile(target):
        raise _NotOursError
    try:
        with open(target, "rb") as file:
            return file.read()
    except OSError:
        raise _NotOursError from None


def _unchanged(folder: str, files: Mapping[str, tuple[str, ...]]) -> dict[str, bytes]:
    """Return those of the files that hold what was written, with their bytes."""
    unchanged = {}
    for path, ours in files.items():
        with contextlib.suppress(_NotOursError):
            now = _bytes_at(folder, path)
            if now is not None and digest(now) in ours:
                unchanged[path] = now
    return unchanged


def _missing(folder: str) -> list[str]:
    """Return the folders that have to be made for this one, the outermost first."""
    missing: list[str] = []
    while not os.path.isdir(folder) and os.path.dirname(folder) != folder:
        missing.insert(0, folder)
        folder = os.path.dirname(folder)
    return missing


def _remove_empty(change: Plan, before: Record | None) -> None:
    """Remove the folders of the removed files that are empty now; after an undo also those that were made for them."""
    folders = {os.path.dirname(path) for path in change.remove}
    folders |= {path.partition("/")[0] for path in folders}
    paths = sorted((_path(change.folder, path) for path in folders), key=len, reverse=True)
    if change.after is None and before is not None:
        paths += sorted(before.made, key=len, reverse=True)
    for path in paths:
        with contextlib.suppress(OSError):  # it is not empty, or gone
            os.rmdir(path)


# ---------------------------------------------------------------------- what is on record


def _records(state: str) -> dict[str, Record]:
    """Return what is on record, by folder. A record that cannot be read is none: its files count as the person's own."""
    try:
        with open(os.path.join(state, _RECORDS), encoding="utf-8") as file:
            data = json.load(file)
        return {str(folder): _to_record(record) for folder, record in data.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _to_record(data: Mapping[str, Any]) -> Record:
    files = {str(path): tuple(map(str, ours)) for path, ours in data["files"].items()}
    return Record(tuple(map(str, data["clients"])), files, tuple(map(str, data["made"])))


def _keep(state: str, records: Mapping[str, Record]) -> None:
    path = os.path.join(state, _RECORDS)
    try:
        make_private(state)
        write_private(path, {folder: record._asdict() for folder, record in records.items()})
    except OSError as error:
        raise SetupError(f"{path} cannot be used: {error.strerror or error}. Nothing was changed") from None
