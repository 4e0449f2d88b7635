"""The format of the journal's records: changes to bytes and back. The files are ``journal_segments``' matter.

A record is a mark, two lengths and a checksum, then a line of JSON (the header), then the files' bytes (the payload). The
checksum shows what a power cut or a kill has torn; the mark helps to find the next whole record.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from typing import Any, NamedTuple

from vaultwire.vault.changes.change import Author, Intent, Move, PriorState, Step, Write
from vaultwire.vault.value_types import VaultPath

MARK = b"\nVW1"
_PREFIX = struct.Struct(">4sIQ8s")  # mark, length of the header, length of the payload, checksum of lengths and header
PREFIX_SIZE = _PREFIX.size
# No header is longer: a change of 100,000 files has 20 MB. A torn length must not cause gigabytes to be read.
_MAX_HEADER = 1 << 28
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


def to_record(intent: Intent) -> bytes:
    """Return the record of a change that is about to begin."""
    packer = _Packer()
    header = {
        "kind": "intent",
        "id": intent.id,
        "token": intent.token,
        "time": intent.time_ns,
        "author": list(intent.author),
        "undoes": intent.undoes,
        "steps": [_pack_step(packer, step, prior) for step, prior in zip(intent.steps, intent.priors, strict=True)],
        "made": list(intent.new_folders),
        "emptied": list(intent.removed_folders),
    }
    return frame(header, b"".join(packer.pieces))


def parse_intent(header: dict[str, Any], payload: bytes | None) -> Intent:
    """Return the change that is recorded. Without the ``payload`` all its bytes are empty, and still None for no file."""
    unpacker = _Unpacker(payload)
    pairs = [_unpack_step(unpacker, fields) for fields in header["steps"]]
    return Intent(
        header["id"],
        header["token"],
        header["time"],
        Author(*header["author"]),
        header["undoes"],
        tuple(step for step, _ in pairs),
        tuple(prior for _, prior in pairs),
        tuple(header["made"]),
        tuple(header["emptied"]),
    )


class _Packer:
    """Puts bytes into a payload, one after the other."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []

    def pack(self, data: bytes | None) -> list[int] | None:
        """Add the bytes; return their length in the payload, and whether they are compressed there."""
        if data is None:
            return None
        packed = _compressed(data)
        self.pieces.append(data if packed is None else packed)
        return [len(self.pieces[-1]), int(packed is not None)]


class _Unpacker:
    """Takes bytes out of a payload in the order in which they were put there."""

    def __init__(self, payload: bytes | None) -> None:
        self._payload = payload
        self._position = 0

    def unpack(self, entry: list[int] | None) -> bytes | None:
        if entry is None:
            return None
        if self._payload is None:
            return b""
        length, is_compressed = entry
        piece = self._payload[self._position : self._position + length]
        self._position += length
        return zlib.decompress(piece) if is_compressed else piece


def _compressed(data: bytes) -> bytes | None:
    if len(data) > _SAMPLE and len(zlib.compress(data[:_SAMPLE], 1)) > _SAMPLE * _MAX_RATIO:
        return None
    packed = zlib.compress(data, 1)
    return packed if len(packed) < len(data) else None


def _pack_step(packer: _Packer, step: Step, prior: PriorState) -> dict[str, Any]:
    if isinstance(step, Move):
        return {
            "move": step.source,
            "to": step.target,
            "content": packer.pack(prior.content),
            "inode": prior.inode,
            "names": prior.hard_links,
            "folder": prior.is_folder,
            "fresh": prior.was_free,
        }
    fields: dict[str, Any] = {
        "write": step.path,
        "before": packer.pack(step.before),
        "inode": prior.inode,
        "fresh": prior.was_free,
    }
    if prior.place != step.path:
        fields["at"] = prior.place
    if step.before is None or step.after is None:
        return {**fields, "after": packer.pack(step.after)}
    # Of an edit's new bytes only the changed middle is kept: an append to a long note is one line here.
    head = _common_prefix_length(step.before, step.after)
    tail = _common_prefix_length(step.before[head:][::-1], step.after[head:][::-1])
    middle = step.after[head : len(step.after) - tail]
    return {**fields, "between": [head, tail], "after": packer.pack(middle)}


def _unpack_step(unpacker: _Unpacker, fields: dict[str, Any]) -> tuple[Step, PriorState]:
    if "move" in fields:
        content = unpacker.unpack(fields["content"])
        source, target = VaultPath(fields["move"]), VaultPath(fields["to"])
        facts = fields["inode"], fields["names"], fields["folder"], fields["fresh"]
        return Move(source, target), PriorState(source, content, *facts)
    path = VaultPath(fields["write"])
    before, after = unpacker.unpack(fields["before"]), unpacker.unpack(fields["after"])
    if "between" in fields and before:
        head, tail = fields["between"]
        after = before[:head] + (after or b"") + before[len(before) - tail :]
    return Write(path, before, after), PriorState(
        VaultPath(fields.get("at", path)), None, fields["inode"], was_free=fields["fresh"]
    )


def _common_prefix_length(one: bytes, other: bytes) -> int:
    """Return how many bytes both begin with. By bisection: comparing slices is done in C, comparing bytes one by one is not."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
