"""What the page of the desk asks and decides, at a real server over real vaults."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.desk import Desk
from support.serving import Serving
from support.vaults import write_vault

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "own state"))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Plan.md\n# Plan\none\ntwo\n")


@pytest.fixture
def server(vault: Path) -> Iterator[Serving]:
    with Serving(vault) as opened:
        yield opened


def edit(server: Serving, note: str = "Plan.md", old: str = "one", new: str = "1", **more: str) -> None:
    reply = server.call(
        "edit_note", {"path": note, "edits": [{"action": "replace", "text": old, "content": new}], **more}
    )
    assert reply.json["success"], reply.json


def test_a_change_is_listed_shown_kept_and_undone(server: Serving, vault: Path) -> None:
    edit(server)
    desk = Desk(server, vault)
    start = desk.get("start").json
    assert (start["vaults"], start["unreviewed"]) == (["vault"], {"vault": 1})
    (item,) = desk.get("items", vault="vault").json["items"]
    assert item["kind"] == "change"
    shown = desk.get("item", vault="vault", id=item["id"]).json
    assert shown["files"][0]["path"] == "Plan.md"
    assert desk.post("decide", vault="vault", id=item["id"], action="keep").status == 200
    assert desk.get("start").json["unreviewed"] == {"vault": 0}
    undone = desk.post("decide", vault="vault", id=item["id"], action="undo")
    assert undone.status == 200, undone
    assert (vault / "Plan.md").read_text() == "# Plan\none\ntwo\n"
    assert desk.get("item", vault="vault", id=item["id"]).json["state"] == "undone"
    latest = desk.get("items", vault="vault").json["items"][0]
    assert (latest["client"], latest["tool"]) == ("you", "desk")


def test_a_hunk_a_text_lines_and_the_rendered_note_can_be_asked_for(server: Serving, vault: Path) -> None:
    edit(server)
    desk = Desk(server, vault)
    assert desk.get("text", id="c1", file=0).json["text"] == "# Plan\n1\ntwo\n"
    assert desk.get("rendered", id="c1", file=0, side="old").json["tree"]
    assert "rows" in desk.get("lines", id="c1", file=0, **{"from": 1, "to": 2}).json
    assert desk.get("hunks", id="c1", file=0, **{"from": 0}).status == 200
    assert desk.get("note", path="Plan.md").json["path"] == "Plan.md"
    assert desk.get("search", q="two").status == 200
    for route in ("graph", "activity", "problems", "bases"):
        assert desk.get(route).status == 200, route


def test_wrong_requests_are_refused_with_words(server: Serving, vault: Path) -> None:
    edit(server)
    desk = Desk(server, vault)
    for reply, status in (
        (desk.get("items", vault="other"), 404),
        (desk.get("item", id="c99"), 404),
        (desk.get("hunks", id="c1", file="x"), 400),
        (desk.get("rendered", id="c1", file=0, side="up"), 400),
        (desk.get("nothing"), 404),
        (desk.post("items"), 405),
        (desk.get("decide"), 405),
        (desk.post("decide", vault=1, id="c1", action="keep"), 400),
        (desk.post("decide", id="c1", action="reject"), 400),
        (desk.post("decide", id="c1", action="accept", edited={"x": "y"}), 400),
        (desk.post("decide_many", action="undo", ids=[1]), 400),
    ):
        error = reply.json["error"]
        assert reply.status == status, reply
        assert error["message"]
        assert error["code"]


def test_a_conflict_is_told_with_what_it_depends_on(server: Serving, vault: Path) -> None:
    edit(server)
    edit(server, old="1", new="I")
    desk = Desk(server, vault)
    reply = desk.post("decide", id="c1", action="undo")
    assert reply.status == 409
    assert reply.json["error"]["details"]["conflicts"]
    assert (vault / "Plan.md").read_text() == "# Plan\nI\ntwo\n"


def test_an_open_page_is_told_of_changes_and_decisions(server: Serving, vault: Path) -> None:
    desk = Desk(server, vault)
    with desk.events() as news:
        edit(server)
        assert next(news) == {"vault": "vault", "waiting": 0, "unreviewed": 1}
        desk.post("decide", id="c1", action="keep")
        assert next(news) == {"vault": "vault", "waiting": 0, "unreviewed": 0}
        server.process.send_signal(signal.SIGTERM)
        assert list(news) == []  # the stream ends with the server
    assert server.process.wait() == 0


def test_several_vaults_have_their_own_lists(tmp_path: Path) -> None:
    first = write_vault(tmp_path / "first", "=== Plan.md\none\n")
    second = write_vault(tmp_path / "second", "=== Plan.md\none\n")
    with Serving(first, "--vault", str(second)) as server:
        edit(server, vault="second")
        desk = Desk(server, first, second)
        start = desk.get("start").json
        assert start["vaults"] == ["first", "second"]
        assert start["unreviewed"] == {"first": 0, "second": 1}
        assert desk.get("items", vault="first").json["total"] == 0
        assert desk.get("items", vault="second").json["total"] == 1
        assert desk.get("items").status == 404
        assert desk.post("decide", vault="second", id="c1", action="undo").status == 200
        Desk(server, second)  # a desk of one vault is found at a server of more


def test_the_desk_shows_what_the_policy_hides_from_agents(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "vault", "=== Plan.md\none\n=== Diary/Today.md\nsecret\n")
    policy = tmp_path / "policy.toml"
    policy.write_text('[paths]\ndeny = ["Diary/**"]\n')
    with Serving(vault, "--policy", str(policy)) as server:
        assert not server.call("read_note", {"path": "Diary/Today.md"}).json["success"]
        desk = Desk(server, vault)
        assert desk.get("note", path="Diary/Today.md").status == 200
        edit(server)
        assert desk.get("items").json["total"] == 1
        assert desk.post("decide", id="c1", action="undo").status == 200
    assert (vault / "Plan.md").read_text() == "one\n"


def test_a_read_only_server_shows_and_changes_nothing(vault: Path) -> None:
    with Serving(vault) as server:
        edit(server)
    with Serving(vault, "--read-only") as server:
        desk = Desk(server, vault)
        assert desk.get("items").json["total"] == 1
        refused = desk.post("decide", id="c1", action="undo")
        assert refused.status == 403
        assert "--read-only" in refused.json["error"]["message"]
        assert desk.post("decide_many", ids=["c1"], action="undo").status == 403
        assert desk.post("decide", id="c1", action="keep").status == 200
    assert (vault / "Plan.md").read_text() == "# Plan\n1\ntwo\n"


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [("a.png", PNG, "image/png"), ("a.svg", SVG, "image/svg+xml"), ("b.png", b"<html>", None), ("c.txt", SVG, None)],
)
def test_pictures_are_known_by_their_bytes_and_run_nothing(
    server: Serving, vault: Path, name: str, data: bytes, kind: str | None
) -> None:
    (vault / name).write_bytes(data)
    assert server.call("delete_note", {"path": name}).json["success"]
    got = Desk(server, vault).get("file", id="c1", file=0, side="old")
    if kind is None:
        assert got.status == 404
        return
    assert (got.status, got.headers["content-type"], got.body) == (200, kind, data)
    assert got.headers["content-security-policy"].startswith("sandbox; default-src 'none'")


def test_numbers_of_thousands_of_digits_are_refused(server: Serving, vault: Path) -> None:
    desk, many = Desk(server, vault), "9" * 5000
    edit(server)
    assert desk.get("item", vault="vault", id=f"c{many}").status == 400
    assert desk.post("decide", vault="vault", id=f"p{many}", action="accept").status == 400
    assert desk.post("decide", vault="vault", id="c1", action="accept", edited={many: "x"}).status == 400


def test_bases_their_rows_reasons_and_pictures_can_be_asked_for(server: Serving, vault: Path) -> None:
    (vault / "All.base").write_text("views: [{type: cards, name: Notes, order: [file.name], image: cover}]\n")
    (vault / "pic.png").write_bytes(PNG)
    (vault / "page.png").write_bytes(b"<html>")
    desk = Desk(server, vault)
    assert [each["path"] for each in desk.get("bases").json["bases"]] == ["All.base"]
    shown = desk.get("base", path="All.base", view="Notes", sort="-file.name", filter="plan", limit=1, offset=0).json
    assert [row["path"] for row in shown["rows"]] == ["Plan.md"]
    assert desk.get("base", path="No.base").json["problem"]
    assert desk.get("base", path="All.base", limit="many").status == 400
    assert desk.get("base_why", path="All.base", note="Plan").json["is_in"] is True
    assert desk.get("picture", path="pic.png").headers["content-type"] == "image/png"
    assert desk.get("picture", path="pic.png").headers["content-security-policy"].startswith("sandbox")
    for path, status in (("page.png", 404), ("no.png", 404), ("Plan.md", 400), ("../pic.png", 400), ("", 400)):
        assert desk.get("picture", path=path).status == status, path
    assert desk.post("base", path="All.base").status == 405
