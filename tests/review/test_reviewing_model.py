"""Any sequence of edits and decisions leads to the bytes that a simple model in memory says, and the list agrees with it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review.test_reviewer import Desk
from vaultwire.vault.errors import VaultError

# Each region of a note is far from the others, so that an edit of one never stands in the way of another.
REGIONS = 4
NAMES = ("Plan.md", "Other.md")


def note(texts: list[str]) -> bytes:
    return "".join(f"{text}\n\nbetween {number}\nand on {number}\n\n" for number, text in enumerate(texts)).encode()


class Made(NamedTuple):
    """A change of the agent's: the regions it changed, by name and number, with their texts before and after."""

    id: str
    regions: dict[tuple[str, int], tuple[str, str]]


class Model:
    """The texts, and which pieces of each change are in effect."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.texts = {name: [f"{name} {number}" for number in range(REGIONS)] for name in NAMES}
        for name in NAMES:
            (desk.root / name).write_bytes(note(self.texts[name]))
        self.first = self.snapshot()
        self.made: list[Made] = []
        self.undone: list[tuple[str, dict[str, list[str]]]] = []  # the last decisions and the texts before them
        self.count = 0

    def snapshot(self) -> dict[str, list[str]]:
        return {name: list(texts) for name, texts in self.texts.items()}

    def edit(self, choices: list[tuple[int, int]]) -> None:
        self.count += 1
        regions: dict[tuple[str, int], tuple[str, str]] = {}
        for which, number in choices:
            name = NAMES[which]
            regions[name, number] = (self.texts[name][number], f"edit {self.count}")
        for (name, number), (_, after) in regions.items():
            self.texts[name][number] = after
        wanted = {name: note(self.texts[name]) for name, _ in sorted(regions)}
        (path, data), *more = wanted.items()
        self.made.append(Made(self.desk.edit(path, data, *more), regions))
        self.undone.clear()

    def pieces(self, made: Made) -> list[tuple[str, int]]:
        return sorted(made.regions)

    def undo(self, made: Made, chosen: list[tuple[str, int]], file: int | None, hunk: int | None) -> None:
        """Undo pieces: allowed if each is as the change left it, or is undone already as part of a larger undo."""
        before = self.snapshot()
        is_whole = file is None
        state = self.desk.state(made.id)[0]
        live = [each for each in chosen if self.texts[each[0]][each[1]] == made.regions[each][1]]
        gone = [each for each in chosen if each in self.parts(made)]
        can = (
            state != "undone"
            and bool(live)
            and len(live) + len(gone) == len(chosen)
            and (is_whole or not gone or hunk is None)
        )
        if not can:
            with pytest.raises(VaultError) as caught:
                self.desk.reviewer.decide(made.id, "undo", file=file, hunk=hunk)
            assert caught.value.code == "UNDO_CONFLICT"
            assert caught.value.details["conflicts"]
            return
        done = self.desk.reviewer.decide(made.id, "undo", file=file, hunk=hunk)
        for name, number in live:
            self.texts[name][number] = made.regions[name, number][0]
        self.undone.append((f"c{done['undo']}", before))

    def parts(self, made: Made) -> set[tuple[str, int]]:
        """Return the pieces that the page shows as undone."""
        names = sorted({name for name, _ in made.regions})
        found: set[tuple[str, int]] = set()
        for file, view in enumerate(self.desk.reviewer.item(made.id)["files"]):
            numbers = sorted(number for name, number in made.regions if name == names[file])
            assert view["hunk_count"] == len(numbers)
            found |= {
                (names[file], number)
                for number, hunk in zip(numbers, view["hunks"], strict=True)
                if hunk["state"] == "undone"
            }
        return found

    def bring_back(self) -> None:
        """Undo the last undo."""
        id_, before = self.undone.pop()
        self.desk.reviewer.decide(id_, "undo")
        self.texts = before

    def check(self) -> None:
        for name in NAMES:
            assert self.desk.at(name) == note(self.texts[name])
        for made in self.made:
            state, undone = self.desk.state(made.id)[0], self.parts(made)
            expected = "undone" if undone == set(made.regions) else "undone in part" if undone else "made"
            assert state == expected


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_sequence_of_decisions_leads_to_the_bytes_it_says(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Model(Desk(Path(folder)))
        regions = st.tuples(st.integers(0, 1), st.integers(0, REGIONS - 1))
        for _ in range(data.draw(st.integers(1, 8), "steps")):
            kinds = ["edit", "wish", "refused"]
            kinds += ["undo", "file", "hunk", "keep"] * 2 if model.made else []
            kinds += ["back"] * 3 if model.undone else []
            kind = data.draw(st.sampled_from(kinds), "what")
            if kind == "edit":
                model.edit(data.draw(st.lists(regions, min_size=1, max_size=4, unique=True)))
            elif kind in ("wish", "refused"):
                _propose(model, data.draw(regions), is_accepted=kind == "wish")
            elif kind == "back":
                model.bring_back()
            else:
                made = data.draw(st.sampled_from(model.made))
                _decide(model, made, kind, data.draw(st.sampled_from(model.pieces(made))))
            model.check()
        model.desk.reviewer.decide_many(since="1d", action="undo")
        assert {name: model.desk.at(name) for name in NAMES} == {name: note(model.first[name]) for name in NAMES}


def _decide(model: Model, made: Made, kind: str, piece: tuple[str, int]) -> None:
    names = sorted({name for name, _ in made.regions})
    numbers = sorted(number for name, number in made.regions if name == piece[0])
    file, hunk = names.index(piece[0]), numbers.index(piece[1])
    if kind == "undo":
        model.undo(made, model.pieces(made), None, None)
    elif kind == "file":
        model.undo(made, [each for each in model.pieces(made) if each[0] == piece[0]], file, None)
    elif kind == "hunk":
        model.undo(made, [piece], file, hunk)
    elif model.desk.state(made.id)[0] != "undone":
        model.desk.reviewer.decide(made.id, "keep", file=file, hunk=hunk)


def _propose(model: Model, region: tuple[int, int], *, is_accepted: bool) -> None:
    name, number = NAMES[region[0]], region[1]
    texts = list(model.texts[name])
    texts[number] = "wished"
    if texts == model.texts[name]:
        return
    item = model.desk.hold(name, note(texts))
    model.check()
    if is_accepted:
        model.desk.reviewer.decide(item, "accept")
        model.texts[name] = texts
        model.undone.clear()
    else:
        model.desk.reviewer.decide(item, "refuse", reason="not now")
    assert model.desk.state(item) == ("accepted" if is_accepted else "refused", True)
