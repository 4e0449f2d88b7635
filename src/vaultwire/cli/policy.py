"""``vaultwire policy``: check a policy's file before it is used, and say what it allows and why."""

from __future__ import annotations

import argparse
import os

from vaultwire.cli.command import SETTING_UP, command
from vaultwire.cli.terminal import complain, say
from vaultwire.config import POLICY_VARIABLE, VAULT_VARIABLE, ConfigError, make_config, policy_path
from vaultwire.toolkit.catalog import APP_CATALOG, former_name_hint, load_catalog
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


def _add_options(parser: argparse.ArgumentParser) -> None:
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
    options=_add_options,
)
def run(options: argparse.Namespace) -> int:
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
    vault = _vault(options.vault)
    if vault is not None and reasons["the file"].is_allowed:
        reasons["the file itself"] = _look_at(loaded, vault, path)
    is_allowed = all(reason.is_allowed for reason in reasons.values())
    say(f"{tool['name']} {path}: {'allowed' if is_allowed else 'not allowed'}")
    for what, reason in reasons.items():
        say(f"- {what}: {to_text(loaded, reason)}")
    return 0 if is_allowed else 1


def _vault(given: str | None) -> str | None:
    """Return the vault of the option or of the environment, None for none. Raises ConfigError if it does not exist."""
    return make_config(given).vault if given is not None or os.environ.get(VAULT_VARIABLE) else None


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
