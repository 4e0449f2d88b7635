"""The options of one run (vaults, policy, tools): how argparse reads them, and how ``vaultwire stdio`` reads them quickly.

Clients start ``vaultwire stdio`` for every conversation, and argparse would take 9 ms before the first answer. So
``read_quickly`` reads the usual options without it. Both ways give the same settings (``tests/cli/test_run_options.py``).
"""

from __future__ import annotations

from vaultwire.config import (
    BACKENDS,
    POLICY_VARIABLE,
    PROMPTS_VARIABLE,
    READ_ONLY_VARIABLE,
    STRUCTURED_VARIABLE,
    VAULT_VARIABLE,
)
from vaultwire.protocol.dialects import DIALECTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    Options: TypeAlias = argparse.ArgumentParser | argparse._ArgumentGroup  # noqa: SLF001 - argparse has no public name
    """What options are added to: a parser, or one of its groups."""

# The options with one value, the setting of each, and its choices.
_VALUES = {
    "--prompts": ("prompts", None),
    "--policy": ("policy", None),
    "--backend": ("backend", BACKENDS),
    "--dialect": ("dialect", DIALECTS),
}
_FLAGS = {
    "--read-only": "read_only",
    "--require-read-first": "read_first",
    "--structured": "structured",
}
# What once kept ``stdio`` from using a running server. Clients may have it in their files for years.
IGNORED = "--standalone"


def read_quickly(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return the settings that the options of ``stdio`` give; None if argparse has to read them."""
    settings: dict[str, Any] = {"vault": None}
    rest = iter(arguments)
    for option in rest:
        if option in _FLAGS:
            settings[_FLAGS[option]] = True
            continue
        if option == IGNORED:
            continue
        value = next(rest, "-")
        if value.startswith("-"):  # missing, or an option
            return None
        if option == "--vault":
            settings["vault"] = [*(settings["vault"] or ()), value]
            continue
        name, choices = _VALUES.get(option, (None, None))
        if name is None or name in settings or (choices is not None and value not in choices):
            return None
        settings[name] = value
    return settings


def add_vault(parser: Options) -> None:
    """Add the option for the vaults."""
    parser.add_argument(
        "--vault",
        action="append",
        metavar="[NAME=]PATH",
        help=f"folder of Markdown notes, or the name of a vault that Obsidian knows (else: ${VAULT_VARIABLE}); may be "
        "given more than once, for several vaults",
    )


def add_policy(parser: Options) -> None:
    """Add the option for the policy."""
    parser.add_argument(
        "--policy",
        metavar="FILE",
        help=f"file that says what is allowed, see docs/policy.md (else: ${POLICY_VARIABLE})",
    )


def add_all(parser: argparse.ArgumentParser) -> None:
    """Add all options of a run."""
    from vaultwire.cli import limit_options  # noqa: PLC0415 - not before the first answer of stdio

    add_vault(parser.add_argument_group("vault"))
    allowed = parser.add_argument_group("what clients may do")
    allowed.add_argument(
        "--read-only",
        action="store_true",
        help=f"neither list nor run tools that change notes (else: ${READ_ONLY_VARIABLE}=true)",
    )
    allowed.add_argument(
        "--require-read-first",
        action="store_true",
        dest="read_first",
        help="edit a note only in a session that has read it",
    )
    add_policy(allowed)
    offered = parser.add_argument_group("what clients are offered")
    offered.add_argument(
        "--backend",
        choices=BACKENDS,
        help="offer the obsidian_* tools, answered by the running app or from the files, see docs/editors.md",
    )
    offered.add_argument(
        "--prompts", metavar="FOLDER", help=f"folder in the vault whose notes are prompts (else: ${PROMPTS_VARIABLE})"
    )
    offered.add_argument(
        "--dialect",
        choices=DIALECTS,
        help="use the names, answers and errors of a contract, see docs/contracts.md",
    )
    offered.add_argument(
        "--structured",
        action="store_true",
        help="give programs the data of every result besides its text, and the whole schemas of the tools "
        f"(else: ${STRUCTURED_VARIABLE}=1)",
    )
    limit_options.add_options(parser)


def read_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that the options of ``add_all`` give, for ``make_config``. Raises ConfigError."""
    from vaultwire.cli import limit_options  # noqa: PLC0415 - as above

    names = ("vault", "read_only", "read_first", "prompts", "policy", "backend", "dialect", "structured")
    return {**{name: getattr(options, name) for name in names}, "limits": limit_options.read_limits(options)}
