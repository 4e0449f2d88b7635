"""The companion plugin starts ``vaultwire ide``: on the stage a program that is stood in for, under Node our own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from support.chromium import Tab
from support.obsidian_stage import NOTICES, needs_stage, start
from support.vaults import write_vault
from vaultwire.transports.lock_file import program_file, read_endpoint

PROGRAM = "/opt/vault wire/vaultwire"
STARTED = "standIn.computer.started"
MAIN = resources.files("vaultwire.obsidian").joinpath("plugin", "main.js")
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node: install Node.js")

# Starts the program for a vault, ends it as soon as it says where it is, and prints what happened.
RUNNER = """
const [main, vault, program] = process.argv.slice(1);
const module_ = { exports: {} };
const stub = { Plugin: class {}, ItemView: class {}, PluginSettingTab: class {} };
new Function("require", "module", "exports", require("fs").readFileSync(main, "utf8"))(
  (name) => (/^(obsidian|@codemirror)/.test(name) ? stub : require(name)), module_, module_.exports);
const say = (what) => process.stdout.write(JSON.stringify(what) + "\\n");
const starter = new module_.exports.Starter(vault, () => ({ isAsked: true, program }),
  () => say("started"), (why) => say({ why }));
starter.startIfAsked();
process.stdin.on("data", () => { starter.stop(); process.stdin.destroy(); });
process.stdin.on("end", () => starter.stop());
"""


def begin(tab: Tab, local: dict[str, Any], program: list[str] | None) -> None:
    tab.evaluate(f"standIn.computer.local['vaultwire-start'] = {json.dumps(local)}")
    tab.evaluate(f"standIn.computer.program = {json.dumps(program)}")
    start(tab, None)


class TestOnTheStage:
    pytestmark = needs_stage

    def test_nothing_is_started_before_the_person_asks(self, blank: Tab) -> None:
        begin(blank, {}, [PROGRAM])
        blank.evaluate("window.dispatchEvent(new Event('focus'))")
        assert blank.evaluate(f"{STARTED}.length") == 0
        blank.press("Control+p")
        blank.type("Start the program for this vault\n")
        blank.wait_for(f"{STARTED}.length === 1")

    def test_it_is_started_once_without_a_shell_and_ended_with_the_plugin(self, blank: Tab) -> None:
        begin(blank, {"isAsked": True, "program": ""}, [PROGRAM, "-m", "x"])
        for _ in range(3):
            blank.evaluate("window.dispatchEvent(new Event('focus'))")
        (command,) = blank.evaluate(f"{STARTED}.map(({{ command }}) => command)")
        assert command == [PROGRAM, "-m", "x", "ide", "--vault", "/vault", "--no-browser"]
        assert blank.evaluate(f"{STARTED}[0].options.shell") is False
        blank.evaluate("standIn.plugin.unload()")
        assert blank.evaluate(f"{STARTED}[0].child.isKilled") is True
        assert blank.texts(".notice") == []

    def test_it_is_ended_when_the_window_closes(self, blank: Tab) -> None:
        begin(blank, {"isAsked": True}, [PROGRAM])
        blank.evaluate("window.dispatchEvent(new Event('beforeunload'))")
        assert blank.evaluate(f"{STARTED}[0].child.isKilled") is True

    def test_a_program_that_fails_says_why_once_and_is_tried_again_when_asked(self, blank: Tab) -> None:
        begin(blank, {"isAsked": True}, [PROGRAM])
        blank.evaluate(f"{STARTED}[0].child.stderr.trigger('data', 'first\\nvaultwire: the vault is gone\\n')")
        blank.evaluate(f"{STARTED}[0].child.trigger('close', 1)")
        blank.wait_for(f"{NOTICES} === 'Vaultwire could not be started. vaultwire: the vault is gone'")
        blank.evaluate("window.dispatchEvent(new Event('focus'))")
        assert blank.evaluate(f"{STARTED}.length") == 1
        blank.evaluate("standIn.settings()")
        toggle = "document.querySelectorAll('#settings [type=checkbox]')[1]"
        for _ in range(2):
            blank.evaluate(f"{toggle}.click()")
        blank.evaluate("window.dispatchEvent(new Event('focus'))")
        blank.wait_for(f"{STARTED}.length === 2")

    @pytest.mark.parametrize(
        ("local", "program", "why"),
        [
            ({"isAsked": True}, None, "Run vaultwire plugin install"),
            ({"isAsked": True, "program": "vaultwire"}, [PROGRAM], "Give the whole path"),
            ({"isAsked": True, "program": "/nowhere"}, [PROGRAM], "There is no program at /nowhere."),
            ({"isAsked": True}, ["vaultwire"], "Run vaultwire plugin install"),
        ],
    )
    def test_a_program_that_is_not_there_is_named(
        self, blank: Tab, local: dict[str, Any], program: list[str] | None, why: str
    ) -> None:
        begin(blank, local, program)
        blank.wait_for(f"{NOTICES}.includes({json.dumps(why)})")
        assert blank.evaluate(f"{STARTED}.length") == 0

    @pytest.mark.parametrize("is_old", [False, True])
    def test_the_settings_are_kept_on_this_computer_alone(self, blank: Tab, is_old: bool) -> None:
        begin(blank, {}, None)
        blank.evaluate(f"standIn.settings({json.dumps(is_old)})")
        names = ["Status", "Pause sharing", "Start the program on this computer", "Program"]
        assert blank.texts("#settings strong") == names
        blank.shoot("plugin-settings")
        blank.click("#settings [type=text]")
        blank.type(PROGRAM)
        blank.evaluate("document.querySelectorAll('#settings [type=checkbox]')[1].click()")
        assert blank.evaluate("standIn.computer.local") == {"vaultwire-start": {"isAsked": True, "program": PROGRAM}}
        assert blank.evaluate("standIn.computer.data") is None
        blank.evaluate("document.querySelector('#settings [type=checkbox]').click()")
        blank.wait_for("standIn.computer.data?.paused")


@needs_node
@pytest.mark.skipif(os.name == "nt", reason="the state folder of POSIX systems")
@pytest.mark.parametrize("is_noted", [True, False])
def test_our_own_program_is_started_and_ended(tmp_path: Path, is_noted: bool) -> None:
    vault = write_vault(tmp_path / "a vault", "=== Plan.md\none\n")
    state = tmp_path / "state"
    environment = {
        **os.environ,
        "VAULTWIRE_STATE": str(state),
        "VAULTWIRE_CACHE": str(tmp_path / "cache"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
    }
    editor = str(state / "editor")
    program = ""
    if is_noted:
        program_file(editor, [sys.executable, "-m", "vaultwire"]).write()
    else:
        script = tmp_path / "vault wire"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m vaultwire "$@"\n')
        script.chmod(0o755)
        program = str(script)
    assert NODE
    with subprocess.Popen(
        [NODE, "-e", RUNNER, str(MAIN), str(vault), program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        assert json.loads(node.stdout.readline()) == "started"
        assert read_endpoint(editor, "plugin", str(vault)) is not None
        node.stdin.write("stop\n")
        node.stdin.close()
        assert node.stdout.read() == ""  # its end is no failure
        assert node.wait() == 0
    assert read_endpoint(editor, "plugin", str(vault)) is None


@needs_node
@pytest.mark.skipif(os.name == "nt", reason="the state folder of POSIX systems")
def test_our_own_program_that_cannot_start_says_why(tmp_path: Path) -> None:
    environment = {**os.environ, "VAULTWIRE_STATE": str(tmp_path / "state")}
    program_file(str(tmp_path / "state" / "editor"), [sys.executable, "-m", "vaultwire"]).write()
    assert NODE
    with subprocess.Popen(
        [NODE, "-e", RUNNER, str(MAIN), str(tmp_path / "nowhere"), ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    ) as node:
        assert node.stdin is not None
        assert node.stdout is not None
        assert "nowhere" in json.loads(node.stdout.readline())["why"]
        node.stdin.close()
