"""Work on notes of any size costs in proportion to it, and asks often enough whether to go on to end soon when told to.

Counted, not timed: steps made with a note and with one twice as large, and how often each asked.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.costs import costs_of, steps_of
from support.shapes import BASES, CANVASES, Shape, of_bytes
from support.vaults import open_vault, snapshot
from vaultwire.markdown import edits, offsets
from vaultwire.markdown.canvas import NotACanvasError, canvas_edits, file_nodes
from vaultwire.markdown.link_spans import NewLink, NotABaseError, base_edits
from vaultwire.markdown.offsets import MOST_MARKS, MOST_PROPERTIES
from vaultwire.markdown.tag_spans import rename_tag
from vaultwire.vault.editing.revising import GivenProperty, apply_diff
from vaultwire.vault.errors import Stopped, VaultError
from vaultwire.vault.links.sections import Sections, parse_structure
from vaultwire.vault.plans.composing import Part
from vaultwire.vault.plans.targeted_edits import Edit
from vaultwire.vault.value_types import NO_PROGRESS, NoProgress, OutlineEntry, Progress, VaultPath
from vaultwire.vault.vault import Vault

SMALL, LARGE = 100, 400
OTHERS = "".join(f"# h{number}\n" for number in range(5))


class Ending(NoProgress):
    """Counts how often it is asked, and says at the given time that nobody waits any more."""

    def __init__(self, last: int | None = None) -> None:
        self.asked = 0
        self._last = last

    def check(self) -> None:
        self.asked += 1
        if self._last is not None and self.asked >= self._last:
            raise Stopped


class Work(NamedTuple):
    """What is done in a vault of some files, and the files; how many parts they have is the argument.

    ``each`` is how often the work asks for each part, at least.
    """

    files: Callable[[int], dict[str, str]]
    run: Callable[[Vault, Progress], object]
    each: int = 1


def numbered(count: int, *pieces: str) -> str:
    return "".join(piece.replace("{}", str(number)) for piece in pieces for number in range(count))


def link_texts(count: int, link: str) -> str:
    return "".join(link.replace("{}", str(number)) for number in range(count))


WORK: dict[str, Work] = {
    "a check of headings and links": Work(
        lambda count: {"a.md": numbered(count, "# h{}\n", "[[#h{}]]\n")}, lambda vault, asked: vault.check("a", asked)
    ),
    "a check of links to headings that are not there": Work(
        lambda count: {"a.md": numbered(count, "# h{}\n", "[[#g{}]]\n")}, lambda vault, asked: vault.check("a", asked)
    ),
    "a check of chains of headings": Work(
        lambda count: {"a.md": numbered(count, "# h\n## g{}\n", "[[#h#g{}]]\n", "[[#g{}#h]]\n")},
        lambda vault, asked: vault.check("a", asked),
        each=2,
    ),
    "a check of links to blocks": Work(
        lambda count: {"a.md": numbered(count, "x ^b{}\n\n", "[[#^b{}]]\n")},
        lambda vault, asked: vault.check("a", asked),
    ),
    "a check of many links on one line": Work(
        lambda count: {"a.md": numbered(count, "[[n{}]] ")}, lambda vault, asked: vault.check("a", asked)
    ),
    "a check of the vault": Work(
        lambda count: {"a.md": numbered(count, "# h{}\n", "[[#h{}]]\n") + "[[#lost]]\n"},  # else nobody reads it
        lambda vault, asked: vault.check_all(vault.files_to_check("", asked), 0, 9, asked),
    ),
    "a check of a canvas": Work(
        lambda count: {"a.canvas": '{"nodes":[' + ",\n".join(['{"file":"b.md"}'] * count) + "]}", "b.md": OTHERS},
        lambda vault, asked: vault.check("a.canvas", asked),
    ),
    "a move with links line by line": Work(
        lambda count: {"a.md": numbered(count, "[[b]]\n"), "b.md": OTHERS},
        lambda vault, asked: vault.arranging.move("b", "c.md", asked, dry_run=True),
    ),
    "a move with links on one line": Work(
        lambda count: {"a.md": numbered(count, "[[b|{}]] "), "b.md": OTHERS},
        lambda vault, asked: vault.arranging.move("b", "c.md", asked, dry_run=True),
    ),
    "a move with links in properties": Work(
        lambda count: {"a.md": "---\n" + numbered(count, 'k{}: "[[b]]"\n') + "---\n", "b.md": OTHERS},
        lambda vault, asked: vault.arranging.move("b", "c.md", asked, dry_run=True),
    ),
    "a move of a note with links": Work(
        lambda count: {"a.md": numbered(count, "[x](./d/n{}.md)\n"), "d/n1.md": OTHERS},
        lambda vault, asked: vault.arranging.move("a", "e/a.md", asked, dry_run=True),
    ),
    "a move with cards of links": Work(
        lambda count: {
            "a.canvas": '{"nodes":[' + ",\n".join(['{"text":"[[b]]"}'] * count) + "]}",
            "b.md": OTHERS,
        },
        lambda vault, asked: vault.arranging.move("b", "c.md", asked, dry_run=True),
    ),
    "a heading renamed": Work(
        lambda count: {"a.md": numbered(count, "# h{}\n"), "b.md": numbered(count, "[[a#h{}]]\n")},
        lambda vault, asked: vault.arranging.rename_heading("a", "h1", "new", None, asked, dry_run=True),
    ),
    "a merge": Work(
        lambda count: {"a.md": numbered(count, "# h{}\n", "[[#h{}]]\n"), "b.md": numbered(count, "# h{}\n")},
        lambda vault, asked: vault.arranging.merge("a", "b", "end", asked, dry_run=True),
    ),
    "a part taken out": Work(
        lambda count: {"a.md": "# Top\n" + numbered(count, "## h{}\n", "[[#h{}]]\n")},
        lambda vault, asked: vault.arranging.extract("a", Part("Top"), "c", "link", None, asked, dry_run=True),
    ),
    "properties set": Work(
        lambda _: {"a.md": "---\nx: 1\n---\n"},
        lambda vault, asked: vault.revising.revise_properties(
            ["a"],
            [GivenProperty(f"k{number}", "1", "auto") for number in range(200)],
            [],
            None,
            asked,
            dry_run=True,
        ),
        each=0,
    ),
    "a list set": Work(
        lambda count: {"a.md": "---\nx:\n" + numbered(count, "  - v{}\n") + "---\n"},
        lambda vault, asked: vault.revising.revise_properties(
            ["a"], [GivenProperty("x", ["v1", "w"], "auto")], [], None, asked, dry_run=True
        ),
        each=0,
    ),
}


def made(root: Path, files: dict[str, str]) -> Vault:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    vault = open_vault(root)
    vault.search("x", "", 0, 1)  # the index is made
    return vault


@pytest.mark.parametrize("name", WORK)
def test_work_costs_in_proportion_and_asks_as_often(tmp_path: Path, name: str) -> None:
    work = WORK[name]
    steps: list[int] = []
    asked: list[int] = []
    for count in (SMALL, LARGE):
        vault = made(tmp_path / str(count), work.files(count))
        progress = Ending()
        work.run(vault, progress)
        asked.append(progress.asked)
        steps.append(steps_of(functools.partial(work.run, vault, NO_PROGRESS)))
    assert steps[1] <= 1.2 * LARGE / SMALL * steps[0] + 5_000
    assert asked[1] - asked[0] >= work.each * (LARGE - SMALL)


@pytest.mark.parametrize("name", WORK)
def test_work_that_is_told_to_stop_ends_there(tmp_path: Path, name: str) -> None:
    work = WORK[name]
    vault = made(tmp_path, work.files(SMALL))
    before = snapshot(tmp_path)
    work.run(vault, NO_PROGRESS)  # the index remembers the graph of links
    all_asked = Ending()
    work.run(vault, all_asked)
    for last in sorted({1, 2, all_asked.asked // 2, all_asked.asked}):
        progress = Ending(last)
        with pytest.raises(Stopped):
            work.run(vault, progress)
        assert progress.asked == last
    assert snapshot(tmp_path) == before


def test_each_property_given_and_each_edit_asks(tmp_path: Path) -> None:
    vault = made(tmp_path, {"a.md": "---\nx: 1\n---\n# h\ntext\n"})
    for count in (10, 20):
        progress = Ending()
        given = [GivenProperty(f"k{number}", "1", "auto") for number in range(count)]
        vault.revising.revise_properties(["a"], given, [], None, progress, dry_run=True)
        assert progress.asked >= 2 * count
        progress = Ending()
        edits = [Edit("append", f"{number}\n", section="h") for number in range(count)]
        vault.revising.edit("a", edits, "", None, progress, dry_run=True)
        assert progress.asked >= 2 * count


# ---------------------------------------------------------------------- one by one


def test_a_text_that_stands_everywhere_is_not_edited_everywhere(tmp_path: Path) -> None:
    vault = made(tmp_path, {"a.md": "x" * 100_001})
    with pytest.raises(VaultError, match="is in more than 100,000 places"):
        vault.revising.edit("a", [Edit("replace", "y", text="x", every=True)], "", None, NO_PROGRESS, dry_run=True)


def test_a_caller_is_told_of_the_first_headings_that_two_notes_share(tmp_path: Path) -> None:
    headings = numbered(2_000, "# h{}\n")
    vault = made(tmp_path, {"a.md": headings, "b.md": headings})
    plan, done = vault.arranging.merge("a", "b", "end", NO_PROGRESS, dry_run=True)
    assert len(plan.headings) == 2_000
    assert len(done.notices) == 101
    assert done.notices[-1] == "There are 1900 more such notices."


def test_a_file_is_told_of_with_its_first_faults(tmp_path: Path) -> None:
    vault = made(tmp_path, {"a.md": "[[nowhere]]\n" * 2_000})
    _, found = vault.check("a")
    assert len(found) == 1_001
    assert found[-1].message == "more than 1,000 faults; these are the first"


def test_a_link_of_very_many_parts_leads_nowhere(tmp_path: Path) -> None:
    note = parse_structure(VaultPath("a.md"), "# h\n")
    assert Sections(note).headings("#" * 100 + "h")
    with pytest.raises(VaultError) as raised:
        Sections(note).headings("#" * 100_000 + "h")
    assert len(raised.value.message) < 400


@pytest.mark.parametrize("text", ["[" * MOST_MARKS + "[", '{"nodes":[' + "{}," * (MOST_MARKS // 2) + "{}]}"])
def test_a_canvas_of_too_many_parts_is_not_read(text: str) -> None:
    with pytest.raises(NotACanvasError, match="holds more than 200,000 lists, maps and values"):
        file_nodes(text)
    with pytest.raises(NotACanvasError):
        canvas_edits(text, lambda _: None, lambda _: None)


def relinked(canvas: str) -> None:
    """Read a canvas and write all of its links anew, as far as it is one."""
    with contextlib.suppress(NotACanvasError):
        file_nodes(canvas)
        canvas_edits(canvas, lambda node: node._replace(file="m.md"), lambda _: NewLink("m"))


def renamed(base: str) -> None:
    """Read a base and write all of its names anew, as far as it is one."""
    with contextlib.suppress(NotABaseError):
        base_edits(base, lambda _, __: "m")


@pytest.mark.parametrize(
    ("shape", "work"),
    [
        *(pytest.param(shape, relinked, id=f"canvas: {name}") for name, shape in CANVASES.items()),
        *(pytest.param(shape, renamed, id=f"base: {name}") for name, shape in BASES.items()),
    ],
)
def test_a_canvas_or_base_of_any_shape_costs_in_proportion(shape: Shape, work: Callable[[str], None]) -> None:
    texts = [of_bytes(shape, size).decode() for size in (5_000, 10_000)]
    costs = [costs_of(functools.partial(work, text)) for text in texts]
    assert costs[1].steps <= 1.15 * len(texts[1]) / len(texts[0]) * costs[0].steps + 5_000
    assert costs[1].peak <= 600 * 10_000


def test_a_base_that_is_too_long_is_not_read() -> None:
    with pytest.raises(NotABaseError, match="has more than 500,000 characters"):
        base_edits("a: x\n" * (MOST_PROPERTIES // 5 + 1), lambda _, __: None)


def test_renaming_a_tag_in_a_long_list_costs_in_proportion() -> None:
    def renamed(count: int) -> int:
        text = "---\ntags:\n" + numbered(count, "  - a/{}\n") + "---\n"
        return steps_of(lambda: rename_tag(text, "a", "b"))

    assert renamed(LARGE) <= 1.2 * LARGE / SMALL * renamed(SMALL) + 5_000


def test_what_was_not_looked_into_is_told_of_where_links_and_tags_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A note at the real bound takes twenty times as long.
    monkeypatch.setattr(offsets, "MOST_MARKS", 10_000)
    monkeypatch.setattr(offsets, "_PIECE", 1 << 12)
    beyond = "[[b]] #t\n" + "[[n]]\n" * 5_000 + "[[b]] #t\n"
    vault = made(tmp_path, {"a.md": beyond, "b.md": "x"})
    plan, done = vault.arranging.move("b", "c.md", NO_PROGRESS, dry_run=True)
    assert len(plan.links) == 1
    assert [problem.path for problem in plan.skipped] == ["a.md"]
    assert any("not looked into beyond line" in notice for notice in done.notices)
    with pytest.raises(VaultError, match="links, tags, headings and tasks are not known"):
        vault.arranging.rename_tag("t", "u", NO_PROGRESS, dry_run=True)


@pytest.mark.parametrize("last", ["-y\n", "-x\n"], ids=["there is none", "at many places"])
def test_a_diff_finds_its_place_among_equal_lines_in_proportion(last: str) -> None:
    def refused(count: int) -> int:
        text, diff = "x\n" * count, "@@\n" + " x\n" * (count // 2) + last + "+z\n"

        def apply() -> None:
            with pytest.raises(VaultError):
                apply_diff(VaultPath("a.md"), text, diff)

        return steps_of(apply)

    assert refused(LARGE) <= 1.2 * LARGE / SMALL * refused(SMALL) + 5_000


def test_each_hunk_of_a_diff_asks(tmp_path: Path) -> None:
    vault = made(tmp_path, {"a.md": numbered(50, "line {}\n")})
    diff = numbered(50, "@@\n-line {}\n+new {}\n")
    progress = Ending()
    vault.revising.edit("a", [], diff, None, progress, dry_run=True)
    assert progress.asked >= 50


@given(
    lines=st.lists(st.sampled_from("ab"), max_size=12),
    old=st.lists(st.sampled_from("ab"), min_size=1, max_size=5),
)
def test_lines_are_found_as_by_looking_at_each_place(lines: list[str], old: list[str]) -> None:
    places = [place for place in range(len(lines)) if lines[place : place + len(old)] == old]
    assert edits._places_of(old, lines) == places


# ---------------------------------------------------------------------- the same as looking at each heading


def plainly_found(outline: list[OutlineEntry], lines: int, chain: Sequence[str]) -> list[OutlineEntry]:
    """Return the headings a chain fits, by looking at all for each part."""
    found = [OutlineEntry(0, "", 0, lines)]
    for part in chain:
        found = [
            entry
            for entry in outline
            if entry.text == part and any(above.line < entry.line <= above.last_line for above in found)
        ]
    return found


@given(
    headings=st.lists(st.tuples(st.integers(1, 6), st.sampled_from("abc")), max_size=30),
    chain=st.lists(st.sampled_from("abcd"), min_size=1, max_size=4),
)
def test_chains_of_headings_are_found_as_by_looking_at_each(headings: list[tuple[int, str]], chain: list[str]) -> None:
    note = parse_structure(VaultPath("a.md"), "".join(f"{'#' * level} {text}\n" for level, text in headings))
    wanted = plainly_found(note.outline, note.lines, chain)
    index = Sections(note)
    for _ in range(2):  # the second time from what is kept
        if wanted:
            assert index.headings("#".join(chain)) == wanted
        else:
            with pytest.raises(VaultError):
                index.headings("#".join(chain))
