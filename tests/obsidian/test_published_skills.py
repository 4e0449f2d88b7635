"""The steps that the skills of Obsidian's maker ask of an agent, one by one, on a vault without the app.

The skills are ``obsidian-cli``, ``obsidian-markdown``, ``obsidian-bases``, ``json-canvas`` and ``defuddle`` of
github.com/kepano/obsidian-skills. The words and notes are ours. A step that needs the app has to be told as such, at once.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.command_line import run_command
from support.vaults import snapshot, write_vault

VAULT = """
=== .obsidian/core-plugins.json
{"bases": true, "daily-notes": true, "templates": true}
=== .obsidian/daily-notes.json
{"folder": "Days"}
=== .obsidian/templates.json
{"folder": "Templates"}
=== Templates/Plant.md
---
kind: plant
---
# {{title}}
=== Garden.md
---
tags: [garden]
status: open
---
# Garden
## Beds
[[Tomato]] stands in the sun. ^sunny

- [ ] Water the beds
=== Plants/Tomato.md
---
tags: [garden, plant]
price: 3
---
See [[Garden#Beds]].
=== Plants/Basil.md
---
tags: [plant]
price: 2
---
A herb.
"""


class Agent:
    """Types commands as an agent does: the program's name, words, and what it reads back."""

    def __init__(self, vault: Path) -> None:
        self.vault = vault

    def __call__(self, *words: str) -> str:
        done = run_command("obsidian", *words, VAULTWIRE_VAULT=str(self.vault))
        assert done.returncode == 0, done.stderr
        return done.stdout.removesuffix("\n")

    def refused(self, *words: str) -> str:
        done = run_command("obsidian", *words, VAULTWIRE_VAULT=str(self.vault))
        assert (done.returncode, done.stdout) == (1, "")
        return done.stderr

    def undo_all(self) -> None:
        undone = run_command("undo", "--since", "1h", "--yes", "--vault", str(self.vault))
        assert undone.returncode == 0, undone.stderr


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.chdir(tmp_path)
    return Agent(write_vault(tmp_path / "Beds", VAULT))


def test_the_command_line_skill(agent: Agent) -> None:
    before = snapshot(agent.vault)
    text = "---\ntags: [plant]\nprice: 4\n---\n\n# Chili\n\nHot `peppers`, see [[Tomato]].\n\n```yaml\nkey: value\n```"

    assert "property:set" in agent("help")
    assert agent("create", "name=First note", "content=Hello world") == "Created: First note.md"
    assert agent("create", "name=First note", "silent", "overwrite", "content=a\\nb") == "Overwrote: First note.md"
    assert agent("read", "file=First note") == "a\nb"
    assert agent("create", "path=Plants/Chili.md", "silent", f"content={text}") == "Created: Plants/Chili.md"
    assert agent("read", "path=Plants/Chili.md") == text
    made = agent("create", "name=Mint", "content=Grows fast.", "template=Plant", "silent")
    assert made == "Created: Mint.md"
    assert agent("read", "file=Mint").split("\n")[3:] == ["# Mint", "Grows fast.", ""]
    assert agent("append", "file=Garden", "content=New line") == "Appended to: Garden.md"
    assert agent("search", "query=herb", "limit=10") == "Plants/Basil.md"
    assert agent("vault=Beds", "search", "query=herb", "total") == "1"
    assert agent("daily:append", "content=- [ ] Sow beans").startswith("Appended to: Days/")
    assert agent("daily:read") == "- [ ] Sow beans"
    assert agent("tasks", "daily", "todo") == "- [ ] Sow beans"
    assert agent("property:set", "name=status", "value=done", "file=Garden") == "Set status: done"
    assert agent("tags", "sort=count", "counts").split("\n")[0] == "#plant\t3"
    assert agent("backlinks", "file=Tomato").split("\n") == ["Garden.md", "Plants/Chili.md"]
    assert agent("tags", "total") == "2"

    agent.undo_all()
    assert {path: data for path, data in snapshot(agent.vault).items() if not path.startswith(".")} == {
        path: data for path, data in before.items() if not path.startswith(".")
    }


@pytest.mark.parametrize(
    "words",
    [
        "plugin:reload id=my-plugin",
        "dev:errors",
        "dev:screenshot path=picture.png",
        "dev:dom selector=.workspace-leaf text",
        "dev:console level=error",
        "eval code=app.vault.getFiles().length",
        "dev:css selector=.workspace-leaf prop=background-color",
        "dev:mobile on",
    ],
)
def test_what_only_the_app_can_do_is_said_in_one_line(agent: Agent, words: str) -> None:
    said = agent.refused(*words.split())
    assert "needs the Obsidian app" in said
    assert said.count("\n") == 1


def test_the_markdown_skill(agent: Agent) -> None:
    note = """---
title: Bed plan
date: 2026-03-01
tags:
  - project
  - project/beds
aliases:
  - Plan
---

# Bed plan

[[Tomato|Tomatoes]] and [[Basil]] go well together; the beds are in [[Garden#Beds]], the best place is [[Garden#^sunny]].

![[Tomato]]

> [!warning] Late frost
> ==Cover== the plants. %%only for me%%

- [x] Measure
- [ ] Dig
    - [ ] North #soon

The sun gives $O(n)$ light[^1].

[^1]: More or less."""
    agent("create", "path=Plans/Bed plan.md", f"content={note}")

    assert agent("read", "file=Bed plan") == note
    assert agent("aliases", "file=Bed plan") == "Plan"
    assert agent("links", "file=Bed plan").split("\n") == ["Garden.md", "Plants/Basil.md", "Plants/Tomato.md"]
    assert agent("unresolved") == "No unresolved links found."
    assert agent("outline", "file=Bed plan", "format=md") == "# Bed plan"
    assert json.loads(agent("properties", "file=Bed plan", "format=json"))["date"] == "2026-03-01"
    assert agent("tag", "name=project") == "Plans/Bed plan.md"
    assert agent("tasks", "file=Bed plan", "todo", "total") == "2"
    assert agent("rename", "file=Tomato", "name=Roma").startswith("Renamed: Plants/Tomato.md")
    assert "[[Roma|Tomatoes]]" in agent("read", "file=Bed plan")


def test_the_bases_skill(agent: Agent) -> None:
    base = """filters:
  and:
    - file.hasTag("plant")
    - 'file.ext == "md"'
formulas:
  double: 'if(price, price * 2, "")'
properties:
  note.price:
    displayName: Price
views:
  - type: table
    name: Prices
    order:
      - file.name
      - price
      - formula.double
    sort:
      - property: price
        direction: ASC
    summaries:
      price: Sum
  - type: cards
    name: Cheap
    filters: 'price < 3'
    order: [file.name]"""
    assert agent("create", "path=Bases/Plants.base", f"content={base}") == "Created: Bases/Plants.base"

    assert agent("bases") == "Bases/Plants.base"
    assert agent("base:views", "path=Bases/Plants.base").split("\n")[0].startswith("Prices")
    rows = json.loads(agent("base:query", "file=Plants", "view=Prices", "format=json"))
    assert [list(row.values())[-2:] for row in rows] == [["2", "4"], ["3", "6"]]
    assert agent("base:query", "file=Plants", "view=Cheap", "format=paths") == "Plants/Basil.md"
    broken = base.replace("price < 3'", "price < 3")
    assert agent("create", "path=Bases/Plants.base", "overwrite", f"content={broken}") == "Overwrote: Bases/Plants.base"
    assert "not YAML: line 25" in agent.refused("base:query", "file=Plants", "view=Cheap")
    assert agent("create", "path=Bases/Plants.base", "overwrite", f"content={base}") == "Overwrote: Bases/Plants.base"
    assert agent("append", "file=Garden", "content=![[Plants.base#Cheap]]") == "Appended to: Garden.md"
    assert "Garden.md" in agent("backlinks", "path=Bases/Plants.base")


def test_the_canvas_skill(agent: Agent) -> None:
    assert (
        agent("create", "path=Boards/Beds.canvas", 'content={"nodes": [], "edges": []}')
        == "Created: Boards/Beds.canvas"
    )
    canvas = json.loads(agent("read", "path=Boards/Beds.canvas"))
    canvas["nodes"] += [
        {"id": "a" * 16, "type": "text", "x": 0, "y": 0, "width": 300, "height": 120, "text": "# Beds"},
        {"id": "b" * 16, "type": "file", "x": 400, "y": 0, "width": 300, "height": 200, "file": "Plants/Tomato.md"},
    ]
    canvas["edges"].append({"id": "c" * 16, "fromNode": "a" * 16, "toNode": "b" * 16, "label": "grows"})
    written = agent("create", "path=Boards/Beds.canvas", "overwrite", f"content={json.dumps(canvas, indent=2)}")
    assert written == "Overwrote: Boards/Beds.canvas"

    assert json.loads(agent("read", "file=Beds.canvas")) == canvas
    agent("move", "path=Plants/Tomato.md", "to=Garden plants/Tomato.md")
    moved = json.loads(agent("read", "path=Boards/Beds.canvas"))
    assert moved["nodes"][1]["file"] == "Garden plants/Tomato.md"
    assert agent("folders", "total") == "5"

    agent.undo_all()
    assert not (agent.vault / "Boards" / "Beds.canvas").exists()


def test_what_the_web_skill_saves_becomes_a_note_with_its_source(agent: Agent) -> None:
    """The program that reads web pages is another one; it leaves a Markdown file, which becomes a note."""
    saved = agent.vault.parent / "content.md"
    saved.write_text("# On beds\n\nA path like C:\\temp stays.\n")
    made = agent("create", "path=Clippings/On beds.md", f"content={saved.read_text()}")
    assert made == "Created: Clippings/On beds.md"
    assert agent("property:set", "name=source", "value=https://example.org/beds", "file=On beds").startswith(
        "Set source"
    )
    assert agent("property:read", "name=source", "file=On beds") == "https://example.org/beds"


def test_a_policy_for_bases_and_canvases_holds_for_create_too(agent: Agent, tmp_path: Path) -> None:
    (agent.vault / "Old.base").write_text("views: []")
    policy = tmp_path / "policy.toml"
    for denied, words in (
        ("create_base", "path=New.base"),
        ("create_base", "path=Folder/ name=New.BASE"),
        ("edit_base", "path=Old.base overwrite"),
        ("edit_canvas", "name=New.canvas"),
        ("edit_canvas", "name=New.canvas overwrite"),
    ):
        policy.write_text(f'[tools]\ndeny = ["{denied}"]\n')
        before = snapshot(agent.vault)
        done = run_command("obsidian", "--vault", str(agent.vault), "--policy", str(policy), "create", *words.split())
        assert (done.returncode, done.stdout) == (1, ""), words
        assert snapshot(agent.vault) == before


def test_folders_without_files_are_listed_where_they_may_be_seen(agent: Agent, tmp_path: Path) -> None:
    (agent.vault / "Empty" / "Inner").mkdir(parents=True)
    assert agent("folders").split("\n") == ["/", "Empty", "Empty/Inner", "Plants", "Templates"]
    assert agent("folders", "folder=Empty").split("\n") == ["Empty", "Empty/Inner"]
    assert agent("folder", "path=Empty", "info=folders") == "1"
    assert agent("vault", "info=folders") == "4"
    policy = tmp_path / "policy.toml"
    policy.write_text('[paths]\ndeny = ["Empty/**"]\n')
    done = run_command("obsidian", "--vault", str(agent.vault), "--policy", str(policy), "folders")
    assert done.stdout == "/\nPlants\nTemplates\n"
