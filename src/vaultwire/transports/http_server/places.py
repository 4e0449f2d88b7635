"""Places: how many connections there may be, in all and from one address, and which of them has to go for a new one.

Whoever knows no key can open connections all the same. So nobody keeps a place by saying nothing: where all are taken, the
new connection gets that of one that waits for nothing, first of those that never asked for anything.
"""

from __future__ import annotations

import ipaddress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    class Guest(Protocol):
        """A connection, or one that is still at its TLS handshake."""

        address: str
        """Where it comes from, as ``address_of`` tells."""
        idle_since: float

        @property
        def is_idle(self) -> bool:
            """Whether no request of it is worked on."""

        @property
        def was_served(self) -> bool:
            """Whether it has got an answer that was no refusal."""

        def hang_up(self) -> None:
            """Be gone, at once."""


NEAR = ""
"""The address of this computer's own programs, which may take all places: a proxy here brings everybody else's requests."""


def address_of(peer: Any) -> str:
    """Return where a connection comes from, given what the socket says: addresses that one client has at will are one."""
    if not isinstance(peer, tuple):  # a socket in the file system
        return NEAR
    address = ipaddress.ip_address(peer[0].partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        if mapped is None and not address.is_loopback:
            return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))  # what one customer of a network gets
        address = mapped or address
    return NEAR if address.is_loopback else str(address)


class Places:
    """The connections there are, by where they come from."""

    def __init__(self, most: int) -> None:
        """``most``: in all; from one other computer half of them."""
        self.most = most
        self._most_each = max(1, most // 2)
        self._guests: dict[str, set[Guest]] = {}
        self._count = 0

    def enter(self, guest: Guest) -> bool:
        """Give a place to somebody new; False if those who would have to make room all wait for answers."""
        mine = self._guests.setdefault(guest.address, set())
        room = True
        if guest.address != NEAR and len(mine) >= self._most_each:
            room = self._let_go(mine)
        elif self._count >= self.most:
            room = self.let_one_go()
        if room:  # ``mine`` may have become empty, and been forgotten
            self._guests.setdefault(guest.address, set()).add(guest)
            self._count += 1
        elif not mine:
            self._guests.pop(guest.address, None)
        return room

    def leave(self, guest: Guest) -> None:
        """Take the place back, if it was not."""
        mine = self._guests.get(guest.address, set())
        if guest in mine:
            mine.remove(guest)
            self._count -= 1
            if not mine:
                del self._guests[guest.address]

    def let_one_go(self) -> bool:
        """Have the connection go that has least use for its place; False if all have some."""
        return self._let_go(guest for guests in self._guests.values() for guest in guests)

    def _let_go(self, guests: Iterable[Guest]) -> bool:
        idle = (guest for guest in guests if guest.is_idle)
        found = min(idle, key=lambda guest: (guest.was_served, guest.idle_since), default=None)
        if found is None:
            return False
        self.leave(found)
        found.hang_up()
        return True
