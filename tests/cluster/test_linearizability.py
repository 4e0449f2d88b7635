"""The judge of histories itself, and the history of edits of one note through three servers whose owner is killed."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.failing_servers import Team
from support.linearizability import NEVER, Call, misfit
from support.mixed_load import FIRST, Load, Outcome
from vaultwire.cluster.database import Database


def read(began: float, ended: float, text: str) -> Call:
    return Call(0, began, ended, text)


def write(began: float, ended: float, text: str, new: str, *, done: bool = True) -> Call:
    return Call(0, began, ended, text, new, done)


GOOD: dict[str, list[Call]] = {
    "nothing": [],
    "a read between": [write(0, 1, "a", "b"), read(2, 3, "b"), write(4, 5, "b", "c")],
    "a read at the same time sees either": [write(0, 4, "a", "b"), read(1, 2, "b"), read(1, 3, "a")],
    "one of two writers is refused": [write(0, 3, "a", "b"), write(1, 4, "a", "c", done=False), read(5, 6, "b")],
    "a write without an answer was done": [write(0, NEVER, "a", "b"), read(5, 6, "b")],
    "a write without an answer was not done": [write(0, NEVER, "a", "b"), read(5, 6, "a")],
    "a write without an answer was done late": [write(0, NEVER, "a", "b"), read(5, 6, "a"), read(7, 8, "b")],
    "back to the text of before": [
        write(0, 1, "a", "b"),
        write(2, 3, "b", "a"),
        write(4, 5, "a", "c"),
        read(6, 7, "c"),
    ],
}
BAD: dict[str, list[Call]] = {
    "a lost edit": [write(0, 1, "a", "b"), read(2, 3, "a")],
    "two done from one text": [write(0, 3, "a", "b"), write(0, 3, "a", "c")],
    "a read of the past": [write(0, 1, "a", "b"), write(2, 3, "b", "c"), read(4, 5, "b")],
    "a text that nobody wrote": [read(0, 1, "z")],
    "refused for no reason": [write(0, 1, "a", "b", done=False)],
    "seen, then not": [write(0, NEVER, "a", "b"), read(1, 2, "b"), read(3, 4, "a")],
    "seen before it began": [read(0, 1, "b"), write(2, NEVER, "a", "b")],
    "two reads see two orders": [
        write(0, 9, "a", "b"),
        write(0, 9, "b", "a"),
        read(1, 2, "b"),
        read(3, 4, "a"),
        read(5, 6, "b"),
    ],
}


@pytest.mark.parametrize("name", GOOD)
def test_a_linearizable_history_is_accepted(name: str) -> None:
    assert misfit(GOOD[name], "a") is None


@pytest.mark.parametrize("name", BAD)
def test_a_history_that_is_not_linearizable_is_refused(name: str) -> None:
    assert misfit(BAD[name], "a") is not None


def is_right(order: Sequence[Call], first: str) -> bool:
    """Return whether the calls give their answers in this order, and none stands before one that had ended."""
    note = first
    for call in order:
        if not call.fits(note):
            return False
        note = note if call.has_no_effect or call.new is None else call.new
    return all(earlier.began <= later.ended for earlier, later in itertools.combinations(order, 2))


def orders(history: Sequence[Call]) -> Iterator[Sequence[Call]]:
    """Yield every order of the calls, with and without those that have no answer."""
    unheard = [call for call in history if call.ended == NEVER]
    for count in range(len(unheard) + 1):
        for left_out in itertools.combinations(unheard, count):
            yield from itertools.permutations([call for call in history if call not in left_out])


def test_it_judges_as_trying_every_order_does() -> None:
    chance = random.Random(20261126)
    verdicts = []
    for number in range(1500):
        history = []
        for client in range(chance.randint(1, 5)):
            began = chance.randint(0, 9) + client / 10
            ended = NEVER if chance.random() < 0.2 else began + chance.randint(1, 6)
            text, new = chance.choices("abc", k=2)
            is_write = ended == NEVER or chance.random() < 0.6
            done = ended == NEVER or chance.random() < 0.7 or not is_write
            history.append(Call(client, began, ended, text, new if is_write else None, done))
        expected = any(is_right(order, "a") for order in orders(history))
        assert (misfit(history, "a") is None) == expected, (number, history)
        verdicts.append(expected)
    assert 300 < sum(verdicts) < 1200  # both are met often


def simulated(chance: random.Random, calls: int) -> list[Call]:
    """Return the history of a note that is right: each call takes effect at one moment between its beginning and its end."""
    note, history = "a", []
    known = ["a"]
    for number in range(calls):
        moment = float(number)
        began, ended = moment - chance.random() * 8, moment + chance.random() * 8
        if chance.random() < 0.5:
            history.append(Call(number, began, ended, note))
            known.append(note)
            continue
        text = chance.choice(known[-3:])
        done = text == note
        note = f"text {number}" if done else note
        unheard = chance.random() < 0.1
        if not unheard or done:
            history.append(Call(number, began, NEVER if unheard else ended, text, f"text {number}", done))
    return history


@pytest.mark.parametrize("seed", range(5))
def test_a_long_history_is_judged_and_one_lost_edit_in_it_is_noticed(seed: int) -> None:
    history = simulated(random.Random(seed), 400)
    assert misfit(history, "a") is None
    edits = [call for call in history if call.new is not None and call.done and call.ended != NEVER]
    lost = edits[len(edits) // 2]
    late = Call(-1, 1000.0, 1001.0, lost.text)  # read at the end as if it had never been
    assert misfit([*history, late], "a") is not None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot kill a process as a crash does")
def test_edits_with_if_match_are_linearizable_while_the_owner_is_killed(
    tmp_path: Path, url: str, database: Database
) -> None:
    folders = {name: tmp_path / name for name in ("Notes", "Plans")}
    for folder in folders.values():
        folder.mkdir()
    load = Load([*folders], clients=4, seed=11)
    load.make_notes(folders)
    with ExitStack() as running:
        team = Team([*folders.values()], url, running)
        team.start_all()

        def during() -> None:
            team.wait_for_calls(load, 8)
            team.kill()
            team.wait_for_calls(load, 8)

        load.run(team.door, during)
        team.owner()
        assert load.faults(folders) == []
    assert Outcome.DONE in {call.outcome for call in load.done if call.kind == "edit"}
    assert len(load.histories["Notes"].calls) > len(load.clients)
    assert (folders["Notes"] / "Shared.md").read_text() != FIRST
