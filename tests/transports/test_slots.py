"""Who has a place among the connections: nobody keeps one by saying nothing, and no other computer takes them all."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.transports.http_server import LOCAL, Slots, address_of


class Somebody:
    """A connection, as its place sees it."""

    def __init__(self, address: str = LOCAL, since: float = 0.0, *, works: bool = False, served: bool = False) -> None:
        self.address = address
        self.idle_since = since
        self.is_idle = not works
        self.was_served = served
        self.is_gone = False

    def hang_up(self) -> None:
        self.is_gone = True


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        (("127.0.0.1", 1), LOCAL),
        (("127.9.9.9", 1), LOCAL),
        (("::1", 1, 0, 0), LOCAL),
        (("::ffff:127.0.0.1", 1, 0, 0), LOCAL),
        (("192.0.2.7", 1), "192.0.2.7"),
        (("::ffff:192.0.2.7", 1, 0, 0), "192.0.2.7"),
        (("2001:db8:1:2:3:4:5:6", 1, 0, 0), "2001:db8:1:2::/64"),
        (("2001:db8:1:2::9", 1, 0, 0), "2001:db8:1:2::/64"),
        (("fe80::1%eth0", 1, 0, 2), "fe80::/64"),
    ],
)
def test_addresses_that_one_client_has_at_will_are_one(peer: tuple[Any, ...], address: str) -> None:
    assert address_of(peer) == address


def test_who_never_asked_for_anything_goes_first_and_then_who_was_idle_longest() -> None:
    slots = Slots(4)
    guests = [
        Somebody(since=1, served=True),
        Somebody(since=2, served=True),
        Somebody(since=3),
        Somebody(since=0, works=True),
    ]
    assert all(slots.enter(each) for each in guests)
    newcomers = [Somebody(since=9, works=True) for _ in range(3)]
    for newcomer, gone in zip(newcomers, [{2}, {0, 2}, {0, 1, 2}], strict=True):
        assert slots.enter(newcomer)
        assert {number for number, each in enumerate(guests) if each.is_gone} == gone
    assert not slots.enter(Somebody())
    assert not guests[3].is_gone


def test_another_computer_gets_half_of_the_places_and_this_one_all() -> None:
    slots = Slots(6)
    far = [Somebody("192.0.2.7", works=True) for _ in range(4)]
    assert [slots.enter(each) for each in far] == [True, True, True, False]
    near = [Somebody(works=True) for _ in range(4)]
    assert [slots.enter(each) for each in near] == [True, True, True, False]
    for each in far:
        slots.leave(each)
    assert all(slots.enter(Somebody(works=True)) for _ in range(3))


def test_beyond_its_share_a_computer_makes_room_itself() -> None:
    slots = Slots(8)
    other = Somebody("192.0.2.8", since=-1)
    mine = [Somebody("192.0.2.7", since=number) for number in range(4)]
    assert all(slots.enter(each) for each in [other, *mine])
    assert slots.enter(Somebody("192.0.2.7", since=9))
    assert [each.is_gone for each in mine] == [True, False, False, False]
    assert not other.is_gone


@given(st.data())
def test_whatever_comes_and_goes_the_bounds_hold_and_who_works_stays(data: st.DataObject) -> None:
    most = data.draw(st.integers(1, 12), label="most")
    slots = Slots(most)
    inside: list[Somebody] = []
    for step in range(data.draw(st.integers(0, 60), label="steps")):
        if inside and data.draw(st.integers(0, 3), label="leaves") == 0:
            left = inside.pop(data.draw(st.integers(0, len(inside) - 1), label="who"))
            slots.leave(left)
            slots.leave(left)  # told twice is told once
            continue
        address = data.draw(st.sampled_from([LOCAL, "a", "b"]), label="address")
        guest = Somebody(address, step, works=data.draw(st.booleans(), label="works"), served=step % 2 == 0)
        share = most if address == LOCAL else max(1, most // 2)
        mine = [each for each in inside if each.address == address]
        who_must_make_room = mine if len(mine) >= share else inside if len(inside) >= most else None
        may_enter = who_must_make_room is None or any(each.is_idle for each in who_must_make_room)
        assert slots.enter(guest) == may_enter
        gone = [each for each in inside if each.is_gone]
        assert all(each.is_idle for each in gone)
        assert len(gone) == (1 if may_enter and who_must_make_room is not None else 0)
        inside = [each for each in [*inside, *([guest] if may_enter else [])] if not each.is_gone]
        assert len(inside) <= most
        for far in ("a", "b"):
            assert sum(each.address == far for each in inside) <= max(1, most // 2)
