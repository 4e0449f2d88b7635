"""The commands on notes, on a real vault: text in a pipe, columns at a terminal, JSON, errors, exit codes, questions."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from support.at_terminal import Shown, at_terminal
from support.command_line import run_command
from support.vaults import snapshot, write_vault
from vaultwire.cli.calling import for_person, parse_since
from vaultwire.config import ConfigError

VAULT = """
=== Home.md
# Home
What I am up to: [[Garden plan]] and [[Reading list]]. #home
=== Projects/Garden plan.md
---
tags: [project, garden]
---
# Garden plan

Tomatoes go to the south wall.

## Next
- [ ] buy seeds
- [x] build the raised bed
=== Projects/Kitchen shelf.md
---
tags: [project]
---
Oak, 120 cm.
- [ ] ask Ana
=== Reading list.md
- 庭の本
"""
MANY = 26  # one more than a change may touch without a question


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def data(self) -> Any:
        return json.loads(self.out)


Run: TypeAlias = Callable[..., Ended]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "Notes", VAULT)


@pytest.fixture
def environment(vault: Path, tmp_path: Path) -> dict[str, str]:
    return {
        "VAULTWIRE_VAULT": str(vault),
        "VAULTWIRE_STATE": str(tmp_path / "state"),
        "VAULTWIRE_CACHE": str(tmp_path / "cache"),
        "PYTHONUTF8": "1",
    }


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    """Return what runs a command in a pipe."""

    def run(*arguments: str, stdin: str = "") -> Ended:
        finished = run_command(*arguments, stdin=stdin, **environment)
        return Ended(finished.returncode, finished.stdout, finished.stderr)

    return run


@pytest.fixture
def show(environment: dict[str, str]) -> Callable[..., Shown]:
    """Return what runs a command at a terminal."""
    if os.name == "nt":
        pytest.skip("there are no pseudo-terminals of this kind")
    return lambda *arguments, **how: at_terminal(*arguments, **{**environment, **how})


Show: TypeAlias = Callable[..., Shown]


# ---------------------------------------------------------------------- bases

BASE = """filters: file.hasTag("project")
views:
  - {type: table, name: Projects, order: [file.name, formula.size], summaries: {formula.size: Sum}}
  - {type: table, name: None, filters: "false"}
formulas: {size: file.size > 10}
"""


def test_a_base_is_printed_in_every_format(run: Run, vault: Path) -> None:
    (vault / "Projects.base").write_text(BASE)
    rows = [["Garden plan", "true"], ["Kitchen shelf", "true"]]
    assert run("base", "Projects", "--format", "csv").lines == ["file name,size", *map(",".join, rows)]
    assert run("base", "Projects", "--format", "tsv").lines == ["file name\tsize", *map("\t".join, rows)]
    assert run("base", "Projects").lines == ["file name\tsize", *map("\t".join, rows), "size: "]
    assert run("base", "Projects", "--format", "md").lines[0] == "| file name | size |"
    assert run("base", "Projects", "--format", "paths", "--limit", "1").lines == ["Projects/Garden plan.md"]
    data = run("base", "Projects.base", "projects", "--format", "json").data
    assert [row["values"]["formula.size"] for row in data["rows"]] == [True, True]
    assert run("base", "Projects", "--explain", "Home").code == 1
    assert 'hasTag("project")' in run("base", "Projects", "--explain", "Home").out


def test_base_alone_lists_the_bases(run: Run, vault: Path) -> None:
    assert (run("base").code, run("base").out) == (1, "")
    for path in ("Projects.base", "Projects/Other.base"):
        (vault / path).write_text(BASE)
    assert run("base").lines == ["Projects.base", "Projects/Other.base"]
    assert run("base", "--json").data["total"] == 2


def test_a_base_without_rows_ends_with_1_and_a_wrong_one_with_2(run: Run, vault: Path) -> None:
    (vault / "Projects.base").write_text(BASE)
    assert run("base", "Projects", "None").code == 1
    wrong = run("base", "Projects", "Other")
    assert (wrong.code, "It has 'Projects', 'None'" in wrong.err) == (2, True)
    assert run("base", "Nothing").code == 1
    (vault / "Projects.base").write_text("filters: size == 1 or size == 3")
    failed = run("base", "Projects", "--format", "csv")
    assert (failed.code, failed.lines) == (1, ["file name"])
    assert "Unable to parse formula. (position 0)" in failed.err
    assert run("base", "Projects", "--json").data["problems"]
    (vault / "Projects.base").write_text("formulas: {x: file.name.year}\nviews: [{order: [file.name, formula.x]}]")
    assert 'Cannot find "year" on type String' in run("base", "Projects").err
    assert run("base", "Projects").code == 1
    (vault / "Projects.base").write_text("views: [a: b: c]")
    assert (run("base", "Projects").code, "line 1" in run("base", "Projects").err) == (2, True)


# ---------------------------------------------------------------------- search, read, tasks, tags


def test_search_prints_lines_as_grep_does_into_a_pipe(run: Run) -> None:
    assert run("search", "tomatoes") == (0, "Projects/Garden plan.md:6:Tomatoes go to the south wall.\n", "")
    assert run("search", "file:shelf").out == "Projects/Kitchen shelf.md\n"
    assert run("search", "oak", "cm", "--in", "Projects").code == 0


def test_an_explanation_is_given_to_a_pipe_too(run: Run) -> None:
    why = run("search", "tomatoes wall", "--explain")
    assert why.code == 0
    assert any("tomatoes in text" in line for line in why.lines)
    missing = run("search", "tomatoes", "--why-not", "Home.md")
    assert "has no tomatoes" in missing.out


def test_search_that_finds_nothing_ends_with_1_and_a_wrong_query_with_2(run: Run) -> None:
    assert run("search", "zucchini") == (1, "", "")
    wrong = run("search", "(oak")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.startswith("vaultwire: ")
    folder = run("search", "oak", "--in", "Nowhere")
    assert (folder.code, "There is no folder 'Nowhere'" in folder.err) == (1, True)


def test_search_shows_notes_with_most_words_to_a_person_only(run: Run, show: Show) -> None:
    assert run("search", "oak", "shelf", "tomatoes") == (1, "", "")
    shown = show("search", "oak", "shelf", "tomatoes")
    assert shown.code == 1
    assert "(No note has all words; these have most of them.)" in shown.plain
    assert "Projects/Kitchen shelf.md  lacks: tomatoes" in shown.plain


def test_search_gives_as_many_notes_as_asked_for(run: Run, vault: Path) -> None:
    for number in range(30):
        (vault / f"Many {number}.md").write_text("cabbage\n")
    assert len(run("search", "cabbage").lines) == 10
    assert len(run("search", "cabbage", "-n", "12").lines) == 12
    assert len(run("search", "cabbage", "-n", "0").lines) == 30
    found = run("search", "cabbage", "-n", "0", "--json").data
    assert len({note["path"] for note in found["notes"]}) == 30
    assert "next_cursor" not in found
    assert run("search", "cabbage", "-n", "some").code == 2


def test_read_gives_the_very_text_into_a_pipe(run: Run, vault: Path) -> None:
    text = "---\ntitle: x\n---\n# A\n\tü\x1b[31m\x00 no line end"
    (vault / "Odd.md").write_bytes(text.encode())
    assert run("read", "Odd").out.encode() == text.encode()
    assert run("read", "Garden plan", "--section", "Next").out.startswith("## Next\n- [ ] buy seeds\n")
    assert run("read", "Garden plan", "--lines", "4").out == "# Garden plan\n"
    assert run("read", "[[Garden plan]]", "--properties").out == "---\ntags: [project, garden]\n---\n"
    assert "Next" in run("read", "Garden plan", "--outline").out
    assert run("read", "Garden plan", "--json").data["path"] == "Projects/Garden plan.md"


def test_read_of_a_note_that_is_not_there_says_what_there_is(run: Run) -> None:
    ended = run("read", "Garden")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "vaultwire: No note is named 'Garden'. Did you mean: Projects/Garden plan.md?\n"
    assert "vaultwire search" in run("read", "Zzz").err
    assert run("read", "Home", "--lines", "1", "--outline").code == 2


def test_read_gives_the_notes_of_days(run: Run, vault: Path) -> None:
    missing = run("read", "2026-W11")
    assert (missing.code, missing.out) == (1, "")
    assert missing.err == "vaultwire: No daily notes from 2026-03-09 to 2026-03-15, and no weekly note.\n"
    path = f"{datetime.now().astimezone().date()}.md"
    ended = run("read", "today")
    assert (ended.code, ended.err) == (1, f"vaultwire: There is no note of 'today' yet; it would be '{path}'.\n")
    write_vault(vault, f"=== 2026-03-09.md\n# Nine\n=== 2026-03-11.md\neleven\n=== {path}\nnow\n")
    assert run("read", "today").out == "now\n"
    days = "==> 2026-03-09.md <==\n# Nine\n==> 2026-03-11.md <==\neleven\n"
    for asked in ("2026-W11", "2026-03-09..2026-03-11"):
        assert run("read", asked).out == days
    part = run("read", "2026-W11", "--section", "Nine")
    assert (part.code, part.out) == (1, "==> 2026-03-09.md <==\n# Nine\n")
    assert part.err.startswith("vaultwire: ")
    assert "2026-03-11.md" in part.err
    read = run("read", "2026-W11", "--outline", "--json").data["notes"]
    assert [note["path"] for note in read] == ["2026-03-09.md", "2026-03-11.md"]


def test_read_shows_control_characters_as_text_at_a_terminal(show: Show, vault: Path) -> None:
    (vault / "Odd.md").write_text("a\x1b[2Jb\n")
    assert show("read", "Odd").plain == "a\\x1b[2Jb\n"


def test_tasks_are_lines_with_their_place(run: Run) -> None:
    open_tasks = ["Projects/Garden plan.md:9: [ ] buy seeds", "Projects/Kitchen shelf.md:5: [ ] ask Ana"]
    assert run("tasks").lines == open_tasks
    assert run("tasks", "Kitchen shelf").lines == open_tasks[1:]
    assert run("tasks", "--done").lines == ["Projects/Garden plan.md:10: [x] build the raised bed"]
    assert len(run("tasks", "--all", "--in", "Projects").lines) == 3
    assert run("tasks", "--text", "nothing such").code == 1
    assert run("tasks", "--due", "none").lines == open_tasks
    assert run("tasks", "--due", "any").code == 1
    assert [task["line"] for task in run("tasks", "--json").data["tasks"]] == [9, 5]


def test_tags_are_columns_with_tabs_into_a_pipe(run: Run) -> None:
    assert run("tags").lines == ["#project\t2", "#garden\t1", "#home\t1"]
    assert run("tags", "-n", "1").lines == ["#project\t2"]
    assert run("tags", "--json").data["total"] == 3
    assert run("tags", "--in", "Projects", "-n", "0").lines == ["#project\t2", "#garden\t1"]


@pytest.mark.parametrize("columns", [80, 160])
def test_lists_are_coloured_columns_at_a_terminal(show: Show, columns: int) -> None:
    for command in (["tags"], ["tasks"], ["search", "oak"], ["call"]):
        shown = show(*command, columns=columns)
        assert "\x1b[" in shown.text
        assert "\x1b[" not in show(*command, columns=columns, NO_COLOR="1").left
        assert shown.code == 0
        if command == ["call"]:
            assert max(map(len, shown.plain.splitlines())) <= columns
    assert show("tags").plain.splitlines() == ["#project      2", "#garden       1", "#home         1", "3 tags"]


# ---------------------------------------------------------------------- changing


def test_mv_moves_with_the_links_is_recorded_and_undone(run: Run, vault: Path) -> None:
    before = snapshot(vault)
    dry = run("mv", "Garden plan", "Archive/Plot", "--dry-run")
    assert (dry.code, snapshot(vault) == before) == (0, True)
    assert "[[Plot]]" in dry.out
    moved = run("mv", "Garden plan", "Archive/Plot")
    assert moved.code == 0
    assert moved.out.startswith("Done: moved Projects/Garden plan.md to Archive/Plot.md, 1 link rewritten.")
    assert "Undo: vaultwire undo 1" in moved.out
    assert "[[Plot]]" in (vault / "Home.md").read_text()
    (line,) = run("changes").lines
    number, time, author, tool, what = line.split("\t")
    assert (number, author, tool) == ("1", "command-line", "move_notes")
    assert what == "move Projects/Garden plan.md → Archive/Plot.md and 1 more"
    assert abs(datetime.fromisoformat(time) - datetime.now().astimezone()) < timedelta(hours=1)
    assert "+What I am up to: [[Plot]]" in run("show", "1").out
    assert run("show", "1", "--json").data["change"] == 1
    assert run("undo", "1").out == "Done: change 1 undone. Undo: vaultwire undo 2\n" or snapshot(vault)
    assert snapshot(vault) == before


def test_changes_and_undo_say_what_is_wrong(run: Run) -> None:
    assert run("changes") == (1, "", "")
    assert run("changes", "--json").data == {"changes": []}
    for wrong in (
        ["undo"],
        ["undo", "1", "--since", "1h"],
        ["undo", "--since", "soon"],
        ["changes", "--since", "9:99"],
    ):
        ended = run(*wrong)
        assert (ended.code, ended.out) == (2, "")
        assert "1h" in ended.err
    assert run("undo", "one").code == 2
    number = run("changes", "7")
    assert (number.code, number.err) == (1, "vaultwire: 7 is no path; to see change 7: vaultwire show 7\n")
    missing = run("show", "7")
    assert (missing.code, "7" in missing.err) == (1, True)
    assert run("undo", "--since", "1h").code == 1
    source = run("mv", "Nothing", "Else")
    assert (source.code, "Nothing" in source.err) == (1, True)


def test_undo_last_goes_back_one_change_after_the_other(run: Run, vault: Path) -> None:
    before = snapshot(vault)
    assert "no change that could be undone" in run("undo", "last").err
    run("call", "create_note", "path=New 1", "content=x")
    run("mv", "New 1", "Projects/")
    assert run("undo", "last").code == 0
    assert (vault / "New 1.md").exists()
    assert run("undo", "last").code == 0
    assert snapshot(vault) == before
    assert run("undo", "last").code == 1


def test_undo_since_takes_back_all_changes_of_that_time_the_latest_first(run: Run, vault: Path) -> None:
    before = snapshot(vault)
    assert run("mv", "Reading list", "Books").code == 0
    assert run("mv", "Books", "Shelf/Books").code == 0
    assert run("call", "write_note", "path=Home", "content=new", "mode=append").code == 0
    assert [line.split("\t")[0] for line in run("changes", "--since", "1h").lines] == ["3", "2", "1"]
    assert run("changes", "--since", "2999-01-01").code == 1
    dry = run("undo", "--since", "1h", "--dry-run")
    assert snapshot(vault) != before
    assert "Dry run" in dry.out
    assert run("undo", "--since", "today").code == 0
    assert snapshot(vault) == before
    assert run("undo", "--since", "1h").code == 1  # all are undone, and no undoing is undone
    assert len(run("changes").lines) == 4  # one that undid all


def test_a_dry_run_of_undo_shows_all_changes_together(run: Run, vault: Path) -> None:
    for text in ("one", "two"):
        assert run("call", "write_note", "path=Home", f"content={text}", "mode=overwrite").code == 0
    for which in (["--since", "1h"], ["1", "2"]):
        dry = run("undo", *which, "--dry-run")
        assert (dry.code, dry.out.count("Dry run"), dry.err) == (0, 1, "")
        assert "+# Home" in dry.out
    assert (vault / "Home.md").read_text() == "two\n"


def test_undo_leaves_all_where_later_edits_touched_one_and_names_the_rest(run: Run, vault: Path) -> None:
    assert run("call", "write_note", "path=One", "content=first").code == 0
    assert run("call", "write_note", "path=Two", "content=second").code == 0
    (vault / "One.md").write_text("by another program")
    ended = run("undo", "--since", "1h")
    assert ended.code == 1
    assert "the others can be undone: [2]" in ended.err
    assert (vault / "One.md").read_text() == "by another program"
    assert (vault / "Two.md").exists()
    assert run("undo", "2").code == 0
    assert not (vault / "Two.md").exists()


@pytest.fixture
def large_folder(vault: Path) -> Path:
    (vault / "Large").mkdir()
    for number in range(MANY):
        (vault / "Large" / f"{number}.md").write_text("x\n")
    return vault


def test_a_large_change_asks_at_a_terminal(show: Show, large_folder: Path) -> None:
    before = snapshot(large_folder)
    declined = show("mv", "Large/", "Other/", answer="n")
    assert f"would change {MANY} notes" in declined.plain
    assert "can be undone with vaultwire undo" in declined.plain
    assert "Nothing was changed." in declined.plain
    assert (declined.code, snapshot(large_folder) == before) == (1, True)
    assert show("mv", "Large/", "Other/", answer="y").code == 0
    assert not (large_folder / "Large").exists()


def test_a_large_change_needs_yes_in_a_script(run: Run, large_folder: Path) -> None:
    before = snapshot(large_folder)
    refused = run("mv", "Large/", "Other/", stdin="y\n")
    assert (refused.code, refused.out) == (2, "")
    assert "give --yes" in refused.err
    assert snapshot(large_folder) == before
    assert run("mv", "Large/", "Other/", "--dry-run").code == 0
    assert run("mv", "Large/", "Other/", "--yes").code == 0
    assert run("undo", "--since", "1h").code == 2
    assert run("undo", "--since", "1h", "--yes").code == 0
    assert snapshot(large_folder) == before


def test_a_permanent_deletion_asks(run: Run, show: Show, vault: Path) -> None:
    delete = ("call", "delete_note", "path=Home", "permanent=true")
    assert run(*delete).code == 2
    assert show(*delete, answer="").code == 1
    assert (vault / "Home.md").exists()
    assert show(*delete, answer="yes").code == 0
    assert not (vault / "Home.md").exists()


# ---------------------------------------------------------------------- call


def test_call_runs_any_tool_with_values_of_the_types_it_takes(run: Run, vault: Path, tmp_path: Path) -> None:
    assert run("call", "list_links", "path=Garden plan", "what=in").lines[0] == "1 link to Projects/Garden plan.md:"
    assert len(run("call", "list_notes", "limit=2", "--json").data["notes"]) == 2
    tagged = run("call", "search-by-tags", "tags=garden", "tags=project", "--json").data
    assert [note["path"] for note in tagged["notes"]] == ["Projects/Garden plan.md"]
    assert run("call", "search_by_tags", 'tags=["garden", "home"]', "match=any", "--json").data["total"] == 2
    (tmp_path / "text.txt").write_bytes("Größe = @1\n".encode())
    assert run("call", "create_note", "path=New", f"content@{tmp_path / 'text.txt'}").code == 0
    assert run("call", "write_note", "path=New", "mode=append", "content@-", stdin="[[Home]]\n").code == 0
    assert (vault / "New.md").read_text() == "Größe = @1\n[[Home]]\n"
    edits = json.dumps([{"action": "append", "section": "Next", "content": "- [ ] water"}])
    assert run("call", "edit_note", "path=Garden plan", f"edits={edits}").code == 0
    assert "- [ ] water" in (vault / "Projects" / "Garden plan.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["list_link"], "there is no tool 'list_link'. Did you mean list_links"),
        (["zzz"], "vaultwire call lists them"),
        (["list_backlinks"], "there is no tool 'list_backlinks'; list_links does its work now"),
        (["list_links", "pth=Home"], "takes no 'pth'. Did you mean path or depth? (there are: path"),
        (["list_links", "Home"], "'Home' is not an argument: write KEY=VALUE, such as path=…"),
        (["search_notes"], "search_notes needs query: vaultwire call search_notes query=garden\n"),
        (["read_notes"], "read_notes needs paths: vaultwire call read_notes paths=Projects/Plan\n"),
        (["search_notes", "query=a", "limit=0"], "search_notes: 'limit' must be"),
        (["list_notes", "limit=many"], "limit"),
        (["list_notes", "limit=1", "limit=2"], "takes one value"),
        (["write_note", "path=A", "content@/nowhere/at/all"], "cannot read /nowhere/at/all"),
        (["read_note", "path=../x"], "../x"),
    ],
)
def test_call_says_what_would_be_right(run: Run, arguments: list[str], said: str) -> None:
    ended = run("call", *arguments)
    assert (ended.code in (1, 2), ended.out) == (True, "")
    assert said in ended.err


def test_call_takes_an_argument_named_tool(run: Run) -> None:
    ended = run("call", "more_tools", "tool=set_task")
    assert "tasks" in ended.out + ended.err


def test_call_without_a_tool_lists_them_and_says_what_one_takes(run: Run) -> None:
    listed = [line.split("\t")[0] for line in run("call").lines]
    assert "list_links" in listed
    described = run("call", "list_links", "--arguments")
    assert (described.code, "path=text" in described.out) == (0, True)
    assert run("call", "list_link", "--arguments").code == 2


def test_a_policy_holds_for_the_command_line_too(run: Run, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[paths]\ndeny = ["/Projects/"]\n[clients.command-line]\ndeny = ["move_notes"]\n')
    given = ("--policy", str(policy))
    assert run("search", "oak", *given).code == 1
    assert run("read", "Garden plan", *given).code == 1
    refused = run("mv", "Home", "House", *given)
    assert (refused.code, "policy" in refused.err) == (1, True)
    assert run("search", "oak", "--policy", str(tmp_path / "none.toml")).code == 2


def test_one_vault_is_named_and_call_can_choose_among_several(run: Run, vault: Path, tmp_path: Path) -> None:
    other = write_vault(tmp_path / "Other", "=== There.md\nfar\n")
    both = ("--vault", f"One={vault}", "--vault", f"Two={other}")
    assert run("tags", *both).code == 2
    assert run("call", "read_note", "path=There", "vault=Two", *both).out.startswith("far\n")
    assert run("call", "read_note", "path=There", "vault=Three", *both).code == 2
    assert run("tags", "--vault", str(tmp_path / "nowhere")).code == 2


# ---------------------------------------------------------------------- check and doctor


BROKEN = """
=== A.md
[[Home]] [[Gardn plan|x]] ![[Old/Reading list#Part]] [[Nowhere]] `[[Gardn plan]]`
=== B.md
---
tags: [a
---
"""


def test_check_and_doctor_tell_of_the_same_faults_in_the_same_words(run: Run, vault: Path) -> None:
    write_vault(vault, BROKEN)
    (vault / "Latin.md").write_bytes(b"caf\xe9\n")
    checked = run("check")
    summary = checked.lines[-1]
    assert summary == "5 problems in 7 files: 2 errors, 3 warnings"
    assert checked.code == 1
    assert "Latin.md:1:1: unusable-file: is not UTF-8" in checked.out
    examined = run("doctor")
    assert examined.code == 1
    assert f"  {summary} (vaultwire check lists them)" in examined.lines
    faults = run("check", "--json").data
    report = run("doctor", "--json").data
    assert len(report["vault"]["problems"]) == sum(fault["severity"] == "error" for fault in faults)
    assert len(report["vault"]["warnings"]) == sum(fault["severity"] == "warning" for fault in faults)


def test_check_of_a_note_that_is_not_there_names_commands(run: Run) -> None:
    ended = run("check", "Nope")
    assert ended.code in (1, 2)
    assert "and vaultwire search show what there is" in ended.err


def test_links_that_lead_nowhere_are_remarks_of_doctor(run: Run, vault: Path) -> None:
    (vault / "A.md").write_text("[[Nowhere]]\n")
    examined = run("doctor")
    assert (examined.code, "  ~ A.md: [[Nowhere]] leads nowhere" in examined.out) == (0, True)
    assert examined.lines[-1] == "It works. The lines marked ~ above say what could be better."


def test_fix_changes_links_that_can_mean_one_note_only(run: Run, show: Show, vault: Path) -> None:
    write_vault(vault, BROKEN)
    before = snapshot(vault)
    shown = run("check", "--fix", "--dry-run")
    assert shown.lines == [
        "A.md:1: ![[Old/Reading list#Part]] → ![[Reading list#Part]]",
        "A.md:1: [[Gardn plan|x]] → [[Garden plan|x]]",
        "2 links would be fixed, 2 problems left",
    ]
    assert (shown.code, snapshot(vault) == before) == (1, True)
    refused = run("check", "--fix")
    assert (refused.code, "give --yes" in refused.err, snapshot(vault) == before) == (2, True, True)
    assert show("check", "--fix", answer="n").code == 1
    assert snapshot(vault) == before
    assert run("check", "--fix", "--yes", "--json").data["left"] == 2
    fixed = "[[Home]] [[Garden plan|x]] ![[Reading list#Part]] [[Nowhere]] `[[Gardn plan]]`\n"
    assert (vault / "A.md").read_text() == fixed
    assert run("undo", "1").code == 0
    assert snapshot(vault) == before
    assert run("check", "--dry-run").code == 2


def test_fix_makes_no_guess_between_two_notes(run: Run, vault: Path) -> None:
    write_vault(
        vault, "=== X/Plot.md\n=== Y/Plot.md\n=== Cat.md\n=== A.md\n[[Z/Plot]] [[Car]] [[Garden plans and more]]\n"
    )
    ended = run("check", "--fix", "--yes")
    assert (ended.code, ended.lines) == (1, ["0 links fixed, 3 problems left"])


def test_fix_keeps_line_ends_and_all_other_bytes(run: Run, vault: Path) -> None:
    (vault / "A.md").write_bytes("\ufeffone\r\ntwo [[Gardn plan]] \t ü [[Gardn plan]]\r\nthree".encode())
    assert run("check", "--fix", "--yes").code == 0
    fixed = "\ufeffone\r\ntwo [[Garden plan]] \t ü [[Garden plan]]\r\nthree"
    assert (vault / "A.md").read_bytes() == fixed.encode()


def test_check_is_coloured_at_a_terminal_only(run: Run, show: Show, vault: Path) -> None:
    (vault / "A.md").write_text("[[Nowhere]]\n")
    shown = show("check")
    assert "\x1b[33munresolved-link\x1b[0m" in shown.text
    assert shown.plain == run("check").out


# ---------------------------------------------------------------------- progress

# Every report is shown, however quick the computer is.
AT_ONCE = "from vaultwire.cli import terminal; terminal._FIRST_SECONDS = terminal._EVERY_SECONDS = 0"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("tags", ["indexing: "]),
        ("check", ["indexing: ", "reading: "]),
        ("doctor", ["reading: ", "measuring how long"]),
        ("mv 'Garden plan' Plot", ["read 9 of "]),
        ("call rename what=tag old=project new=work", ["read 9 of "]),
    ],
)
def test_long_work_says_how_far_it_is_and_leaves_nothing_of_it(
    show: Show, vault: Path, command: str, said: list[str]
) -> None:
    for number in range(20):
        (vault / f"More {number}.md").write_text("[[Garden plan]] #project\n")
    shown = show(*shlex.split(command), before=AT_ONCE)
    assert all(each in shown.text for each in said)
    assert not any(each in shown.plain for each in said)


# A real signal at the moment at which work is reported: decided by nobody's clock.
CTRL_C = """
import os, signal
from vaultwire.cli.terminal import ProgressLine
ProgressLine.report = lambda *_: os.kill(os.getpid(), signal.SIGINT)
"""


@pytest.mark.parametrize("command", ["tags", "check", "doctor"])
def test_ctrl_c_ends_a_command_without_a_traceback(show: Show, command: str) -> None:
    shown = show(command, before=CTRL_C)
    assert shown.code == 130
    assert "Traceback" not in shown.text


def test_output_cut_off_by_its_reader_is_no_traceback(environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "vaultwire", "read", "Home"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environment}
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


# ---------------------------------------------------------------------- words and times


NOW = datetime(2026, 3, 31, 14, 30, 5, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("1h", NOW - timedelta(hours=1)),
        ("90 min", NOW - timedelta(minutes=90)),
        ("2W", NOW - timedelta(weeks=2)),
        ("today", NOW.replace(hour=0, minute=0, second=0)),
        ("yesterday", NOW.replace(day=30, hour=0, minute=0, second=0)),
        ("09:15", NOW.replace(hour=9, minute=15, second=0)),
        ("2026-03-30T10:00+00:00", datetime(2026, 3, 30, 12, tzinfo=NOW.tzinfo)),
        ("2026-03-30", datetime(2026, 3, 30).astimezone()),
    ],
)
def test_since_means_a_time_in_the_persons_own_zone(given: str, meant: datetime) -> None:
    assert parse_since(given, NOW) == meant


@pytest.mark.parametrize("given", ["", "soon", "1y", "25:00", "2026-02-30", "-1h", "999999w"])
def test_since_refuses_what_is_no_time(given: str) -> None:
    with pytest.raises(ConfigError, match="--since"):
        parse_since(given, NOW)


def test_tools_are_named_as_commands() -> None:
    assert for_person('Undo: undo_changes {"changes":[12]}') == "Undo: vaultwire undo 12"
    assert for_person("list_notes and search_notes show it") == "vaultwire call list_notes and vaultwire search show it"
    assert for_person("undo_changes, list_tasks, read_notes") == "vaultwire undo, vaultwire tasks, vaultwire read"


# ---------------------------------------------------------------------- dataview


def test_a_query_of_dataview_is_printed(run: Run, vault: Path) -> None:
    (vault / "Book.md").write_text("rating:: 4\n- [ ] read it\n")
    query = "TABLE rating WHERE rating"
    assert run("dataview", query).lines == ["TABLE: 1 row:", "| File | rating |", "|---|---|", "| Book.md | 4 |"]
    assert run("dataview", query, "--format", "csv").lines == ["File,rating", "Book,4"]
    assert run("dataview", "TASK WHERE contains(text, this.file.name)", "--this", "Book").code == 1
    assert run("dataview", 'TASK FROM "Book"', "--json").data["rows"][0]["line"] == 2
    assert run("dataview", "LIST WHERE rating * true").code == 1
    assert run("dataview", "LISST").code == 2


def test_a_base_is_edited_from_the_terminal(run: Run, vault: Path) -> None:
    file = vault / "Projects.base"
    file.write_text(f"# mine\n{BASE}")
    edit = '{"views": [{"name": "Projects", "new_name": "All"}], "set": {"formulas": {"late": "due < today()"}}}'
    dry = run("base", "Projects", "--edit", edit, "--dry-run")
    assert dry.code == 0
    assert "+" in dry.out
    assert file.read_text() == f"# mine\n{BASE}"
    assert run("base", "Projects", "--edit", edit).code == 0
    after = file.read_text()
    assert after.startswith("# mine\n")
    assert "name: All" in after
    assert "late" in after
    assert run("base", "Projects", "All").code == 0
    assert run("base", "Projects", "--edit", "{").code == 2
    assert run("base", "Projects", "--edit", '{"other": 1}').code == 2
    assert file.read_text() == after
