"""The audit log's records: one for each request, one for its result, and one for each security event.

The fields' names are the contract's. The records go to a ``ChainedLog``. ``redaction`` decides what they show of arguments.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any, NamedTuple

from vaultwire.trust.chained_log import ChainedLog
from vaultwire.trust.redaction import redact, redact_text
from vaultwire.vault.errors import VaultError

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
