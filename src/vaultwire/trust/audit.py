"""The audit log's records: one for each request, one for its result, and one for each security event.

The fields' names are the contract's.

The records go to a hash-chained log: several processes append to it, and every later change of a line shows. Each line is a
JSON object with the SHA-256 of the line before it (``prev``), also across files: a full file gets a number and a new file is
begun. The oldest full files are removed, and a line of the log says so first; a file that somebody else removed is missed. A
person who can write the file can also make a whole new chain. So ``verify`` returns the last hash, for people who keep it in
another place.

Of arguments the log shows short texts. Content and long texts become a hash, secrets are removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from vaultwire.vault.disk.file_operations import make_private
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import Deadline

# Bytes of a full file: about 13,000 calls.
MAX_FILE_BYTES = 10_000_000
# Full files; 500 MB in all, so that the log cannot fill the disk.
MAX_FILES = 50
FIRST = "0" * 64
"""The ``prev`` of the very first line."""

ROTATION = "rotation"
"""The type of the line that names removed files: ``removed`` has their numbers, each with the hash of its last line."""

_TAIL = 65_536
# Another process writes one line in 0.1 ms. A process that is suspended while it writes must not block all others.
_POLL_SECONDS, _MAX_WAIT_SECONDS = 0.001, 2.0
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class ChainedLog:
    """One log. Safe to use from several threads and processes."""

    def __init__(self, path: str, max_bytes: int = MAX_FILE_BYTES, max_files: int = MAX_FILES) -> None:
        """``max_bytes``: of a file before it gets a number; ``max_files``: how many numbered files stay."""
        self.path = path
        self._max_bytes = max_bytes
        self._max_files = max_files
        self._threads = threading.Lock()
        self._lock = ProcessLock(f"{path}.lock", "", needed=True, poll_seconds=_POLL_SECONDS)
        self._seen = (-1, -1)  # inode and size of the file after this process wrote to it
        self._number = 0  # of the last full file at that time
        self._last = ""  # hash of the last line at that time

    def prepare(self) -> None:
        """Make the folder and the file if they are missing. Raises OSError if they are not writable."""
        make_private(os.path.dirname(self.path))
        os.close(os.open(self.path, _FLAGS, 0o600))

    def append(self, record: dict[str, Any]) -> None:
        """Add a line. Raises OSError and leaves the file unchanged."""
        too_long = BlockingIOError(11, "another process keeps the log locked")
        with self._threads, self._lock.held(Deadline(_MAX_WAIT_SECONDS, too_long)):
            descriptor = os.open(self.path, _FLAGS, 0o600)
            try:
                if os.fstat(descriptor).st_size >= self._max_bytes and self._rotate(descriptor):
                    os.close(descriptor)
                    descriptor = os.open(self.path, _FLAGS, 0o600)
                    self._remove_oldest(descriptor)
                self._add(descriptor, record)
            finally:
                os.close(descriptor)

    def _add(self, descriptor: int, record: dict[str, Any]) -> None:
        status = os.fstat(descriptor)
        last, is_cut = self._last, False
        if (status.st_ino, status.st_size) != self._seen:
            last, is_cut = self._find_last(descriptor, status)
        line = json.dumps({**record, "prev": last}).encode()
        self._write(descriptor, b"\n" * is_cut + line + b"\n", status.st_size)
        self._seen = (status.st_ino, status.st_size + is_cut + len(line) + 1)
        self._last = hashlib.sha256(line).hexdigest()

    def _write(self, descriptor: int, data: bytes, size: int) -> None:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except BaseException:
            os.ftruncate(descriptor, size)
            raise

    def _find_last(self, descriptor: int, status: os.stat_result) -> tuple[str, bool]:
        """Return the ``prev`` of the next line, and whether the last line is cut off.

        If the file no longer has the lines of this process, ``prev`` is the hash of its own last line: so the break shows.
        """
        number = max(_numbers(self.path), default=0)
        was_rotate, self._number = number != self._number, number
        tail, is_cut = _tail(descriptor, status.st_size)
        has_grown = self._seen[0] == status.st_ino and status.st_size >= self._seen[1]
        if self._last and not has_grown and not was_rotate:
            return self._last, is_cut
        if status.st_size == 0:
            if number == 0:
                return FIRST, False
            return _last_hash(_numbered(self.path, number)), False
        return hashlib.sha256(tail).hexdigest(), is_cut

    def _rotate(self, descriptor: int) -> bool:
        """Give the full file a number. False if that fails: a program reads it on Windows, or its last line is cut off."""
        size = os.fstat(descriptor).st_size
        if _tail(descriptor, size)[1]:
            return False  # the next line ends the cut line first
        try:
            os.rename(self.path, _numbered(self.path, max(_numbers(self.path), default=0) + 1))
        except OSError:
            return False
        return True

    def _remove_oldest(self, descriptor: int) -> None:
        """Log which full files are too many, then remove them. Raises OSError if that cannot be logged."""
        numbers = sorted(_numbers(self.path))
        too_many = numbers[: max(0, len(numbers) - self._max_files)]
        if not too_many:
            return
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        removed = {str(number): _last_hash(_numbered(self.path, number)) for number in too_many}
        self._add(descriptor, {"type": ROTATION, "timestamp": when, "removed": removed})
        for number in too_many:
            try:
                os.unlink(_numbered(self.path, number))
            except OSError:  # a program reads it on Windows: try again next time, in order, so that no gap is left
                return


class Problem(NamedTuple):
    """A place where the chain is broken. ``line`` counts from 1."""

    file: str
    line: int
    what: str


class Report(NamedTuple):
    """The result of ``verify``. ``last``: the hash of the last line; ``is_complete``: the first file still exists."""

    files: int
    lines: int
    last: str
    is_complete: bool
    has_expected: bool
    problems: list[Problem]


def verify(path: str, expected: str | None = None) -> Report:
    """Check that every line has the hash of the line before it. Raises OSError, FileNotFoundError if there is no log.

    ``expected``: the hash of a line that must be there.
    """
    names = files(path)
    if not names:
        raise FileNotFoundError(2, "there is no log", path)
    is_complete = min(_numbers(path), default=1) == 1
    problems: list[Problem] = []
    last = FIRST if is_complete else None
    first: str | None = None  # the ``prev`` of the first line
    removed: dict[str, Any] = {}  # the last hashes of files that the log removed itself, by number
    lines, has_expected = 0, expected is None
    for name in names:
        with open(name, "rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.removesuffix(b"\n")
                record = _parsed(line) or {}
                before = _before(record)
                first = before if lines == 0 else first
                if record.get("type") == ROTATION and isinstance(record.get("removed"), dict):
                    removed |= record["removed"]
                if before is None or raw == line:
                    problems.append(
                        Problem(name, number, "is not whole: the write was cut off, or the line was changed")
                    )
                elif last is not None and before != last:
                    what = "does not follow the line before: lines were changed, removed or added"
                    problems.append(Problem(name, number, what))
                last = hashlib.sha256(line).hexdigest()
                has_expected = has_expected or last == expected
                lines += 1
    if not is_complete and (first is None or removed.get(str(min(_numbers(path)) - 1)) != first):
        what = "follows a file that is missing and that the log did not remove itself"
        problems.insert(0, Problem(names[0], 1, what))
    if names[-1] != path:
        problems.append(Problem(path, 0, "is missing, though full files before it exist"))
    return Report(len(names), lines, last or FIRST, is_complete, has_expected, problems)


def files(path: str) -> list[str]:
    """Return the log's files, the oldest first."""
    names = [_numbered(path, number) for number in sorted(_numbers(path))]
    return [*names, path] if os.path.exists(path) else names


def records(path: str, since: float = 0.0) -> Iterator[dict[str, Any]]:
    """Yield the record of every whole line, the oldest first. Raises OSError.

    ``since``: only of files that were written to since that time, in seconds since the epoch.
    """
    for name in files(path):
        if os.stat(name).st_mtime < since:
            continue
        with open(name, "rb") as file:
            for line in file:
                record = _parsed(line)
                if record is not None:
                    yield record


def _numbered(path: str, number: int) -> str:
    return f"{path}.{number:06d}"


def _numbers(path: str) -> list[int]:
    folder, name = os.path.split(os.path.abspath(path))
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    endings = [each[len(name) + 1 :] for each in names if each.startswith(name + ".")]
    return [int(ending) for ending in endings if ending.isascii() and ending.isdecimal()]


def _tail(descriptor: int, size: int) -> tuple[bytes, bool]:
    """Return the last line, and whether it is cut off."""
    read, start = b"", size
    while start > 0 and b"\n" not in read[:-1]:
        start = max(0, start - _TAIL)
        os.lseek(descriptor, start, os.SEEK_SET)
        read = b""
        while len(read) < size - start:
            part = os.read(descriptor, size - start - len(read))
            if not part:
                break
            read += part
    line = read.removesuffix(b"\n")
    return line[line.rfind(b"\n") + 1 :], size > 0 and not read.endswith(b"\n")


def _last_hash(path: str) -> str:
    """Return the hash of a file's last line."""
    with open(path, "rb") as file:
        tail, _ = _tail(file.fileno(), os.fstat(file.fileno()).st_size)
    return hashlib.sha256(tail).hexdigest()


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _before(record: dict[str, Any]) -> str | None:
    """Return a line's ``prev``, None for a line of something else."""
    before = record.get("prev")
    return before if isinstance(before, str) else None


# ---------------------------------------------------------------------- what is shown of arguments

# Arguments with the content of notes, by all the names that callers give them. Even a short one does not belong in a log.
CONTENT = frozenset(
    {
        *("base64", "body", "content", "data", "diff", "label", "markdown", "patch", "text", "value", "values", "yaml"),
        *(
            "find",
            "new_text",
            "new_string",
            "new_str",
            "old_text",
            "old_string",
            "old_str",
            "replace_with",
            "replacement",
        ),
    }
)
_CONTENT = frozenset(name.replace("_", "") for name in CONTENT)  # newText, new-text
# An object of this name has properties' values by their names.
_VALUES_BY_NAME = "properties"
# A text that begins so may be a list of edits, with content in it, that could not be read.
_JSON = re.compile(r"\s*(\{|\[\s*\{)")

# The contract's pattern, without max_tokens, which is a number. A secret leaves no hash: a short one could be found by
# trying.
_SECRET_NAME = re.compile(
    r"password|passwd|secret|api[_-]?key|(?<!max_)token|auth|credential|private[_-]?key", re.IGNORECASE
)

# Longer than most paths and queries.
_MAX_TEXT = 200
_MAX_NUMBER = 1e18  # and no infinity: 1e999 is read as one, and JSON cannot write it
# Of a list or object only so many members and levels are shown.
_MAX_MEMBERS = 50
_MAX_DEPTH = 6
_HASH_DIGITS = 16  # hexadecimal; enough to check whether a given text is the one

# Secrets by their look: keys of vaultwire and of well-known services, tokens, private keys, and, from the contract's own
# documentation, card numbers and US social security numbers.
_SECRETS = re.compile(
    r"\bvw_[\w-]{20,}|\bgh[opsur]_\w{20,}|\bgithub_pat_\w{20,}|\bsk-[\w-]{16,}|\bxox[a-z]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b"
    r"|\beyJ[\w-]{6,}\.[\w-]{6,}\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY.*|\bBearer\s+[\w.~+/=-]{8,}|://[^/\s:@]+:[^/\s@]+(?=@)"
    r"|\b\d{3}-\d{2}-\d{4}\b",
    re.DOTALL,
)
_CARD = re.compile(r"\b\d(?:[ -]?\d){12,18}\b")
HIDDEN = "[redacted]"


def redact(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a call's arguments as a log may show them: short, and always JSON."""
    redacted = _redacted(arguments, 0)
    assert isinstance(redacted, dict)
    return redacted


def redact_text(text: str) -> str:
    """Return a text with everything that looks like a secret replaced."""
    return _CARD.sub(lambda found: HIDDEN if _is_card(found[0]) else found[0], _SECRETS.sub(HIDDEN, text))


def _redacted(value: Any, depth: int, name: str = "", *, hidden: bool = False) -> Any:
    """Return a value as a log may show it; ``hidden``: it is part of some content."""
    hidden = hidden or name.replace("_", "").replace("-", "").casefold() in _CONTENT
    hidden = hidden or (name == _VALUES_BY_NAME and isinstance(value, dict))
    if _SECRET_NAME.search(name) and value is not None and not isinstance(value, bool):
        return f"{HIDDEN}, {len(value)} characters" if isinstance(value, str) else HIDDEN
    if isinstance(value, str):
        hidden = hidden or len(value) > _MAX_TEXT or _JSON.match(value) is not None
        return _fingerprint(value) if hidden else redact_text(value)
    if isinstance(value, int | float) or value is None:
        # A number may have any length as text, and Python refuses to write more than some thousand digits.
        return value if value is None or abs(value) < _MAX_NUMBER else HIDDEN
    if depth >= _MAX_DEPTH:
        return {"members": len(value)}
    if isinstance(value, list):
        items = [_redacted(item, depth + 1, hidden=hidden) for item in value[:_MAX_MEMBERS]]
        return [*items, {"more": len(value) - _MAX_MEMBERS}] if len(value) > _MAX_MEMBERS else items
    members: dict[str, Any] = {}
    for index, (key, item) in enumerate(value.items()):
        if index >= _MAX_MEMBERS:
            members["…"] = {"more": len(value) - _MAX_MEMBERS}
            break
        members[key if key.isidentifier() and len(key) < _HASH_DIGITS else redact_text(key[:_MAX_TEXT])] = _redacted(
            item, depth + 1, key, hidden=hidden
        )
    return members


def _fingerprint(text: str) -> dict[str, Any]:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return {"sha256": digest[:_HASH_DIGITS], "length": len(text)}


def _is_card(text: str) -> bool:
    """Tell whether digits end with a card's check digit (ISO/IEC 7812, Luhn)."""
    digits = [int(character) for character in reversed(text) if character.isdecimal()]
    doubled = [digit if index % 2 == 0 else sum(divmod(digit * 2, 10)) for index, digit in enumerate(digits)]
    return sum(doubled) % 10 == 0


# ---------------------------------------------------------------------- the records

AUDIT_FAILED = "AUDIT_FAILED"
UNKNOWN_TOOL = "(no such tool)"
"""Stands in place of an unknown tool's name: that could be a secret."""
CANCELLED = "CANCELLED"
"""The result of a request that its client cancelled, as far as this server knows."""

# The errors that are also security events: somebody tried what they may not do.
_SECURITY_EVENTS = {
    "POLICY_DENIED": "policy_denied",
    "PATH_OUTSIDE_VAULT": "path_outside_vault",
    "PERMISSION_DENIED": "permission_denied",
    "INVALID_ARGUMENTS": "input_validation_failed",
    "RATE_LIMITED": "rate_limit_exceeded",
    "NETWORK_BLOCKED": "network_blocked",
}
# Of arguments that are longer even when redacted, the record has only the length and the names.
_MAX_ARGUMENTS = 16_384
_MAX_NAMES = 50


class LoggedRequest(NamedTuple):
    """A request in the log. ``started`` is a time of ``time.perf_counter``."""

    id: str
    tool: str | None
    started: float


class Audit:
    """The audit log of one server. Safe to use from several threads.

    ``strict``: a request that cannot be logged is refused. Otherwise it runs, ``complain`` is called once, and a later line
    of the log says how many lines are missing.
    """

    def __init__(self, log: ChainedLog, complain: Callable[[str], None], *, strict: bool = False) -> None:
        self.strict = strict
        self._log = log
        self._complain = complain
        self._lost = 0
        self._writing = threading.Lock()

    def begin(
        self,
        method: str,
        params: dict[str, Any],
        client: str,
        principal: str,
        tool: str | None = None,
        key_id: str = "",
    ) -> LoggedRequest:
        """Log a request before it runs. Raises VaultError (AUDIT_FAILED) if it must not run.

        ``client``: the client's own name; ``principal``: the owner of its key or token, empty for none. ``tool``: the called
        tool's name, None for an unknown tool. ``key_id`` tells keys of one name apart.
        """
        request = LoggedRequest(str(uuid.uuid4()), _tool_name(method, params, tool), time.perf_counter())
        record: dict[str, Any] = {"type": "request", "timestamp": _now(), "request_id": request.id}
        record["client"] = redact_text(client)
        if principal:
            record["principal"] = principal
        if key_id:
            record["key_id"] = key_id
        record["method"] = method
        arguments = {key: value for key, value in params.items() if key != "_meta"}
        if request.tool is not None:
            record["tool_name"] = request.tool
            given = arguments.get("arguments")
            arguments = given if isinstance(given, dict) else {}
        record["arguments"] = _short(redact(arguments))
        problem = self._write(record)
        if problem is not None and self.strict:
            raise VaultError(
                AUDIT_FAILED,
                f"This was not done: it could not be written to the audit log ({problem}), and this server does nothing "
                "that it cannot log. The person who runs the server has to repair the log.",
            )
        return request

    def end(self, request: LoggedRequest, code: str | None) -> None:
        """Log the result of a request: the error's code, None for success."""
        took = round((time.perf_counter() - request.started) * 1000, 3)
        record: dict[str, Any] = {"type": "response", "timestamp": _now(), "request_id": request.id}
        if request.tool is not None:
            record["tool_name"] = request.tool
        record["result_status"] = {None: "success", CANCELLED: "cancelled"}.get(code, "error")
        if record["result_status"] == "error":
            record["error_code"] = code
        record["execution_time_ms"] = took
        self._write(record)
        if code in _SECURITY_EVENTS:
            details = {"tool_name": record["tool_name"]} if request.tool is not None else {}
            event = {"type": "security", "timestamp": _now(), "request_id": request.id}
            self._write({**event, "event_type": _SECURITY_EVENTS[code], "details": details})

    def _write(self, record: dict[str, Any]) -> str | None:
        """Write a line; return the problem, None for none."""
        with self._writing:
            try:
                if self._lost:
                    lost = {"type": "security", "timestamp": _now(), "event_type": "audit_lines_lost"}
                    self._log.append({**lost, "details": {"lines": self._lost}})
                    self._lost = 0
                self._log.append(record)
            except OSError as error:
                problem = error.strerror or type(error).__name__
                if not self._lost:
                    self._complain(f"cannot write the audit log {self._log.path}: {problem}")
                self._lost += 1
                return problem
        return None


def _tool_name(method: str, params: dict[str, Any], known: str | None) -> str | None:
    """Return the called tool's name for the log. An unknown tool's name is any text of the client, so it is not shown."""
    if method != "tools/call" or known is not None:
        return known
    given = params.get("name")
    return f"{UNKNOWN_TOOL}, {len(given)} characters" if isinstance(given, str) else None


def _short(arguments: dict[str, Any]) -> dict[str, Any]:
    length = len(json.dumps(arguments))
    if length <= _MAX_ARGUMENTS:
        return arguments
    return {"shortened": {"length": length, "names": [name[:100] for name in list(arguments)[:_MAX_NAMES]]}}


def _now() -> str:
    """Return the time in UTC, to the millisecond."""
    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z"
