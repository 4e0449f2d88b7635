"""How often wrong keys may be given to the desk. A key cannot be guessed; this tells somebody who tries to stop.

The right key is always let in: a stranger who tries would else lock the person out who comes through the same proxy.
"""

from __future__ import annotations

import ipaddress
import time
from collections import deque
from collections.abc import Callable

_MOST, _SECONDS = 10, 60.0
# Addresses that are remembered; the one that failed longest ago goes.
_MAX_ADDRESSES = 1000
# A computer has all addresses of such a network.
_NETWORK_BITS = 64


class Attempts:
    """The latest failed attempts by the address that they came from. On one thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failed: dict[str, deque[float]] = {}

    def failed(self, address: str) -> bool:
        """Note that a wrong key was given from an address. Return whether that is too often."""
        place = _place(address)
        failed = self._failed.pop(place, None) or deque(maxlen=_MOST)
        self._failed[place] = failed
        if len(self._failed) > _MAX_ADDRESSES:
            del self._failed[next(iter(self._failed))]
        now = self._now()
        if len(failed) == _MOST and now - failed[0] < _SECONDS:
            return True
        failed.append(now)
        return False


def _place(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, _NETWORK_BITS), strict=False)) if found.version == 6 else address  # noqa: PLR2004
