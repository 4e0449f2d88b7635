"""What was asked of the server and what came of it: a line for each request, one for its result, and one for a breach.

The fields' names are the contract's. Lines go to a ``ChainedLog``; what of arguments may stand in them ``redaction`` says.
"""

from __future__ import annotations

import functools
import json
import threading
import time
import uuid
from typing import Any, NamedTuple

from vaultwire.trust.chained_log import ChainedLog
from vaultwire.trust.redaction import redact, redact_text
from vaultwire.vault.errors import VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


AUDIT_FAILED = "AUDIT_FAILED"
UNKNOWN_TOOL = "(no such tool)"
"""What is on record in place of the name of a tool that is none: it could be a secret as well."""
CANCELLED = "CANCELLED"
"""What came of a request that its client took back, as far as this server knows."""

# Refusals that are worth a line of their own: somebody tried what they may not.
_BREACHES = {
    "POLICY_DENIED": "policy_denied",
    "PATH_OUTSIDE_VAULT": "path_outside_vault",
    "PERMISSION_DENIED": "permission_denied",
    "INVALID_ARGUMENTS": "input_validation_failed",
    "RATE_LIMITED": "rate_limit_exceeded",
    "NETWORK_BLOCKED": "network_blocked",
}
# Arguments that are longer even when redacted were made to be; the line says how long, and which they were.
_LONGEST_ARGUMENTS = 16_384
_MOST_NAMES = 50


class Asked(NamedTuple):
    """A request on record. ``started`` is a time of ``time.perf_counter``."""

    id: str
    tool: str | None
    started: float


class Audit:
    """The record of one server. Safe to use from several threads.

    ``strict``: what cannot be put on record does not happen. Otherwise it does, ``complain`` is told once for as long as it
    lasts, and the log says how many lines are missing as soon as it can be written again.
    """

    def __init__(self, log: ChainedLog, complain: Callable[[str], None], *, strict: bool = False) -> None:
        self.strict = strict
        self._log = log
        self._complain = complain
        self._lost = 0
        self._writing = threading.Lock()

    def begin(self, method: str, params: dict[str, Any], client: str, principal: str, tool: str | None = None) -> Asked:
        """Put a request on record, before it runs. Raises VaultError (AUDIT_FAILED) if it must not run.

        ``client``: its own name for itself; ``principal``: whose key or token it came with, empty for neither. ``tool``:
        the one that is called, as it is named here; None if there is no such tool.
        """
        asked = Asked(str(uuid.uuid4()), _tool_name(method, params, tool), time.perf_counter())
        record: dict[str, Any] = {"type": "request", "timestamp": _now(), "request_id": asked.id}
        record["client"] = redact_text(client)
        if principal:
            record["principal"] = principal
        record["method"] = method
        arguments = {key: value for key, value in params.items() if key != "_meta"}
        if asked.tool is not None:
            record["tool_name"] = asked.tool
            given = arguments.get("arguments")
            arguments = given if isinstance(given, dict) else {}
        record["arguments"] = _short(redact(arguments))
        problem = self._write(record)
        if problem is not None and self.strict:
            raise VaultError(
                AUDIT_FAILED,
                f"This was not done, because it could not be written to the audit log ({problem}), and this server does "
                "nothing off the record. Whoever runs it has to see to the log.",
            )
        return asked

    def end(self, asked: Asked, code: str | None) -> None:
        """Put on record what came of a request: an error's code, None if it went well."""
        took = round((time.perf_counter() - asked.started) * 1000, 3)
        record: dict[str, Any] = {"type": "response", "timestamp": _now(), "request_id": asked.id}
        if asked.tool is not None:
            record["tool_name"] = asked.tool
        record["result_status"] = {None: "success", CANCELLED: "cancelled"}.get(code, "error")
        if record["result_status"] == "error":
            record["error_code"] = code
        record["execution_time_ms"] = took
        self._write(record)
        if code in _BREACHES:
            details = {"tool_name": record["tool_name"]} if asked.tool is not None else {}
            breach = {"type": "security", "timestamp": _now(), "request_id": asked.id}
            self._write({**breach, "event_type": _BREACHES[code], "details": details})

    def _write(self, record: dict[str, Any]) -> str | None:
        """Write a line and return None, or what is in the way."""
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
    """Return the called tool's name for the record. Where there is no such tool, the name is any text of the client's."""
    if method != "tools/call" or known is not None:
        return known
    given = params.get("name")
    return f"{UNKNOWN_TOOL}, {len(given)} characters" if isinstance(given, str) else None


def _short(arguments: dict[str, Any]) -> dict[str, Any]:
    if len(arguments) <= 1 and not any(isinstance(value, dict | list) for value in arguments.values()):
        return arguments
    length = len(json.dumps(arguments))
    if length <= _LONGEST_ARGUMENTS:
        return arguments
    return {"shortened": {"length": length, "names": [name[:100] for name in list(arguments)[:_MOST_NAMES]]}}


def _now() -> str:
    """Return the time in UTC, to the millisecond."""
    now = time.time()
    return f"{_spelt(int(now))}.{int(now % 1 * 1000):03}Z"


@functools.lru_cache(maxsize=1)
def _spelt(second: int) -> str:
    """Return a time in UTC. Spelling one takes as long as writing a line."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
