"""Edits and reads of random bases: all that an edit does not name stays to the byte, and bad input is refused with words."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.vaults import open_vault
from vaultwire.bases.base import NotABaseError, read_base
from vaultwire.bases.base_edits import BaseEditError, ViewEdit, edit_base
from vaultwire.bases.parser import MOST_CHARACTERS
from vaultwire.bases.renaming import NotRenamedError, PropertyRenaming, rename_in_base
from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.errors import VaultError

# Lines that an edit of a view's limit, of a formula or of the order of views does not name.
_OTHERS = st.sampled_from(
    [
        "# a comment", "odd: [1, 'two', {three: 3}] # kept", "properties:\n  note.a: {displayName: 'It''s'}",
        "summaries:\n  own: values.length # text", "x-plugin:\n    deep:\n        - &a 1\n        - *a", "", "   ",
        "filters:\n  and:\n  - 'a == \"b\"'   \n  - >-\n    c !=\n    \"d\"", 'quoted: "\\u00e9 \\"x\\""',
        "block: |\n  text\n\n  more",
    ]
)  # fmt: skip
_FORMULAS = "formulas:\n  one: a + 1 # first\n  'two': |\n    b *\n    2\n"
_VIEWS = (
    "views:\n  # all\n  - type: table\n    name: All\n    order: [file.name, a] # cols\n    unknown: {x: 1}\n"
    "  - {type: cards, name: 'My \"cards\"', limit: 3}\n"
)


@st.composite
def _texts(draw: st.DrawFn) -> tuple[str, list[str]]:
    others = draw(st.lists(_OTHERS, unique_by=lambda each: each.partition(":")[0], max_size=6))
    parts = [*others]
    parts.insert(draw(st.integers(0, len(parts))), _FORMULAS.rstrip("\n"))
    parts.append(_VIEWS.rstrip("\n"))
    return "\n".join(parts) + "\n" * draw(st.integers(0, 2)), others


@given(_texts(), st.sampled_from(["\n", "\r\n"]))
@settings(max_examples=150, deadline=None)
def test_an_edit_leaves_every_other_line(base: tuple[str, list[str]], ending: str) -> None:
    """Comments, quotes, order, unknown keys, blank lines and line ends."""
    text, others = base
    written = text.replace("\n", ending)
    after = edit_base(written, {"formulas": {"one": "a + 2"}}, [ViewEdit("All", {"limit": 7})])
    assert after.count("\n") == after.count(ending)
    lines = after.replace(ending, "\n")
    for part in others:
        assert part in lines
    assert "# first" not in lines or "one: a + 2" in lines
    assert "    order: [file.name, a] # cols\n    unknown: {x: 1}\n" in lines
    assert "  'two': |\n    b *\n    2\n" in lines
    assert "  - {type: cards, name: 'My \"cards\"', limit: 3}" in lines
    kept = [line for line in text.split("\n") if "one:" not in line]
    assert [line for line in lines.split("\n") if "one:" not in line and "limit: 7" not in line] == kept
    read = read_base(after)
    assert read.views[0].limit == 7


@example(b"?")
@example(b"---")
@given(st.binary(max_size=300) | st.text(st.sampled_from("abc:-[]{}#'\"|>&*!\n \t%@"), max_size=200).map(str.encode))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_a_base_or_refused_and_stay(data: bytes) -> None:
    """No other error comes out; a rename of a property that is not there changes nothing."""
    text = data.decode("utf-8", "surrogateescape")
    with suppress(NotABaseError):
        read_base(text)
    with suppress(NotRenamedError):
        assert rename_in_base(text, PropertyRenaming("zzz", "y")) == text
    with suppress(NotABaseError, BaseEditError):
        edit_base(text, {"formulas": {"f": "1"}}, [])


_ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]\n" for below, name in zip("abcdefgh", "bcdefghi", strict=True)
)
BAD = {
    "a list": ("- 1\n- 2\n", "expected 'name: value'"),
    "a text": ("just words", "expected 'name: value'"),
    "no YAML": ("views: [", "YAML"),
    "a bomb of aliases": (_ALIASES, "aliases"),
    "10,000 views": ("views:\n" + "  - {type: table, name: a}\n" * 10_000, "characters"),
    "600 views": ("views:\n" + "".join(f"  - {{type: table, name: v{n}}}\n" for n in range(600)), "500 views"),
    "a formula of 1 MB": ("formulas:\n  f: " + "a + " * 250_000 + "a\n", "characters"),
    "deep brackets": ("a: " + "[" * 500 + "]" * 500, "deep"),
}
"""Texts that are no base, and what the refusal says. The bench measures that they are refused at once."""


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_words(tmp_path: Path, name: str) -> None:
    """What was wrong is said; nothing is loaded for it."""
    text, words = BAD[name]
    vault = open_vault(tmp_path)
    with pytest.raises(VaultError) as raised:
        vault.bases.query(BaseSource(text=text))
    assert words in raised.value.message


def test_a_formula_that_is_too_long_is_an_error_of_its_cells(tmp_path: Path) -> None:
    """All else of the base is shown."""
    vault = open_vault(tmp_path)
    text = f"formulas:\n  f: '{'a + ' * (MOST_CHARACTERS // 4)}a'\nviews:\n  - {{type: table, name: T, order: [formula.f]}}\n"
    assert any("cannot be read" in problem for problem in vault.bases.query(BaseSource(text=text)).problems)
