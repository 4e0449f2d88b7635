"""``query_dataview``: a query as a model and a program see it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.calls import call, refusal
from support.vaults import open_vault, write_vault
from vaultwire.vault.vault import Vault

VAULT = """=== Books/Dune.md
---
rating: 5
author: "[[People/Frank Herbert|Herbert]]"
finished: 2024-03-01
---
pages:: 412
time:: 2 hours
- [ ] Read the sequel
    - [x] buy it
=== Books/Emma.md
---
rating: 3
---
- [ ] Return it
=== People/Frank Herbert.md
"""


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """Open the vault."""
    write_vault(tmp_path, VAULT)
    return open_vault(tmp_path)


def test_a_table_as_text_and_as_data(vault: Vault) -> None:
    """The note is shown by its path; data has types; a row that fails is told."""
    query = 'TABLE rating, author, finished, time, pages / 2 AS "Half" FROM "Books" SORT rating DESC'
    outcome = call(vault, "query_dataview", query=query)
    problem = (
        "The columns failed for 1 of 2 rows, which are left out: No implementation found for 'null / number' (Emma)."
    )
    assert outcome.texts[0] == (
        f"TABLE: 1 row:\nProblem: {problem}\n"
        "| File | rating | author | finished | time | Half |\n|---|---|---|---|---|---|\n"
        "| Books/Dune.md | 5 | Herbert | 2024-03-01 | 2 hours | 206 |"
    )
    data = outcome.data
    assert data["columns"] == ["File", "rating", "author", "finished", "time", "Half"]
    assert (data["total"], data["problems"]) == (1, [problem])
    assert data["rows"] == [
        {
            "path": "Books/Dune.md",
            "values": {
                "File": {"path": "Books/Dune.md", "link": "Books/Dune.md", "display": "Dune"},
                "rating": 5,
                "author": {"path": "People/Frank Herbert.md", "link": "People/Frank Herbert", "display": "Herbert"},
                "finished": "2024-03-01",
                "time": {"milliseconds": 7_200_000, "text": "2 hours"},
                "Half": 206,
            },
        }
    ]


def test_tasks_have_note_and_line(vault: Vault) -> None:
    """Children stand below their task; groups have headings."""
    outcome = call(vault, "query_dataview", query="TASK WHERE !completed GROUP BY file.name")
    assert outcome.texts[0] == (
        "TASK: 3 rows:\n## Dune\n- [ ] Read the sequel (Books/Dune.md:8)\n  - [x] buy it (Books/Dune.md:9)\n"
        "## Emma\n- [ ] Return it (Books/Emma.md:4)"
    )
    first, child, _ = outcome.data["rows"]
    assert (first["path"], first["line"], first["mark"], first["depth"], first["group"]) == (
        "Books/Dune.md",
        8,
        " ",
        0,
        "Dune",
    )
    assert (child["line"], child["mark"], child["depth"]) == (9, "x", 1)


def test_pages_follow_each_other(vault: Vault) -> None:
    """A cursor goes on with the same result."""
    first = call(vault, "query_dataview", query="LIST file.folder", limit=2)
    assert first.texts[0].startswith(
        "LIST: 3 rows, numbers 1 to 2:\n- Books/Dune.md: Books\n- Books/Emma.md: Books\n1 more"
    )
    second = call(vault, "query_dataview", query="LIST file.folder", limit=2, cursor=first.data["next_cursor"])
    assert [row["path"] for row in second.data["rows"]] == ["People/Frank Herbert.md"]
    assert "next_cursor" not in second.data


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("LISST", "Line 1, column 1: A query begins with TABLE, LIST, TASK or CALENDAR"),
        ("LIST\nWHERE a ==\n1", "Line 2, column 9: Equality is one ="),
        ("LIST FROM [[]]", "say which one it is with “this”"),
    ],
)
def test_a_mistake_is_an_error_with_its_place(vault: Vault, query: str, words: str) -> None:
    """It says what would be right."""
    code, message = refusal(vault, "query_dataview", query=query)
    assert code == "INVALID_ARGUMENTS"
    assert words in message


def test_columns_of_one_name_are_told_apart(vault: Vault) -> None:
    """Data has each of them; ``Task`` is the text of a task only."""
    data = call(vault, "query_dataview", query='TABLE rating AS x, 2 AS x, 3 AS "Task" FROM "Books/Dune"').data
    assert data["columns"] == ["File", "x", "x (2)", "Task (2)"]
    values = data["rows"][0]["values"]
    assert (values["x"], values["x (2)"], values["Task (2)"]) == (5, 2, 3)


DASHBOARD = """# Board
```dataview
LIST rating FROM "Books"
```
> [!note]
> ```dataview
> TASK WHERE due
> ```

```dataview
LIST WHERE
```
```dataviewjs
dv.list()
```
"""


def test_a_note_is_read_with_what_its_queries_show(vault: Vault, tmp_path: Path) -> None:
    """Each block has its result, or why it has none; scripts are named and not run."""
    (tmp_path / "Board.md").write_text(DASHBOARD)
    outcome = call(vault, "read_notes", paths=["Board", "Books/Emma"], queries=True)
    results = outcome.data["notes"][0]["queries"]
    assert results == [
        "Query on line 2 of Board.md:\n- Books/Dune.md: 5\n- Books/Emma.md: 3",
        "Query on line 6 of Board.md:\nNo results.",
        "Query on line 10 of Board.md:\nThe query cannot be read. Line 1, column 11: A value is expected, but the query ends.",
        "1 script (dataviewjs) on line 13: scripts of notes are not run.",
    ]
    assert outcome.texts[-4:] == results
    assert outcome.data["notes"][1]["queries"] == []
    assert "queries" not in call(vault, "read_notes", paths=["Board"]).data["notes"][0]


INLINE = """---
due: 2026-03-04
---
Due `= this.due`, in ``=dateformat(this.due, "yyyy")``. Not one: `this.due`, \\`= 1`.
| a |
|---|
| `= "x" + this.due` |

    `= 1`
```text
`= 2`
```
- `= this.` and `$= dv.current()`
- `= this.due + 1`
"""


def test_a_note_is_read_with_its_inline_queries(vault: Vault, tmp_path: Path) -> None:
    """Each has its line, and its value or why it has none; code blocks hold none."""
    (tmp_path / 'A "b" note.md').write_text(INLINE)
    (tmp_path / ".obsidian/plugins/dataview").mkdir(parents=True)
    settings = tmp_path / ".obsidian/plugins/dataview/data.json"
    settings.write_text('{"defaultDateFormat": "d.M.yyyy"}')
    (result,) = call(vault, "read_notes", paths=['A "b" note'], queries=True).data["notes"][0]["queries"]
    head, *lines = result.split("\n")
    assert head == 'Inline queries of A "b" note.md:'
    assert [line.partition(":")[0] for line in lines[:3]] == [
        "- line 4, = this.due",
        '- line 4, = dateformat(this.due, "yyyy")',
        '- line 7, = "x" + this.due',
    ]
    assert [line.partition(": ")[2] for line in lines[:3]] == ["2026-03-04", "2026", "x4.3.2026"]
    assert lines[3].startswith("- line 13, = this.: The query cannot be read. ")
    assert "No implementation found for 'date + number'" in lines[4]
    assert len(lines) == 5
    settings.write_text('{"inlineQueryPrefix": "dv:"}')
    (tmp_path / "B.md").write_text("`= 1` `dv: 2`\n")
    texts = call(vault, "read_notes", paths=["B"], queries=True).data["notes"][0]["queries"]
    assert texts == ["Inline queries of B.md:\n- line 1, = 2: 2"]


def test_settings_of_the_plugin_say_what_texts_are_like(vault: Vault, tmp_path: Path) -> None:
    """The texts that expressions make, and the first column. Cells stay as programs read them."""
    (tmp_path / ".obsidian/plugins/dataview").mkdir(parents=True)
    settings = tmp_path / ".obsidian/plugins/dataview/data.json"
    query = (
        'TABLE finished, "on " + finished AS a, string(finished) AS b, join([finished, null], "/") AS c,'
        ' link("x", finished) AS d, rating + "" AS e, "at " + (finished + dur(2 hours)) AS f FROM "Books/Dune"'
    )

    def cells() -> list[object]:
        data = call(vault, "query_dataview", query=query).data
        values = data["rows"][0]["values"]
        return [
            data["columns"][0],
            *(values[name] for name in ("finished", *"abc")),
            values["d"]["display"],
            values["f"],
        ]

    usual = ["File", "2024-03-01", "on March 01, 2024", "March 01, 2024", "March 01, 2024/-", "March 01, 2024"]
    assert cells() == [*usual, "at 2:00 AM - March 01, 2024"]
    settings.write_text(
        '{"defaultDateFormat": "yyyy/MM/dd", "defaultDateTimeFormat": "HH:mm", "renderNullAs": "\\\\*none",'
        ' "tableIdColumnName": "Note", "tableGroupColumnName": "Kind", "refreshEnabled": true}'
    )
    own = ["Note", "2024-03-01", "on 2024/03/01", "2024/03/01", "2024/03/01/*none", "2024/03/01", "at 02:00"]
    assert cells() == own
    grouped = call(vault, "query_dataview", query="LIST length(rows) GROUP BY rating").data
    assert grouped["columns"][0] == "Kind"
    settings.write_text('{"defaultDateFormat": 1, "renderNullAs": "\\\\-", "tableIdColumnName": ""}')
    assert cells() == [*usual, "at 2:00 AM - March 01, 2024"]


def test_inline_fields_are_read_with_their_lines(vault: Vault) -> None:
    """A part of the note like the others."""
    outcome = call(vault, "read_notes", paths=["Dune"], part="fields")
    assert outcome.data["notes"][0]["content"] == "6: pages:: 412\n7: time:: 2 hours"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_inline_fields_are_set_and_removed(vault: Vault, tmp_path: Path, ending: str) -> None:
    """All other bytes stay, properties of the same name, too; it is one change that can be undone."""
    note = tmp_path / "Books/Dune.md"
    before = (
        VAULT.partition("=== Books/Emma.md")[0]
        .partition("\n")[2]
        .replace("rating: 5", "pages: 5")
        .replace("\n", ending)
    )
    note.write_bytes(before.encode())
    call(vault, "set_properties", paths=["Dune"], set={"Pages": 500}, remove=["time"], inline=True)
    assert note.read_bytes().decode() == before.replace("pages:: 412", "pages:: 500").replace(
        f"time:: 2 hours{ending}", ""
    )
    call(vault, "undo_changes", since="1h")
    assert note.read_bytes().decode() == before


def test_inline_fields_that_are_not_there_are_refused(vault: Vault, tmp_path: Path) -> None:
    """All notes are changed or none."""
    before = (tmp_path / "Books/Dune.md").read_bytes()
    code, message = refusal(vault, "set_properties", paths=["Dune", "Emma"], set={"pages": 1}, inline=True)
    assert (code, message) == ("INVALID_ARGUMENTS", "Books/Emma.md has no inline field 'pages'.")
    assert (tmp_path / "Books/Dune.md").read_bytes() == before
