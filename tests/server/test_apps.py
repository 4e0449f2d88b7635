"""Views inside clients: modules become one script, and what a view shows is bounded."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.server.apps import VIEWS, escaped, page_of, view_data
from vaultwire.server.apps.view_data import ViewData, smaller
from vaultwire.server.vaults import Vaults
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.vault import Vault


def test_no_text_of_a_script_ends_its_element() -> None:
    assert escaped("a = '</script>' + \"</SCRIPT>\" + '<!--'") == "a = '<\\/script>' + \"<\\/SCRIPT>\" + '<\\!--'"


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_is_whole_and_names_no_address(view: str) -> None:
    page = page_of(view)
    assert page.count("</script") == page.count("<script")
    assert not re.search(r"<(link|img|iframe|base)\b[^>]*(href|src)=", page.partition("<body")[0])
    assert set(re.findall(r"https?://[\w.]+", page)) <= {"http://www.w3.org"}
    assert "url(" not in page.partition("</style>")[0]
    assert "fetch(`api" not in page or view != "change"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return open_vault(write_vault(tmp_path / "vault", "=== A.md\nA\n[[B]]\n=== B.md\nB\n"))


@pytest.fixture
def views(vault: Vault) -> ViewData:
    return ViewData(Vaults({"": lambda: vault}, lambda: None))


def test_a_proposal_is_shown_as_one_that_waits(views: ViewData, vault: Vault) -> None:
    step = Write(VaultPath("A.md"), b"A\n[[B]]\n", b"new\n")
    number = vault.holding.proposals.add("write", Author("agent", "edit_note"), [step]).id
    shown = views.of("change", "", {}, {"proposal": number}, lambda _: True)
    assert shown is not None
    assert shown["item"]["state"] == "waiting"


def test_nothing_is_shown_to_who_may_not_ask_for_it(views: ViewData, vault: Vault) -> None:
    with vault.history.locked():
        number = vault.history.make([Write(VaultPath("C.md"), None, b"text")]).id
    assert views.of("change", "", {}, {"change": number}, lambda _: True) is not None
    for denied in ("read_note", "list_changes"):
        assert views.of("change", "", {}, {"change": number}, denied.__ne__) is None
    assert views.of("graph", "", {"what": "hubs"}, {}, lambda tool: tool != "list_notes") is None


def test_hidden_characters_of_results_have_their_names(views: ViewData) -> None:
    note = {"path": "A.md", "matches": [{"line": 1, "text": "one \u202e two"}], "match_count": 1}
    found = {"notes": [note], "total": 1, "total_is_exact": True}
    shown = views.of("search", "", {"query": "two"}, found, lambda _: True)
    assert shown is not None
    (line,) = shown["search"]["notes"][0]["lines"]
    assert "".join(part["t"] for part in line["parts"]) == "one [U+202E right-to-left override] two"


def test_what_cannot_be_shown_fails_no_call(views: ViewData) -> None:
    assert views.of("change", "", {}, {"change": 99}, lambda _: True) is None


def test_long_differences_are_left_to_the_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    file = {"index": 0, "action": "edit", "path": "A.md", "to": None, "kind": "note", "is_new": False}
    file |= {"added": 1, "removed": 0, "state": "made", "hunks": [{"rows": ["x" * 1000]}]}
    monkeypatch.setattr(view_data, "MOST_BYTES", 1500)
    first, second = view_data._bounded([file, file])
    assert first is file
    assert (second["is_cut"], second["hunks"]) == (True, [])


def test_a_large_graph_keeps_the_notes_with_the_most_links() -> None:
    nodes = [[f"{number}.md", 0, 0, 0, number % 7] for number in range(5000)]
    edges = [end for number in range(4999) for end in (number, number + 1)]
    graph = {"folders": [""], "nodes": nodes, "edges": edges, "notes": 5000, "links": 4999, "is_cut": False}
    cut = smaller(graph, None)
    assert len(cut["nodes"]) == view_data.MOST_NODES
    assert min(node[4] for node in cut["nodes"]) >= 4
    assert max(cut["edges"]) < len(cut["nodes"])
    assert cut["is_cut"]
    few = smaller(graph, {"1.md", "2.md", "9.md"})
    assert ([node[0] for node in few["nodes"]], few["edges"]) == (["1.md", "2.md", "9.md"], [0, 1])
    assert len(json.dumps(cut)) < 200_000


def test_no_tool_accepts_or_keeps() -> None:
    """A view works by tools, and an agent can call each of them."""
    descriptions = json.loads(resources.files("vaultwire.toolkit").joinpath("catalog.json").read_text("utf-8"))
    listed = descriptions if isinstance(descriptions, list) else list(descriptions.values())
    names = {each["name"] if isinstance(each, dict) else each for each in listed}
    assert not {name for name in names if {"accept", "keep", "decide", "approve"} & set(str(name).split("_"))}
    scripts = (
        resources.files("vaultwire.server.apps").joinpath("page", f"{view}.js").read_text("utf-8") for view in VIEWS
    )
    called = {name for script in scripts for name in re.findall(r'callTool\("(\w+)"', script)}
    assert called == {"search_notes", "list_changes", "undo_changes"}
