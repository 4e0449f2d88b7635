"""How a whole vault is linked: every link resolved at once as it is one by one, and the questions asked of that."""

from __future__ import annotations

import itertools
import os
import random
import tracemalloc
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.callers import StopsAfter
from support.refusals import refusal
from support.vaults import open_vault, write_vault
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.errors import Stopped
from vaultwire.vault.index import link_graph
from vaultwire.vault.index.catalog import Catalog, Record
from vaultwire.vault.index.link_graph import PAIR_SHIFT, Direction, LinkGraph, Neighbour, Unresolved, build_graph
from vaultwire.vault.index.updater import to_facts
from vaultwire.vault.links.link_resolver import LinkResolver, linkpath_of
from vaultwire.vault.value_types import NO_PROGRESS, NoteStat, Progress, VaultPath

HELP = Path(__file__).parents[4] / "shared" / "vaults" / "obsidian-help"
ALL = 1 << 30


def partners(graph: LinkGraph, path: str, direction: Direction = "out") -> list[str]:
    return [each.path for each in graph.neighbours(VaultPath(path), 1, direction, NO_PROGRESS).all()]


# ---------------------------------------------------------------------- resolving all at once

FOLDERS = ["", "a/", "A/", "a/b/", "b/", "a/b/a/", "n#te/", "\u00c4/", "A\u0308/", "stra\u00dfe/"]
NAMES = ["Note.md", "note.md", "NOTE.MD", "a.md", "b.md", "v1.2.md", "pic.png", "pic.png.md", "LICENSE", "LICENSE.md"]
NAMES += ["Caf\u00e9.md", "Cafe\u0301.md", "STRASSE.md", "stra\u00dfe.md", "\u039f\u0394\u039f\u03a3.md", ".md.md"]
WRITTEN = [
    "Note",
    "NOTE",
    "note.md",
    "a",
    "b",
    "v1.2",
    "V1.2.md",
    "pic.png",
    "pic",
    "license",
    "caf\u00e9",
    "CAFE\u0301",
]
WRITTEN += ["strasse", "\u03bf\u03b4\u03bf\u03c2", "", ".", "..", ".md", "Nowhere"]
BEFORE = ["", "", "", "./", "../", "../../", "/", "//", "a/", "b/", "a/b/", "A/B/", "./a/", "a/../", "./../a/", "n#te/"]
BEHIND = ["", "", "", "#Head", "#a/b", "/", " ", "/.", "/.."]
paths = st.builds(str.__add__, st.sampled_from(FOLDERS), st.sampled_from(NAMES))
linktexts = st.builds(
    lambda before, written, behind: before + written + behind,
    st.sampled_from(BEFORE),
    st.sampled_from(WRITTEN),
    st.sampled_from(BEHIND),
)


@given(
    files=st.dictionaries(paths, st.tuples(st.booleans(), st.lists(linktexts, max_size=8)), min_size=1, max_size=12),
)
def test_all_links_at_once_lead_where_each_leads_by_the_rules(files: dict[str, tuple[bool, list[str]]]) -> None:
    targets = LinkResolver(VaultPath(path) for path in files)
    excluded = {path for path, (is_excluded, _) in files.items() if is_excluded}
    links: dict[str, list[str]] = {}
    wanted: dict[str, set[str]] = {}
    lost: list[tuple[str, int]] = []
    records = []
    for path, (_, texts) in files.items():
        written = [Link(text, "", line, is_embed=False, is_markdown=False) for line, text in enumerate(texts, start=1)]
        parsed = parse_note("")._replace(links=written) if is_note(path) else None
        stat = NoteStat(VaultPath(path), 0, 0, 0)
        facts = to_facts(VaultPath(path), parsed) if parsed else None
        records.append(Record(stat, is_note=is_note(path), is_excluded=path in excluded, facts=facts))
        if parsed is None or path in excluded:
            continue
        found = [targets.resolve(VaultPath(path), linkpath_of(text)) for text in texts]
        wanted[path] = {str(each) for each in found if each is not None} - excluded - {path}
        lost += [(path, line) for line, each in enumerate(found, start=1) if each is None]
        links[path] = texts
    catalog = Catalog(None)
    catalog.store(records)
    graph = build_graph(catalog, NO_PROGRESS)
    catalog.close()
    assert {path: set(partners(graph, path)) for path in links} == wanted
    assert sorted(place for each in graph.unresolved() for place in each.places) == sorted(lost)


def test_notes_that_all_have_one_name_are_told_apart_by_folder(tmp_path: Path) -> None:
    notes = "".join(f"=== f{number}/index.md\n[[index]] [[f{number + 1}/index]]\n" for number in range(9))
    graph = open_vault(write_vault(tmp_path, notes)).overview.link_graph()
    assert partners(graph, "f3/index.md") == ["f4/index.md"]
    assert [each.name for each in graph.unresolved()] == ["f9/index"]


def test_the_help_of_obsidian_has_seven_links_that_lead_nowhere() -> None:
    if not HELP.is_dir():
        pytest.skip("no copy of obsidian-help")
    vault = open_vault(HELP)
    graph = vault.overview.link_graph()
    notes = vault.overview.list_notes("").all()
    assert sum(len(vault.links(note.path)[1]) for note in notes) == 1811
    examples = [
        (VaultPath("Linking notes and files/Internal links.md"), line) for line in (154, 155, 162, 163, 168, 169)
    ]
    assert graph.unresolved() == [
        Unresolved("Example", examples),
        Unresolved("obsidian-cli.mp4", [(VaultPath("Extending Obsidian/Obsidian CLI.md"), 9)]),
    ]
    assert (len(graph.orphans()), len(graph.dead_ends())) == (8, 3)
    assert graph.hubs()[0:1] == [("User interface/Settings.md", 64)]


# ---------------------------------------------------------------------- what counts

VAULT = """
=== Home.md
---
related: "[[Garden]]"
---
[[Garden|here]] [[home]] [[#x]] ![[plan.png]] [[Nowhere#a]]
[[Lost/Note]] [[nowhere.md]]
=== Garden.md
[[Shed]] [[Old]]
=== Shed.md
[[plan.png]]
=== Alone.md
[[Alone]]
=== Archive/Old.md
[[Alone]] [[Never]]
=== plan.png
=== unused.png
=== .obsidian/app.json
{"userIgnoreFilters": ["Archive/"]}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, VAULT)


@pytest.fixture
def graph(root: Path) -> LinkGraph:
    return open_vault(root).overview.link_graph()


def test_links_in_properties_and_to_attachments_count_and_those_to_itself_do_not(graph: LinkGraph) -> None:
    assert partners(graph, "Home.md") == ["Garden.md", "plan.png"]
    assert partners(graph, "Garden.md", "in") == ["Home.md"]
    assert partners(graph, "Alone.md") == []


def test_notes_the_vault_excludes_take_no_part_and_links_to_them_lead_somewhere(graph: LinkGraph) -> None:
    assert partners(graph, "Garden.md") == ["Shed.md"]
    assert partners(graph, "Alone.md", "in") == []
    assert "Old" not in [each.name for each in graph.unresolved()]
    assert "Never" not in [each.name for each in graph.unresolved()]
    error = refusal(partners, graph, "Archive/Old.md")
    assert error.code == "INVALID_ARGUMENTS"
    assert "Excluded files" in error.message


def test_orphans_and_dead_ends_are_notes(graph: LinkGraph) -> None:
    assert graph.orphans()[0:9] == ["Alone.md", "Home.md"]
    assert graph.dead_ends()[0:9] == ["Alone.md"]


def test_hubs_count_each_note_once_and_attachments_are_none(graph: LinkGraph) -> None:
    assert graph.hubs()[0:9] == [("Garden.md", 1), ("Shed.md", 1)]


def test_links_that_lead_nowhere_are_grouped_by_name_as_first_written(graph: LinkGraph) -> None:
    home = VaultPath("Home.md")
    assert graph.unresolved() == [Unresolved("Nowhere", [(home, 4), (home, 5)]), Unresolved("Lost/Note", [(home, 5)])]


def test_an_empty_vault_has_no_graph_to_speak_of(tmp_path: Path) -> None:
    graph = open_vault(tmp_path).overview.link_graph()
    assert (len(graph.orphans()), len(graph.dead_ends()), len(graph.hubs()), graph.unresolved()) == (0, 0, 0, [])


def answers(graph: LinkGraph) -> dict[str, Any]:
    found: dict[str, Any] = {
        "orphans": graph.orphans()[0:ALL],
        "dead ends": graph.dead_ends()[0:ALL],
        "hubs": graph.hubs()[0:ALL],
        "unresolved": graph.unresolved(),
    }
    for path in found["orphans"] + [path for path, _ in found["hubs"]]:
        found[path] = graph.neighbours(path, 2, "both", NO_PROGRESS).all()
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_graph_that_follows_changes_equals_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    ours, builds = open_vault(tmp_path), 0
    original = link_graph.build_graph

    def counted(catalog: Catalog, progress: Progress) -> LinkGraph:
        nonlocal builds
        builds += 1
        return original(catalog, progress)

    monkeypatch.setattr(link_graph, "build_graph", counted)
    names = [
        "A.md",
        "b.md",
        "Sub/A.md",
        "Sub/c.md",
        "Sub/Deep/b.md",
        "d.png",
        "Sub/d.png",
        "Excluded/A.md",
        "\u00c9.md",
    ]
    texts = [
        "[[A]]",
        "[[b]]",
        "[[Sub/A]]",
        "[[./A]]",
        "[[../b]]",
        "[[c#x]]",
        "![[d.png]]",
        "[[No]]",
        "[[no#y]]",
        "[[Deep/b]]",
    ]
    texts += ["[[e\u0301]]", "[[#own]]", "[[Sub/d.png]]", "---\nup: '[[A]]'\n---\n"]
    for _ in range(30):
        for _ in range(chance.randrange(1, 4)):
            path = tmp_path / chance.choice(names)
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists() and chance.random() < 0.4:
                path.unlink()
            else:
                path.write_text("\n".join(chance.choices(texts, k=chance.randrange(5))))
        if chance.random() < 0.15:
            (tmp_path / ".vaultwireignore").write_text(chance.choice(["", "Excluded/\n", "Sub/\n"]))
        graph = ours.overview.link_graph()
        assert answers(graph) == answers(open_vault(tmp_path).overview.link_graph())
    assert builds == 30 + 1, "one for each new vault, and the first one of ours"


def test_a_graph_is_built_again_after_many_changes(tmp_path: Path) -> None:
    write_vault(tmp_path, "".join(f"=== {number}.md\n[[{number + 1}]]\n" for number in range(10)))
    vault = open_vault(tmp_path)
    assert len(vault.overview.link_graph().orphans()) == 1
    write_vault(tmp_path, "".join(f"=== {number}.md\n[[{number + 2}]]\n" for number in range(600)))
    assert answers(vault.overview.link_graph()) == answers(open_vault(tmp_path).overview.link_graph())


# ---------------------------------------------------------------------- ways


def made(count: int, links: set[tuple[int, int]], attachments: Collection[int] = ()) -> LinkGraph:
    """Return the graph of files 0 to count - 1, named so."""
    names = [f"{number:03}" for number in range(count)]
    notes = bytes(number not in attachments for number in range(count))
    return LinkGraph(names, notes, [source << PAIR_SHIFT | target for source, target in links], [])


def test_neighbours_come_with_their_distance_and_who_links_to_whom() -> None:
    graph = made(5, {(0, 1), (1, 0), (2, 0), (1, 3), (3, 4)})
    near = graph.neighbours(VaultPath("000"), 2, "both", NO_PROGRESS)
    assert near.all() == [
        Neighbour(VaultPath("001"), 1, VaultPath("000"), "both"),
        Neighbour(VaultPath("002"), 1, VaultPath("000"), "in"),
        Neighbour(VaultPath("003"), 2, VaultPath("001"), "out"),
    ]
    assert len(near) == 3
    assert near.page(1, 1) == near.all()[1:2]


def test_an_attachment_is_a_neighbour_but_no_way_leads_through_it() -> None:
    graph = made(3, {(0, 1), (2, 1)}, attachments={1})
    assert [each.path for each in graph.neighbours(VaultPath("000"), 5, "both", NO_PROGRESS).all()] == ["001"]
    assert graph.path_between(VaultPath("000"), VaultPath("002"), "both", NO_PROGRESS) is None


def test_a_way_to_itself_has_no_steps() -> None:
    assert made(1, {(0, 0)}).path_between(VaultPath("000"), VaultPath("000"), "both", NO_PROGRESS) == []


@given(
    links=st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=14),
    direction=st.sampled_from(["both", "out", "in"]),
)
def test_the_way_found_is_a_way_and_none_is_shorter(links: set[tuple[int, int]], direction: Direction) -> None:
    graph = made(8, links)
    allowed = set(links) if direction == "out" else {(to, source) for source, to in links}
    if direction == "both":
        allowed |= links
    # Floyd and Warshall's way: every pair through every third.
    infinite = 99
    far = {
        (a, b): 0 if a == b else 1 if (a, b) in allowed else infinite for a, b in itertools.product(range(8), repeat=2)
    }
    for middle, a, b in itertools.product(range(8), repeat=3):
        far[a, b] = min(far[a, b], far[a, middle] + far[middle, b])
    for (a, b), distance in far.items():
        way = graph.path_between(VaultPath(f"{a:03}"), VaultPath(f"{b:03}"), direction, NO_PROGRESS)
        if way is None:
            assert distance >= infinite
            continue
        assert len(way) == distance
        assert [each.via for each in way] == [f"{a:03}", *(each.path for each in way)][: len(way)]
        for each in way:
            step = int(each.via), int(each.path)
            assert step in allowed
            assert (
                each.direction
                == {(True, False): "out", (False, True): "in", (True, True): "both"}[step in links, step[::-1] in links]
            )
    distances = {
        each.path: each.distance for each in graph.neighbours(VaultPath("000"), 5, direction, NO_PROGRESS).all()
    }
    assert distances == {f"{b:03}": far[0, b] for b in range(1, 8) if far[0, b] <= 5}


# ---------------------------------------------------------------------- keeping it


def test_it_is_kept_until_something_changes(root: Path) -> None:
    for path in root.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))  # files changed just now are read anew, and that may be a change
    vault = open_vault(root)
    first = vault.overview.link_graph()
    assert vault.overview.link_graph() is first
    vault.writing.write("Shed.md", "[[Home]]\n", "append")
    second = vault.overview.link_graph()
    assert second is not first
    assert partners(second, "Shed.md") == ["Home.md", "plan.png"]
    (root / "Nowhere.md").write_text("here now")
    assert [each.name for each in vault.overview.link_graph().unresolved()] == ["Lost/Note"]


def test_it_takes_little_memory() -> None:
    chance = random.Random(7)
    count = 10_000
    links = [chance.randrange(count) << PAIR_SHIFT | chance.randrange(count) for _ in range(4 * count)]
    tracemalloc.start()
    graph = LinkGraph(
        [f"Area/Topic/A name as notes have {number:05}.md" for number in range(count)], b"\1" * count, links, []
    )
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert graph.hubs()
    assert kept < 3_000_000  # a fifth of what 50,000 notes may take: 15 MB


def stored(count: int) -> Catalog:
    """Return a catalog of so many notes, each linking to the next."""
    catalog = Catalog(None)
    catalog.store(
        Record(
            NoteStat(VaultPath(f"{number:05}.md"), 0, 0, 0),
            is_note=True,
            facts=to_facts(VaultPath(""), parse_note(f"[[{number + 1:05}]]")),
        )
        for number in range(count)
    )
    return catalog


def test_resolving_says_how_far_it_is_and_stops_when_nobody_waits() -> None:
    catalog = stored(2500)
    listener = StopsAfter(ALL)
    graph = build_graph(catalog, listener)
    assert listener.reports == [(0, 2500), (1000, 2500), (2000, 2500)]
    assert len(graph.unresolved()) == 1
    with pytest.raises(Stopped):
        build_graph(catalog, StopsAfter(1))


def test_looking_around_stops_when_nobody_waits() -> None:
    count = 3000
    graph = made(count, {(0, number) for number in range(1, count)})
    with pytest.raises(Stopped):
        graph.neighbours(VaultPath("000"), 5, "both", StopsAfter(1))
