"""Reads one [[review]] table of the policy's file into a rule, or says what is wrong in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from vaultwire.trust.policy import wrong_tool
from vaultwire.trust.review_rules import MODES, ReviewRule
from vaultwire.vault.disk.paths import folder_of_setting, parse_path
from vaultwire.vault.errors import VaultError

KEYS = ReviewRule._fields
_LISTS = ("clients", "folders", "tools")


def read_rule(table: Mapping[str, Any], tools: Collection[str]) -> ReviewRule | tuple[str, str]:
    """Return the rule, or the key that is wrong and what is wrong with it. ``tools``: the names of all tools."""
    for key in table:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, 1)
            return key, f"unknown {key!r} in [[review]]" + (
                f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(KEYS)}"
            )
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
    names = [each.strip().replace("-", "_") for each in table.get("tools", ())]
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
