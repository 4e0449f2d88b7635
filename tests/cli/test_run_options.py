"""The quick way to read the options of ``stdio`` gives what argparse gives."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.cli import run_options
from vaultwire.cli.servers import add_serve
from vaultwire.config import make_config

OPTIONS = ["--vault", "--prompts", "--skills-folder", "--policy", "--backend", "--dialect", "--meaning"]
FLAGS = ["--read-only", "--require-read-first", "--structured", "--standalone"]
VALUES = ["Notes", "A=b", "", "-", "-x", "--", "--read-only", "files", "auto", "mcp", "-1", "a b", "- x"]
OTHERS = ["--rate", "--vault=Notes", "--read", "Notes", "--help"]

PARSER = argparse.ArgumentParser(exit_on_error=False)
run_options.add_all(PARSER)
PARSER.add_argument("--standalone", action="store_true")
NOTHING = {
    "read_only": False,
    "read_first": False,
    "prompts": None,
    "skills_folder": None,
    "policy": None,
    "backend": None,
    "dialect": None,
    "structured": False,
    "meaning": None,
    "memory_folder": None,
    "limits": None,
}


def read_plainly(arguments: list[str]) -> dict[str, Any]:
    return run_options.read_all(PARSER.parse_args(arguments))


USUAL = st.one_of(
    st.tuples(st.sampled_from(OPTIONS), st.sampled_from(VALUES) | st.text()), st.tuples(st.sampled_from(FLAGS))
)


@given(st.lists(USUAL | st.tuples(st.sampled_from(OTHERS)), max_size=6))
def test_both_ways_give_the_same_settings(groups: list[tuple[str, ...]]) -> None:
    arguments = [argument for group in groups for argument in group]
    settings = run_options.read_quickly(arguments)
    if settings is not None:
        assert {**NOTHING, **settings} == read_plainly(arguments)


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ([], {"vault": None}),
        (["--vault", "Notes", "--vault", "Home=x", "--read-only"], {"vault": ["Notes", "Home=x"], "read_only": True}),
        (
            ["--policy", "p.toml", "--dialect", "mcp", "--standalone"],
            {"policy": "p.toml", "dialect": "mcp"},
        ),
    ],
)
def test_usual_options_are_read_quickly(arguments: list[str], settings: dict[str, Any]) -> None:
    assert run_options.read_quickly(arguments) == {"vault": None, **settings}


@pytest.mark.parametrize(
    "arguments",
    [
        ["--vault"],
        ["--vault", "--read-only"],
        ["--backend", "nobody"],
        ["--policy", "a", "--policy", "b"],
        ["--audit", "x"],
    ],
)
def test_what_is_unusual_is_left_to_argparse(arguments: list[str]) -> None:
    assert run_options.read_quickly(arguments) is None


def test_a_command_line_for_the_same_run_names_what_the_environment_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTWIRE_READ_ONLY", "true")
    parser = argparse.ArgumentParser()
    add_serve(parser)
    options = parser.parse_args(["--vault", str(tmp_path), "--rate", "each=60"])
    same = run_options.to_arguments(add_serve, options, make_config(**run_options.read_all(options)))
    assert same == ["--vault", str(tmp_path), "--read-only", "--rate", "each=60", "--port", "3000"]
