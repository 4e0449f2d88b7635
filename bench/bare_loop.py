"""The smallest Python server: a loop over lines with ``json``. Its call shows what pipes and client cost.

No checks, no cancellation, no deadlines. Noise of the machine affects it as much as ours: compare the two.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    """Answer any request; ``tools/call`` with its own text."""
    output = sys.stdout.buffer
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = {}
        if message["method"] == "tools/call":
            text = message["params"]["arguments"]["text"]
            result = {"content": [{"type": "text", "text": text}], "structuredContent": {"text": text}}
        output.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n")
        output.flush()


if __name__ == "__main__":
    main()
