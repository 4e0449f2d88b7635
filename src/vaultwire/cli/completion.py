"""``vaultwire completion``: scripts for bash, zsh and fish, made from the commands as plain data, as is docs/configuration.md.

The scripts hold words only, so that the Tab key starts no Python.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from vaultwire.cli.command import SETTING_UP, command
from vaultwire.cli.parser import actions_of, commands_of, groups_of
from vaultwire.cli.terminal import say_text
from vaultwire.toolkit.catalog import load_catalog

FILE, FOLDER, TOOL, NOTHING = "file", "folder", "tool", ""
_KINDS = {"FILE": FILE, "LOG": FILE, "PATH": FOLDER, "[NAME=]PATH": FOLDER, "TOOL": TOOL}


class Taken(NamedTuple):
    """An option (``spellings``) or an argument (none). ``value`` is the word for its value, empty for a flag.

    ``default`` is empty where help alone says what holds; ``group`` is the heading in help, empty for the first one.
    """

    spellings: tuple[str, ...]
    value: str
    help: str
    choices: tuple[str, ...]
    repeats: bool
    default: str = ""
    group: str = ""

    @property
    def variable(self) -> str:
        """The environment variable that says the same, empty for none. Help names it."""
        found = re.search(r"\$([A-Z_]+)", self.help)
        return found[1] if found else ""

    @property
    def kind(self) -> str:
        """What a value is: a file, a folder, a tool, or something that no shell knows."""
        return _KINDS.get(self.value, NOTHING)


class CommandSpec(NamedTuple):
    """A command: ``words`` are those after ``vaultwire``."""

    words: tuple[str, ...]
    about: str
    epilog: str
    options: tuple[Taken, ...]
    arguments: tuple[Taken, ...]
    commands: tuple[str, ...]

    @property
    def line(self) -> str:
        """Its words as a person types them after ``vaultwire``."""
        return " ".join(self.words)

    @property
    def takes_files(self) -> bool:
        """Whether one of its arguments is a file or folder outside of the vault."""
        return any(each.kind in (FILE, FOLDER) for each in self.arguments)


def specs_of(parser: argparse.ArgumentParser, words: tuple[str, ...] = (), about: str = "") -> Iterator[CommandSpec]:
    """Yield the command of a parser, then those below it."""
    inner = commands_of(parser)
    groups = groups_of(parser)
    taken = [_taken(action, groups) for action in actions_of(parser) if action.nargs != argparse.PARSER]
    yield CommandSpec(
        words,
        (parser.description or about).partition("\n")[0],
        parser.epilog or "",
        tuple(argument for argument in taken if argument.spellings),
        tuple(argument for argument in taken if not argument.spellings),
        tuple(inner),
    )
    for name, subparser in inner.items():
        yield from specs_of(subparser, (*words, name), _help_of(parser, name))


def _taken(action: argparse.Action, groups: Mapping[str, str]) -> Taken:
    choices = tuple(map(str, action.choices or ()))
    metavar = action.metavar if isinstance(action.metavar, str) else None
    value = "" if action.nargs == 0 else metavar or ("|".join(choices) if choices else action.dest.upper())
    text = re.sub(r"\s+", " ", (action.help or "").replace("%%", "%"))
    # 0 and "" say that nothing was given.
    has_default = action.nargs != 0 and isinstance(action.default, int | str) and action.default != argparse.SUPPRESS
    return Taken(
        tuple(action.option_strings),
        value,
        text,
        choices,
        action.nargs in ("+", "*"),
        str(action.default or "") if has_default else "",
        groups.get(action.dest, ""),
    )


def _help_of(parser: argparse.ArgumentParser, name: str) -> str:
    """Return the short help of one of a parser's commands."""
    for action in actions_of(parser):
        for listed in getattr(action, "_choices_actions", ()):  # where argparse keeps it
            if listed.dest == name:
                return str(listed.help or "")
    return ""


# ---------------------------------------------------------------------- the command

_HEAD = "# Completion of vaultwire for {}. Printed by: vaultwire completion {}\n"


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="the shell to print it for")


@command(
    "completion",
    SETTING_UP,
    "print the completion script of a shell",
    "vaultwire completion bash >> ~/.bash_completion",
    "vaultwire completion fish | source",
    options=_add_options,
)
def run(options: argparse.Namespace) -> int:
    """Print the script."""
    say_text(script(options.shell, list(specs_of(options.parser))))
    return 0


def script(shell: str, specs: Sequence[CommandSpec]) -> str:
    """Return a shell's script for these commands."""
    # zsh reads the first line of a file in its function path.
    first = "#compdef vaultwire\n" if shell == "zsh" else ""
    return first + _HEAD.format(shell, shell) + _SCRIPTS[shell](specs)


# ---------------------------------------------------------------------- bash


def _bash(specs: Sequence[CommandSpec]) -> str:
    values = [f"        {each}) {_bash_value(option)}; return ;;" for each, option in _valued(specs)]
    words = [
        f'        "{spec.line}") words="{" ".join(_words(spec))}"{" kind=file" * spec.takes_files} ;;' for spec in specs
    ]
    return "\n".join(
        [
            "_vaultwire() {",
            "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= words= kind= i step",
            "    for ((i = 1; i < COMP_CWORD; i++)); do",
            '        step="${command:+$command }${COMP_WORDS[i]}"',
            f'        case "$step" in {_steps(specs)}) command=$step ;; esac',
            "    done",
            '    case "$command:$prev" in',
            *values,
            "    esac",
            '    case "$command" in',
            *words,
            "    esac",
            '    COMPREPLY=($(compgen -W "$words" -- "$cur"))',
            "    if [[ $kind == file && $cur != -* ]]; then",
            "        compopt -o filenames 2>/dev/null",
            '        COMPREPLY+=($(compgen -f -- "$cur"))',
            "    fi",
            "}",
            "complete -F _vaultwire vaultwire",
            "",
        ]
    )


def _bash_value(option: Taken) -> str:
    if option.kind in (FILE, FOLDER):
        what = "-f" if option.kind == FILE else "-d"
        return f'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen {what} -- "$cur"))'
    return f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$cur"))'


# ---------------------------------------------------------------------- zsh


def _zsh(specs: Sequence[CommandSpec]) -> str:
    values = [f"        {each}) {_zsh_value(option)}; return ;;" for each, option in _valued(specs)]
    words = []
    for spec in specs:
        listed = " ".join(_zsh_item(word, text) for word, text in _described(spec, specs))
        files = "; _files" * spec.takes_files
        words.append(f'        "{spec.line}") offered=({listed}); _describe vaultwire offered{files} ;;')
    return "\n".join(
        [
            "_vaultwire() {",
            "    local command= step= previous=${words[CURRENT-1]} i",
            "    local -a offered",
            "    for ((i = 2; i < CURRENT; i++)); do",
            '        step="${command:+$command }${words[i]}"',
            f"        case $step in {_steps(specs)}) command=$step ;; esac",
            "    done",
            '    case "$command:$previous" in',
            *values,
            "    esac",
            "    case $command in",
            *words,
            "    esac",
            "}",
            'if [ "$funcstack[1]" = "_vaultwire" ]; then _vaultwire "$@"; else compdef _vaultwire vaultwire; fi',
            "",
        ]
    )


def _zsh_value(option: Taken) -> str:
    match option.kind:
        case "file":
            return "_files"
        case "folder":
            return "_files -/"
    return f"compadd -- {' '.join(option.choices)}" if option.choices else "return"


def _zsh_item(word: str, text: str) -> str:
    return _single_quoted(f"{word.replace(':', chr(92) + ':')}:{text}")


# ---------------------------------------------------------------------- fish


def _fish(specs: Sequence[CommandSpec]) -> str:
    lines = ["complete -c vaultwire -f"]
    for spec in specs:
        where = _fish_condition(spec)
        lines += [
            f"complete -c vaultwire -n {where} -a {word} -d {_single_quoted(text)}"
            for word, text in _described(spec, specs)
            if not word.startswith("-")
        ]
        if spec.takes_files:
            lines.append(f"complete -c vaultwire -n {where} -F")
        lines += [f"complete -c vaultwire -n {where} {_fish_option(option)}" for option in spec.options]
    return "\n".join([*lines, ""])


def _fish_condition(spec: CommandSpec) -> str:
    if not spec.words:
        return "__fish_use_subcommand"
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in spec.words)
    if spec.commands:
        seen += f"; and not __fish_seen_subcommand_from {' '.join(spec.commands)}"
    return _single_quoted(seen)


def _fish_option(option: Taken) -> str:
    spellings = [f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in option.spellings]
    value = ""
    if option.value:
        files = {FILE: " -F", FOLDER: " -a '(__fish_complete_directories)'"}.get(option.kind, "")
        value = " -r" + (f" -f -a '{' '.join(option.choices)}'" if option.choices else files or " -f")
    return f"{' '.join(spellings)}{value} -d {_single_quoted(option.help)}"


# ---------------------------------------------------------------------- all shells

_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def _words(spec: CommandSpec) -> list[str]:
    """Return the words that may come next: commands, choices, tools, options."""
    words = list(spec.commands)
    for each in spec.arguments:
        words += each.choices
        if each.kind == TOOL:
            words += [tool["name"] for tool in load_catalog()]
    return [*words, *(spelling for option in spec.options for spelling in option.spellings)]


def _described(spec: CommandSpec, specs: Iterable[CommandSpec]) -> list[tuple[str, str]]:
    """Return the words that may come next, each with what it is."""
    about = {each.words: each.about for each in specs}
    tools = {tool["name"]: tool["title"] for tool in load_catalog()}
    options = {spelling: option.help for option in spec.options for spelling in option.spellings}
    return [
        (word, about.get((*spec.words, word)) or options.get(word) or tools.get(word) or "") for word in _words(spec)
    ]


def _steps(specs: Iterable[CommandSpec]) -> str:
    """Return the pattern of a shell's ``case`` for the lines that name a command."""
    return "|".join(f'"{spec.line}"' for spec in specs if spec.words)


def _valued(specs: Iterable[CommandSpec]) -> list[tuple[str, Taken]]:
    """Return the options with a value, each with the pattern for its command and itself."""
    return [
        ("|".join(f'"{spec.line}:{each}"' for each in option.spellings), option)
        for spec in specs
        for option in spec.options
        if option.value
    ]


def _single_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "'\\''") + "'"
