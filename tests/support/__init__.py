"""What several tests use."""

from __future__ import annotations

import os
import sys

# Programs that tests start find what is beside ``tests``, too: the builders of pages know the schemas of tools.
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
if _ROOT not in sys.path:
    sys.path.append(_ROOT)
