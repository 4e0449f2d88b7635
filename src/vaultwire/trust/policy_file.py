"""Reads the policy's file: TOML, checked as a whole before anything is served; and says in words what it allows and why.

It does not apply the rules: ``policy`` and ``policy_rules`` do. For people: docs/policy.md.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, NoReturn

from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES, MAX_NOTE_BYTES
from vaultwire.trust.policy import EVERY_OTHER_CLIENT, Policy, ToolRules, wrong_tool
from vaultwire.trust.policy_rules import MODES, PathRules, Reason, ReviewRule, ReviewRules, Rule, check_pattern
from vaultwire.vault.disk.paths import folder_of_setting, parse_path
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.review_mode import MOST_QUIET_SECONDS
from vaultwire.vault.visibility.visible_files import PrivacyRules

# A person writes a policy. A larger file is something else.
_MAX_BYTES = 1 << 20

# The keys of each table; "" is the top level.
TABLES: dict[str, tuple[str, ...]] = {
    "": (
        *("read_only", "symlinks", "write_quiet_seconds"),
        *("paths", "private", "sizes", "tools", "clients", "network", "review"),
    ),
    "paths": ("read", "write", "deny", "types"),
    "private": ("tags", "properties"),
    "sizes": ("note", "attachment"),
    "tools": ("allow", "deny"),
    "network": ("hosts", "attachments"),
}
_REVIEW = re.compile(r"\s*\[\[\s*[\"']?review[\"']?\s*\]\]")
_HOST = re.compile(r"(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")
_TOML_LINE = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


class PolicyError(Exception):
    """A wrong policy; the message is one line for a person: file, line, rule, and what would be right."""


class LoadedPolicy(NamedTuple):
    """A policy from its file. ``paths`` is None if there are no rules for files; sizes are in bytes.

    ``write_quiet_seconds``: see ``holding.delayed_writes``; 0 for none.
    """

    path: str
    policy: Policy
    paths: PathRules | None
    note_bytes: int
    attachment_bytes: int
    review: ReviewRules | None = None
    write_quiet_seconds: float = 0


def load_policy(path: str, tools: Collection[str]) -> LoadedPolicy:
    """Return the policy in a file; ``tools`` are the names of all tools. Raises PolicyError."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise PolicyError(f"cannot read the policy {path}: {error.strerror}") from None
    if len(data) > _MAX_BYTES:
        raise PolicyError(f"{path}: a policy has at most {_MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PolicyError(f"{path}:{line}: is not UTF-8") from None
    return _Reader(path, text, tools).read()


class _Reader:
    """Reads one file."""

    def __init__(self, path: str, text: str, tools: Collection[str]) -> None:
        self._path = path
        self._text = text.replace("\r\n", "\n")
        self._tools = tools

    def read(self) -> LoadedPolicy:
        import tomllib  # noqa: PLC0415 - only where there is a policy

        try:
            document = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            at = _TOML_LINE.search(str(error))
            line = int(at[1]) if at and at[1] else self._text.count("\n") + 1
            self._refuse(line, f"is not TOML: {_TOML_LINE.sub('', str(error)).strip()}")
        self._check_keys("", document)
        tables = {name: self._table(document, name) for name in TABLES if name}
        review = self._review(document)
        for name, table in tables.items():
            self._check_keys(name, table)
        paths, private, sizes = tables["paths"], tables["private"], tables["sizes"]
        note_bytes = self._size(sizes, "note", MAX_NOTE_BYTES)
        privacy = self._privacy(private)
        read, write, deny = (self._rules(paths, key) for key in ("read", "write", "deny"))
        types = self._texts(paths, "paths", "types")
        symlinks = self._flag(document, "symlinks")
        rules = None
        if privacy or not symlinks or any(each is not None for each in (read, write, deny, types)):
            rules = PathRules(
                read=read,
                write=write,
                deny=deny or (),
                types=None if types is None else tuple(self._type(each) for each in types),
                follows_links=symlinks,
                privacy=privacy,
                note_bytes=note_bytes,
            )
        policy = Policy(
            read_only=self._flag(document, "read_only"),
            tools=self._tool_rules(tables["tools"], "tools") if "tools" in document else None,
            clients=self._clients(document),
            hosts=self._hosts(tables["network"], "hosts"),
            attachment_hosts=self._hosts(tables["network"], "attachments"),
        )
        attachment_bytes = self._size(sizes, "attachment", MAX_ATTACHMENT_BYTES)
        quiet = self._quiet_seconds(document)
        return LoadedPolicy(self._path, policy, rules, note_bytes, attachment_bytes, review, quiet)

    # ------------------------------------------------------------------ tables

    def _table(self, document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        table = document.get(name, {})
        if not isinstance(table, dict):
            self._refuse(self._line("", name), f"{name!r} must be a table: [{name}]")
        return table

    def _check_keys(self, table: str, keys: Mapping[str, Any], known: tuple[str, ...] | None = None) -> None:
        for key in keys:
            if key not in (known or TABLES[table]):
                where = f" in [{table}]" if table else ""
                self._refuse(self._line(table, key), f"unknown {key!r}{where}{_near(key, known or TABLES[table])}")

    def _clients(self, document: Mapping[str, Any]) -> dict[str, ToolRules]:
        clients = document.get("clients", {})
        if not isinstance(clients, dict):
            self._refuse(self._line("", "clients"), "'clients' must be tables: [clients.\"NAME\"]")
        rules = {}
        for name, table in clients.items():
            where = f"clients.{name}"
            if not isinstance(table, dict):
                self._refuse(self._line("clients", name), f'{name!r} must be a table: [clients."{name}"]')
            self._check_keys(where, table, TABLES["tools"])
            rules[name] = self._tool_rules(table, where)
        return rules

    def _tool_rules(self, table: Mapping[str, Any], where: str) -> ToolRules:
        rules: list[tuple[str, ...] | None] = []
        for key in TABLES["tools"]:
            texts = self._texts(table, where, key)
            names = None if texts is None else {_snake(text): text for text in texts}
            problem = wrong_tool([*(names or ())], self._tools, restricts=key == "deny")
            if names is not None and problem is not None:
                self._refuse(self._line(where, key, names[problem[0]]), f"{key}: {problem[1]}")
            rules.append(None if names is None else tuple(names))
        allow, deny = rules
        return ToolRules(allow, deny or ())

    def _review(self, document: Mapping[str, Any]) -> ReviewRules | None:
        tables = document.get("review", [])
        if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
            self._refuse(self._line("", "review"), "'review' must be tables: [[review]]")
        lines = [number for number, line in enumerate(self._text.split("\n"), 1) if _REVIEW.match(line)]
        lines += [self._line("", "review")] * len(tables)  # written in another way, such as review = [{…}]

        rules = []
        for number, table in enumerate(tables):
            end = next((each - 1 for each in lines if each > lines[number]), None)
            problem = read_rule(table, self._tools)
            if isinstance(problem, ReviewRule):
                rules.append(problem)
                continue
            key, text = problem
            spelt = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
            own = [*enumerate(self._text.split("\n")[lines[number] : end], lines[number] + 1)]
            line = next((at for at, each in own if spelt.match(each)), lines[number])
            self._refuse(line, text)
        return ReviewRules(rules) if rules else None

    # ------------------------------------------------------------------ values

    def _flag(self, values: Mapping[str, Any], key: str) -> bool:
        value = values.get(key, False)
        if not isinstance(value, bool):
            self._refuse(self._line("", key), f"{key!r} must be true or false, not {value!r}")
        return value

    def _quiet_seconds(self, values: Mapping[str, Any]) -> float:
        key, value = "write_quiet_seconds", values.get("write_quiet_seconds", 0)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= MOST_QUIET_SECONDS:
            self._refuse(self._line("", key), f"{key!r} must be a number from 0 to {MOST_QUIET_SECONDS}, not {value!r}")
        return value

    def _texts(self, values: Mapping[str, Any], table: str, key: str) -> list[str] | None:
        value = values.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            self._refuse(self._line(table, key), f'{key!r} in [{table}] must be a list of texts: {key} = ["…"]')
        for each in value:
            if not each.strip():
                self._refuse(self._line(table, key, each), f"{key!r} in [{table}] holds an empty text")
        return value

    def _rules(self, paths: Mapping[str, Any], key: str) -> tuple[Rule, ...] | None:
        texts = self._texts(paths, "paths", key)
        if texts is None:
            return None
        rules = []
        for text in texts:
            line = self._line("paths", key, text)
            problem = check_pattern(text)
            if problem is not None:
                self._refuse(line, f"{key}: {problem}")
            rules.append(Rule(key, text, line))
        return tuple(rules)

    def _type(self, text: str) -> str:
        name = text.strip().removeprefix("*").removeprefix(".")
        if not name or any(character in name for character in "./\\*?"):
            self._refuse(self._line("paths", "types", text), f"types: {text!r} is not a file type; write 'md', 'png' …")
        return name

    def _privacy(self, private: Mapping[str, Any]) -> PrivacyRules | None:
        tags = self._texts(private, "private", "tags") or []
        properties: dict[str, str | None] = {}
        for tag in tags:
            if not tag.strip().removeprefix("#").strip("/") or any(each.isspace() for each in tag.strip()):
                self._refuse(self._line("private", "tags", tag), f"tags: {tag!r} is not a tag")
        for text in self._texts(private, "private", "properties") or []:
            name, equals, value = text.partition("=")
            if not name.strip() or (equals and not value.strip()):
                line = self._line("private", "properties", text)
                self._refuse(line, f"properties: {text!r} must be a property's name, or 'name=value'")
            properties[name.strip()] = value.strip() if equals else None
        return PrivacyRules(tags, properties) if tags or properties else None

    def _size(self, sizes: Mapping[str, Any], key: str, most: int) -> int:
        value = sizes.get(key, most)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
            self._refuse(self._line("sizes", key), f"{key!r} in [sizes] must be a number of bytes from 1 to {most}")
        return value

    def _hosts(self, network: Mapping[str, Any], key: str) -> tuple[str, ...]:
        hosts = []
        for text in self._texts(network, "network", key) or ():
            hosts.append(text.strip().lower())
            if not _HOST.fullmatch(hosts[-1]):
                line = self._line("network", key, text)
                self._refuse(
                    line, f"{key}: {text!r} is not a host; write 'example.org', or '*.example.org' for all below it"
                )
        return tuple(hosts)

    # ------------------------------------------------------------------ lines

    def _line(self, table: str, key: str, value: str | None = None) -> int:
        """Return the line of a key, or of a text in its list; 1 if it cannot be found."""
        current = ""
        line_of_key = 0
        spelt = re.escape(key)
        # In its own table, or with the table's name before it.
        own = re.compile(rf"""\s*(?:["']?{spelt}["']?)\s*[=.]""")
        dotted = re.compile(rf"""\s*["']?{re.escape(table)}["']?\s*\.\s*["']?{spelt}["']?\s*[=.]""") if table else own
        header = re.compile(rf"""\s*\[+\s*{_dotted(f"{table}.{key}" if table else key)}\s*[\].]""")
        for number, line in enumerate(self._text.split("\n"), 1):
            if line_of_key:
                if value is None or any(f"{quote}{value}{quote}" in line for quote in ('"', "'")):
                    return number if value is not None else line_of_key
                continue
            if own.match(line) if current == table else dotted.match(line):
                line_of_key = number
                if value is None or any(f"{quote}{value}{quote}" in line for quote in ('"', "'")):
                    return number
            elif header.match(line):
                line_of_key = number
                if value is None:
                    return number
            opening = re.match(r"\s*\[+([^\]]+)\]", line)
            if opening and not line_of_key:
                current = re.sub(r"""["']|\s*(?=\.)|(?<=\.)\s*""", "", opening[1]).strip()
        return line_of_key or 1

    def _refuse(self, line: int, problem: str) -> NoReturn:
        raise PolicyError(f"{self._path}:{line}: {problem}")


def _dotted(name: str) -> str:
    return r"\s*\.\s*".join(rf"""["']?{re.escape(part)}["']?""" for part in name.split(".", 1))


def _snake(tool: str) -> str:
    return tool.strip().replace("-", "_")


def _near(name: str, known: Collection[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a message

    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"


KEYS = ReviewRule._fields
_LISTS = ("clients", "folders", "tools")


def read_rule(table: Mapping[str, Any], tools: Collection[str]) -> ReviewRule | tuple[str, str]:
    """Return the rule of a [[review]] table, or the key that is wrong and what is wrong with it.

    ``tools``: the names of all tools.
    """
    for key in table:
        if key not in KEYS:
            return key, f"unknown {key!r} in [[review]]{_near(key, KEYS)}"
    mode = table.get("mode")
    if mode not in MODES:
        return "mode", 'mode in [[review]] must be "record", "hold" or "ask"'
    for key in _LISTS:
        value = table.get(key)
        if key in table and not (
            isinstance(value, list) and value and all(isinstance(each, str) and each.strip() for each in value)
        ):
            return key, f'{key} in [[review]] must be a list of texts that is not empty: {key} = ["…"]'
    for key in ("above_notes", "above_bytes"):
        value = table.get(key)
        if key in table and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            return key, f"{key} in [[review]] must be a number from 0 on"
    return _checked(table, tools)


def _checked(table: Mapping[str, Any], tools: Collection[str]) -> ReviewRule | tuple[str, str]:
    names = [_snake(each) for each in table.get("tools", ())]
    if (problem := wrong_tool(names, tools, restricts=True)) is not None:
        return "tools", f"tools: {problem[1]}"
    folders = []
    for text in table.get("folders", ()):
        folder = folder_of_setting(text)
        try:
            folders.append(parse_path(folder) if folder else "")
        except VaultError as error:
            return "folders", f"folders: {text!r} is not a folder of the vault: {error.message}"
    return ReviewRule(
        table["mode"],
        tuple(each.strip() for each in table["clients"]) if "clients" in table else None,
        tuple(folders) if "folders" in table else None,
        tuple(names) if "tools" in table else None,
        table.get("above_notes"),
        table.get("above_bytes"),
    )


# ---------------------------------------------------------------------- in words, for the person who wrote it

_ALLOWED = "no rule is against it"

# The conditions of a [[review]] table, in words.
_CONDITIONS = {
    "clients": "of the clients {}",
    "folders": "in the folders {}",
    "tools": "with the tools {}",
    "above_notes": "of more than {} notes and other files",
    "above_bytes": "of more than {} bytes",
}


def describe(loaded: LoadedPolicy) -> list[str]:
    """Return the policy's rules in words, one line each."""
    policy, rules = loaded.policy, loaded.paths
    lines = ["nothing is changed"] if policy.read_only else []
    if rules is not None:
        lines += [f"{kind}: {', '.join(texts)}" for kind, texts in rules.patterns.items()]
        lines += [] if rules.follows_links else ["links to files and folders lead nowhere"]
        lines += ["notes may be private by their text"] if rules.privacy is not None else []
    if loaded.note_bytes < MAX_NOTE_BYTES:
        lines.append(f"notes have at most {loaded.note_bytes} bytes")
    if loaded.attachment_bytes < MAX_ATTACHMENT_BYTES:
        lines.append(f"attachments have at most {loaded.attachment_bytes} bytes")
    if loaded.write_quiet_seconds:
        lines.append(f"edits of one note are written together once it was quiet for {loaded.write_quiet_seconds:g} s")
    lines += [] if policy.tools is None else [f"tools: {_rules_text(policy.tools)}"]
    for name, tools in policy.clients.items():
        who = "any other client" if name == EVERY_OTHER_CLIENT else f"client {name!r}"
        lines.append(f"tools for {who}, too: {_rules_text(tools)}")
    for number, rule in enumerate(() if loaded.review is None else loaded.review.rules, 1):
        met = [
            _CONDITIONS[key].format(", ".join(value) if isinstance(value, tuple) else value)
            for key, value in rule._asdict().items()
            if key != "mode" and value is not None
        ]
        what = "ask about" if rule.mode == "ask" else rule.mode
        lines.append(f"review {number}: {what} {' '.join(['changes', ' and '.join(met)]) if met else 'all changes'}")
    return [
        *lines,
        *([f"attachments may come from {', '.join(policy.attachment_hosts)}"] if policy.attachment_hosts else []),
        f"tools may connect to {', '.join(policy.hosts)}" if policy.hosts else "no tool may connect anywhere",
    ]


def explain_tool(
    loaded: LoadedPolicy, tool: str, annotations: Mapping[str, Any], client: str, principal: str = ""
) -> Reason:
    """Return whether a client may use a tool, and why. The client is named as in ``Policy.rules_for``."""
    policy = loaded.policy
    if policy.forbids_changes_of(tool, annotations, principal):
        why = "read_only is true" if policy.read_only else "this client may only read"
        return Reason(False, f"it changes notes, and {why}")
    own = [("[tools]", policy.tools)] if policy.tools is not None else []
    own += [(_table_of(loaded, rules), rules) for rules in policy.rules_for(client, principal)]
    for table, rules in own:
        if not rules.allows(tool):
            why = (
                "denies it"
                if rules.allow is None or ToolRules(rules.allow).allows(tool)
                else "does not name it in allow"
            )
            return Reason(False, f"{table} {why}")
    return Reason(True, _ALLOWED)


def explain_path(loaded: LoadedPolicy, path: str, *, changes: bool) -> Reason:
    """Return whether a file may be seen, or changed, and why."""
    rules = loaded.paths
    if rules is None:
        return Reason(True, _ALLOWED)
    return rules.explain_changing(path) if changes else rules.explain_seeing(path)


def to_text(loaded: LoadedPolicy, reason: Reason) -> str:
    """Return the reason with its rule, and the file and line of the rule."""
    rule = reason.rule
    return reason.text if rule is None else f'{reason.text}: {rule.kind} has "{rule.text}" ({loaded.path}:{rule.line})'


def _table_of(loaded: LoadedPolicy, rules: ToolRules) -> str:
    return next(f'[clients."{name}"]' for name, each in loaded.policy.clients.items() if each is rules)


def _rules_text(rules: ToolRules) -> str:
    allowed = "all" if rules.allow is None else ", ".join(rules.allow) or "none"
    return f"{allowed}, but not {', '.join(rules.deny)}" if rules.deny else allowed
