"""Every date is read and written with the offset that the person's zone has at that date, also through the tool."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support.calls import call
from support.vaults import open_vault, write_vault
from vaultwire.vault.vault import Vault

pytestmark = pytest.mark.skipif(not hasattr(time, "tzset"), reason="this system has one time zone for a program")
_ZONES = ["Australia/Melbourne", "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kolkata"]


@pytest.fixture(params=_ZONES)
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ZoneInfo]:
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield ZoneInfo(request.param)
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return open_vault(write_vault(tmp_path, "=== A.md\nText.\n"))


def _values(vault: Vault, *formulas: str) -> list[object]:
    named = "\n".join(f"  f{number}: '{formula}'" for number, formula in enumerate(formulas))
    columns = [f"formula.f{number}" for number in range(len(formulas))]
    data = call(vault, "query_base", yaml=f"formulas:\n{named}\nviews: [{{order: [{', '.join(columns)}]}}]").data
    return [data["rows"][0]["values"][column] for column in columns]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15, deadline=None)
@given(st.integers(0, 2_080_000_000))
@example(1_774_751_400)  # 2026-03-29 02:30
@example(1_791_081_000)  # 2026-10-04 02:30
def test_a_date_has_the_offset_of_its_day(zone: ZoneInfo, vault: Vault, seconds: int) -> None:
    at = datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)  # as a clock shows it somewhere
    expected = at.replace(tzinfo=zone).astimezone(UTC).astimezone(zone)
    os.utime(Path(vault.root, "A.md"), (expected.timestamp(), expected.timestamp()))
    text = f'date("{at:%Y-%m-%dT%H:%M:%S}")'
    day = (expected + timedelta(days=100)).astimezone(UTC).astimezone(zone)
    found = _values(vault, f"number({text})", f"{text}.format()", f'({text} + "100d").format()', "file.mtime.format()")
    assert found == [expected.timestamp() * 1000, *(each.isoformat() for each in (expected, day, expected))]


def test_days_of_1970_in_melbourne(monkeypatch: pytest.MonkeyPatch, vault: Vault) -> None:
    monkeypatch.setenv("TZ", "Australia/Melbourne")
    time.tzset()
    try:
        assert _values(vault, 'number(date("1970-01-02"))') == [50400000]
    finally:
        monkeypatch.undo()
        time.tzset()
