"""Middleware around every request: rate limit, audit log, largest size of an answer. The rules themselves are in ``trust``.

A server for which none of the three is asked for has no middleware.
"""

from __future__ import annotations

import contextlib
import time

from vaultwire.protocol.dialects import known_name
from vaultwire.protocol.jsonrpc import INTERNAL_ERROR
from vaultwire.server.results import AnswerForm, Refusal, Result
from vaultwire.server.workers import Job
from vaultwire.toolkit.catalog import names_of, work_of
from vaultwire.trust.limits import Rates, TooOften
from vaultwire.vault.errors import TOO_LARGE, Stopped, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.server.results import Answer
    from vaultwire.server.subscriptions import Listening
    from vaultwire.trust.audit import Audit, LoggedRequest
    from vaultwire.trust.limits import ClientLimits

    Fail: TypeAlias = Callable[[str, str, Mapping[str, Any]], Answer]
    """Returns the answer for a request that fails, from its error code, message and details."""


RATE_LIMITED = "RATE_LIMITED"
_CANCELLED = "CANCELLED"  # as in trust.audit, which may not be loaded


class Middleware:
    """The rate limit, the audit log and the size limit of one server."""

    def __init__(
        self, audit: Audit | None = None, rates: Rates | None = None, most_characters: int | None = None
    ) -> None:
        """``most_characters``: of text (or of data as base64) in one answer."""
        self._audit = audit
        self.rates = rates
        self._most_characters = most_characters

    def handle(
        self,
        request: Request,
        dialect: Dialect,
        handle: Callable[[Request, Dialect], Answer | Job | Listening],
        descriptions: Mapping[str, Mapping[str, Any]],
    ) -> Answer | Job | Listening:
        """Handle the request, or refuse it. ``descriptions`` are those of the tools, by name."""
        tool, fail = None, _refuse
        if request.method == "tools/call":
            given = request.params.get("name")
            tool = known_name(given, descriptions) if isinstance(given, str) else None
            fail = AnswerForm(request.revision, dialect, tool, descriptions).failure
        answer: Answer | Job | Listening | None = None
        if self.rates is not None:
            answer = self._check_rate(request, fail, tool, descriptions)
        answer = answer or handle(request, dialect)
        entry = _AuditEntry(self._audit, request, tool)
        if isinstance(answer, Job):
            self._wrap(answer, entry, fail)
            return answer
        try:
            entry.begin()
        except VaultError as error:
            return fail(error.code, error.message, error.details)
        entry.end(_code_of(answer) if isinstance(answer, Result | Refusal) else None)
        return answer

    def _check_rate(
        self, request: Request, fail: Fail, tool: str | None, descriptions: Mapping[str, Mapping[str, Any]]
    ) -> Answer | None:
        """Count the request; return a refusal if there were too many."""
        assert self.rates is not None
        name, changes, of = request.method, False, ""
        also: list[str] = []
        if request.method == "tools/call":
            if tool is None:
                name = "an unknown tool"  # all of them together: made-up names give no client more calls
            else:
                name, of = tool, f" for tool: {tool}"
                changes = not descriptions[tool]["annotations"]["readOnlyHint"]
                arguments = request.params.get("arguments")
                also = [*names_of(tool)[1:], *(work_of(tool, arguments) if isinstance(arguments, dict) else ())]
        try:
            self.rates.count(request.peer.identity, name, changes=changes, also=also)
        except TooOften as refused:
            return fail(RATE_LIMITED, f"Rate limit exceeded{of} ({refused}).", {"retryAfter": refused.retry_after})
        return None

    def _wrap(self, job: Job, entry: _AuditEntry, fail: Fail) -> None:
        """Put the entry in the log and the check of the answer's size around a job."""
        run_job, give_up_job = job.run, job.give_up

        def run(client: Any) -> Answer:
            try:
                entry.begin()
            except VaultError as error:
                return fail(error.code, error.message, error.details)
            try:
                answer = run_job(client)
            except Stopped:
                entry.end(_CANCELLED)
                raise
            if self._most_characters is not None and isinstance(answer, Result):
                answer = self._limit(answer, fail)
            entry.end(_code_of(answer))
            return answer

        def give_up(code: str, message: str) -> Answer:
            with contextlib.suppress(VaultError):  # the log failed; the client hears of the job's failure anyway
                entry.begin()
                entry.end(code)
            return give_up_job(code, message)

        job.run, job.give_up = run, give_up

    def _limit(self, answer: Result, fail: Fail) -> Answer:
        """Return the answer, or a failure if it is too large."""
        assert self._most_characters is not None
        size = sum(_size_of(block) for name in ("content", "contents") for block in answer.value.get(name, ()))
        if size <= self._most_characters:
            return answer
        message = (
            f"The answer has {size} characters, and this server gives at most {self._most_characters}. Ask for less: a "
            "section or some lines of a note, or fewer results."
        )
        return fail(TOO_LARGE, message, {"size": size, "limit": self._most_characters})


def make_middleware(
    asked: ClientLimits, complain: Callable[[str], None], *, rates: Mapping[str, int]
) -> Middleware | None:
    """Return the middleware of a run, None if nothing is asked for. ``rates`` are the limits where none are asked for.

    Raises OSError if the log cannot be written.
    """
    audit = None
    if asked.audit is not None:
        from vaultwire.trust.audit import Audit, ChainedLog  # noqa: PLC0415 - only where there is a log

        log = ChainedLog(asked.audit)
        log.prepare()
        audit = Audit(log, complain, strict=asked.strict)
    most = {**rates, **(asked.rates or {})}
    if audit is None and not most and asked.most_characters is None:
        return None
    return Middleware(audit, Rates(most, time.monotonic) if most else None, asked.most_characters)


class _AuditEntry:
    """One request in the audit log: a line when it begins, and one when it ends, on the thread that sees that first."""

    def __init__(self, audit: Audit | None, request: Request, tool: str | None) -> None:
        self._tool = tool
        self._audit = audit
        self._request = request
        self._asked: list[LoggedRequest] = []
        self._has_begun = False

    def begin(self) -> None:
        """Log the request, once. Raises VaultError if that fails and the log is strict."""
        if self._audit is None or self._has_begun:
            return
        method, params, peer = self._request.method, self._request.params, self._request.peer
        self._asked.append(self._audit.begin(method, params, peer.name, peer.authority, self._tool, peer.key_id))
        self._has_begun = True

    def end(self, code: str | None) -> None:
        """Log how the request ended, once: the watchdog may have done so before the work ends."""
        if self._audit is None:
            return
        try:
            asked = self._asked.pop()  # two threads may try; one gets it
        except IndexError:
            return
        self._audit.end(asked, code)


def _refuse(code: str, message: str, details: Mapping[str, Any]) -> Answer:
    return Refusal(INTERNAL_ERROR, message, {"errorCode": code, **details})


def _code_of(answer: Answer) -> str | None:
    """Return the error code of an answer, None if it is no error."""
    if isinstance(answer, Refusal):
        code = (answer.data or {}).get("errorCode")
        return code if isinstance(code, str) else str(answer.code)
    return answer.failed


def _size_of(block: Mapping[str, Any]) -> int:
    """Return the characters of a content block's text or data, or of its resource's."""
    held = block.get("resource", block)
    return sum(len(held[name]) for name in ("text", "data", "blob") if isinstance(held.get(name), str))
