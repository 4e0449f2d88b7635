"""What is wrong in a vault, as one list for ``check`` and ``doctor``: faults in notes, and files that cannot be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vaultwire.app.engine import load_policy, open_vault, survey_vault
from vaultwire.config import Config
from vaultwire.vault.disk.inspection import Inspection
from vaultwire.vault.holding.proposals import Room
from vaultwire.vault.links.faults import UNUSABLE_FILE, Finding
from vaultwire.vault.value_types import Progress

_ALL = 1 << 62  # more faults than any vault has


class Findings(NamedTuple):
    """The faults in path and line order, how many files were checked, and what else was seen of the vault.

    ``waiting``: what waits for the person, by client.
    """

    faults: list[tuple[str, Finding]]
    checked: int
    survey: Inspection | None = None
    waiting: Mapping[str, Room] = {}

    @property
    def errors(self) -> list[tuple[str, Finding]]:
        """Those that keep a file from being used as it was meant."""
        return [(path, finding) for path, finding in self.faults if finding.is_error]

    @property
    def warnings(self) -> list[tuple[str, Finding]]:
        """The others, such as links that lead nowhere."""
        return [(path, finding) for path, finding in self.faults if not finding.is_error]


def examine_vault(config: Config, progress: Progress) -> Findings:
    """Return what is wrong in a vault: in its notes and canvases, and with its files and settings."""
    survey = survey_vault(config, progress)
    vault = open_vault(config, (), load_policy(config))
    try:
        found, checked, _ = vault.check_all(vault.files_to_check("", progress), 0, _ALL, progress)
        waiting = vault.holding.proposals.used_room()
    finally:
        vault.close()
    faults = [(str(path), finding) for path, findings in found for finding in findings]
    known = {(path, finding.message) for path, finding in faults}
    faults += [
        (problem.path, Finding(UNUSABLE_FILE, problem.text, 1))
        for problem in survey.problems
        if (problem.path, problem.text) not in known
    ]
    return Findings(sorted(faults, key=lambda fault: (fault[0], *fault[1][2:])), checked, survey, waiting)


def examine_note(config: Config, name: str, progress: Progress) -> Findings:
    """Return what is wrong in the note or canvas that ``name`` means. Raises VaultError."""
    vault = open_vault(config, (), load_policy(config))
    try:
        path, found = vault.check(name, progress)
    finally:
        vault.close()
    return Findings([(str(path), finding) for finding in found], 1)
