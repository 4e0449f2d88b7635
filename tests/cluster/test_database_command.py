"""``vaultwire database``: what a person sees."""

from __future__ import annotations

from pathlib import Path

from support.command_line import run_command
from support.postgres import PostgresServer
from vaultwire.cluster.database import NEWEST, Database
from vaultwire.cluster.leases import Leases


def test_a_database_is_prepared_and_checked(url: str, postgres: PostgresServer) -> None:
    done = run_command("database", "check", url)
    assert (done.returncode, done.stdout) == (1, "")
    assert "has no tables of vaultwire yet: vaultwire database init URL makes them" in done.stderr
    postgres.execute(url, "CREATE ROLE servant LOGIN PASSWORD 'p'")
    done = run_command("database", "init", url, "--grant", "servant")
    assert done.returncode == 0
    assert done.stdout.endswith(f"schema {NEWEST} is there now\nThe role servant has what a server needs\n")
    assert "nothing was missing" in run_command("database", "upgrade", url).stdout
    done = run_command("database", "check", VAULTWIRE_DATABASE=postgres.url(url.rpartition("/")[2], "servant", "p"))
    assert done.returncode == 0
    assert "is ready: PostgreSQL " in done.stdout
    assert f", schema {NEWEST}, without TLS" in done.stdout


def test_vaults_are_listed_and_moved(url: str, database: Database, tmp_path: Path) -> None:
    leases = Leases(database, "one", "http://one:3000", 60)
    taken = leases.take({"notes": "/srv/notes"})
    assert taken is not None
    assert run_command("database", "owners", url).stdout.startswith("notes\tone at http://one:3000, ")
    done = run_command("database", "move", "notes", str(tmp_path), url)
    assert done.returncode == 1
    assert "end all servers of this vault first" in done.stderr
    leases.give_back(taken, rests=False)
    assert run_command("database", "owners", url).stdout == "notes\tnobody\t/srv/notes\n"
    assert run_command("database", "release", "notes", url).stdout == "no server owns notes\n"
    assert run_command("database", "move", "notes", str(tmp_path), url).returncode == 0
    assert run_command("database", "owners", url).stdout == f"notes\tnobody\t{tmp_path}\n"
    done = run_command("database", "release", "other", url)
    assert done.returncode == 1
    assert "knows no vault 'other' (it knows: notes)" in done.stderr


def test_the_lease_of_a_server_that_is_gone_is_waited_for(url: str, database: Database) -> None:
    assert Leases(database, "one", "", 1).take({"notes": "/notes"}) is not None
    done = run_command("database", "release", "notes", url)
    assert (done.returncode, done.stdout) == (0, "notes is free now\n")


def test_wrong_use_is_told() -> None:
    done = run_command("database", "check")
    assert done.returncode == 2
    assert "which database? Give its URL, or set VAULTWIRE_DATABASE" in done.stderr
    done = run_command("database", "check", "http://example.org")
    assert done.returncode == 1
    assert "the address of a PostgreSQL database is such as postgresql://" in done.stderr
