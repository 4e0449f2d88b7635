"""Slots for connections: how many there may be, in all and from one address, and which one is closed for a new one.

Anybody can open connections, also without a key. So a silent client keeps no slot: when all slots are taken, the new
connection gets the slot of one that is idle, first of those that never got an answer.
"""

from __future__ import annotations

import ipaddress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Protocol

    class SlotUser(Protocol):
        """A connection, or one that is still at its TLS handshake."""

        address: str
        """Where its client is, as ``address_of`` names it."""
        idle_since: float

        @property
        def is_idle(self) -> bool:
            """Whether no request of it is worked on."""

        @property
        def was_served(self) -> bool:
            """Whether it has got an answer that was no refusal."""

        def hang_up(self) -> None:
            """Close at once."""


LOCAL = ""
"""The address of this computer's own programs. They may take all slots: a proxy here brings the requests of all others."""


def address_of(peer: Any) -> str:
    """Return where a client is, from its socket's address. Addresses that one client can choose from count as one."""
    if not isinstance(peer, tuple):  # a socket in the file system
        return LOCAL
    address = ipaddress.ip_address(peer[0].partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        mapped = address.ipv4_mapped
        if mapped is None and not address.is_loopback:
            return str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))  # what one customer of a network gets
        address = mapped or address
    return LOCAL if address.is_loopback else str(address)


class Slots:
    """The connections that have a slot, by their clients' addresses."""

    def __init__(self, most: int) -> None:
        """``most``: connections in all. One other computer may have half of them."""
        self.most = most
        self._most_each = max(1, most // 2)
        self._users: dict[str, set[SlotUser]] = {}
        self._count = 0

    def enter(self, user: SlotUser) -> bool:
        """Give a slot to a new connection; return False if none can be closed for it, because all wait for answers."""
        same = self._users.setdefault(user.address, set())
        room = True
        if user.address != LOCAL and len(same) >= self._most_each:
            room = self._close_one(same)
        elif self._count >= self.most:
            room = self.close_one()
        if room:  # ``same`` may be empty now, and no longer in ``_users``
            self._users.setdefault(user.address, set()).add(user)
            self._count += 1
        elif not same:
            self._users.pop(user.address, None)
        return room

    def leave(self, user: SlotUser) -> None:
        """Take the slot back, if that has not been done."""
        same = self._users.get(user.address, set())
        if user in same:
            same.remove(user)
            self._count -= 1
            if not same:
                del self._users[user.address]

    def close_one(self) -> bool:
        """Close the connection that needs its slot least; return False if all need theirs."""
        return self._close_one(user for users in self._users.values() for user in users)

    def _close_one(self, users: Iterable[SlotUser]) -> bool:
        idle = (user for user in users if user.is_idle)
        found = min(idle, key=lambda user: (user.was_served, user.idle_since), default=None)
        if found is None:
            return False
        self.leave(found)
        found.hang_up()
        return True
