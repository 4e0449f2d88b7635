"""What the catalog knows of properties and tasks says the same as looking into each note, and says it of all notes."""

from __future__ import annotations

import random

import pytest

from support.vaults import open_vault
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.note_parts import searchable_text
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.vault import Vault

# What is written is compared, not the value that YAML makes of it.
WRITTEN = [
    *["1.20", "1.2", "008", "8", "1e3", "0x10", "yes", "true", "True", "TRUE", "null", "~", "", '""', "''", "[]", "{}"],
    *["active", "Active", "inactive", '"act\\u0069ve"', "café", "cafe\u0301", "[active, 1.20]", "\n  - a\n  - Ärger"],
    *["2026-01-02", "2026-01-02T10:00", "{a: 1.50, b: [x]}", ">-\n  two\n  lines", "'it''s'", "-3", "[[Note|shown]]"],
]
NAMES = ["status", "Status", "STÁTUS", "status ", "due date"]
TASKS = ["buy milk", "Buy MILK 100%", "größe", "GRÖSSE", "e\u0301tude", "a_b", "milk", "日本", "path/a", ""]
QUERIES = [
    *["[status:active]", "[status:-active]", "-[status:active]", '[status:"active"]', "[status:1.20]", "[status:null]"],
    *["[status:EMPTY]", "[status:>1]", "[status:<2026-02-01]", "[status:cafe]", "[status:match-case:Active]"],
    *["[status:TRUE]", "[status:/^act/]", "[status OR tag:a]", "[status OR due:1]", '["due date":a]'],
    *["[status:(a -b)] milk", "[status:active] task:buy", "[status:active] OR task:buy", "[status:two lines]"],
    *[
        "task:milk",
        "task-todo:milk",
        "task-done:MILK",
        'task:""',
        'task-done:""',
        "task:100%",
        "task:a_b",
        "task:grosse",
    ],
    *["task:größe", "task:etude", "task:étude", 'task:"milk"', "task:match-case:MILK", "task:(buy -100)", "task:/^b/"],
    *["task:日", "-task:milk", "task-todo:path/a"],
]


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> tuple[Vault, dict[str, str]]:
    """A vault, and the texts of its notes."""
    chance = random.Random(27)
    root = tmp_path_factory.mktemp("vault")
    for number in range(150):
        names = chance.sample(NAMES, chance.randint(0, 3))
        lines = [f"{name}: {chance.choice(WRITTEN)}" for name in names]
        head = "---\n" + "\n".join(lines) + "\n---\n" if names else ""
        tasks = [f"- [{chance.choice(' x-')}] {chance.choice(TASKS)}" for _ in range(chance.randint(0, 2))]
        (root / f"n{number}.md").write_text(head + "\n".join([*tasks, chance.choice(TASKS)]) + "\n", encoding="utf-8")
    return open_vault(root), {path.name: searchable_text(path.name, path.read_bytes()) for path in root.glob("*.md")}


@pytest.mark.parametrize("asked", QUERIES)
def test_it_is_what_looking_into_each_note_says(vault: tuple[Vault, dict[str, str]], asked: str) -> None:
    opened, texts = vault
    matcher = Matcher(parse_query(asked))
    expected = {name for name, text in texts.items() if matcher.match(name, text) is not None}
    found = opened.search(asked, "", 0, 5)
    assert (found.total, found.total_is_exact) == (len(expected), True)
    assert {hit.path for hit in opened.search(asked, "", 0, 200).hits} == expected
