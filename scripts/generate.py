"""Write the files that are generated: the tools' catalog, and pages of the documentation.

``--check`` names stale ones. ``pages.command`` does it.
"""

from __future__ import annotations

import os
import sys

# Started as a file: make the folder above importable, so that the modules in `pages` are the package `scripts.pages`.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from scripts.pages.command import main  # noqa: E402 - the path comes first

if __name__ == "__main__":
    sys.exit(main())
