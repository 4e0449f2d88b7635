"""The plugin's file outside of a browser: where it looks for the server, under Node, and what it is made from."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

import pytest

from vaultwire.config import make_config
from vaultwire.desk.plugin_endpoint import MAX_SELECTED, VERSION
from vaultwire.transports.lock_file import endpoint_file, endpoint_path, new_endpoint, read_endpoint

PLUGIN = resources.files("vaultwire.obsidian").joinpath("plugin")
MAIN = PLUGIN.joinpath("main.js").read_text(encoding="utf-8")
SOURCE = Path(__file__).parents[2] / "packaging" / "obsidian-plugin" / "src"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node: install Node.js")

# Obsidian's modules come from the app; everything else is Node's own.
RUNNER = """
const given = JSON.parse(process.argv[2]);
const module_ = { exports: {} };
const stub = { Plugin: class {}, ItemView: class {}, PluginSettingTab: class {} };
new Function("require", "module", "exports", require("fs").readFileSync(process.argv[1], "utf8"))(
  (name) => (/^(obsidian|@codemirror)/.test(name) ? stub : require(name)), module_, module_.exports);
const places = given.map(({ vault, env, platform, home }) => module_.exports.linkPlace(vault, env, platform, home));
process.stdout.write(JSON.stringify(places));
"""


def plugin_places(*given: dict[str, object]) -> list[str]:
    """Return where the plugin looks, for each of these."""
    main = str(PLUGIN.joinpath("main.js"))
    assert NODE
    done = subprocess.run([NODE, "-e", RUNNER, main, json.dumps(given)], capture_output=True, text=True, check=True)
    places: list[str] = json.loads(done.stdout)
    return places


@needs_node
@pytest.mark.skipif(os.name == "nt", reason="links and folders of POSIX systems")
@pytest.mark.parametrize("platform", ["linux", "darwin"])
def test_the_plugin_looks_where_the_server_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    home = tmp_path / "home"
    (home / "Vaults" / "Nötes & more").mkdir(parents=True)
    (home / "linked").symlink_to(home / "Vaults")
    environments: tuple[dict[str, str], ...] = (
        {},
        {"XDG_STATE_HOME": str(tmp_path / "elsewhere")},
        {"XDG_STATE_HOME": "relative"},
        {"XDG_STATE_HOME": ""},
        {"VAULTWIRE_STATE": "~/my state", "XDG_STATE_HOME": str(tmp_path)},
        {"VAULTWIRE_STATE": str(tmp_path / "state" / ".." / "other")},
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sys, "platform", platform)
    given: list[dict[str, object]] = []
    expected = []
    for environment in environments:
        for vault in ("Vaults/Nötes & more", "linked/Nötes & more"):
            with monkeypatch.context() as patched:
                for name in ("XDG_STATE_HOME", "VAULTWIRE_STATE"):
                    patched.delenv(name, raising=False)
                for name, value in environment.items():
                    patched.setenv(name, value)
                config = make_config(str(home / vault))
            expected.append(endpoint_path(os.path.join(config.state, "editor"), "plugin", config.vault))
            given.append({"vault": str(home / vault), "env": environment, "platform": platform, "home": str(home)})
    assert plugin_places(*given) == expected
    assert len(set(expected)) == (4 if platform == "linux" else 3)  # a link makes no other place


@needs_node
@pytest.mark.skipif(os.name == "nt", reason="Flatpak is Linux's")
def test_the_plugin_in_a_flatpak_looks_outside_of_it(tmp_path: Path) -> None:
    inside = {"FLATPAK_ID": "md.obsidian.Obsidian", "XDG_STATE_HOME": "/inside/state"}
    given: list[dict[str, object]] = [
        {"vault": str(tmp_path), "env": {**inside, **more}, "platform": "linux", "home": "/home/person"}
        for more in ({}, {"HOST_XDG_STATE_HOME": "/outside/state"})
    ]
    name = f"plugin-{hashlib.sha256(os.fsencode(os.path.realpath(tmp_path))).hexdigest()[:16]}.json"
    assert plugin_places(*given) == [
        f"/home/person/.local/state/vaultwire/editor/{name}",
        f"/outside/state/vaultwire/editor/{name}",
    ]


def test_a_link_file_is_for_nobody_else_and_goes_when_the_server_does(tmp_path: Path) -> None:
    folder = str(tmp_path / "state" / "editor")
    link, later = new_endpoint(4711), new_endpoint(4712)
    file = endpoint_file(folder, "plugin", str(tmp_path), link)
    file.write()
    assert read_endpoint(folder, "plugin", str(tmp_path)) == link
    assert read_endpoint(folder, "commands", str(tmp_path)) is None
    if os.name != "nt":
        assert os.stat(folder).st_mode & 0o777 == 0o700
        assert os.stat(endpoint_path(folder, "plugin", str(tmp_path))).st_mode & 0o777 == 0o600
    endpoint_file(folder, "plugin", str(tmp_path), later).write()
    file.remove()  # not its own any more
    assert read_endpoint(folder, "plugin", str(tmp_path)) == later
    endpoint_file(folder, "plugin", str(tmp_path), later).remove()
    assert os.listdir(folder) == []
    assert len({link.token, link.answer, later.token, later.answer}) == 4


def test_the_numbers_of_both_sides_are_the_same() -> None:
    source = (SOURCE / "messages.ts").read_text(encoding="utf-8")
    assert f"const VERSION = {VERSION};" in source
    assert f"const MAX_SELECTED = {MAX_SELECTED:_};" in source


def test_nothing_in_the_plugin_is_taken_for_markup() -> None:
    for sink in ("innerHTML", "outerHTML", "insertAdjacentHTML", "MarkdownRenderer", "eval(", "sanitizeHTMLToDom"):
        assert sink not in MAIN
