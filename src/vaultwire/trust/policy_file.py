"""Reads the policy's file: TOML, checked as a whole before anything is served. It does not apply the rules: ``policy`` and
``policy_paths`` do. For people: docs/policy.md.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, NoReturn

from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES, MAX_NOTE_BYTES
from vaultwire.trust.policy import Policy, ToolRules, wrong_tool
from vaultwire.trust.policy_paths import PathRules, Rule, check_pattern
from vaultwire.trust.review_rules import ReviewRule, ReviewRules
from vaultwire.vault.visibility.private_notes import PrivacyRules

# A person writes a policy. A larger file is something else.
_MAX_BYTES = 1 << 20

# The keys of each table; "" is the top level.
TABLES: dict[str, tuple[str, ...]] = {
    "": ("read_only", "symlinks", "paths", "private", "sizes", "tools", "clients", "network", "review"),
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
    """A policy from its file. ``paths`` is None if there are no rules for files; sizes are in bytes."""

    path: str
    policy: Policy
    paths: PathRules | None
    note_bytes: int
    attachment_bytes: int
    review: ReviewRules | None = None


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
            found = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            at = _TOML_LINE.search(str(error))
            line = int(at[1]) if at and at[1] else self._text.count("\n") + 1
            self._refuse(line, f"is not TOML: {_TOML_LINE.sub('', str(error)).strip()}")
        self._check_keys("", found)
        tables = {name: self._table(found, name) for name in TABLES if name}
        review = self._review(found)
        for name, table in tables.items():
            self._check_keys(name, table)
        paths, private, sizes = tables["paths"], tables["private"], tables["sizes"]
        note_bytes = self._size(sizes, "note", MAX_NOTE_BYTES)
        privacy = self._privacy(private)
        read, write, deny = (self._rules(paths, key) for key in ("read", "write", "deny"))
        types = self._texts(paths, "paths", "types")
        symlinks = self._flag(found, "symlinks")
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
            read_only=self._flag(found, "read_only"),
            tools=self._tool_rules(tables["tools"], "tools") if "tools" in found else None,
            clients=self._clients(found),
            hosts=self._hosts(tables["network"], "hosts"),
            attachment_hosts=self._hosts(tables["network"], "attachments"),
        )
        return LoadedPolicy(
            self._path, policy, rules, note_bytes, self._size(sizes, "attachment", MAX_ATTACHMENT_BYTES), review
        )

    # ------------------------------------------------------------------ tables

    def _table(self, found: Mapping[str, Any], name: str) -> Mapping[str, Any]:
        table = found.get(name, {})
        if not isinstance(table, dict):
            self._refuse(self._line("", name), f"{name!r} must be a table: [{name}]")
        return table

    def _check_keys(self, table: str, found: Mapping[str, Any], known: tuple[str, ...] | None = None) -> None:
        for key in found:
            if key not in (known or TABLES[table]):
                where = f" in [{table}]" if table else ""
                self._refuse(self._line(table, key), f"unknown {key!r}{where}{_near(key, known or TABLES[table])}")

    def _clients(self, found: Mapping[str, Any]) -> dict[str, ToolRules]:
        clients = found.get("clients", {})
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

    def _review(self, found: Mapping[str, Any]) -> ReviewRules | None:
        tables = found.get("review", [])
        if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
            self._refuse(self._line("", "review"), "'review' must be tables: [[review]]")
        lines = [number for number, line in enumerate(self._text.split("\n"), 1) if _REVIEW.match(line)]
        lines += [self._line("", "review")] * len(tables)  # written in another way, such as review = [{…}]
        from vaultwire.trust.review_reading import read_rule  # noqa: PLC0415 - only where there are such rules

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

    def _flag(self, found: Mapping[str, Any], key: str) -> bool:
        value = found.get(key, False)
        if not isinstance(value, bool):
            self._refuse(self._line("", key), f"{key!r} must be true or false, not {value!r}")
        return value

    def _texts(self, found: Mapping[str, Any], table: str, key: str) -> list[str] | None:
        value = found.get(key)
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
        found = 0
        spelt = re.escape(key)
        # In its own table, or with the table's name before it.
        own = re.compile(rf"""\s*(?:["']?{spelt}["']?)\s*[=.]""")
        dotted = re.compile(rf"""\s*["']?{re.escape(table)}["']?\s*\.\s*["']?{spelt}["']?\s*[=.]""") if table else own
        header = re.compile(rf"""\s*\[+\s*{_dotted(f"{table}.{key}" if table else key)}\s*[\].]""")
        for number, line in enumerate(self._text.split("\n"), 1):
            if found:
                if value is None or any(f"{quote}{value}{quote}" in line for quote in ('"', "'")):
                    return number if value is not None else found
                continue
            if own.match(line) if current == table else dotted.match(line):
                found = number
                if value is None or any(f"{quote}{value}{quote}" in line for quote in ('"', "'")):
                    return number
            elif header.match(line):
                found = number
                if value is None:
                    return number
            opening = re.match(r"\s*\[+([^\]]+)\]", line)
            if opening and not found:
                current = re.sub(r"""["']|\s*(?=\.)|(?<=\.)\s*""", "", opening[1]).strip()
        return found or 1

    def _refuse(self, line: int, problem: str) -> NoReturn:
        raise PolicyError(f"{self._path}:{line}: {problem}")


def _dotted(name: str) -> str:
    return r"\s*\.\s*".join(rf"""["']?{re.escape(part)}["']?""" for part in name.split(".", 1))


def _snake(tool: str) -> str:
    return tool.strip().replace("-", "_")


def _near(given: str, known: Collection[str]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only for a message

    near = get_close_matches(given, known, 1)
    return f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
