"""Where bases are found: files, code blocks of notes, and the text of one that a caller names."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.bases.base_blocks import base_blocks
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.errors import VaultError

_VAULT = """
=== Books.base
views:
  - {type: table, name: All}
  - {type: cards, name: Covers}
=== Deep/Other.base
=== Broken.base
views: [
=== Note.md
---
a: 1
---
Text
```base
views:
  - {type: list, name: Inline}
```
> [!note] Callout
> ```base
> filters: a
> ```

- item
  ~~~base
  filters: b
  ~~~

````md
```base
no: base
```
````
=== Plain.md
Nothing here.
"""


def _names(root: Path, source: BaseSource) -> list[str]:
    return [view.name for view in open_vault(root).bases.views(source)]


def test_bases_are_listed_in_path_order(tmp_path: Path) -> None:
    bases = open_vault(write_vault(tmp_path, _VAULT)).bases
    assert bases.files() == ["Books.base", "Broken.base", "Deep/Other.base"]


@pytest.mark.parametrize("name", ["Books.base", "Books", "books.BASE", "[[Books.base]]", "![[Books.base#Covers]]"])
def test_a_base_is_found_by_the_names_that_people_write(tmp_path: Path, name: str) -> None:
    assert _names(write_vault(tmp_path, _VAULT), BaseSource(name)) == ["All", "Covers"]


def test_a_base_in_a_folder_is_found_by_its_name_alone(tmp_path: Path) -> None:
    assert _names(write_vault(tmp_path, _VAULT), BaseSource("Other")) == ["Table"]


def test_the_blocks_of_a_note_are_found_also_in_callouts_and_items(tmp_path: Path) -> None:
    blocks = open_vault(write_vault(tmp_path, _VAULT)).bases.blocks("Note")
    assert [(block.number, block.line, block.text) for block in blocks] == [
        (1, 6, "views:\n  - {type: list, name: Inline}"),
        (2, 11, "filters: a"),
        (3, 16, "filters: b"),
    ]
    assert [block.views for block in blocks] == [["Inline"], ["Table"], ["Table"]]


def test_a_block_without_an_end_goes_to_the_end_of_the_note() -> None:
    assert [block.text for block in base_blocks("Text\n\n```base\nfilters: a\nviews: []")] == ["filters: a\nviews: []"]


def test_a_block_is_named_by_its_number(tmp_path: Path) -> None:
    assert _names(write_vault(tmp_path, _VAULT), BaseSource("Note", block=1)) == ["Inline"]


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        (BaseSource("Note", block=4), "INVALID_ARGUMENTS", "has 3 base blocks, so there is no block 4"),
        (BaseSource("Plain", block=1), "INVALID_ARGUMENTS", "has no base block"),
        (BaseSource("Plain"), "INVALID_ARGUMENTS", "is no base"),
        (BaseSource("Missing"), "FILE_NOT_FOUND", "no base 'Missing'"),
        (BaseSource("Missing.base"), "FILE_NOT_FOUND", "Missing.base"),
        (BaseSource(), "INVALID_ARGUMENTS", "Name a .base file"),
        (BaseSource("Broken.base"), "INVALID_ARGUMENTS", "'Broken.base': The base is not YAML"),
        (BaseSource(text="- a\n- b"), "INVALID_ARGUMENTS", "YAML"),
    ],
)
def test_what_is_no_base_is_a_clear_error(tmp_path: Path, source: BaseSource, code: str, says: str) -> None:
    with pytest.raises(VaultError, match=says) as error:
        open_vault(write_vault(tmp_path, _VAULT)).bases.views(source)
    assert error.value.code == code
