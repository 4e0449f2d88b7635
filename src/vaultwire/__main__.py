"""``python -m vaultwire`` and the ``vaultwire`` command."""

from __future__ import annotations

import atexit
import gc
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_INTERRUPTED = 130  # as shells do: 128 + SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. From the first import on, Ctrl-C ends it without a traceback."""
    # At its end Python looks through all objects for cycles, three times: 30 ms for what the system frees anyway.
    atexit.register(gc.freeze)
    try:
        from vaultwire import cli  # noqa: PLC0415 - see above

        return cli.main(arguments)
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
