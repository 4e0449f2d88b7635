"""Bases of the kinds that people keep: a library, meetings of a person, trips on a map, a board, a journal, an inbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.bases.comparing import shown_text
from vaultwire.vault.base_queries.running import BaseResult, BaseSource
from vaultwire.vault.vault import Vault

_VAULT = """
=== Categories/Books.md
=== Categories/People.md
=== Templates/Book template.md
---
categories: ["[[Books]]"]
---
=== Notes/Dune.md
---
categories: ["[[Books]]"]
author: ["[[Frank Herbert]]"]
genre: ["[[Science fiction]]", "[[Classics]]"]
rating: 6
last: 2026-02-01
cover: "https://example.com/dune.jpg"
year: 1965
---
=== Notes/Emma.md
---
categories: "[[Categories/Books|Books]]"
author: "[[Jane Austen]]"
genre: ["[[Classics]]"]
rating: 7
cover: "[[emma.jpg]]"
year: 1815
---
=== Notes/Ulysses.md
---
categories: ["[[books]]"]
genre: []
year: "1922"
---
=== Notes/Frank Herbert.md
---
categories: ["[[People]]"]
---
=== Notes/Talk about sand.md
---
categories: ["[[Meetings]]"]
people: ["[[Frank Herbert]]", "[[Jane Austen]]"]
date: 2026-03-02
---
=== Notes/Talk about hats.md
---
categories: ["[[Meetings]]"]
people: "[[Jane Austen]]"
date: 2026-03-01
---
With [[Frank Herbert#Life|Frank]].
=== Notes/Lisbon.md
---
categories: ["[[Trips]]"]
start: 2999-04-01
end: 2999-04-08
coordinates: [38.7, -9.1]
---
=== Notes/Rome.md
---
categories: ["[[Trips]]"]
start: 2001-11-30
end: 2001-12-02
coordinates: ["41.9", "12.5"]
loc: ["[[Rome]]"]
---
=== Tasks/Paint.md
---
status: doing
effort: 2.345
done: false
tags: [home/paint]
---
=== Tasks/Read.md
---
status: doing
effort: 1
done: true
---
=== Tasks/Write.md
---
status: next
done:
---
=== Tasks/Sleep.md
=== emma.jpg
=== Bases/Books.base
filters:
  and:
    - list(categories).contains(link("Books"))
    - '!file.name.contains("template")'
formulas:
  Score: if(rating, (rating / 7 * 100).round() + "%", "-")
  Decade: if(year, (number(year) / 10).floor() * 10)
properties:
  file.name: {displayName: Title}
  note.author: {displayName: By}
views:
  - type: table
    name: All books
    order: [file.name, author, formula.Score, formula.Decade]
    sort: [{property: rating, direction: DESC}, {property: file.name, direction: ASC}]
    columnSize: {file.name: 200}
    summaries: {rating: Average, last: Latest}
  - type: cards
    name: Covers
    image: note.cover
    imageFit: contain
    imageAspectRatio: 1.5
    filters: rating > 6 || !last.isEmpty()
    order: [file.name]
  - type: table
    name: Of this author
    filters: {and: ["list(author).contains(this)"]}
    order: [file.name, year]
  - type: list
    name: Of these kinds
    filters: genre.containsAny(link("Science fiction"), link("Nowhere"))
    order: [file.name]
=== Bases/Meetings.base
filters: {and: ['categories.contains(link("Meetings"))']}
views:
  - {type: table, name: With, filters: list(people).contains(this) || file.hasLink(this), order: [file.name, date]}
  - {type: table, name: With whom, order: [file.name, people], sort: [{property: note.date, direction: DESC}], limit: 1}
=== Bases/Trips.base
filters: categories == ["[[Trips]]"] || list(categories).contains(link("Trips"))
formulas:
  nights: (end - start).days.round()
  year: start.format("YYYY")
  age: (now() - start).days > 365
views:
  - type: map
    name: Map
    coordinates: note.coordinates
    markerIcon: note.icon
    center: [40, 0]
    defaultZoom: 3
    order: [file.name, formula.nights]
    sort: [{property: start, direction: ASC}]
  - type: table
    name: By year
    groupBy: {property: formula.year, direction: DESC}
    filters: start.toString().contains("20") && formula.age
    order: [file.name, formula.nights]
    summaries: {formula.nights: Sum}
=== Bases/Board.base
filters: file.inFolder("Tasks")
formulas:
  days: (effort / 8).toFixed(2)
views:
  - type: kanban
    name: Board
    groupBy: {property: status, direction: ASC}
    hideEmptyColumns: true
    order: [file.name, done]
    sort: [{property: file.name, direction: ASC}]
    summaries: {done: Checked, effort: Sum}
  - {type: table, name: Open, filters: {not: [done, 'status == "next"']}, order: [file.name, formula.days]}
  - {type: table, name: Tagged, filters: 'file.hasTag("home")', order: [file.name, file.tags]}
=== Daily/2026-03-02.md
---
mood: good
---
![[Journal.base#On this day]]

```base
filters:
  and:
    - file.folder == this.file.folder
    - file.name != this.file.name
views: [{type: table, name: Near, order: [file.name, mood]}]
```
=== Daily/2026-03-01.md
---
mood: bad
---
[[Dune]]
=== Bases/Journal.base
filters: date == date(this.file.name) || people.map(value.asFile().name).unique().contains("nobody")
views: [{type: table, name: On this day, order: [file.name]}, {type: table, name: All, filters: "false"}]
=== Bases/Inbox.base
filters:
  and:
    - file.ext == "md"
    - file.links.isEmpty()
    - file.backlinks.length == 0
    - or: [file.folder == "Tasks", 'file.folder.startsWith("Daily")']
views: [{type: table, name: Lonely, order: [file.name, file.mtime], sort: [{property: file.name, direction: DESC}]}]
"""


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    root: Path = write_vault(tmp_path_factory.mktemp("bases") / "v", _VAULT)
    return open_vault(root)


def shown(vault: Vault, base: str, view: str = "", this: str = "", block: int = 0) -> list[list[str]]:
    """Return the texts of all cells."""
    result = asked(vault, base, view, this, block)
    assert result.problems_of_rows == []
    return [[shown_text(cell) for cell in row.cells] for row in result.rows]


def asked(vault: Vault, base: str, view: str = "", this: str = "", block: int = 0) -> BaseResult:
    return vault.bases.query(BaseSource(base, block), view, this=this)


SHOWN: list[tuple[dict[str, Any], list[list[str]]]] = [
    (
        {"base": "Books"},
        [
            ["Emma", "Jane Austen", "100%", "1810"],
            ["Dune", "Frank Herbert", "86%", "1960"],
            ["Ulysses", "", "-", "1920"],
        ],
    ),
    ({"base": "Books.base#Covers"}, [["Dune"], ["Emma"]]),
    ({"base": "Books", "view": "Of this author", "this": "Frank Herbert"}, [["Dune", "1965"]]),
    ({"base": "Books", "view": "Of this author", "this": "Emma"}, []),
    ({"base": "Books", "view": "of these kinds"}, [["Dune"]]),
    (
        {"base": "Meetings", "this": "Frank Herbert"},
        [["Talk about hats", "2026-03-01"], ["Talk about sand", "2026-03-02"]],
    ),
    ({"base": "Meetings", "view": "With whom"}, [["Talk about sand", "Frank Herbert, Jane Austen"]]),
    ({"base": "Trips"}, [["Rome", "2"], ["Lisbon", "7"]]),
    ({"base": "Trips", "view": "By year"}, [["Rome", "2"]]),
    ({"base": "Board"}, [["Paint", "false"], ["Read", "true"], ["Write", ""], ["Sleep", ""]]),
    ({"base": "Board", "view": "Open"}, [["Paint", "0.29"], ["Sleep", ""]]),
    ({"base": "Board", "view": "Tagged"}, [["Paint", "home/paint"]]),
    ({"base": "Journal.base#On this day", "this": "Daily/2026-03-02.md"}, [["Talk about sand"]]),
    ({"base": "Journal", "view": "All", "this": "Daily/2026-03-02.md"}, []),
    ({"base": "Daily/2026-03-02.md", "block": 1}, [["2026-03-01", "bad"]]),
]


@pytest.mark.parametrize(("question", "rows"), SHOWN, ids=lambda each: str(each)[:60])
def test_a_view_shows_what_its_owner_expects(vault: Vault, question: dict[str, Any], rows: list[list[str]]) -> None:
    assert shown(vault, **question) == rows


def test_every_view_of_every_base_opens(vault: Vault) -> None:
    for base in vault.bases.files():
        for view in vault.bases.views(BaseSource(base)):
            result = asked(vault, base, view.name)
            assert result.problems_of_rows == []
            assert len([*result.rows]) == len(result.rows)


def test_cards_have_their_pictures_and_a_board_its_columns(vault: Vault) -> None:
    covers = asked(vault, "Books", "Covers")
    assert [shown_text(row.image) for row in covers.rows] == ["https://example.com/dune.jpg", "emma.jpg"]
    assert covers.view.settings["imageFit"] == "contain"
    board = asked(vault, "Board")
    assert board.view.type == "kanban"
    groups = [
        (each.text, each.count, each.summaries["note.done"], each.summaries["note.effort"]) for each in board.groups
    ]
    assert groups == [("doing", 2, 1, 3.345), ("next", 1, 0, None), ("None", 1, 0, None)]


def test_summaries_and_settings_of_a_map_are_there(vault: Vault) -> None:
    books = asked(vault, "Books")
    assert {name: shown_text(value) for name, value in books.summaries.items()} == {
        "note.rating": "6.5",
        "note.last": "2026-02-01",
    }
    assert [column.name for column in books.columns] == ["Title", "By", "Score", "Decade"]
    places = asked(vault, "Trips", "Map")
    assert (places.view.type, places.view.settings["center"]) == ("map", [40, 0])


def test_what_nothing_links_to_is_found(vault: Vault) -> None:
    assert [row[0] for row in shown(vault, "Inbox")] == ["Write", "Sleep", "Read", "Paint"]


def test_a_canvas_has_no_links_and_gives_no_backlinks(tmp_path: Path) -> None:
    nodes = '{"nodes": [{"type": "file", "file": "A.md"}, {"type": "text", "text": "[[A]]"}]}'
    write_vault(tmp_path, f"=== A.md\n=== Board.canvas\n{nodes}\n=== B.base\nviews: [{{type: table, name: All}}]\n")
    text = "views: [{type: table, name: All, order: [file.path, file.links, file.backlinks]}]"
    found = open_vault(tmp_path).bases.query(BaseSource(text=text))
    assert [[shown_text(cell) for cell in row.cells] for row in found.rows] == [
        ["A.md", "", ""],
        ["B.base", "", ""],
        ["Board.canvas", "", ""],
    ]


def test_summaries_count_the_rows_after_the_limit(tmp_path: Path) -> None:
    write_vault(tmp_path, "".join(f"=== {number}.md\n---\nn: {number}\n---\n" for number in (1, 2, 3)))
    view = "{type: table, name: All, limit: 2, sort: [{property: n, direction: DESC}], summaries: {n: Sum}"
    found = open_vault(tmp_path).bases.query(BaseSource(text=f"views: [{view}}}]"))
    assert (found.summaries, found.total) == ({"note.n": 5}, 3)
