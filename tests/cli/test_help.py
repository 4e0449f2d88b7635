"""Help, suggestions and completion: all of them know every command, because they are made from one table."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from scripts.pages.configuration_page import page_text as configuration_page

from support.command_line import run_command
from vaultwire.cli.command import COMMANDS, GROUPS, NOTES, command
from vaultwire.cli.command_spec import specs_of
from vaultwire.cli.commands import make_parser
from vaultwire.cli.commands import run as run_line
from vaultwire.cli.shell_completion import script
from vaultwire.toolkit.catalog import load_catalog

ROOT = Path(__file__).resolve().parents[2]
SPECS = list(specs_of(make_parser()))


def run(*arguments: str) -> tuple[int, str, str]:
    finished = run_command(*arguments)
    return finished.returncode, finished.stdout, finished.stderr


def test_vaultwire_alone_shows_its_commands_in_groups() -> None:
    code, out, err = run()
    assert (code, err) == (0, "")
    assert out == run("--help")[1]
    positions = [out.index(f"\n{title}:\n") for title in GROUPS]
    assert positions == sorted(positions)
    assert all(f"\n  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_each_command_has_an_example_and_its_exit_codes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    examples = COMMANDS[name].examples
    with pytest.raises(SystemExit) as ended:
        make_parser().parse_args([name, "--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert said.startswith(f"usage: vaultwire {name} ")
    assert "\nexit code: 0 " in said
    assert examples
    assert all(f"\n  {example}\n" in said for example in examples)


@pytest.mark.parametrize("example", [example for command in COMMANDS.values() for example in command.examples])
def test_the_examples_of_help_are_command_lines(example: str) -> None:
    program, *arguments = shlex.split(re.split(r" (\||>>) ", example)[0])
    assert program == "vaultwire"
    make_parser().parse_args(arguments)


def test_one_declaration_is_all_that_a_command_needs(capsys: pytest.CaptureFixture[str]) -> None:
    def add_options(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--hard", action="store_true", help="try harder")

    @command("trial", NOTES, "try it", "vaultwire trial --hard", options=add_options)
    def trial(options: argparse.Namespace) -> int:
        return 7 if options.hard else 0

    try:
        assert run_line(["trial", "--hard"]) == 7
        with pytest.raises(SystemExit):
            run_line(["trial", "--help"])
        said = capsys.readouterr().out
        assert "\n  vaultwire trial --hard\n" in said
        assert "try harder" in said
        specs = list(specs_of(make_parser()))
        assert "  trial          try it\n" in make_parser().format_help()
        assert "trial" in script("bash", specs)
        assert "#### vaultwire trial\n" in configuration_page()
    finally:
        del COMMANDS["trial"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["seach", "x"], "vaultwire: there is no command 'seach'. Did you mean search?\nSee vaultwire --help\n"),
        (["keys", "isue"], "vaultwire keys: there is no command 'isue'. Did you mean issue?"),
        (["tags", "--flder", "x"], "vaultwire tags: there is no option '--flder'. Did you mean --folder?"),
        (["search", "a", "-xyz"], "there is no option '-xyz'. If it is not an option, put -- before it"),
        (["read", "Two", "words"], "there is no place for 'words'. A name with spaces needs quotes"),
        (["completion", "bsh"], "Did you mean bash"),
        (["stdio", "--dialect", "mpc"], "Did you mean mcp?"),
        (["install", "usor"], "Did you mean cursor?"),  # and not "user", a choice of another option
        (["zzz"], "there is no command 'zzz'\n"),
    ],
)
def test_a_wrong_line_is_told_what_may_be_meant(given: list[str], said: str) -> None:
    code, out, err = run(*given)
    assert (code, out) == (2, "")
    assert said in err
    assert err.startswith("usage: vaultwire")


def test_options_of_the_servers_stand_in_groups() -> None:
    for name, titles in (
        ("stdio", ("vault", "what clients may do", "limits for clients")),
        ("serve", ("address", "web pages, keys and tokens", "TLS", "logs and metrics")),
    ):
        said = run(name, "--help")[1]
        assert all(f"\n{title}:\n" in said for title in titles)


# ---------------------------------------------------------------------- completion


def offered(line: str, shell: str, folder: Path) -> list[str]:
    """Return what a real shell offers at the end of a line."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not here")
    path = folder / f"completion.{shell}"
    path.write_text(script(shell, SPECS))
    words = shlex.split(line) + [""] * line.endswith(" ")
    program = {
        "bash": f"source {path}; COMP_WORDS=({' '.join(map(shlex.quote, words))}); COMP_CWORD={len(words) - 1}; "
        'COMPREPLY=(); _vaultwire 2>/dev/null; printf "%s\\n" "${COMPREPLY[@]}"',
        # zsh's own functions choose among what ours offers; here they print it.
        "zsh": "autoload -Uz compinit; compinit -u -d $HOME/dump; _describe() { print -rl -- ${(P)2} }; "
        f"_files() {{ ls -d /etc/host* }}; compadd() {{ shift; print -rl -- $* }}; source {path}; "
        f"words=({' '.join(map(shlex.quote, words))}); CURRENT={len(words)}; _vaultwire",
        "fish": f"source {path}; complete -C {shlex.quote(line)}",
    }[shell]
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    finished = subprocess.run(
        [shell, *options, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, "HOME": str(folder)},
        check=False,
    )
    assert finished.stderr == ""
    found = [re.split(r"[:\t]", each)[0] for each in finished.stdout.splitlines() if each]
    return [each for each in found if each.startswith(words[-1])]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_options_choices_tools_and_files(shell: str, tmp_path: Path) -> None:
    assert {"search", "serve", "select"} <= set(offered("vaultwire se", shell, tmp_path))
    assert set(offered("vaultwire keys i", shell, tmp_path)) == {"issue"}
    assert "--section" in offered("vaultwire read --s", shell, tmp_path)
    assert offered("vaultwire read --po", shell, tmp_path) == ["--policy"]
    assert offered("vaultwire stdio --dialect fi", shell, tmp_path) == ["filesystem"]
    assert offered("vaultwire completion z", shell, tmp_path) == ["zsh"]
    tools = {tool["name"] for tool in load_catalog() if tool["name"].startswith("list_")}
    assert tools <= set(offered("vaultwire call list_", shell, tmp_path))
    if os.path.exists("/etc/hosts"):
        assert "/etc/hosts" in offered("vaultwire search --policy /etc/host", shell, tmp_path)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script_of_a_shell(shell: str) -> None:
    code, out, err = run("completion", shell)
    assert (code, err) == (0, "")
    assert out == script(shell, SPECS)
