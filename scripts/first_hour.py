"""What an assistant does when it is asked for the five things of docs/first-hour.md: for its test and its pictures."""

from __future__ import annotations

from typing import Any

CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search_notes", {"query": "tomatoes"}),
    (
        "edit_note",
        {
            "path": "Garden plan",
            "edits": [{"action": "append", "section": "Next", "content": "- [ ] water the tomatoes"}],
        },
    ),
    ("create_note", {"path": "Projects/Herbs", "content": "Mint, basil, thyme. See [[Garden plan]].\n"}),
    ("move_notes", {"paths": ["Garden plan"], "to": "Garden 2026"}),
    ("delete_note", {"path": "Kitchen shelf"}),
)
