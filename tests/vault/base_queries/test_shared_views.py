"""Values of formulas that the views of one base share: the same as of each view alone, and true until something changes."""

from __future__ import annotations

import os
import random
from datetime import datetime
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.bases.base import read_base
from vaultwire.bases.values import text_of
from vaultwire.vault.base_queries.bases import Bases
from vaultwire.vault.base_queries.narrowing import lasting_formulas
from vaultwire.vault.base_queries.running import BaseResult, BaseSource
from vaultwire.vault.caller import RememberedResults
from vaultwire.vault.vault import Vault

_FORMULAS = {
    "plain": "price * 2",
    "text": "name + file.name",
    "uses": "formula.plain + 1",
    "uses in brackets": 'formula["plain"].toFixed(1)',
    "loop": "formula.loop2",
    "loop2": "formula.loop",
    "linked": "list(up)[0].asFile().size",
    "mine": "this.file.name",
    "all": "formula.isEmpty()",
    "fails": "name.nothing()",
    "now": "now()",
    "today": "price + today().year",
    "uses today": "formula.today",
    "made": "file.ctime",
    "by name": 'file[if(true, "ctime")]',
    "chance": "random()",
    "ago": "file.mtime.relative()",
    "broken": "1 +",
}
_LASTING = {"plain", "text", "uses", "uses in brackets", "loop", "loop2", "linked", "mine", "fails"}


def _base(formulas: dict[str, str], views: int) -> str:
    lines = ["formulas:", *(f"  {name}: {formula!r}" for name, formula in formulas.items()), "views:"]
    order = ", ".join(f'"formula.{name}"' for name in formulas)
    for number in range(views):
        sort = f'"formula.{[*formulas][number % len(formulas)]}"'
        lines.append(
            f"  - {{type: table, name: V{number}, filters: 'price > {number}', order: [file.name, {order}],"
            f" sort: [{{property: {sort}, direction: DESC}}]}}"
        )
    return "\n".join(lines) + "\n"


def _notes(chance: random.Random, count: int) -> str:
    note = "=== N{}.md\n---\nprice: {}\nname: {}\nup: '[[N{}]]'\n---\n"
    return "".join(
        note.format(number, chance.randrange(9), chance.choice("abc"), chance.randrange(count))
        for number in range(count)
    )


def _cells(vault: Vault, text: str, view: str, this: str = "") -> list[tuple[str, ...]]:
    return [tuple(map(text_of, row.cells)) for row in vault.bases.query(BaseSource(text=text), view, this=this).rows]


def test_formulas_that_last_are_told_from_those_that_pass() -> None:
    """The time, chance and the time of creation pass, and what needs them; so does what may ask for any of them."""
    assert {*lasting_formulas(read_base(_base(_FORMULAS, 1)))} == _LASTING


def test_views_that_share_give_what_each_gives_alone(tmp_path: Path) -> None:
    """Over random notes, in one process that has asked for the other views before."""
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    write_vault(tmp_path, _notes(chance, 60))
    lasting = {name: _FORMULAS[name] for name in _FORMULAS if name in _LASTING}
    text = _base(lasting, 12)
    vault = open_vault(tmp_path)
    for number in chance.sample(range(12), 12):
        alone = open_vault(tmp_path)
        assert _cells(vault, text, f"V{number}", "N1") == _cells(alone, text, f"V{number}", "N1")


@pytest.mark.parametrize("this", ["N0", "N1"])
def test_a_change_and_another_place_are_seen(tmp_path: Path, this: str) -> None:
    """What the views share is of one state of the vault, and of one file around the base."""
    write_vault(tmp_path, "=== N0.md\n---\nprice: 1\n---\n=== N1.md\n---\nprice: 2\n---\n")
    text = _base({"plain": "price * 2", "mine": "this.file.name + price"}, 2)
    vault = open_vault(tmp_path)
    assert _cells(vault, text, "V0", this) == [("N1", "4", f"{this}2"), ("N0", "2", f"{this}1")]
    other = {"N0": "N1", "N1": "N0"}[this]
    assert _cells(vault, text, "V1", other) == [("N1", "4", f"{other}2")]
    (tmp_path / "N1.md").write_text("---\nprice: 5\n---\nlonger\n")
    assert _cells(vault, text, "V1", other) == [("N1", "10", f"{other}5")]
    assert _cells(vault, text, "V0", this) == [("N1", "10", f"{this}5"), ("N0", "2", f"{this}1")]


def test_a_day_in_another_zone_is_another_value(tmp_path: Path) -> None:
    """A date with a zone of its own is told in the person's."""
    write_vault(tmp_path, "=== N.md\n---\nprice: 1\nat: 2026-06-10T23:00:00Z\n---\n")
    text = _base({"day": "date(at).day", "hour": "date(at).hour"}, 2)
    vault = open_vault(tmp_path)
    own = vault.bases
    shared: RememberedResults[BaseResult] = RememberedResults()
    seen = []
    for zone in ("UTC", "Pacific/Auckland", "UTC"):
        now = partial(datetime, 2026, 6, 11, 12, tzinfo=ZoneInfo(zone))
        bases = Bases(own._files, own._index, own._settings, now, shared)
        seen.append([text_of(cell) for cell in bases.query(BaseSource(text=text), "V0").rows[0].cells])
    assert seen == [["N", "10", "23"], ["N", "11", "11"], ["N", "10", "23"]]


def test_files_of_conditions_that_views_share_follow_each_change(tmp_path: Path) -> None:
    """The index remembers which notes meet a condition: what it finds is what a look at every file finds."""
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    form = (
        '  - {{type: table, name: V{0}, filters: {{and: [price > {0}, \'file.hasProperty("up") && file.hasLink("N1")\','
        " \"name != 'b'\"]}}}}\n"
    )
    text = "filters: file.hasTag('a')\nviews:\n" + "".join(map(form.format, range(4)))
    write_vault(tmp_path, "".join(f"=== N{number}.md\n{_tagged(chance)}" for number in range(30)))
    vault = open_vault(tmp_path)
    own = vault.bases
    counts = set()
    for _ in range(6):
        for number in chance.sample(range(30), 10):
            (tmp_path / f"N{number}.md").write_text(_tagged(chance))
        (tmp_path / f"N{chance.randrange(30)}.md").unlink(missing_ok=True)
        for least in range(4):
            scan = Bases(own._files, own._index, own._settings, datetime.now, RememberedResults(), by_index=False)
            paths = own.query(BaseSource(text=text), f"V{least}").rows.paths()
            assert paths == scan.query(BaseSource(text=text), f"V{least}").rows.paths()
            counts.add(len(paths))
    assert len(counts) > 1


def _tagged(chance: random.Random) -> str:
    name, price = chance.choice("abc"), chance.randrange(5)
    properties = f"tags: [{chance.choice(['a', 'a/b', 'c'])}]\nprice: {price}\nPrice: {price + 1}\nname: {name}\n"
    return f"---\n{properties}{chance.choice(['up: x', 'other: x'])}\n---\n{chance.choice(['[[N1]]', '[[N2]]', '[[n1#P]]'])}\n"
