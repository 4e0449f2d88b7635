"""What clients may do, and what they did: ``keys``, ``policy`` and ``audit``."""

from __future__ import annotations

import argparse
import collections
import json
import os
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from vaultwire.cli.command import FOUND_CODES, SETTING_UP, command
from vaultwire.cli.database import with_database
from vaultwire.cli.terminal import complain, say
from vaultwire.config import (
    DATABASE_VARIABLE,
    POLICY_VARIABLE,
    VAULT_VARIABLE,
    ConfigError,
    audit_file,
    keys_folder,
    make_config,
    policy_path,
    state_folder,
)
from vaultwire.desk.access import desk_keys_folder
from vaultwire.toolkit.catalog import APP_CATALOG, former_name_hint, load_catalog
from vaultwire.trust.audit import records, verify
from vaultwire.trust.keys import KeyRefused, Keys, SharedKeys
from vaultwire.trust.policy_file import (
    LoadedPolicy,
    PolicyError,
    describe,
    explain_path,
    explain_tool,
    load_policy,
    to_text,
)
from vaultwire.trust.policy_rules import Reason
from vaultwire.vault.disk.paths import parse_path
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.visibility.visible_files import VisibleFiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.cluster.database import Database


def _add_keys(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    issued = actions.add_parser("issue", help="make a key and show it once")
    issued.add_argument("name", help="name of the key, such as phone")
    issued.add_argument(
        "--desk",
        action="store_true",
        help="a key for you: it opens the desk in a browser, and nothing else (docs/desk.md)",
    )
    listed = actions.add_parser("list", help="list the names of the keys")
    revoked = actions.add_parser("revoke", help="delete a key; running servers refuse it at once")
    revoked.add_argument("name", help="name of the key")
    for action in (issued, listed, revoked):
        action.add_argument(
            "--database",
            metavar="URL",
            help=f"a key of the servers that share this PostgreSQL (serve --database; else: ${DATABASE_VARIABLE})",
        )


@command(
    "keys",
    SETTING_UP,
    "manage the API keys of serve: issue, list, revoke",
    "vaultwire keys issue phone",
    options=_add_keys,
)
def keys(options: argparse.Namespace) -> int:
    """Do it and return the exit code. Raises ConfigError."""
    url = options.database or os.environ.get(DATABASE_VARIABLE)
    return with_database(url, partial(_keys_in, options)) if url else _do_keys(options, Keys(keys_folder()))


def _keys_in(options: argparse.Namespace, base: Database) -> int:
    from vaultwire.cluster.keys import KeyRows  # noqa: PLC0415 - an extra

    base.check()
    return _do_keys(options, SharedKeys(KeyRows(base)))


def _do_keys(options: argparse.Namespace, keys: Keys) -> int:
    desk_keys = Keys(desk_keys_folder(state_folder()))
    try:
        if options.action == "issue":
            secret = _issue(options.name, *((desk_keys, keys) if options.desk else (keys, desk_keys)))
            say(f"The key for {options.name}. It is shown only once; only its hash is stored:", to_stderr=True)
            say(secret)
        elif options.action == "list":
            for key in keys.all():
                say(f"{key.name}\tsince {key.created}")
            for key in desk_keys.all():
                say(f"{key.name}\tsince {key.created}\tfor the desk")
        elif not (keys.revoke(options.name) or desk_keys.revoke(options.name)):
            complain(f"there is no key named {options.name}")
            return 1
    except KeyRefused as error:
        complain(str(error))
        return 1
    except OSError as error:  # of a file, or of a database
        complain(f"cannot use the keys: {error if error.filename else error.strerror or error}")
        return 1
    return 0


def _issue(name: str, keys: Keys, others: Keys) -> str:
    """Return a new key. A name means one key, for agents or for the desk. Raises KeyRefused, OSError."""
    if any(key.name == name for key in others.all()):
        raise KeyRefused(f"there is a key named {name} already; revoke it first, or choose another name")
    return keys.issue(name)


# ---------------------------------------------------------------------- policy


def _add_policy(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    checked = actions.add_parser("check", help="check a policy's file, and print its rules in words")
    checked.add_argument("policy", metavar="FILE", help="the file")
    explained = actions.add_parser("explain", help="say whether a tool may be used on a file, and which rule says so")
    explained.add_argument("tool", help="the tool, such as read_note")
    explained.add_argument("path", help="the file's path in the vault, such as Folder/Note.md")
    explained.add_argument("--policy", metavar="FILE", help=f"the policy's file (else: ${POLICY_VARIABLE})")
    explained.add_argument("--client", default="", metavar="NAME", help="for the client with this name")
    explained.add_argument(
        "--key", default="", metavar="NAME", help="that uses the key with this name, or a token: oauth:SUBJECT"
    )
    explained.add_argument(
        "--vault",
        metavar="PATH",
        help=f"also read the file: its text may make it private (else: ${VAULT_VARIABLE})",
    )


@command(
    "policy",
    SETTING_UP,
    "check a policy file, and explain what it allows",
    "vaultwire policy explain delete_note Diary/Today.md --policy policy.toml",
    options=_add_policy,
)
def policy(options: argparse.Namespace) -> int:
    """Do it and return the exit code: 1 for a wrong policy, and for what is not allowed. Raises ConfigError."""
    path_of_policy = policy_path(options.policy)
    if path_of_policy is None:
        raise ConfigError(f"which policy? Give --policy FILE or set {POLICY_VARIABLE}")
    tools = {description["name"]: description for description in [*load_catalog(), *load_catalog(APP_CATALOG)]}
    try:
        loaded = load_policy(path_of_policy, tools)
    except PolicyError as error:
        complain(str(error))
        return 1
    changing = [name for name, each in tools.items() if not each["annotations"]["readOnlyHint"]]
    if options.action == "check":
        say(f"{path_of_policy} is a policy:", *(f"- {line}" for line in describe(loaded)))
        surprises = [] if loaded.review is None else loaded.review.surprises(changing)
        if surprises:
            say("Check:", *(f"- {line}" for line in surprises))
        return 0
    tool = tools.get(options.tool.replace("-", "_"))
    if tool is None:
        hint = former_name_hint(options.tool.replace("-", "_")) or "; docs/tools.md lists all tools"
        raise ConfigError(f"there is no tool {options.tool!r}{hint}")
    try:
        path = parse_path(options.path)
    except VaultError as error:
        raise ConfigError(f"not a path in a vault: {error.message}") from None
    annotations = tool["annotations"]
    reasons = {
        "the tool": explain_tool(loaded, tool["name"], annotations, options.client, options.key),
        "the file": explain_path(loaded, path, changes=not annotations["readOnlyHint"]),
    }
    # Of the option or of the environment. Raises ConfigError if it does not exist.
    is_given = options.vault is not None or os.environ.get(VAULT_VARIABLE)
    vault = make_config(options.vault).vault if is_given else None
    if vault is not None and reasons["the file"].is_allowed:
        reasons["the file itself"] = _look_at(loaded, vault, path)
    is_allowed = all(reason.is_allowed for reason in reasons.values())
    say(f"{tool['name']} {path}: {'allowed' if is_allowed else 'not allowed'}")
    for what, reason in reasons.items():
        say(f"- {what}: {to_text(loaded, reason)}")
    return 0 if is_allowed else 1


def _look_at(loaded: LoadedPolicy, vault: str, path: VaultPath) -> Reason:
    """Return whether a file may be seen, by its kind and its text."""
    if loaded.paths is None:
        return Reason(True, "no rule is against it")
    files = VisibleFiles(vault, loaded.note_bytes, loaded.paths)
    if not os.path.lexists(files.entry_path(path)):
        return Reason(True, "it is not there")
    if files.look_at(path) is not None:
        return Reason(True, "no rule is against it")
    return Reason(False, "it is a folder, a link that leads nowhere, or private by its text")


# ---------------------------------------------------------------------- audit

_MAX_SHOWN = 10


def _add_audit(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(title="what to do", metavar="ACTION", required=True, dest="action")
    log = argparse.ArgumentParser(add_help=False)
    log.add_argument("log", metavar="LOG", help="the file, or the folder it is in, as --audit was given it")
    shown = argparse.ArgumentParser(add_help=False, parents=[log])
    shown.add_argument("--json", action="store_true", help="print the lines as they are in the log")
    tailed = actions.add_parser("tail", parents=[shown], help="print the last lines")
    tailed.add_argument("-n", "--lines", type=int, default=20, metavar="N", help="how many (20)")
    grepped = actions.add_parser("grep", help="print the lines that match")
    grepped.add_argument("pattern", metavar="PATTERN", help="regular expression, ignoring case; . for all")
    grepped.add_argument("log", metavar="LOG", help="as for tail")
    grepped.add_argument("--json", action="store_true", help="print the lines as they are in the log")
    grepped.add_argument("--tool", metavar="NAME", help="lines about this tool or method")
    grepped.add_argument(
        "--client", metavar="NAME", help="requests of this client, by its own name or its key's name, and their results"
    )
    grepped.add_argument("--errors", action="store_true", help="errors and security events only")
    verified = actions.add_parser("verify", parents=[log], help="check whether lines were changed, removed or added")
    verified.add_argument(
        "--holds",
        metavar="HASH",
        help="also check that a line with this hash is there: the last hash of an earlier check",
    )


@command(
    "audit",
    SETTING_UP,
    "read and search the audit log, and check that it is complete",
    "vaultwire audit tail ~/vaultwire-log -n 50",
    options=_add_audit,
    codes=FOUND_CODES,
)
def audit(options: argparse.Namespace) -> int:
    """Do it and return the exit code."""
    path = audit_file(options.log)
    try:
        if options.action == "verify":
            return _verify(path, options.holds)
        if not os.path.exists(path) and not os.path.exists(f"{path}.lock"):
            raise FileNotFoundError(2, "there is no log", path)
        is_tail = options.action == "tail"
        found = collections.deque(records(path), options.lines) if is_tail else _matching(path, options)
        has_found = is_tail
        for record in found:
            has_found = True
            say(json.dumps(record) if options.json else _record_to_text(record))
    except OSError as error:
        complain(f"cannot read the audit log {path}: {error.strerror}")
        return 1
    except re.error as error:
        complain(f"not a regular expression: {options.pattern!r} ({error})")
        return 2
    return 0 if has_found else 1


def _matching(path: str, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield the lines that match. The client of a result is the client of its request."""
    pattern = re.compile(options.pattern, re.IGNORECASE)
    request_ids: set[str] = set()
    for record in records(path):
        if options.client is not None:
            if options.client in (record.get("client"), record.get("principal")):
                request_ids.add(record.get("request_id", ""))
            if record.get("request_id") not in request_ids:
                continue
        if options.tool is not None and options.tool not in (record.get("tool_name"), record.get("method")):
            continue
        if options.errors and record.get("result_status") != "error" and record.get("type") != "security":
            continue
        if pattern.search(json.dumps(record, ensure_ascii=False)) is not None:
            yield record


def _record_to_text(record: dict[str, Any]) -> str:
    """Return a line for a person."""
    get = record.get
    short = str(get("request_id", ""))[:8]
    what = get("tool_name") or get("method") or ""
    match get("type"):
        case "request":
            who = json.dumps(get("client") or "?", ensure_ascii=False)  # in quotes: this is any text of the client's
            if get("principal"):
                who = f"{get('principal')}, which calls itself {who}"
            rest = f"{who}: {what} {json.dumps(get('arguments', {}), ensure_ascii=False)}"
        case "response":
            status = get("error_code") or get("result_status")
            rest = f"-> {what} {status} in {get('execution_time_ms')} ms"
        case "rotation":
            rest = f"-- the log removed its oldest files, by number: {', '.join(get('removed', {}))}"
        case _:
            rest = f"!! {get('event_type')} {json.dumps(get('details', {}), ensure_ascii=False)}"
    return f"{get('timestamp')} {short:8} {rest}"


def _verify(path: str, expected: str | None) -> int:
    report = verify(path, expected)
    for problem in report.problems[:_MAX_SHOWN]:
        say(f"{problem.file}, line {problem.line}: {problem.what}")
    if len(report.problems) > _MAX_SHOWN:
        say(f"and {len(report.problems) - _MAX_SHOWN} more")
    if not report.is_complete:
        say(
            "The chain begins with the oldest file that is left. The log removed earlier files itself where it says so."
        )
    if not report.has_expected:
        say(f"No line has the hash {expected}: lines were removed at the end, or this is a new log.")
    is_whole = not report.problems and report.has_expected
    lines = f"{report.lines} lines in {report.files} file{'' if report.files == 1 else 's'}"
    say(f"{lines}, {'all as they were written' if is_whole else 'NOT as they were written'}. Last hash: {report.last}")
    return 0 if is_whole else 1
