"""The database is killed: it has lost what nobody waited for, and the next change finds what was done.

A change waits for the disk once, when it begins. That its first step is next and how it ended is committed without a wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from support.killing import VAULT, tree
from support.pausing import AUTHOR, PLANS, Server
from support.postgres import PostgresServer, running_postgres
from support.vaults import write_vault
from vaultwire.cluster import database as cluster_database
from vaultwire.cluster import records as cluster_records
from vaultwire.cluster.database import Cursor, Database, Statement
from vaultwire.vault.changes.change import Write
from vaultwire.vault.changes.undo import plan_undo_all
from vaultwire.vault.value_types import VaultPath


def undo_last(server: Server) -> None:
    with server.changes.locked():
        (change,) = server.changes.latest()
        steps = plan_undo_all(server.changes, server.files, [change.id]).steps
        server.changes.execute(steps, AUTHOR, undoes=(change.id,))


@pytest.mark.parametrize("lost", ["begun", "ready"])
@pytest.mark.parametrize("plan", [*PLANS])
def test_a_change_whose_end_is_lost_is_found_done(
    plan: str, lost: str, tmp_path: Path, url: str, database: Database, postgres: PostgresServer
) -> None:
    root = write_vault(tmp_path / "vault", VAULT)
    before = tree(root)
    one = Server("one", root, url, 60)
    one.execute(PLANS[plan])
    after = tree(root)
    # What a killed database may have forgotten, as it commits in order: that it ended, or that it was ready, too.
    postgres.execute(url, f"UPDATE vaultwire.all_changes SET state = '{lost}'")
    with one.changes.locked():  # its owner goes on
        assert tree(root) == after
    assert [change.unrestored for change in one.changes.latest()] == [()]
    postgres.execute(
        url, f"UPDATE vaultwire.all_changes SET state = '{lost}'", "UPDATE vaultwire.vaults SET until = '-infinity'"
    )
    two = Server("two", root, url, 60)  # or another server takes over
    with two.changes.locked():
        assert tree(root) == after
    undo_last(two)
    assert tree(root) == before
    one.database.close()
    two.database.close()


def test_what_has_begun_is_there_after_the_database_was_killed(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", VAULT)
    before = tree(root)
    # What nobody waits for is not written by itself meanwhile.
    with running_postgres("wal_writer_delay=10s") as postgres:
        url = postgres.new_database()
        with closing(Database(url)) as database:
            database.upgrade()
        server = Server("one", root, url, 60)
        server.execute(PLANS["edit"])
        after = tree(root)
        with ExitStack() as opened:  # several connections, and none of them is of any use after that
            for _ in range(4):
                opened.enter_context(server.database.transaction())
        postgres.stop()  # at once: what is not written by now is lost
        postgres.start()
        with server.changes.locked():
            assert tree(root) == after
        undo_last(server)
        assert tree(root) == before
        server.database.close()


def test_an_edit_waits_for_the_disk_once_and_asks_the_database_seldom(
    tmp_path: Path, url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[list[Statement]] = []

    def send(connection: psycopg.Connection[Any], statements: Iterable[Statement]) -> list[Cursor]:
        sent.append([*statements])
        return real(connection, sent[-1])

    real = cluster_database.send
    server = Server("one", write_vault(tmp_path / "vault", VAULT), url, 60)
    server.execute(lambda _: [Write(VaultPath("First.md"), None, b"loads what each change needs")])
    monkeypatch.setattr(cluster_database, "send", send)
    monkeypatch.setattr(cluster_records, "send", send)
    server.execute(PLANS["edit"])
    begun = [trip for trip in sent if trip[0][0] == b"BEGIN"]
    not_waited_for = [trip for trip in begun if "synchronous_commit" in trip[1][1]]
    assert (len(begun), len(not_waited_for)) == (3, 2)  # it begins; its first step is next; it has ended
    assert len(sent) <= 6
    server.database.close()
