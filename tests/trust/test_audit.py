"""What is put on record of requests, and what happens where nothing can be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from vaultwire.trust.audit import CANCELLED, Audit, ChainedLog, records, verify
from vaultwire.vault.errors import VaultError

READ = {"name": "read_note", "arguments": {"path": "Plan.md"}, "_meta": {"progressToken": 1}}


class Record:
    """An audit in a folder, what it complained of, and what it wrote."""

    def __init__(self, folder: Path, *, strict: bool = False) -> None:
        self.path = folder / "log" / "audit.jsonl"
        self.path.parent.mkdir()
        self.complaints: list[str] = []
        self.audit = Audit(ChainedLog(str(self.path)), self.complaints.append, strict=strict)

    def call(
        self, params: Any, code: str | None = None, method: str = "tools/call", tool: str | None = "read_note"
    ) -> None:
        self.audit.end(self.audit.begin(method, params, "a client", "", tool if method == "tools/call" else None), code)

    def lines(self) -> list[dict[str, Any]]:
        return list(records(str(self.path)))


@pytest.fixture
def record(tmp_path: Path) -> Record:
    return Record(tmp_path)


def test_a_call_leaves_a_line_of_its_own_and_one_of_its_result(record: Record) -> None:
    asked = record.audit.begin("tools/call", READ, "claude-code", "phone", "read_note")
    (request,) = record.lines()  # before it runs
    record.audit.end(asked, None)
    request, response = record.lines()
    stamp = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
    assert stamp.fullmatch(request.pop("timestamp"))
    assert stamp.fullmatch(response.pop("timestamp"))
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", request["request_id"])
    assert response.pop("request_id") == request.pop("request_id")
    assert request.pop("prev") == "0" * 64
    assert len(response.pop("prev")) == 64
    assert request == {
        "type": "request",
        "client": "claude-code",
        "principal": "phone",
        "method": "tools/call",
        "tool_name": "read_note",
        "arguments": {"path": "Plan.md"},
    }
    assert response.pop("execution_time_ms") >= 0
    assert response == {"type": "response", "tool_name": "read_note", "result_status": "success"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("FILE_NOT_FOUND", {"result_status": "error", "error_code": "FILE_NOT_FOUND"}),
        (CANCELLED, {"result_status": "cancelled"}),
    ],
)
def test_a_result_says_how_it_ended(record: Record, code: str, expected: dict[str, str]) -> None:
    record.call(READ, code)
    response = record.lines()[1]
    assert {key: response.get(key) for key in expected} == expected
    assert len(record.lines()) == 2


@pytest.mark.parametrize(
    ("code", "event"),
    [
        ("POLICY_DENIED", "policy_denied"),
        ("PATH_OUTSIDE_VAULT", "path_outside_vault"),
        ("RATE_LIMITED", "rate_limit_exceeded"),
        ("INVALID_ARGUMENTS", "input_validation_failed"),
        ("NETWORK_BLOCKED", "network_blocked"),
    ],
)
def test_an_attempt_at_what_is_not_allowed_has_a_line_of_its_own(record: Record, code: str, event: str) -> None:
    record.call(READ, code)
    request, _, security = record.lines()
    assert (security["type"], security["event_type"]) == ("security", event)
    assert security["request_id"] == request["request_id"]
    assert security["details"] == {"tool_name": "read_note"}


def test_requests_that_are_no_calls_are_on_record_too(record: Record) -> None:
    record.call({"uri": "obsidian://vault/Notes/Plan.md", "_meta": {}}, method="resources/read")
    request, _ = record.lines()
    assert (request["method"], request["arguments"]) == ("resources/read", {"uri": "obsidian://vault/Notes/Plan.md"})
    assert "tool_name" not in request


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 5, "arguments": []},
        {"name": "x" * 10_000, "arguments": None},
        {"name": "read_note", "arguments": {f"name {number}": "x" * 200 for number in range(5000)}},
        {"name": "\udcff", "arguments": {"\udcff": "\udcff"}},
    ],
)
def test_whatever_was_sent_a_line_is_a_line(record: Record, params: dict[str, Any]) -> None:
    record.call(params, tool=None)
    assert len(record.lines()) == 2
    assert verify(str(record.path)).problems == []
    assert record.path.stat().st_size < 40_000


def test_a_name_with_line_breaks_makes_no_line_of_its_own(record: Record) -> None:
    record.call({"name": 'x\n{"type": "response"}', "arguments": {"path": "a\nb\r\u2028"}}, tool=None)
    assert len(record.path.read_bytes().splitlines()) == 2


def test_content_is_not_on_record(record: Record) -> None:
    record.call(
        {"name": "write_note", "arguments": {"path": "Plan.md", "content": "We sell in March.", "token": "hunter2"}}
    )
    text = record.path.read_text()
    assert "March" not in text
    assert "hunter2" not in text
    assert record.lines()[0]["arguments"]["content"]["length"] == 17


def test_a_name_that_is_no_tools_is_not_on_record(record: Record) -> None:
    record.call({"name": "hunter2", "arguments": {}}, "TOOL_NOT_FOUND", tool=None)
    assert "hunter2" not in record.path.read_text()
    assert [line["tool_name"] for line in record.lines()] == ["(no such tool), 7 characters"] * 2


def test_a_strict_record_refuses_what_it_cannot_write_before_it_happens(tmp_path: Path) -> None:
    record = Record(tmp_path, strict=True)
    record.call(READ)
    record.path.parent.rename(tmp_path / "gone")
    for _ in range(2):
        with pytest.raises(VaultError) as refused:
            record.audit.begin("tools/call", READ, "a client", "")
        assert refused.value.code == "AUDIT_FAILED"
        assert "No such file" in refused.value.message
        assert str(tmp_path) not in refused.value.message  # a client learns nothing of the server's folders
    (tmp_path / "gone").rename(record.path.parent)
    record.call(READ)
    assert verify(str(record.path)).problems == []


def test_any_other_record_complains_once_and_says_later_how_much_is_missing(tmp_path: Path) -> None:
    record = Record(tmp_path)
    record.path.parent.rename(tmp_path / "gone")
    record.call(READ)
    record.call(READ)
    assert len(record.complaints) == 1
    assert str(record.path) in record.complaints[0]
    (tmp_path / "gone").rename(record.path.parent)
    record.call(READ)
    lost, request, response = record.lines()
    assert (lost["type"], lost["event_type"], lost["details"]) == ("security", "audit_lines_lost", {"lines": 4})
    assert (request["type"], response["type"]) == ("request", "response")
    record.path.parent.rename(tmp_path / "gone")
    record.call(READ)
    assert len(record.complaints) == 2


def test_a_result_that_cannot_be_written_is_missing_and_counted(tmp_path: Path) -> None:
    record = Record(tmp_path, strict=True)
    asked = record.audit.begin("tools/call", READ, "a client", "")
    record.path.parent.rename(tmp_path / "gone")
    record.audit.end(asked, None)  # it has happened: nothing is left to refuse
    (tmp_path / "gone").rename(record.path.parent)
    record.call(READ)
    assert [line.get("event_type") for line in record.lines()] == [None, "audit_lines_lost", None, None]
