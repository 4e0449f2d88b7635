"""``vaultwire check``: print what is broken in a vault's notes, one line for each fault, as compilers do."""

from __future__ import annotations

import json
from typing import Any

from vaultwire.app.engine import load_policy, open_vault
from vaultwire.cli.terminal import say, say_data
from vaultwire.config import Config
from vaultwire.toolkit.phrases import counted
from vaultwire.vault.errors import VaultError
from vaultwire.vault.links.checks import Finding

_ALL = 1 << 62  # more faults than any vault has


def run(config: Config, note: str | None, *, as_json: bool) -> int:
    """Print the faults of one note or of all notes; return 1 if there are any, else 0."""
    vault = open_vault(config, (), load_policy(config))
    try:
        if note is None:
            found, checked, _ = vault.check_all(vault.files_to_check(""), 0, _ALL)
        else:
            path, findings = vault.check(note)
            found, checked = [(path, findings)], 1
    except VaultError as error:
        say(error.message)
        return 1
    finally:
        vault.close()
    faults = [(path, finding) for path, findings in found for finding in findings]
    if as_json:
        say_data(json.dumps([_to_json(path, finding) for path, finding in faults], indent=2, ensure_ascii=False))
    else:
        for path, finding in faults:
            say(f"{path}:{finding.line}:{finding.column}: {finding.kind}: {finding.message}")
        say(f"{counted(len(faults), 'fault')} in {counted(checked, 'file')}")
    return 1 if faults else 0


def _to_json(path: str, finding: Finding) -> dict[str, Any]:
    severity = "error" if finding.is_error else "warning"
    return {"path": path, "severity": severity, **finding._asdict()}
