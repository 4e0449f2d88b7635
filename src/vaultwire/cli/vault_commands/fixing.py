"""``vaultwire check --fix``: links that lead nowhere get the name of the only note that can be meant.

What is meant is decided by the tool that fixes links. All links are one change, which can be undone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from vaultwire.cli.terminal import say, say_data
from vaultwire.cli.vault_commands.calling import DONE, NOT_FOUND, Calls, run
from vaultwire.toolkit.phrases import counted

if TYPE_CHECKING:
    from vaultwire.vault.links.checks import Finding


def fix(options: argparse.Namespace, faults: Sequence[tuple[str, Finding]]) -> int:
    """Fix what can be, after the person has seen it and agreed; return 1 if faults are left, else 0."""

    def work(calls: Calls) -> int:
        wanted: dict[str, Any] = {"suggested": True}
        if options.note:
            wanted["path"] = faults[0][0] if faults else options.note
        _, shown = calls.call("fix_links", **wanted, dry_run=True)
        fixes = shown["link_count"]
        if not options.json:
            say(*(f"{each['path']}:{each['line']}: {each['old']} → {each['new']}" for each in shown["links"]))
            if fixes > len(shown["links"]):
                say(f"… and {fixes - len(shown['links'])} more")
        if fixes and not options.dry_run:
            calls.person.agree(f"Change {counted(fixes, 'link')}?")
            _, shown = calls.call("fix_links", **wanted)
        left = len(faults) - fixes
        _report(options, shown, fixes, left)
        return NOT_FOUND if left or (options.dry_run and fixes) else DONE

    return run(options, work)


def _report(options: argparse.Namespace, shown: dict[str, Any], fixes: int, left: int) -> None:
    if options.json:
        report = {"fixed": not options.dry_run, "fixes": shown["links"], "fix_count": fixes, "left": left}
        say_data(json.dumps(report, indent=2, ensure_ascii=False))
        return
    verb = "would be fixed" if options.dry_run else "fixed"
    say(f"{counted(fixes, 'link')} {verb}, {counted(left, 'problem')} left")
