"""Random calls about two vaults of several owners, each through a server by chance: as one after another on one server."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.failing_servers import Team
from support.serving import Serving
from support.vaults import write_vault
from vaultwire.cluster.database import Database

NOTES = "".join(f"=== Note{number}.md\nnote {number}, see [[Note{(number + 1) % 6}]]\n" for number in range(6))
CALLS = 80
VAULTS = ("Notes", "Plans")
Step: TypeAlias = "tuple[str, dict[str, Any]]"


def steps(chance: random.Random) -> Iterator[Step]:
    """Yield calls. Some are refused, as their notes are not there, or are already."""
    made = dict.fromkeys(VAULTS, 0)
    for number in range(CALLS):
        vault = chance.choice(VAULTS)
        name, other = (f"Note{chance.randrange(7)}" for _ in range(2))
        folder = chance.choice(["", "Folder/", "Deep/Folder/"])
        choices: list[Step] = [
            ("write_note", {"path": f"{folder}{name}", "content": f"new {number}, see [[{other}]]"}),
            ("write_note", {"path": name, "content": f"line {number}", "mode": "append"}),
            ("write_note", {"path": name, "content": f"all {number} [[{other}]]", "mode": "overwrite"}),
            (
                "edit_note",
                {"path": name, "edits": [{"action": "replace", "text": "see", "content": f"look {number}"}]},
            ),
            ("move_notes", {"paths": [name], "to": f"/{folder}{other}"}),
            ("delete_note", {"path": name}),
            ("undo_changes", {"changes": [chance.randint(1, made[vault] // 2 + 1)]}),
            ("read_notes", {"paths": [name, other]}),
            ("search_notes", {"query": f"look OR {number // 2}"}),
            ("list_changes", {}),
        ]
        made[vault] += 1
        tool, arguments = chance.choice(choices)
        yield tool, {**arguments, "vault": vault}


def answer_of(server: Serving, step: Step) -> str:
    """Return what the tool says, without what is another in each run: times of day, and how long ago.

    Also without the order of hits: notes that were deleted count in it until the text index has cleaned up, which it does at
    times of its own.
    """
    reply = server.call(*step)
    assert reply.status == 200, (step, reply)
    lines = "\n".join(part["text"] for part in reply.json["content"]).split("\n")
    text = "\n".join(sorted(lines) if step[0] == "search_notes" else lines)
    return re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\+00:00", "TIME", text)


def files(folder: Path) -> dict[str, bytes]:
    """Return the bytes of all notes below a folder, by their paths there."""
    paths = (path for vault in VAULTS for path in sorted((folder / vault).rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


@pytest.mark.parametrize("seed", [1, 2])
def test_many_servers_are_as_one(seed: int, tmp_path: Path, url: str, database: Database) -> None:
    alone, shared = ([write_vault(tmp_path / part / name, NOTES) for name in VAULTS] for part in ("alone", "shared"))
    chance = random.Random(seed)
    calls = list(steps(chance))
    with ExitStack() as running:
        home = tmp_path / "state"
        folders = {"VAULTWIRE_STATE": str(home / "state"), "VAULTWIRE_CACHE": str(home / "cache")}
        one = running.enter_context(Serving(alone[0], "--vault", str(alone[1]), **folders))
        team = Team(shared, url, running)
        team.start_all()
        team.wait_until_ready()
        refused = 0
        for number, step in enumerate(calls):
            if number == CALLS // 2:
                team.drain()
                team.wait_until_ready()
            expected = answer_of(one, step)
            assert answer_of(chance.choice(team.servers), step) == expected, (seed, number, step)
            refused += expected.startswith("Error: ")
    assert files(tmp_path / "shared") == files(tmp_path / "alone"), seed
    assert 0 < refused < CALLS // 2, refused  # most calls do something
