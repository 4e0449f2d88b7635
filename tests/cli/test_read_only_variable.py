"""``VAULTWIRE_READ_ONLY``: how a client's check box or setting makes the server read-only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from vaultwire.config import ConfigError, make_config

VARIABLE = "VAULTWIRE_READ_ONLY"


@pytest.mark.parametrize(
    ("said", "is_on"),
    [
        ("true", True),
        ("1", True),
        ("Yes", True),
        (" on ", True),
        ("", False),
        ("false", False),
        ("0", False),
        ("No", False),
    ],
)
def test_what_a_client_writes_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, is_on: bool
) -> None:
    monkeypatch.setenv(VARIABLE, said)
    assert make_config(str(tmp_path)).read_only is is_on
    assert make_config(str(tmp_path), read_only=True).read_only


@pytest.mark.parametrize("said", ["${user_config.read_only}", "ja", "2"])
def test_what_is_neither_yes_nor_no_is_refused_rather_than_taken_for_no(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv(VARIABLE, said)
    with pytest.raises(ConfigError, match=f"{VARIABLE} must be true or false"):
        make_config(str(tmp_path))


def test_the_server_says_so_in_one_line_and_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "perhaps")
    command = [sys.executable, "-m", "vaultwire", "stdio", "--vault", str(tmp_path)]
    refused = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.splitlines() == [
        "vaultwire: VAULTWIRE_READ_ONLY must be true or false (or 1 or 0, yes or no, on or off), got 'perhaps'"
    ]
