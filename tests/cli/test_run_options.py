"""The quick way to read the options of ``stdio`` gives what argparse gives."""

from __future__ import annotations

import argparse
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.cli import run_options

OPTIONS = ["--vault", "--prompts", "--policy", "--backend", "--dialect"]
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
    "policy": None,
    "backend": None,
    "dialect": None,
    "structured": False,
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
