"""Queries of Dataview over a vault: what each command gives, and that hidden notes are nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.dataview.running import Result
from vaultwire.dataview.values import shown
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.errors import VaultError
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.visible_files import PrivacyRules

VAULT = """=== Games/League.md
---
type: game
started: 2021-05-16
tags: [games/moba]
authors: [Ann, Bob]
---
Rating:: 4
- [ ] Buy shoes #shopping [due:: 2022-04-05]
    - [x] look around
    - [ ] compare [urgent:: true]
- [x] Win ✅ 2022-01-01

See [[Stardew]].
=== Games/finished/Stardew.md
---
type: game
started: 2021-04-04
price: 3
authors: Cy
---
#games/simulation (mood:: okay) [length:: 2 hours]

Rating:: 5
Rating:: 3
=== Code/Git.md
---
type: knowledge
up: "[[League|the game]]"
---
# Basics
`not:: a field`
- plain item [weight:: 2]
```
no:: field
```
=== 2022-09-21.md
---
due: 2022-10-01
---
[[Git]] and [[Secret]]
=== Secret.md
---
type: game
rating: 9
---
- [ ] hidden task

[[League]]
=== picture.png
"""

_SHOES = "Buy shoes #shopping [due:: 2022-04-05]"


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    """Open the vault."""
    write_vault(tmp_path, VAULT)
    return open_vault(tmp_path)


def _rows(result: Result) -> list[str]:
    """Return rows as text: cells between bars."""
    return [" | ".join("-" if cell is None else shown(cell) for cell in row.cells) for row in result.rows]


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("LIST", ["2022-09-21", "Git", "League", "Stardew", "Secret"]),
        ("LIST FROM #games", ["League", "Stardew"]),
        ("LIST FROM #games/moba or #games/simulation", ["League", "Stardew"]),
        ('LIST FROM "Games"', ["League", "Stardew"]),
        ('LIST FROM "Games/League"', ["League"]),
        ('LIST FROM "Games/finished"', ["Stardew"]),
        ('LIST FROM #games and -"Games/finished"', ["League"]),
        ('LIST FROM -("Games" or "Code")', ["2022-09-21", "Secret"]),
        ("LIST FROM [[League]]", ["Git", "Secret"]),
        ("LIST FROM outgoing([[2022-09-21]])", ["Git", "Secret"]),
        ("LIST FROM [[]]", ["Git", "Secret"]),
        ('LIST file.folder FROM "Games"', ["League | Games", "Stardew | Games/finished"]),
        ("LIST WHERE price", ["Stardew"]),
        ('LIST WHERE rating >= 4 AND type = "game"', ["League", "Secret"]),
        ('LIST WHERE typeof(rating) = "array"', ["Stardew"]),
        ("LIST WHERE up = [[League]]", ["Git"]),
        ("LIST WHERE up.started = date(2021-05-16)", ["Git"]),
        ("LIST WHERE weight = 2", ["Git"]),
        ("LIST WHERE not", []),
        ("LIST WHERE no", []),
        ("LIST WHERE length > dur(90 minutes)", ["Stardew"]),
        ("LIST WHERE due < date(2022-10-02)", ["2022-09-21", "Git", "League", "Stardew", "Secret"]),
        ("LIST WHERE due AND due < date(2022-10-02)", ["2022-09-21"]),
        ("LIST WHERE file.day = date(2022-09-21)", ["2022-09-21"]),
        ("LIST WHERE contains(file.outlinks, [[Stardew]])", ["League"]),
        ("LIST WHERE contains(file.inlinks, [[League]])", ["Stardew"]),
        ("LIST type SORT type DESC, file.name LIMIT 2", ["Git | knowledge", "League | game"]),
        ("LIST SORT file.name DESC LIMIT 1 + 1", ["Stardew", "Secret"]),
        ("LIST LIMIT 2 SORT file.name DESC", ["Git", "2022-09-21"]),
        ("LIST GROUP BY type", ["-", "game", "knowledge"]),
        ("LIST rows.file.link GROUP BY type", ["- | 2022-09-21", "game | League, Stardew, Secret", "knowledge | Git"]),
        (
            'LIST WITHOUT ID length(rows) + " pages of type " + key GROUP BY type',
            ["1 pages of type -", "3 pages of type game", "1 pages of type knowledge"],
        ),
        ("TABLE type AS Kind, price WHERE price", ["Stardew | game | 3"]),
        ("TABLE WITHOUT ID price * 2, mood WHERE price", ["6 | okay"]),
        ("TABLE authors FLATTEN authors WHERE authors", ["League | Ann", "League | Bob", "Stardew | Cy"]),
        ('TABLE a FLATTEN authors AS a WHERE a = "Bob"', ["League | Bob"]),
        ("TABLE T.text FLATTEN file.tasks AS T WHERE T.completed", ["League | look around", "League | Win ✅ 2022-01-01"]),
        ("TABLE length(rows) GROUP BY type GROUP BY key = null AS empty", ["false | 2", "true | 1"]),
        ("TABLE min(rows.started) AS first GROUP BY type WHERE first = null", ["- | -", "game | 2021-04-04", "knowledge | -"]),
        ("TABLE sum(nonnull(rows.price)) GROUP BY type WHERE key", ["game | 3", "knowledge | -"]),
        ("LIST WHERE any(file.tasks, (t) => !t.fullyCompleted)", ["League", "Secret"]),
        ("TASK WHERE !completed FROM", None),
        ('TASK FROM "Games"', [_SHOES, "look around", "compare [urgent:: true]", "Win ✅ 2022-01-01"]),
        ("TASK WHERE urgent", ["compare [urgent:: true]"]),
        ("TASK WHERE completion = date(2022-01-01)", ["Win ✅ 2022-01-01"]),
        ('TASK WHERE contains(tags, "#shopping")', [_SHOES, "look around", "compare [urgent:: true]"]),
        ('TASK WHERE type = "game" AND due', [_SHOES, "look around", "compare [urgent:: true]"]),
        ('TASK WHERE text = "hidden task"', ["hidden task"]),
        ("CALENDAR started", ["2021-04-04 | Stardew", "2021-05-16 | League"]),
    ],
)  # fmt: skip
def test_a_query_gives_these_rows(vault: Vault, query: str, rows: list[str] | None) -> None:
    """The rows in their order; pages come in the order of their paths."""
    if rows is None:
        with pytest.raises(VaultError, match="FROM stands only once"):
            vault.dataview.query(query)
        return
    result = vault.dataview.query(query, "League" if "[[]]" in query else "")
    assert not result.problems
    assert _rows(result) == rows


def test_names_of_columns(vault: Vault) -> None:
    """They are the texts of expressions, or what AS says; the first is the file or the group."""
    assert vault.dataview.query('TABLE a, b+1 AS "x y"').columns == ["File", "a", "x y"]
    assert vault.dataview.query("TABLE length(rows) GROUP BY type AS t").columns == ["t", "length(rows)"]
    assert vault.dataview.query("TABLE WITHOUT ID a\n  + 1").columns == ["a+ 1"]


def test_children_of_a_task_belong_to_it(vault: Vault) -> None:
    """They stand below it, deeper, even if they do not match; grouped, under the key of their group."""
    rows = vault.dataview.query('TASK FROM "Games" WHERE !completed GROUP BY file.link').rows
    assert [(row.line, row.status, row.depth, shown(row.groups[0])) for row in rows] == [
        (8, " ", 0, "League"), (9, "x", 1, "League"), (10, " ", 1, "League"),
    ]  # fmt: skip


def test_rows_that_fail_are_left_out_and_told(vault: Vault) -> None:
    """The answer says for how many rows, and why."""
    result = vault.dataview.query("TABLE price * 2")
    assert _rows(result) == ["Stardew | 6"]
    assert result.problems == [
        "The columns failed for 4 of 5 rows, which are left out: No implementation found for 'null * number' (2022-09-21)."
    ]
    assert "WHERE file.tasks * 2 failed for all rows" in vault.dataview.query("LIST WHERE file.tasks * 2").problems[0]
    assert vault.dataview.query('LIST LIMIT "a"').problems == ['LIMIT "a" failed: a number is expected, not string.']
    written = vault.dataview.query("LIST where file.tasks\n  *  2 sort file.name + file desc").problems
    assert written[0].startswith("where file.tasks * 2 failed for all rows")
    assert "not a date" in vault.dataview.query("CALENDAR price").problems[0]


@pytest.mark.parametrize(
    ("query", "this", "words"),
    [
        ("LIST FROM [[Nobody]]", "", "there is no note 'Nobody'"),
        ("LIST FROM [[]]", "", "say which one it is"),
        ("LIST WHERE foo(1)", "", "Line 1, column 12: There is no function 'foo'"),
        ("LIST", "Nobody", "Nobody"),
    ],
)
def test_what_cannot_be_asked_is_an_error(vault: Vault, query: str, this: str, words: str) -> None:
    """It says what would be right."""
    with pytest.raises(VaultError) as raised:
        vault.dataview.query(query, this)
    assert words in raised.value.message


@pytest.mark.parametrize("kind", ["denied", "private"])
def test_hidden_notes_are_nowhere(tmp_path: Path, kind: str) -> None:
    """Not in rows, counts, groups, links, nor in what a source or a field of a link tells; with any query."""
    write_vault(tmp_path, VAULT.replace("rating: 9", "rating: 9\ntags: hush"))
    private = kind == "private"
    rules = PathRules(privacy=PrivacyRules(["hush"])) if private else PathRules(deny=(Rule("deny", "Secret.md", 1),))
    vault = open_vault(tmp_path, rules=rules)
    assert _rows(vault.dataview.query("LIST WITHOUT ID length(rows) GROUP BY true")) == ["4"]
    for query in (
        "LIST", "LIST length(rows) GROUP BY type", "TASK", "LIST FROM [[League]]", "TABLE file.inlinks",
        "LIST WHERE rating = 9", "LIST map(file.outlinks, (l) => l.rating)", 'LIST FROM -"Games"', "LIST [[Secret]].rating",
    ):  # fmt: skip
        result = vault.dataview.query(query)
        text = repr([row.cells for row in result.rows if row.path != "2022-09-21.md"]) + repr(result.problems)
        assert "9.0" not in text
        assert "hidden task" not in text
        if "[[Secret]]" not in query:
            assert "Secret" not in text
    with pytest.raises(VaultError, match="there is no note 'Secret'"):
        vault.dataview.query("LIST FROM [[Secret]]")
    with pytest.raises(VaultError):
        vault.dataview.query("LIST", "Secret")


def test_changed_notes_are_read_again(vault: Vault, tmp_path: Path) -> None:
    """What is remembered of a file ends with its state."""
    query = "LIST mood WHERE mood"
    assert _rows(vault.dataview.query(query)) == ["Stardew | okay"]
    (tmp_path / "Code/Git.md").write_text("mood:: new mood\n- [ ] task\n")
    assert _rows(vault.dataview.query(query)) == ["Git | new mood", "Stardew | okay"]
    assert "task" in _rows(vault.dataview.query('TASK FROM "Code"'))


def test_memory_is_bounded(tmp_path: Path) -> None:
    """A result that would hold more than the limit is an error that says so."""
    write_vault(tmp_path, "".join(f"=== n{number}.md\ntext\n" for number in range(400)))
    vault = open_vault(tmp_path)
    with pytest.raises(VaultError, match="needs more than 48 MB"):
        vault.dataview.query('TABLE padleft("", 199000) + file.name')
