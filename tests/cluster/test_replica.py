"""One server's part among several, as its threads meet: what is given back while the database is asked about it."""

from __future__ import annotations

import threading

import psycopg

from support.cluster import wait_for
from vaultwire.cluster.database import Database
from vaultwire.cluster.leases import Leases, ask_back, owners
from vaultwire.cluster.replica import Replica

VAULTS = {"a": "/srv/a", "b": "/srv/b"}


def test_a_vault_that_is_given_back_while_its_lease_is_renewed_is_left_once(database: Database, url: str) -> None:
    """A renewal that waits for a row asks about the leases of its beginning, also about one that was given back since."""
    left: list[str] = []
    may_go = threading.Event()

    def on_loss(vault: str) -> None:
        left.append(vault)
        may_go.wait()

    def owner_of(vault: str) -> str:
        return next(owner.replica for owner in owners(database) if owner.vault == vault)

    def waits_for_a_row() -> bool:
        sql = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        with psycopg.connect(url) as looking:
            return looking.execute(sql).fetchone() == (1,)

    leases = Leases(database, "one", "http://one:3000", 3)
    replica = Replica(database, leases, VAULTS, lambda _: None, on_loss, lambda _: None)
    replica.start()
    try:
        wait_for("it owns both", lambda: all(replica.standing(name).owns for name in VAULTS))
        ask_back(database, "b")
        wait_for("it begins to leave b", lambda: left == ["b"])
        with psycopg.connect(url) as holding:
            holding.execute("SELECT 1 FROM vaultwire.vaults WHERE name = 'a' FOR UPDATE")
            wait_for("a renewal of both has begun", waits_for_a_row)
            may_go.set()
            wait_for("b is given back", lambda: owner_of("b") == "")
            wait_for("the thread that left it has ended", lambda: "vaultwire-leaving" not in _threads())
        wait_for("the renewal has ended", lambda: replica.standing("a").seconds_left > 2.5)
        assert left == ["b"]
        assert not replica.problem
    finally:
        may_go.set()
        replica.stop()
    assert left == ["b", "a"]


def _threads() -> list[str]:
    return [thread.name for thread in threading.enumerate()]
