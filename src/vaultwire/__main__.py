"""``python -m vaultwire`` and the ``vaultwire`` command."""

from __future__ import annotations

import sys

from vaultwire.cli import main

if __name__ == "__main__":
    sys.exit(main())
