"""The vault and the calls from which docs/tools.md has its examples. Only data: ``examples`` makes the calls.

The answers have to be the same in every run: no call may depend on today's date, and none asks for a page after the first.
"""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any, NamedTuple


class SampleCall(NamedTuple):
    """A call of a tool. ``earlier`` are the calls before it, in the same vault; their answers are not shown."""

    arguments: dict[str, Any]
    earlier: tuple[tuple[str, dict[str, Any]], ...] = ()


def _picture() -> bytes:
    """Return a PNG of one pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    # Stored, not compressed: zlib's versions compress differently.
    body = b"\x78\x01\x01\x02\x00\xfd\xff\x00\x80" + struct.pack(">I", zlib.adler32(b"\x00\x80"))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


PICTURE = _picture()
_BOOKS = "# Reading list\n\n- The Garden Against Time\n- 庭の本\n"
_BOARD = (
    '{"nodes": [{"id": "plan", "type": "file", "file": "Projects/Garden plan.md", "x": 0, "y": 0, "width": 400, '
    '"height": 300}, {"id": "idea", "type": "text", "text": "A bench in the shade?", "x": 500, "y": 0, "width": 250, '
    '"height": 60}], "edges": [{"id": "e1", "fromNode": "idea", "toNode": "plan"}]}'
)
_BASE_FILE = """filters: {and: ['file.inFolder("Projects")', 'file.hasTag("project")']}
views: [{type: table, name: All}, {type: table, name: Waiting, filters: status == "waiting"}]
"""
VAULT: dict[str, str | bytes] = {
    ".obsidian/app.json": '{"attachmentFolderPath": "Pictures"}',
    ".obsidian/daily-notes.json": '{"folder": "Journal"}',
    ".obsidian/templates.json": '{"folder": "Templates"}',
    "AGENTS.md": "New notes go to Inbox/. Ask before you delete anything.\n",
    "Board.canvas": _BOARD,
    "Home.md": "# Home\n\nWhat I am up to: [[Garden plan]], [[Kitchen shelf]], [[Reading list]]. #home\n",
    "Inbox/Books.md": _BOOKS,
    "Journal/2026-05-02.md": "Planted the first tomatoes. [[Ana]] came by with basil. #garden/log\n",
    "Journal/2026-05-03.md": "Rain all day. Read a chapter.\n\n## Log\n- slept well\n",
    "People/Ana.md": "---\naliases: [Ana Lima]\n---\nNeighbour, lends tools. Grows basil. See [[Garden plan#Next]].\n",
    "Pictures/Bed.png": PICTURE,
    "Projects.base": _BASE_FILE,
    "Projects/Garden plan.md": "---\ntags: [project, garden]\nstatus: growing\ndue: 2026-05-20\n---\n# Garden plan\n\n"
    "Tomatoes go to the south wall; they need sun.\nBasil beside the tomatoes, mint far away. Ask [[Ana]].\n\n"
    "![[Bed.png]]\n\n## Next\n- [ ] buy seeds 📅 2026-05-08\n- [x] build the raised bed\n",
    "Projects/Kitchen shelf.md": "---\ntags: [project, home]\nstatus: waiting\n---\n# Kitchen shelf\n\n"
    "Oak, 120 cm. Ask [[Anna]] for her drill.\n\n- [ ] measure the wall\n",
    "Reading list.md": _BOOKS,
    "Templates/Meeting.md": "# {{title}}\n\n## Attendees\n\n## Next steps\n",
}
CHANGED = 1_777_887_000
"""When all files were changed last: 2026-05-04, 09:30 UTC."""

_TICK = (
    "edit_note",
    {"path": "Garden plan", "edits": [{"action": "append", "section": "Next", "content": "- [ ] dig"}]},
)
_MOVE = ("move_notes", {"paths": ["Kitchen shelf"], "to": "Archive/"})
_COPY = (
    "create_note",
    {
        "path": "Inbox/Books (Conflicted copy Pad 202603121129).md",
        "content": f"---\ntags: [books]\n---\n{_BOOKS}- Braiding Sweetgrass\n",
    },
)
_DELETE = ("delete_note", {"path": "Books"})

_BASE = """filters: file.inFolder("Projects")
formulas: {words: file.name.split(" ").length}
views: [{type: table, name: Projects, order: [file.name, formula.words], sort: [{property: formula.words}]}]
"""
_MEMORY = (
    "create_note",
    {
        "path": "Memory/Ana",
        "content": "- 2026-05-04 Ana takes her tea without milk. [by:: claude-code] [from:: [[Garden plan]]] ^m1\n"
        "- 2026-05-09 Ana is away until June. [by:: claude-code] ^m2\n",
    },
)
CALLS: dict[str, SampleCall] = {
    # the standard set
    "search": SampleCall({"query": "When do tomatoes need water?"}),
    "fetch": SampleCall({"id": "Garden plan"}),
    "search_notes": SampleCall({"query": "tomatoes -rain"}),
    "find_notes": SampleCall({"tags": ["project"], "properties": ["status=growing"], "show": ["status", "due"]}),
    "read_notes": SampleCall({"paths": ["Garden plan#Next", "2026-05-03"]}),
    "list_links": SampleCall({"path": "Garden plan", "what": "in"}),
    "vault_overview": SampleCall({"what": "folders"}),
    "list_tasks": SampleCall({"status": "todo"}),
    "check_notes": SampleCall({"folder": "Projects"}),
    "create_note": SampleCall(
        {"path": "Inbox/Meeting with Ana", "template": "Meeting", "properties": {"status": "open", "tags": ["meeting"]}}
    ),
    "append_daily_note": SampleCall({"content": "- watered the tomatoes", "day": "2026-05-03", "section": "Log"}),
    "edit_note": SampleCall(
        {
            "path": "Garden plan",
            "edits": [
                {"action": "append", "section": "Next", "content": "- [ ] water the tomatoes"},
                {"action": "replace", "text": "south wall", "content": "west wall"},
            ],
        }
    ),
    "set_properties": SampleCall({"paths": ["Garden plan", "Kitchen shelf"], "set": {"status": "done", "year": 2026}}),
    "move_notes": SampleCall({"paths": ["Garden plan"], "to": "Archive/Garden 2026"}),
    "rename": SampleCall({"what": "tag", "old": "garden", "new": "outdoors"}),
    "delete_note": SampleCall({"path": "Inbox/Books"}),
    "list_changes": SampleCall({}, (_TICK, _MOVE)),
    "undo_changes": SampleCall({"changes": [2, 1]}, (_TICK, _MOVE)),
    "more_tools": SampleCall({"tool": "find_duplicates", "arguments": {}}),
    # those that are not listed
    "set_task": SampleCall({"tasks": [{"path": "Garden plan", "text": "buy seeds", "status": "done"}]}),
    "vault_guide": SampleCall({}),
    "remember": SampleCall({"text": "Ana takes her tea without milk.", "subject": "Ana", "source": "Garden plan"}),
    "recall": SampleCall({"query": "how does Ana like her tea?"}, (_MEMORY,)),
    "forget": SampleCall({"name": "Ana#^m1"}, (_MEMORY,)),
    "merge_notes": SampleCall({"source": "Inbox/Books", "target": "Reading list.md"}),
    "extract_section": SampleCall({"path": "Garden plan", "section": "Next", "to": "Projects/Garden tasks"}),
    "insert_template": SampleCall({"path": "Journal/2026-05-03.md", "template": "Meeting"}),
    "add_attachment": SampleCall(
        {"name": "Shelf.png", "data": base64.b64encode(PICTURE).decode(), "embed_in": "Kitchen shelf"}
    ),
    "list_attachments": SampleCall({}),
    "read_canvas": SampleCall({"path": "Board"}),
    "query_base": SampleCall({"yaml": _BASE}),
    "query_dataview": SampleCall({"query": 'TABLE status, due FROM "Projects" AND #project SORT due DESC'}),
    "set_properties_in_view": SampleCall({"base": "Projects.base", "set": {"reviewed": True}}),
    "create_note_in_view": SampleCall({"base": "Projects.base", "view": "Waiting", "name": "Pond"}),
    "edit_base": SampleCall(
        {"base": "Projects.base", "views": [{"name": "Done", "set": {"type": "table", "filters": 'status == "done"'}}]}
    ),
    "create_base": SampleCall({"path": "Garden", "search": "tag:#garden"}),
    "edit_canvas": SampleCall(
        {
            "path": "Board",
            "edits": [{"action": "add", "id": "ask", "text": "Ask Ana"}, {"action": "remove", "id": "e1"}],
        }
    ),
    "pending_changes": SampleCall({}),
    "resolve_conflicts": SampleCall({"path": _COPY[1]["path"], "dry_run": True}, (_COPY,)),
    "restore_note": SampleCall({"path": "Inbox/Books.md"}, (_DELETE,)),
    "list_notes": SampleCall({"folder": "Projects"}),
    "read_note": SampleCall({"path": "Garden plan", "part": "outline"}),
    "write_note": SampleCall({"path": "Inbox/Idea", "content": "A bench in the shade.\n"}),
    "search_by_tags": SampleCall({"tags": ["garden", "home"], "match": "any"}),
    "fix_links": SampleCall({"fixes": [{"from": "Anna", "to": "Ana"}]}),
    "find_duplicates": SampleCall({}),
}
NOT_SHOWN = {
    "web_search": "No example: its answer comes from a search engine, and differs from day to day.",
    "save_file": "No example: its file is one of ChatGPT's, at a URL that is valid for some minutes.",
}
"""The tools without an example, and why."""
