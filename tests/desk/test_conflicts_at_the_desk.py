"""Conflict copies at the desk of a real server, in a real browser: seen side by side, chosen, joined, undone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.chromium import Tab, in_browser, open_tab
from support.desk import Desk
from support.serving import Serving
from support.vaults import write_vault
from vaultwire.app.desk import new_link as desk_link
from vaultwire.config import make_config

COPY = "Plan.sync-conflict-20260312-112900-C5H6PTH.md"
ODD = "<b onclick=alert(1)>theirs</b>"
VAULT = f"""=== Plan.md
# Plan
one
mine
two
=== {COPY}
# Plan
one
{ODD}
two
three
=== Board.md
a
=== Board.Conflict.md
a
b
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "state"))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.fixture
def server(vault: Path) -> Iterator[Serving]:
    with Serving(vault) as opened:
        yield opened


@pytest.fixture
def tab() -> Iterator[Tab]:
    with open_tab() as opened:
        opened.resize(1280, 900)
        yield opened


def test_a_conflict_is_shown_and_joined_over_the_desks_api(server: Serving, vault: Path) -> None:
    desk = Desk(server, vault)
    told = desk.get("problems").json["kinds"]
    (kind,) = [each for each in told if each["kind"] == "conflict-copy"]
    assert [(each["path"], each["can_join"]) for each in kind["problems"]] == [
        ("Board.Conflict.md", True),
        (COPY, True),
    ]
    found = desk.post("conflict", path=COPY).json
    assert found["is_open"]
    assert [(clash["mine"], clash["theirs"]) for clash in found["clashes"]] == [("mine\n", f"{ODD}\n")]
    chosen = desk.post("conflict", path=COPY, choose=["both"], etag=found["etag"]).json
    assert not chosen["is_open"]
    assert f"+{ODD}" in chosen["diff"]
    assert (vault / COPY).exists()
    (vault / COPY).write_text("changed meanwhile")
    stale = desk.post("conflict", path=COPY, choose=["both"], etag=found["etag"], join=True)
    assert (stale.status, stale.json["error"]["code"]) == (409, "STALE_EDIT")
    wrong = desk.post("conflict", path=COPY, choose=["neither"])
    assert wrong.status == 400
    made = desk.post("conflict", path="Board.Conflict.md", join=True).json
    assert made["change"] == 1
    assert (vault / "Board.md").read_text() == "a\nb\n"
    assert not (vault / "Board.Conflict.md").exists()
    assert desk.post("decide", id="c1", action="undo").status == 200
    assert (vault / "Board.Conflict.md").read_text() == "a\nb\n"


def test_a_desk_that_may_not_write_shows_and_does_not_join(vault: Path) -> None:
    with Serving(vault, "--read-only") as server:
        desk = Desk(server, vault)
        assert desk.post("conflict", path="Board.Conflict.md").json["diff"]
        refused = desk.post("conflict", path="Board.Conflict.md", join=True)
        assert (refused.status, refused.json["error"]["code"]) == (403, "POLICY_DENIED")


@in_browser
def test_a_person_compares_chooses_and_joins(tab: Tab, server: Serving, vault: Path) -> None:
    link = desk_link(make_config([str(vault)]))
    assert link is not None
    tab.go(server.url + "/desk" + link.partition("/desk")[2])
    tab.wait_for("document.querySelector('nav a')")
    tab.click("nav a", "Problems")
    tab.wait_for("document.querySelectorAll('.g-compare').length === 2")
    tab.evaluate("document.querySelectorAll('.g-compare')[1].click()")
    tab.wait_for("document.querySelector('.g-sides')")
    assert tab.texts(".g-sides pre") == ["mine\n", f"{ODD}\n"]
    assert tab.evaluate("document.querySelector('.g-join').getAttribute('aria-disabled')") == "true"
    tab.evaluate("document.querySelector('.g-join').click()")
    assert (vault / COPY).exists()
    tab.evaluate("document.querySelector('.g-clash input[value=both]').click()")
    tab.wait_for("document.querySelector('.g-diff')?.textContent.includes('+three')")
    tab.shoot("glance-conflict")
    tab.evaluate("document.querySelector('.g-join').click()")
    tab.wait_for("document.querySelector('.g-list [role=status]')?.textContent.startsWith('Joined as change 1')")
    assert (vault / "Plan.md").read_text() == f"# Plan\none\nmine\n{ODD}\ntwo\nthree\n"
    assert not (vault / COPY).exists()
