"""Ports for programs that must be told one before they start."""

from __future__ import annotations

import random
import socket

# Below those that systems give to who asks for any (from 32768 on Linux, from 49152 elsewhere): nobody else gets one of
# these between here and the program's start.
_FIRST, _LAST = 20_000, 32_000


def unused_port() -> int:
    """Return a port of this computer at which nothing listens."""
    while True:
        port = random.SystemRandom().randint(_FIRST, _LAST)
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:
            continue
