"""Obsidian's commands in one table, what each takes, and how a command line is read. Loads nothing: help needs no vault.

Sources: the help page "Obsidian CLI" for commands, parameters and flags; observed outputs of versions 1.12 for errors. An
error is a line that begins with ``Error:`` on standard output, and the exit code is 0.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FILES, APP, NOWHERE = "files", "app", "no"
"""Who answers a command: we on the files, only the app, or nobody outside the app's own terminal."""

# What may be asked of the app is decided by the rules for these tools.
_LOOK, _OPEN, _ANY = "obsidian_commands", "obsidian_open_note", "obsidian_eval"


class OfficialError(Exception):
    """What was asked for cannot be done. The message is the one of Obsidian's command, without ``Error:``."""


class Command:
    """A command of Obsidian's.

    ``takes``: ``name=<value>`` for a parameter, with ``*`` where it is required, a name alone for a flag. ``where``: FILES, APP
    or NOWHERE. ``tool``: the tool whose rules hold for it, so that a policy counts here, too; empty where no vault is needed.
    ``tool_with``: other tools, by the parameter or flag that asks for their work.
    """

    __slots__ = ("about", "name", "takes", "tool", "tool_with", "where")

    def __init__(self, line: str, where: str = FILES) -> None:
        """``line``: the name, the tools, what it takes and what it is for, with ``|`` between them."""
        self.name, tools, takes, self.about = (part.strip() for part in line.split(" | "))
        self.takes: Mapping[str, tuple[str, bool]] = dict(map(_taken, takes.split()))
        self.tool, *others = tools.split() or [""]
        self.tool_with = dict(other.split(":") for other in others)
        self.where = where

    @property
    def function(self) -> str:
        """The name of the function that answers it."""
        return self.name.replace(":", "_")

    @property
    def usage(self) -> str:
        """How it is used, in one line."""
        words = [self.name]
        for name, (value, is_required) in self.takes.items():
            word = f"{name}={value}" if value else name
            words.append(word if is_required else f"[{word}]")
        return " ".join(words)

    def tool_for(self, given: Mapping[str, str]) -> str:
        """Return the tool whose rules hold for a call."""
        return next((tool for name, tool in self.tool_with.items() if name in given), self.tool)


def _taken(word: str) -> tuple[str, tuple[str, bool]]:
    name, _, value = word.removesuffix("*").partition("=")
    return name, (value, word.endswith("*"))


def _table(text: str) -> dict[str, list[Command]]:
    groups: dict[str, list[Command]] = {}
    for line in text.strip().split("\n"):
        if "|" not in line:
            groups[line] = commands = []
        else:
            where = {"!": APP, "-": NOWHERE}.get(line[0], FILES)
            commands.append(Command(line.lstrip("!- "), where))
    return groups


# A line: name | tools | parameters and flags | what it does. "!" at the front: only the app can; "-": only its own terminal.
GROUPS = _table(f"""
General
help |  |  | list the commands, or say how one is used: help COMMAND
version |  |  | print the version
! reload | {_ANY} |  | reload the app's window
! restart | {_ANY} |  | restart the app
Bases
bases | query_base |  | list the bases
base:views | query_base | file=<name> path=<path> | list the views of a base
base:create | create_note_in_view | file=<name> path=<path> view=<name> name=<name> content=<text> open newtab \
| create a note that a base shows
base:query | query_base | file=<name> path=<path> view=<name> format=json|csv|tsv|md|paths | print what a base shows
Bookmarks
bookmarks | vault_overview | total verbose format=json|tsv|csv | list the bookmarks
! bookmark | {_ANY} | file=<path> subpath=<subpath> folder=<path> search=<query> url=<url> title=<title> | add a bookmark
Command palette
! commands | {_LOOK} | filter=<prefix> | list the ids of the app's commands
! command | {_ANY} | id=<command-id>* | run a command of the app
! hotkeys | {_LOOK} | total verbose format=json|tsv|csv | list the hotkeys
! hotkey | {_LOOK} | id=<command-id>* verbose | print the hotkey of a command
Daily notes
! daily | {_OPEN} | paneType=tab|split|window | open today's note
daily:path | read_note |  | print the path of today's note, also before there is one
daily:read | read_note |  | print today's note
daily:append | append_daily_note | content=<text>* paneType=tab|split|window inline open | add text at the end of today's note
daily:prepend | append_daily_note | content=<text>* paneType=tab|split|window inline open | add text at the top of today's note
File history
diff | list_changes | file=<name> path=<path> from=<n> to=<n> filter=local|sync | list or compare the versions of a file
history | list_changes | file=<name> path=<path> | list the versions of a file
history:list | list_changes |  | list the files that have versions
history:read | list_changes | file=<name> path=<path> version=<n> | print a version
history:restore | write_note | file=<name> path=<path> version=<n>* | bring a version back
! history:open | {_OPEN} | file=<name> path=<path> | show the app's file recovery
Files and folders
file | list_notes | file=<name> path=<path> | print facts of a file
files | list_notes | folder=<path> ext=<extension> total | list the files
folder | list_notes | path=<path>* info=files|folders|size | print facts of a folder
folders | list_notes | folder=<path> total | list the folders
! open | {_OPEN} | file=<name> path=<path> newtab | show a file
create | create_note overwrite:write_note \
| name=<name> path=<path> content=<text> template=<name> overwrite open newtab | create a file, or write over one
read | read_note | file=<name> path=<path> | print a file
append | edit_note | file=<name> path=<path> content=<text>* inline | add text at the end of a file
prepend | edit_note | file=<name> path=<path> content=<text>* inline | add text at the top, below the properties
move | move_notes | file=<name> path=<path> to=<path>* | move a file, with the links to it
rename | move_notes | file=<name> path=<path> name=<name>* | rename a file, with the links to it
delete | delete_note | file=<name> path=<path> permanent | move a file to the trash, or delete it permanently
Links
backlinks | list_links | file=<name> path=<path> counts total format=json|tsv|csv | list the files that link to one
links | list_links | file=<name> path=<path> total | list where the links of a file lead
unresolved | list_links | total counts verbose format=json|tsv|csv | list the links that lead nowhere
orphans | list_links | total | list the files that nothing links to
deadends | list_links | total | list the files that link to nothing
Outline
outline | read_note | file=<name> path=<path> format=tree|md|json total | print the headings of a note
Plugins
! plugins | {_LOOK} | filter=core|community versions format=json|tsv|csv | list the plugins
! plugins:enabled | {_LOOK} | filter=core|community versions format=json|tsv|csv | list the plugins that are on
! plugins:restrict | {_ANY} | on off | turn restricted mode on or off
! plugin | {_LOOK} | id=<plugin-id>* | print facts of a plugin
! plugin:enable | {_ANY} | id=<id>* filter=core|community | turn a plugin on
! plugin:disable | {_ANY} | id=<id>* filter=core|community | turn a plugin off
! plugin:install | {_ANY} | id=<id>* enable | install a plugin
! plugin:uninstall | {_ANY} | id=<id>* | uninstall a plugin
! plugin:reload | {_ANY} | id=<id>* | reload a plugin
Properties
aliases | vault_overview | file=<name> path=<path> total verbose active | list the aliases
properties | vault_overview | file=<name> path=<path> name=<name> sort=count format=yaml|json|tsv total counts active \
| list the properties in use, or those of a file
property:set | set_properties | name=<name>* value=<value>* type=text|list|number|checkbox|date|datetime file=<name> \
path=<path> | set a property
property:remove | set_properties | name=<name>* file=<name> path=<path> | remove a property
property:read | read_note | name=<name>* file=<name> path=<path> | print the value of a property
Publish
! publish:site | {_LOOK} |  | print facts of the published site
! publish:list | {_LOOK} | total | list the published files
! publish:status | {_LOOK} | total new changed deleted | list what differs from the published site
! publish:add | {_ANY} | file=<name> path=<path> changed | publish a file, or all that changed
! publish:remove | {_ANY} | file=<name> path=<path> | take a file off the published site
! publish:open | {_OPEN} | file=<name> path=<path> | show a file on the published site
Random notes
! random | {_OPEN} | folder=<path> newtab | show a random note
random:read | read_note | folder=<path> | print a random note, with its path
Search
search | search_notes | query=<text>* path=<folder> limit=<n> format=text|json total case | list the notes that match
search:context | search_notes | query=<text>* path=<folder> limit=<n> format=text|json case | print the lines that match
! search:open | {_OPEN} | query=<text> | show the app's search
Sync
! sync | {_ANY} | on off | pause Obsidian Sync, or go on
! sync:status | {_LOOK} |  | print how Obsidian Sync stands
! sync:history | {_LOOK} | file=<name> path=<path> total | list the versions in Obsidian Sync
! sync:read | {_LOOK} | file=<name> path=<path> version=<n>* | print a version in Obsidian Sync
! sync:restore | {_ANY} | file=<name> path=<path> version=<n>* | bring back a version in Obsidian Sync
! sync:open | {_OPEN} | file=<name> path=<path> | show the app's sync history
! sync:deleted | {_LOOK} | total | list the files deleted in Obsidian Sync
Tags
tags | vault_overview | file=<name> path=<path> sort=count total counts format=json|tsv|csv active | list the tags
tag | vault_overview | name=<tag>* total verbose | list the files that have a tag
Tasks
tasks | list_tasks | file=<name> path=<path> status=<char> total done todo verbose format=json|tsv|csv active daily \
| list the tasks
task | list_tasks status:set_task toggle:set_task done:set_task todo:set_task \
| ref=<path:line> file=<name> path=<path> line=<n> status=<char> toggle daily done todo | print or mark a task
Templates
templates | read_note | total | list the templates
template:read | read_note | name=<template>* title=<title> resolve | print a template
! template:insert | {_ANY} | name=<template>* | put a template into the active file
Themes and snippets
! themes | {_LOOK} | versions | list the themes
! theme | {_LOOK} | name=<name> | print the theme in use, or facts of one
! theme:set | {_ANY} | name=<name>* | set the theme
! theme:install | {_ANY} | name=<name>* enable | install a theme
! theme:uninstall | {_ANY} | name=<name>* | uninstall a theme
! snippets | {_LOOK} |  | list the CSS snippets
! snippets:enabled | {_LOOK} |  | list the CSS snippets that are on
! snippet:enable | {_ANY} | name=<name>* | turn a CSS snippet on
! snippet:disable | {_ANY} | name=<name>* | turn a CSS snippet off
Unique notes
unique | create_note | name=<text> content=<text> paneType=tab|split|window open | create a note named by the time
Vault
vault | vault_overview | info=name|path|files|folders|size | print facts of the vault
vaults |  | total verbose | list the vaults that Obsidian knows
- vault:open |  | name=<name>* | change to another vault
Web viewer
! web | {_ANY} | url=<url>* newtab | show a web page
Word count
wordcount | read_note | file=<name> path=<path> words characters | count the words of a note
Workspace
! workspace | obsidian_workspace | ids | print the panes and tabs
! workspaces | {_LOOK} | total | list the saved workspaces
! workspace:save | {_ANY} | name=<name> | save the workspace
! workspace:load | {_ANY} | name=<name>* | load a workspace
! workspace:delete | {_ANY} | name=<name>* | delete a workspace
! tabs | obsidian_workspace | ids | list the open tabs
! tab:open | {_OPEN} | group=<id> file=<path> view=<type> | open a tab
! recents | {_LOOK} | total | list the files opened last
Developer
! devtools | {_ANY} |  | show or hide the developer tools
! dev:debug | {_ANY} | on off | attach or detach the debugger
! dev:cdp | {_ANY} | method=<CDP.method>* params=<json> | run a command of the debugger
! dev:errors | {_ANY} | clear | print errors of scripts
! dev:screenshot | {_ANY} | path=<filename> | take a picture of the app
! dev:console | {_ANY} | limit=<n> level=log|warn|error|info|debug clear | print messages of scripts
! dev:css | {_ANY} | selector=<css>* prop=<name> | print where styles come from
! dev:dom | {_ANY} | selector=<css>* attr=<name> css=<prop> total text inner all | print elements of the page
! dev:mobile | {_ANY} | on off | look as on a phone
! eval | {_ANY} | code=<javascript>* | run JavaScript in the app
""")
COMMANDS = {command.name: command for commands in GROUPS.values() for command in commands}


# ---------------------------------------------------------------------- reading a command line

COPY = "--copy"
"""Copies the answer to the clipboard, too."""
_VAULT = "vault="
_MAY_BE_EMPTY = ("value",)
# The escapes of the command; there is none for a backslash.
_ESCAPES = {r"\n": "\n", r"\t": "\t"}
_ESCAPE = re.compile(r"\\[nt]")


class Line:
    """A command line that was read: the command, what it is given by name, and the vault it names.

    A flag has the value ``true``. ``topic``: the command that help is asked for. ``COPY`` is left out.
    """

    def __init__(self, words: Sequence[str]) -> None:
        """Raises OfficialError for an unknown command."""
        self.words = list(words)
        rest = [word for word in words if not word.startswith(_VAULT)]
        self.vault = next((word[len(_VAULT) :] for word in words if word.startswith(_VAULT)), None)
        rest = [word for word in rest if word != COPY]
        name, *rest = rest or ["help"]
        name = {"--help": "help", "-h": "help", "--version": "version"}.get(name, name)
        self.topic = rest[0] if name == "help" and rest else ""
        self.command = _command(name)
        self.given = dict(self._read(rest))

    def _read(self, words: Sequence[str]) -> Iterator[tuple[str, str]]:
        takes = self.command.takes
        forms = takes.get("format", ("", False))[0].split("|")
        for word in words:
            name, equals, value = word.partition("=")
            name = name if equals else name.removeprefix("--")
            if name in takes and value != "false":
                yield name, _unescaped(value) if name == "content" else value if equals else "true"
            elif not equals and name in forms:  # "tags json" means format=json
                yield "format", name

    def check(self) -> None:
        """Raise OfficialError for a parameter that is missing."""
        for name, (value, is_required) in self.command.takes.items():
            text = self.given.get(name)
            if is_required and (text is None or (not text and name not in _MAY_BE_EMPTY)):
                asked = f"{name}={value}" if text is None else name
                raise OfficialError(f"Missing required parameter: {asked}\nUsage: {self.command.usage}")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES[found[0]], text)


def _command(name: str) -> Command:
    if name in COMMANDS:
        return COMMANDS[name]
    near = _near(name)
    hint = f"Did you mean: {', '.join(near)}?" if near else "It may require a plugin to be enabled."
    raise OfficialError(f'Command "{name}" not found. {hint}')


def _near(name: str) -> list[str]:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a message

    within = [known for known in COMMANDS if len(name) > 1 and (known.startswith(name) or name in known)]
    return [*dict.fromkeys([*within, *get_close_matches(name, COMMANDS)])][:3]


# ---------------------------------------------------------------------- help

_ABOUT = """\
Obsidian's command line, answered by vaultwire on the files of a vault.

Usage: obsidian [vault=<name>] <command> [parameter=value ...] [flag ...]

  file=<name> finds a file as a wikilink does, path=<path> takes its exact path.
  A value with spaces needs quotes; in content, \\n is a new line and \\t a tab.
  Commands with * need the Obsidian app, which must run."""


def help_text(topic: str = "") -> str:
    """Return what help says: of one command and those below it, or of all. Raises OfficialError for an unknown command."""
    if topic:
        _command(topic)
        family = [each for each in COMMANDS.values() if each.name == topic or each.name.startswith(f"{topic}:")]
        return "\n".join(f"{each.usage}\n    {each.about}{_needs(each)}" for each in family)
    lines = [_ABOUT]
    for heading, commands in GROUPS.items():
        lines += ["", f"{heading}:"]
        lines += [f"  {each.name:18}{'*' if each.where == APP else ' '} {each.about}" for each in commands]
    return "\n".join(lines)


def _needs(command: Command) -> str:
    return {FILES: "", APP: " (in the app)", NOWHERE: " (only in the terminal of Obsidian itself)"}[command.where]
