"""The format of the journal's records: changes to bytes and back. The files are ``journal_segments``' matter.

A record is a mark, two lengths and a checksum, then a line of JSON (the header), then the files' bytes (the payload). The
checksum shows what a power cut or a kill has torn; the mark helps to find the next whole record. A change of many files has
several records with the same number: parts, then the intent, which makes it a change.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from vaultwire.vault.changes.change import Author, FileChange, Intent, Move, PriorState, Step, Write
from vaultwire.vault.disk.contents import Content, Patched, patch_of
from vaultwire.vault.errors import JOURNAL_FAILED, VaultError
from vaultwire.vault.value_types import Stages, VaultPath

MARK = b"\nVW1"
_PREFIX = struct.Struct(">4sIQ8s")  # mark, length of the header, length of the payload, checksum of lengths and header
PREFIX_SIZE = _PREFIX.size
# No header is longer: the folders that a change makes are in one. A torn length must not cause gigabytes to be read.
_MAX_HEADER = 1 << 28
# A change of many files has several records, so that neither writing nor reading it takes much memory.
_PART_BYTES, _PART_STEPS = 1 << 20, 1000
# Of larger files a sample is compressed first: to compress a picture of 5 MB takes 0.2 s and gains nothing.
_SAMPLE = 1 << 16
_MAX_RATIO = 0.9


class Prefix(NamedTuple):
    """The beginning of a record: the lengths of its two parts."""

    header: int
    payload: int
    checksum: bytes


def frame(header: dict[str, Any], payload: bytes = b"") -> bytes:
    """Return a record."""
    header = {**header, "sum": hashlib.blake2b(payload, digest_size=8).hexdigest()}
    line = json.dumps(header, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
    return _PREFIX.pack(MARK, len(line), len(payload), _checksum(line, len(payload))) + line + payload


def parse_prefix(data: bytes) -> Prefix | None:
    """Return the prefix in the first ``PREFIX_SIZE`` bytes of a record, None if there is none."""
    if len(data) < PREFIX_SIZE:
        return None
    mark, header, payload, checksum = _PREFIX.unpack_from(data)
    return Prefix(header, payload, checksum) if mark == MARK and 0 < header <= _MAX_HEADER else None


def parse_header(prefix: Prefix, line: bytes) -> dict[str, Any] | None:
    """Return a record's header, None if it is not what was written."""
    if len(line) != prefix.header or _checksum(line, prefix.payload) != prefix.checksum:
        return None
    header: dict[str, Any] = json.loads(line)
    return header


def is_whole(header: dict[str, Any], payload: bytes) -> bool:
    """Tell whether a payload is the one that was written with this header."""
    return bool(header["sum"] == hashlib.blake2b(payload, digest_size=8).hexdigest())


def _checksum(line: bytes, payload: int) -> bytes:
    return hashlib.blake2b(line + payload.to_bytes(8, "big"), digest_size=8).digest()


# ---------------------------------------------------------------------- intents


def to_records(intent: Intent, stages: Stages, *, whole: bool = False) -> Iterator[bytes]:
    """Yield the records of a change that is about to begin: parts with the first steps, then the change with the last ones.

    ``whole``: of an edit, too, all new bytes are recorded; else only what differs.
    """
    packer = _Packer()
    steps: list[dict[str, Any]] = []
    parts = 0
    pairs = [*zip(intent.steps, intent.priors, strict=True)]
    for step, prior in stages.each(stages.RECORDING, "recorded", pairs):
        if packer.size >= _PART_BYTES or len(steps) >= _PART_STEPS:
            yield frame({"kind": "part", "id": intent.id, "steps": steps}, packer.take())
            steps = []
            parts += 1
        steps.append(_pack_step(packer, step, prior, whole=whole))
    header = {
        "kind": "intent",
        "id": intent.id,
        "token": intent.token,
        "time": intent.time_ns,
        "author": [intent.author.client, intent.author.tool],  # older programs take no more
        "session": intent.author.session,
        "proposal": intent.proposal,
        "undoes": next(iter(intent.undoes), None),  # older programs read only this one
        "undoes_also": list(intent.undoes[1:]),
        "parts": parts,
        "steps": steps,
        "made": list(intent.new_folders),
        "emptied": list(intent.removed_folders),
    }
    yield frame(header, packer.take())


def undone_in(header: dict[str, Any]) -> tuple[int, ...]:
    """Return the changes that the recorded change undoes."""
    first = header["undoes"]
    return () if first is None else (first, *header.get("undoes_also", ()))


def author_in(header: dict[str, Any]) -> Author:
    """Return who made the recorded change."""
    client, tool = header["author"]
    return Author(client, tool, header.get("session", ""))


class Recorded(NamedTuple):
    """A record of a change's steps: its header and payload, and the place of the payload: its file and position there."""

    header: dict[str, Any]
    payload: bytes
    path: str
    start: int


def parse_intent(records: Iterable[Recorded | None]) -> Intent | None:
    """Return the change that is recorded, from its records in their order; None if one is not there or of another change.

    Its contents are read from there when they are needed.
    """
    pairs: list[tuple[Step, PriorState]] = []
    header: dict[str, Any] = {}
    parts = -1
    for record in records:
        if record is None or record.header["id"] != header.get("id", record.header["id"]):
            return None
        parts += 1
        header = record.header
        pairs += parse_steps(record)
    if header.get("parts") != parts:
        return None
    return Intent(
        header["id"],
        header["token"],
        header["time"],
        author_in(header),
        undone_in(header),
        tuple(step for step, _ in pairs),
        tuple(prior for _, prior in pairs),
        tuple(header["made"]),
        tuple(header["emptied"]),
        proposal=header.get("proposal", 0),
    )


def parse_steps(record: Recorded) -> Iterator[tuple[Step, PriorState]]:
    """Yield the steps in one record. Their contents are read from there when they are needed."""
    unpacker = _Unpacker(record)
    for fields in record.header["steps"]:
        yield _unpack_step(unpacker, fields)


def files_in(header: dict[str, Any]) -> Iterator[FileChange]:
    """Yield what the steps in one record do to their files."""
    for fields in header["steps"]:
        if "move" in fields:
            yield FileChange("move", VaultPath(fields["move"]), VaultPath(fields["to"]))
        else:
            kind: Literal["create", "edit", "remove"] = (
                "create" if fields["before"] is None else "remove" if fields["after"] is None else "edit"
            )
            yield FileChange(kind, VaultPath(fields["write"]))


class InJournal:
    """Bytes that are read from a record of the journal (``disk.contents.Source``)."""

    __slots__ = ("_is_compressed", "_length", "_path", "_position")

    def __init__(self, path: str, position: int, length: int, *, is_compressed: bool) -> None:
        self._path = path
        self._position = position
        self._length = length
        self._is_compressed = is_compressed

    def read(self) -> bytes:
        """See ``Source``."""
        try:
            with open(self._path, "rb", buffering=0) as file:
                file.seek(self._position)
                piece = file.read(self._length)
            return zlib.decompress(piece) if self._is_compressed else piece
        except (OSError, zlib.error) as error:
            raise self.damage() from error

    def damage(self) -> VaultError:
        """See ``Source``."""
        return VaultError(JOURNAL_FAILED, "A record of the journal of changes cannot be read any more, or is damaged.")


class _Packer:
    """Puts bytes into a payload, one after the other."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self.size = 0

    def pack(self, data: bytes) -> list[int]:
        """Add the bytes; return their length in the payload, and whether they are compressed there."""
        packed = _compressed(data)
        piece = data if packed is None else packed
        self._pieces.append(piece)
        self.size += len(piece)
        return [len(piece), int(packed is not None)]

    def pack_content(self, content: Content | None) -> list[int | str] | None:
        """Add a content; return what ``pack`` does, its size and its digest."""
        return None if content is None else [*self.pack(content.data), content.size, content.digest.hex()]

    def take(self) -> bytes:
        """Return the payload, and begin the next one."""
        payload = b"".join(self._pieces)
        self._pieces, self.size = [], 0
        return payload


class _Unpacker:
    """Takes bytes out of a payload in the order in which they were put there."""

    def __init__(self, record: Recorded) -> None:
        self._record = record
        self._position = 0

    def unpack(self, entry: list[int]) -> bytes:
        """Return bytes that are held in memory: only parts of files."""
        length, is_compressed = entry
        piece = self._record.payload[self._position : self._position + length]
        self._position += length
        return zlib.decompress(piece) if is_compressed else piece

    def unpack_content(self, entry: list[Any] | None) -> Content | None:
        if entry is None:
            return None
        length, is_compressed, size, digest = entry
        position = self._record.start + self._position
        self._position += length
        source = InJournal(self._record.path, position, length, is_compressed=bool(is_compressed))
        return Content(source, size, bytes.fromhex(digest))


def _compressed(data: bytes) -> bytes | None:
    if len(data) > _SAMPLE and len(zlib.compress(data[:_SAMPLE], 1)) > _SAMPLE * _MAX_RATIO:
        return None
    packed = zlib.compress(data, 1)
    return packed if len(packed) < len(data) else None


def _pack_step(packer: _Packer, step: Step, prior: PriorState, *, whole: bool) -> dict[str, Any]:
    if isinstance(step, Move):
        return {
            "move": step.source,
            "to": step.target,
            "content": packer.pack_content(prior.content),
            "inode": prior.inode,
            "names": prior.hard_links,
            "folder": prior.is_folder,
            "fresh": prior.was_free,
        }
    fields: dict[str, Any] = {
        "write": step.path,
        "before": packer.pack_content(step.old),
        "inode": prior.inode,
        "fresh": prior.was_free,
    }
    if prior.place != step.path:
        fields["at"] = prior.place
    if whole or step.old is None or step.new is None:
        return {**fields, "after": packer.pack_content(step.new)}
    # Of an edit's new bytes only the changed middle is kept: an append to a long note is one line here.
    patch = patch_of(step.old, step.new)
    between = [patch.head, patch.tail, step.new.size, step.new.digest.hex()]
    return {**fields, "between": between, "after": packer.pack(patch.middle)}


def _unpack_step(unpacker: _Unpacker, fields: dict[str, Any]) -> tuple[Step, PriorState]:
    if "move" in fields:
        content = unpacker.unpack_content(fields["content"])
        source, target = VaultPath(fields["move"]), VaultPath(fields["to"])
        facts = fields["inode"], fields["names"], fields["folder"], fields["fresh"]
        return Move(source, target), PriorState(source, content, *facts)
    path = VaultPath(fields["write"])
    before = unpacker.unpack_content(fields["before"])
    if "between" in fields and before is not None:
        head, tail, size, digest = fields["between"]
        middle = unpacker.unpack(fields["after"])
        after: Content | None = Content(Patched(before, head, tail, middle), size, bytes.fromhex(digest))
    else:
        after = unpacker.unpack_content(fields["after"])
    return Write(path, before, after), PriorState(
        VaultPath(fields["at"]) if "at" in fields else path, None, fields["inode"], was_free=fields["fresh"]
    )
