"""The contract of the index port, run on every backend: a new one joins by a line in ``BACKENDS``."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.callers import StopsAfter
from support.memory_text import MemoryText
from support.vaults import write_vault
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import Stopped
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.index_folder import IndexFolder
from vaultwire.vault.index.text_index import TextIndex
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS, Found, VaultPath
from vaultwire.vault.visibility.excludes import Excludes

BACKENDS: list[Callable[[str | None], TextIndex]] = [MemoryText, TextIndex]

VAULT = """
=== Garden.md
---
tags: [Outdoor, plan]
---
# Garden
Plant tomatoes and #herbs/basil.
=== Projects/Alpha.md
Alpha needs a garden plan.
garden again
=== Projects/Beta.md
Beta is about water. #plan
=== Projects/Deep/Gamma.md
日本語のメモ #herbs
=== Empty.md
=== .obsidian/Hidden.md
garden #plan
=== picture.png
garden
"""
MAX_BYTES = 2000


@pytest.fixture(params=BACKENDS, ids=lambda backend: str(backend.__name__))
def open_index(request: pytest.FixtureRequest) -> Callable[[Path], Index]:
    """Return what opens this backend over a folder."""
    backend: Callable[[str | None], TextIndex] = request.param

    def open_over(root: Path) -> Index:
        files = Files(str(root), MAX_BYTES)
        return Index(files, IndexFolder(files.root, None, open_text=backend), Excludes)

    return open_over


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.fixture
def index(open_index: Callable[[Path], Index], root: Path) -> Index:
    return open_index(root)


def search(index: Index, query: str, folder: str | None = None, offset: int = 0, limit: int = 99) -> Found:
    return index.search(parse_query(query), VaultPath(folder) if folder else None, offset, limit, NO_PROGRESS)


ALL_TAGS = ["outdoor", "plan", "herbs", "new", "latin", "marked"]


def tags_by_note(index: Index, folder: str | None = None) -> dict[str, list[str]]:
    found = index.tagged(ALL_TAGS, VaultPath(folder) if folder else None, NO_PROGRESS, every=False)
    return {note.path: note.tags for note in found.all()}


def paths(found: Found) -> list[str]:
    return [hit.path for hit in found.hits]


def test_every_note_is_there_with_its_facts_and_nothing_else(index: Index, root: Path) -> None:
    notes = {note.path: note for note in index.notes(None, NO_PROGRESS).all()}
    assert set(notes) == {
        "Garden.md",
        "Projects/Alpha.md",
        "Projects/Beta.md",
        "Projects/Deep/Gamma.md",
        "Empty.md",
    }
    for path, note in notes.items():
        status = (root / path).stat()
        assert (note.size, note.modified_ns) == (status.st_size, status.st_mtime_ns)


def test_a_folder_narrows_every_question(index: Index) -> None:
    folder = VaultPath("Projects")
    assert {note.path for note in index.notes(folder, NO_PROGRESS).all()} == {
        "Projects/Alpha.md",
        "Projects/Beta.md",
        "Projects/Deep/Gamma.md",
    }
    found = search(index, "garden", "Projects")
    assert (paths(found), found.total, found.searched) == (["Projects/Alpha.md"], 1, 3)
    assert set(tags_by_note(index, folder)) == {"Projects/Beta.md", "Projects/Deep/Gamma.md"}


QUERIES = [
    ("garden", ["Garden.md", "Projects/Alpha.md"]),
    ("GARDEN plan", ["Garden.md", "Projects/Alpha.md"]),
    ('"garden plan"', ["Projects/Alpha.md"]),
    ('"tomato"', []),
    ("tomato", ["Garden.md"]),
    ("plan -garden", ["Projects/Beta.md"]),
    ("water OR tomatoes", ["Garden.md", "Projects/Beta.md"]),
    ("-garden -water", ["Empty.md", "Projects/Deep/Gamma.md"]),
    ("日本", ["Projects/Deep/Gamma.md"]),
    ("本語", ["Projects/Deep/Gamma.md"]),
    ("empty", ["Empty.md"]),
    ("alpha", ["Projects/Alpha.md"]),
    ("nothing-like-it", []),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES, ids=[case[0] for case in QUERIES])
def test_a_search_finds_the_notes_that_match(index: Index, query: str, expected: list[str]) -> None:
    found = search(index, query)
    assert sorted(paths(found)) == expected
    assert (found.total, found.searched, found.skipped) == (len(expected), 5, 0)


def test_the_best_note_comes_first_and_shows_its_lines(index: Index) -> None:
    hits = search(index, "garden").hits
    assert [hit.path for hit in hits] == ["Garden.md", "Projects/Alpha.md"]
    assert hits[0].score > hits[1].score
    assert hits[1].matches == 2
    assert [(line.number, line.text) for line in hits[1].lines] == [
        (1, "Alpha needs a garden plan."),
        (2, "garden again"),
    ]


@pytest.mark.parametrize("query", ["app", "app tree", "tree app -bush", "(app OR bush) tree"])
@pytest.mark.parametrize("meant", ["an app tree", "the apps tree"])
def test_a_word_that_begins_with_the_one_typed_ranks_above_one_that_merely_holds_it(
    open_index: Callable[[Path], Index], tmp_path: Path, query: str, meant: str
) -> None:
    write_vault(tmp_path, f"=== 1.md\na snapped tree\n=== 2.md\n{meant}\n=== 3.md\na tree\n")
    assert paths(search(open_index(tmp_path), query)) == ["2.md", "1.md"]


COMMON = "".join(f"=== {number}.md\nhow to go to a shop\n" for number in range(9))


@pytest.mark.parametrize(
    ("query", "best", "other"),
    [
        # A common word in a name, and a rarer one in a heading.
        ("to garden", "=== Plants.md\n# Garden\nto grow\n", "=== To do.md\na garden to dig\n"),
        # Rare words that only begin as the common one.
        ("to garden", "=== Plants.md\nto the garden of the garden\n", "=== Other.md\nto toads, tofu, toes: garden\n"),
        # The common word more often.
        ("how to garden", "=== Plants.md\nhow to garden, garden\n", "=== Other.md\nhow to, how to, to garden\n"),
    ],
)
def test_words_that_most_notes_have_weigh_little(
    open_index: Callable[[Path], Index], tmp_path: Path, query: str, best: str, other: str
) -> None:
    write_vault(tmp_path, COMMON + best + other)
    found = paths(search(open_index(tmp_path), query))
    assert [path for path in found if not path[0].isdigit()] == ["Plants.md", path_of(other)]


def path_of(note: str) -> str:
    return note.removeprefix("=== ").partition("\n")[0]


def test_lines_are_numbered_as_in_the_file(index: Index) -> None:
    assert [line.number for line in search(index, "tomatoes").hits[0].lines] == [5]  # behind four lines of frontmatter


def test_ties_are_in_path_order_and_a_search_gives_the_same_answer_each_time(
    open_index: Callable[[Path], Index], tmp_path: Path
) -> None:
    names = ["b", "a", "é", "Z", "10", "9", "日"]
    write_vault(tmp_path, "".join(f"=== {name}.md\nsame text\n" for name in names))
    index = open_index(tmp_path)
    first = search(index, "same")
    assert paths(first) == sorted(f"{name}.md" for name in names)
    assert [search(index, "same") for _ in range(3)] == [first] * 3


def test_pages_cover_every_hit_once_and_count_the_same(open_index: Callable[[Path], Index], tmp_path: Path) -> None:
    write_vault(tmp_path, "".join(f"=== n{number}.md\n{'word ' * (number % 3 + 1)}\nword\n" for number in range(65)))
    index = open_index(tmp_path)
    whole = search(index, "word")
    assert whole.total == 65
    for limit in (1, 4, 25, 65, 70):  # within what is kept of a search, beyond, and across its end
        pages = [search(index, "word", None, offset, limit) for offset in range(0, 65, limit)]
        assert [hit for page in pages for hit in page.hits] == whole.hits
        assert {page.total for page in pages} == {65}
    assert search(index, "word", None, 65, 10).hits == []
    assert search(index, "word", None, 10**15, 10).total == 65


@pytest.mark.parametrize(("stored", "asked"), [("Cafe\u0301", "caf\u00e9"), ("Caf\u00e9", "CAFE\u0301")])
def test_unicode_forms_of_text_and_name_find_each_other(
    open_index: Callable[[Path], Index], tmp_path: Path, stored: str, asked: str
) -> None:
    write_vault(tmp_path, f"=== text.md\nim {stored} um drei\n=== {stored}.md\nx\n")
    assert search(open_index(tmp_path), asked).total == 2
    assert search(open_index(tmp_path), f'"{asked}"').total == 2


def test_tags_are_given_as_written_each_once_for_notes_that_have_some(index: Index) -> None:
    assert tags_by_note(index) == {
        "Garden.md": ["Outdoor", "plan", "herbs/basil"],
        "Projects/Beta.md": ["plan"],
        "Projects/Deep/Gamma.md": ["herbs"],
    }


def test_answers_are_true_of_the_files_as_they_are_now(index: Index, root: Path) -> None:
    assert search(index, "garden").total == 2
    (root / "Garden.md").unlink()
    (root / "Projects" / "Alpha.md").write_text("nothing here")
    write_vault(root, "=== New/Note.md\na garden #new\n")
    assert paths(search(index, "garden")) == ["New/Note.md"]
    assert {note.path for note in index.notes(None, NO_PROGRESS).all()} >= {"New/Note.md"}
    assert "Garden.md" not in {note.path for note in index.notes(None, NO_PROGRESS).all()}
    assert VaultPath("New/Note.md") in tags_by_note(index)


def test_notes_with_any_bytes_are_searched(index: Index, root: Path) -> None:
    (root / "latin.md").write_bytes(b"garden caf\xe9 #latin\n")
    (root / "marked.md").write_bytes(b"\xef\xbb\xbf---\r\ntags: marked\r\n---\r\ngarden\r\n")
    (root / "zeros.md").write_bytes(b"garden\0\0\n")
    assert search(index, "garden").total == 5
    tags = tags_by_note(index)
    assert tags[VaultPath("latin.md")] == ["latin"]
    assert tags[VaultPath("marked.md")] == ["marked"]
    assert search(index, "garden -#marked").total == 5
    assert [line.text for hit in search(index, '"garden" marked').hits for line in hit.lines][-1] == "garden"


@pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs as POSIX has them")
def test_a_note_that_cannot_be_read_is_counted_and_stops_nothing(
    index: Index, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "big.md").write_text("garden " * MAX_BYTES)
    os.mkfifo(root / "pipe.md")
    (root / "loop.md").symlink_to("loop.md")
    real_open = os.open

    def deny(path: str, *args: int, **kwargs: int) -> int:
        if str(path).endswith("Beta.md"):
            raise PermissionError(13, "Permission denied")
        return real_open(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", deny)
    found = search(index, "garden")
    assert (found.total, found.searched, found.skipped) == (2, 4, 2)
    assert "Projects/Deep/Gamma.md" in tags_by_note(index)


@pytest.mark.parametrize("checks", [0, 3])
def test_work_nobody_waits_for_stops(index: Index, checks: int) -> None:
    for ask in (
        lambda progress: index.search(parse_query("a"), None, 0, 9, progress),
        lambda progress: index.notes(None, progress),
        lambda progress: index.tagged(["plan"], None, progress, every=True),
    ):
        with pytest.raises(Stopped):
            ask(StopsAfter(checks))


def test_progress_never_runs_past_its_total(open_index: Callable[[Path], Index], tmp_path: Path) -> None:
    write_vault(tmp_path, "".join(f"=== n{number}.md\nx\n" for number in range(450)))
    progress = StopsAfter(10**9)
    open_index(tmp_path).search(parse_query("x"), None, 0, 9, progress)
    assert progress.reports == sorted(progress.reports)
    assert all(done <= total and total in (450, 900) for done, total in progress.reports)  # catalog and text


WORDS = ["red", "apple", "apples", "pine", "Äpfel", "日本", "x-y"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    notes=st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), max_size=5),
    wanted=st.lists(st.tuples(st.booleans(), st.sampled_from(WORDS)), min_size=1, max_size=3),
)
def test_a_search_for_words_agrees_with_looking_into_each_note(
    open_index: Callable[[Path], Index],
    tmp_path_factory: pytest.TempPathFactory,
    notes: list[str],
    wanted: list[tuple[bool, str]],
) -> None:
    root = tmp_path_factory.mktemp("vault")
    for number, text in enumerate(notes):
        (root / f"{number}.md").write_text(text, encoding="utf-8")
    query = " ".join(f"{'-' if excluded else ''}{word}" for excluded, word in wanted)
    expected = {
        f"{number}.md"
        for number, text in enumerate(notes)
        if all((word.casefold() in text.casefold()) is not excluded for excluded, word in wanted)
    }
    found = search(open_index(root), query)
    assert set(paths(found)) == expected
    assert found.total == len(expected)


# ---------------------------------------------------------------------- canvases


CANVAS = """{
\t"nodes":[
\t\t{"id":"a","type":"text","text":"Plum jam\\n- [ ] boil #sweet\\n[[Garden]]","x":0,"y":0,"width":1,"height":1},
\t\t{"id":"b","type":"group","label":"Kitchen shelf","x":0,"y":0,"width":1,"height":1},
\t\t{"id":"plum","type":"file","file":"Plum.md","x":0,"y":0,"width":1,"height":1}
\t],
\t"edges":[]
}"""
CANVASES = """
=== Plum.md
plum note
=== Boards/Jam session.canvas
=== Boards/Flat.canvas
{"nodes":[{"text":"--- plum one"},{"text":"two"}]}
=== Boards/Empty.canvas
=== Boards/Broken.CANVAS
<<<<<<< mine
{"nodes":[{"text":"plum broken"},
=== Boards/Half.canvas
{"nodes":[{"text":"plum \\ud83d half"}]}
"""


@pytest.fixture
def boards(root: Path) -> Path:
    write_vault(root, CANVASES)
    (root / "Boards/Jam session.canvas").write_text(CANVAS)
    return root


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("plum", ["Boards/Broken.CANVAS", "Boards/Flat.canvas", "Boards/Half.canvas", "Boards/Jam session.canvas", "Plum.md"]),
        ("jam", ["Boards/Jam session.canvas"]),
        ('"plum jam - [ ] boil"', ["Boards/Jam session.canvas"]),
        ("kitchen", ["Boards/Jam session.canvas"]),
        ("session", ["Boards/Jam session.canvas"]),
        ("canvas", []),
        ("nodes", []),
        ("broken", ["Boards/Broken.CANVAS"]),
        ("file:canvas -jam", [f"Boards/{name}" for name in ("Broken.CANVAS", "Empty.canvas", "Flat.canvas", "Half.canvas")]),
        ("path:boards half", ["Boards/Half.canvas"]),
        ("content:session", []),
        ("line:(plum boil)", ["Boards/Jam session.canvas"]),
        ("block:(boil shelf)", []),
        ("block:(plum boil)", ["Boards/Jam session.canvas"]),
        ('"one two"', []),
        ("plum -jam -note -path:Boards/B", ["Boards/Flat.canvas", "Boards/Half.canvas"]),
        ("/^Plum.*boil/", ["Boards/Jam session.canvas"]),
        ("tag:#sweet", []),
        ('task:""', []),
        ("[nodes]", []),
    ],
)  # fmt: skip
def test_searches_look_into_the_cards_of_canvases(
    boards: Path, open_index: Callable[[Path], Index], query: str, found: list[str]
) -> None:
    index = open_index(boards)
    assert isinstance(index, Index)
    for _ in range(2):  # by the files themselves, then by the text index
        result = search(index, query)
        assert sorted(paths(result)) == sorted(found)
        assert (result.total, result.searched, result.skipped) == (len(found), 11, 0)
        assert index._fresh._updater.flush()


def test_a_card_is_shown_on_its_line_of_the_canvas(boards: Path, open_index: Callable[[Path], Index]) -> None:
    index = open_index(boards)
    assert isinstance(index, Index)
    for _ in range(2):
        (hit,) = search(index, "boil OR kitchen").hits
        assert hit.lines == [(3, "Plum jam - [ ] boil #sweet [[Garden]]"), (4, "Kitchen shelf")]
        assert index._fresh._updater.flush()
    assert [hit.lines for hit in search(index, "plum path:Flat").hits] == [[(1, "--- plum one \u00b7 two")]]
    assert CANVAS.split("\n")[2].count("Plum jam") == 1


def test_canvases_are_searched_and_no_notes(boards: Path, open_index: Callable[[Path], Index]) -> None:
    index = open_index(boards)
    search(index, "plum")
    assert len(index.notes(None, NO_PROGRESS)) == 6
    assert index.recent(None, 99, NO_PROGRESS)[1] == 6
    assert index.recent(VaultPath("Boards"), 99, NO_PROGRESS) == ([], 0)
    assert index.incoming(VaultPath("Garden.md"), NO_PROGRESS) == []
    assert "sweet" not in [tag.tag for tag in index.count_tags(None, NO_PROGRESS)]
    assert search(index, "plum", "Boards").searched == 5


def test_a_canvas_that_changes_goes_or_cannot_be_read_is_noticed(
    boards: Path, open_index: Callable[[Path], Index]
) -> None:
    index = open_index(boards)
    assert isinstance(index, Index)
    assert paths(search(index, "kitchen")) == ["Boards/Jam session.canvas"]
    assert index._fresh._updater.flush()
    jam, flat = boards / "Boards/Jam session.canvas", boards / "Boards/Flat.canvas"
    jam.write_text(CANVAS.replace("Kitchen", "Cellar"))
    flat.write_text('{"nodes":[{"text":"kitchen' + "x" * MAX_BYTES + '"}]}')
    assert search(index, "kitchen").total == 0
    found = search(index, "cellar")
    assert (paths(found), found.searched, found.skipped) == (["Boards/Jam session.canvas"], 10, 1)
    jam.unlink()
    flat.write_text('{"nodes":[{"text":"cellar"}]}')
    found = search(index, "cellar")
    assert (paths(found), found.searched, found.skipped) == (["Boards/Flat.canvas"], 10, 0)
