"""Where what cannot be made anew is kept: outside the vault, never in a cache, where each system wants it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vaultwire.config import ConfigError, make_config

PLACES = [
    ("linux", {}, ".local/state/vaultwire", ".cache/vaultwire"),
    ("linux", {"XDG_STATE_HOME": "{home}/st", "XDG_CACHE_HOME": "{home}/ca"}, "st/vaultwire", "ca/vaultwire"),
    ("linux", {"XDG_STATE_HOME": "relative"}, ".local/state/vaultwire", ".cache/vaultwire"),
    ("darwin", {}, "Library/Application Support/vaultwire", "Library/Caches/vaultwire"),
    ("win32", {"LOCALAPPDATA": "{home}/L"}, "L/vaultwire-state", "L/vaultwire"),
]


@pytest.mark.skipif(sys.platform == "win32", reason="the home is another variable there")
@pytest.mark.parametrize(("system", "variables", "state", "cache"), PLACES)
def test_state_and_cache_lie_apart_and_where_the_system_wants_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str, variables: dict[str, str], state: str, cache: str
) -> None:
    for name in ("VAULTWIRE_STATE", "VAULTWIRE_CACHE", "XDG_STATE_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in variables.items():
        monkeypatch.setenv(name, value.format(home=tmp_path))
    monkeypatch.setattr(sys, "platform", system)
    (tmp_path / "vault").mkdir()
    config = make_config(str(tmp_path / "vault"))
    assert (config.state, config.cache) == (str(tmp_path / state), str(tmp_path / cache))


@pytest.mark.parametrize("place", ["vault", "vault/folder", "cache", "cache/below"])
def test_a_state_folder_in_the_vault_or_the_cache_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / "vault").mkdir()
    monkeypatch.setenv("VAULTWIRE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / place))
    with pytest.raises(ConfigError, match="VAULTWIRE_STATE must not be"):
        make_config(str(tmp_path / "vault"))
