"""Several clients work through several servers while owners are killed and paused and the database is restarted.

Each line that a server has acknowledged is there, once, whole and in its place; one that was refused is not there; one
without an answer once or never. Edits with ``if_match`` are linearizable. ``make cluster`` does the same with more of all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.failing_servers import Team
from support.mixed_load import Load
from support.postgres import PostgresServer, running_postgres
from vaultwire.cluster.database import Database

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGSTOP")
CLIENTS = 4


def restart(database: PostgresServer) -> Callable[[], None]:
    def act() -> None:
        database.stop()
        database.start()

    return act


def test_nothing_is_lost_doubled_torn_or_answered_wrongly(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("Notes", "Plans")}
    for folder in folders.values():
        folder.mkdir()
    load = Load([*folders], CLIENTS, seed=7)
    load.make_notes(folders)
    with running_postgres() as database, ExitStack() as running:
        address = database.new_database()
        made = Database(address)
        made.upgrade()
        made.close()
        team = Team([*folders.values()], address, running)
        team.start_all()

        def during() -> None:
            for fail in (team.kill, restart(database), team.pause, team.drain):
                fail()
                team.wait_for_calls(load, 5)  # they go on after it

        load.run(team.door, during)
        team.owner()
        assert load.faults(folders) == []
