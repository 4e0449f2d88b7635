"""A policy in words: its rules, and why something is allowed or not. For the person who wrote it, not for clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES, MAX_NOTE_BYTES
from vaultwire.trust.policy import EVERY_OTHER_CLIENT, ToolRules
from vaultwire.trust.policy_file import LoadedPolicy
from vaultwire.trust.policy_paths import Reason

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
    if policy.forbids_changes_of(tool, annotations):
        return Reason(False, "it changes notes, and read_only is true")
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
