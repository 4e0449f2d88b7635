"""The program behind ``make bench``: measures, prints a table, writes the same as JSON to ``bench/results``."""

from __future__ import annotations

import os
import sys

# Started as a file: make the folder above importable, so that the modules beside this one are the package `bench`.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from bench.command import main  # noqa: E402 - the path comes first

if __name__ == "__main__":
    sys.exit(main())
