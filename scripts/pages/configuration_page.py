"""The page docs/configuration.md: commands and options, environment variables, files, the policy's keys, error codes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from scripts.pages.configuration_facts import (
    ALSO_IN_POLICY,
    CACHE,
    ELSEWHERE,
    OWN_FILES,
    POLICY_KEYS,
    READ_SETTINGS,
    STATE,
    VAULT_FILES,
    KnownFile,
)
from scripts.pages.environment import OURS, VARIABLES
from scripts.pages.error_codes import ERROR_CODES

from vaultwire.cli import run_options
from vaultwire.cli.command import GROUPS, in_group
from vaultwire.cli.command_spec import CommandSpec, Taken, specs_of
from vaultwire.cli.commands import make_parser
from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES, MAX_NOTE_BYTES

_INTRODUCTION = """\
# Configuration

Everything that can be set: options, environment variables, files, rules of the policy, and what error codes mean.
`make generate` writes this page from the program.

**There is no settings file.** What a server does is said by the command line in your client's own settings, by environment
variables, and by a policy file if you give one. An option wins over its variable. Where both the policy and an option limit
something, both hold; hosts that either of them allows are allowed. The settings of your vault (excluded files, daily notes,
templates, form of links) are Obsidian's own, and are read from there.

- [Options of a run](#options-of-a-run): for `stdio`, `serve` and `client-config`
- [Commands](#commands)
- [Environment variables](#environment-variables)
- [Files](#files): what lies where, and what you may delete
- [Keys of the policy file](#keys-of-the-policy-file)
- [Error codes](#error-codes)
"""
_RUN = """\
## Options of a run

`stdio`, `serve` and `client-config` take these. [policy.md](policy.md) and [audit.md](audit.md) say more about limits.
"""
_COMMANDS = """\
## Commands

[command-line.md](command-line.md) shows how to use them. `vaultwire COMMAND --help` prints the same as this page.
"""
_VARIABLES = """\
## Environment variables

An option wins over its variable. A path may begin with `~`.
"""
_FILES = """\
## Files

### The program's folders

Outside of the vault, because the vault may be synced. Only your own user may read the state folder's secrets.
"""
_POLICY = """\
## Keys of the policy file

The file of `--policy` is TOML. Each key may be left out. [policy.md](policy.md) explains the rules, with patterns and examples;
`vaultwire policy check FILE` checks a file. A key with a dot stands in a table: `paths.read` is `read` below `[paths]`.
"""
_ERRORS = """\
## Error codes

When a call fails, its text begins with one of these codes, and says what was wrong and what would be right. Programs find the
code in `_meta.errorCode`, or in `data.errorCode` of a JSON-RPC error.
"""


def page_text() -> str:
    """Return the page's text."""
    whole, *commands = specs_of(make_parser())
    run = _options_of_a_run()
    parts = [
        _INTRODUCTION,
        _RUN,
        *_option_tables(run, "Others"),
        _COMMANDS,
        f"`vaultwire` alone prints help, `vaultwire {whole.options[-1].spellings[0]}` the version.\n",
        *_commands(commands, run),
        _VARIABLES,
        *_variables(),
        _FILES,
        *_files(),
        _POLICY,
        *_policy(),
        _ERRORS,
        *_errors(),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


# ---------------------------------------------------------------------- options and commands


def _options_of_a_run() -> list[Taken]:
    parser = argparse.ArgumentParser(add_help=False)
    run_options.add_all(parser)
    return list(next(specs_of(parser)).options)


def _commands(specs: Sequence[CommandSpec], run: Sequence[Taken]) -> Iterator[str]:
    for group in GROUPS:
        yield f"### {group[0].upper()}{group[1:]}\n"
        for name in in_group(group):
            for spec in specs:
                if spec.words[0] == name:
                    yield from _command(spec, run)


def _command(spec: CommandSpec, run: Sequence[Taken]) -> Iterator[str]:
    yield f"#### vaultwire {spec.line}\n"
    about = spec.about if spec.about.endswith(".") else f"{spec.about[0].upper()}{spec.about[1:]}."
    yield f"{_escaped(about)}\n"
    taken = [
        each
        for each in run
        if any(other.spellings == each.spellings and other.help == each.help for other in spec.options)
    ]
    names = [each.spellings for each in taken]
    own = [each for each in spec.options if each.spellings not in names and "-h" not in each.spellings]
    if spec.arguments:
        yield "| argument | what it is |\n|---|---|"
        yield from (
            f"| {_code(each.value)}{' …' if each.repeats else ''} | {_escaped(each.help)} |" for each in spec.arguments
        )
        yield ""
    yield from _option_tables(own, "Options")
    if len(taken) == len(run):
        yield "It also takes all [options of a run](#options-of-a-run).\n"
    elif taken:
        yield f"It also takes {' and '.join(f'`{each.spellings[0]}`' for each in taken)}, as [a run](#options-of-a-run) does.\n"
    if spec.commands:
        yield f"It needs one of: {', '.join(f'`{spec.line} {each}`' for each in spec.commands)}.\n"
    if spec.epilog:
        examples, _, codes = spec.epilog.partition("\n\n")
        lines = [line.strip() for line in examples.splitlines()[1:]]
        yield "```sh\n" + "\n".join(lines) + "\n```\n"
        yield f"{codes[0].upper()}{codes[1:]}.\n"


def _option_tables(options: Sequence[Taken], untitled: str) -> Iterator[str]:
    """Yield a table for each group of options, with a column for what at least one of them has."""
    ordered = sorted(options, key=lambda each: [other.group for other in options].index(each.group))
    has_groups = len({each.group for each in options}) > 1
    for group, found in groupby(ordered, key=lambda each: each.group):
        members = list(found)
        if has_groups:
            title = group or untitled
            yield f"**{title[0].upper()}{title[1:]}**\n"
        columns = {
            "default": [f"`{each.default}`" if each.default else "" for each in members],
            "variable": [f"`{each.variable}`" if each.variable else "" for each in members],
            "policy file": [
                f"`{ALSO_IN_POLICY[name]}`" if (name := each.spellings[0]) in ALSO_IN_POLICY else "" for each in members
            ],
        }
        shown = {name: values for name, values in columns.items() if any(values)}
        yield "| ".join(["| option ", *(f"{name} " for name in ("what it does", *shown))]) + "|"
        yield "|---|---|" + "---|" * len(shown)
        for number, each in enumerate(members):
            value = f" {each.value}" if each.value else ""
            cells = [_code(", ".join(each.spellings) + value), _escaped(_without_columns(each))]
            yield f"| {' | '.join([*cells, *(values[number] for values in shown.values())])} |"
        yield ""


def _without_columns(option: Taken) -> str:
    """Return an option's help without what the columns beside it say."""
    text = re.sub(r" \(else: \$[A-Z_]+(=1)?\)", "", option.help)
    return text.replace(f" ({option.default})", "") if option.default else text


# ---------------------------------------------------------------------- variables and files


def _variables() -> Iterator[str]:
    for kind, found in groupby(VARIABLES, key=lambda each: each.kind):
        title = "Vaultwire's own" if kind == OURS else f"Variables {kind}"
        yield f"**{title}**\n\n| variable | what it says | where it is not set | option |\n|---|---|---|---|"
        for each in found:
            option = f"`{each.option}`" if each.option else ""
            yield f"| `{each.name}` | {each.meaning} | {_path(each.otherwise)} | {option} |"
        yield ""


def _files() -> Iterator[str]:
    yield "| folder | Linux | macOS | Windows | variable |\n|---|---|---|---|---|"
    for each in (CACHE, STATE):
        yield f"| {each.name} | `{each.linux}` | `{each.macos}` | `{each.windows}` | `{each.variable}` |"
    yield "\nOn Linux `XDG_CACHE_HOME` and `XDG_STATE_HOME` stand for `~/.cache` and `~/.local/state`.\n"
    for folder, files in OWN_FILES.items():
        yield f"In the {folder} folder:\n"
        yield from _file_table(files)
    yield "### In the vault\n"
    yield from _file_table(VAULT_FILES)
    yield "Obsidian's settings are read and never written:\n"
    yield "| file | what is read |\n|---|---|"
    yield from (f"| `{name}` | {what} |" for name, what in READ_SETTINGS.items())
    yield "\n### Elsewhere\n"
    yield from _file_table(ELSEWHERE)


def _file_table(files: Iterable[KnownFile]) -> Iterator[str]:
    yield "| file | what it holds | may it be deleted? |\n|---|---|---|"
    for each in files:
        first, among, rest = each.pattern.partition(" in ")
        name = each.pattern if first.startswith("the ") else f"`{first}`{among}{rest}"
        yield f"| {_with_code(name)} | {each.holds} | {each.delete} |"
    yield ""


# ---------------------------------------------------------------------- policy and errors


def _policy() -> Iterator[str]:
    yield "| key | value | what it does |\n|---|---|---|"
    for key, (value, what) in POLICY_KEYS.items():
        text = what.replace("{note:,}", f"{MAX_NOTE_BYTES:,}").replace("{attachment:,}", f"{MAX_ATTACHMENT_BYTES:,}")
        yield f"| `{key}` | {value} | {text} |"
    yield ""


def _errors() -> Iterator[str]:
    for title, codes in ERROR_CODES.items():
        yield f"**{title}**\n\n| code | what it means | what to do |\n|---|---|---|"
        yield from (f"| `{each.code}` | {each.meaning} | {_linked(each.to_do)} |" for each in codes)
        yield ""


# ---------------------------------------------------------------------- text


def _linked(text: str) -> str:
    """Return text with links to the pages that it names."""
    return re.sub(r"\b(\w+\.md)\b", r"[\1](\1)", text)


def _escaped(text: str) -> str:
    """Return help for a table: no new columns, no HTML, links to the pages that it names."""
    linked = re.sub(r"\bdocs/([\w-]+\.md)\b", r"[\1](\1)", text.replace("|", "\\|"))
    linked = re.sub(r"(?<![`\w])(\[\[\w+\]\])", r"`\1`", linked)
    return _with_code(linked)


def _with_code(text: str) -> str:
    """Return text with the options in it as code."""
    return re.sub(r"(?<![\w`-])(--[a-z][a-z-]+)", r"`\1`", text)


def _code(text: str) -> str:
    escaped = text.replace("|", "\\|")
    return f"`{escaped}`"


def _path(text: str) -> str:
    return f"`{text}`" if re.match(r"[~/\d]|C:|auto$", text) else text
