"""Forty requests of people, the calls that a good client makes for each, and what must then be true.

A request holds if the vault is as the person wanted it, or if the results hold what an answer needs. The calls are those of a
model that knows the listed tools and nothing of the vault but what its owner says and earlier results tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.agents_vaults import TODAY, day

_BUDGET = 200  # tokens of the results of most requests


class Results:
    """What the calls of a request have returned so far, and the vault as it is now."""

    def __init__(self, vault: Path) -> None:
        self.vault = vault
        self.texts: list[str] = []

    def has(self, *parts: str) -> bool:
        """Tell whether the results hold all of these texts."""
        together = "\n".join(self.texts)
        return all(part in together for part in parts)

    def found(self, pattern: str) -> str:
        """Return the first group of the pattern's first match in the results; LookupError if there is none."""
        match = re.search(pattern, "\n".join(self.texts))
        if match is None:
            raise LookupError(pattern)
        return match[1]

    def note(self, path: str) -> str:
        """Return a note's text as it is now."""
        return (self.vault / path).read_text(encoding="utf-8")

    def is_there(self, path: str) -> bool:
        """Tell whether there is such a file."""
        return (self.vault / path).exists()


Given = Mapping[str, Any] | Callable[[Results], Mapping[str, Any]]
Call = tuple[str, Given]


class Request(NamedTuple):
    """What somebody asks for. ``before`` are calls of earlier conversations, which do not count."""

    vault: str
    wish: str
    calls: Sequence[Call]
    holds: Callable[[Results], bool]
    budget: int = _BUDGET
    before: Sequence[Call] = ()
    options: Callable[[Path], Sequence[str]] = lambda _: ()


def _more(tool: str, arguments: Given) -> list[Call]:
    """Return the calls of a tool that is not listed: the first one's error shows its arguments."""
    if callable(arguments):
        call: Given = lambda results: {"tool": tool, "arguments": arguments(results)}  # noqa: E731 - one expression
    else:
        call = {"tool": tool, "arguments": arguments}
    return [("more_tools", {"tool": tool}), ("more_tools", call)]


def _picture(folder: Path) -> Sequence[str]:
    """Put a picture where the person lets pictures be taken from."""
    source = folder / "pictures"
    source.mkdir()
    (source / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(64))
    return ("--attachments-from", str(source))


_WEBSITE = "Projects/Website relaunch.md"

_DAILY = [
    Request(
        "daily", "What did I do yesterday?", [("read_notes", {"paths": ["yesterday"]})], lambda r: r.has("tulip bulbs")
    ),
    Request(
        "daily",
        "Add to my log for today that I called Mum.",
        [("append_daily_note", {"content": "- Called Mum", "section": "Log"})],
        lambda r: (
            "## Log\n- Worked" in r.note(f"Daily/{day(0)}.md")
            and "- Called Mum\n" in r.note(f"Daily/{day(0)}.md").split("## Tasks")[0]
        ),
    ),
    Request(
        "daily",
        "What did I do in the last seven days?",
        [("read_notes", {"paths": ["last 7 days"]})],
        lambda r: r.has("tulip bulbs", "bicycle lamp", "Marco Rossi", "Dentist"),
        budget=500,
    ),
    Request(
        "daily",
        "What is due by the end of the week, and what is late?",
        [("list_tasks", {"due": f"<={day(6)}", "sort": "due"})],
        lambda r: r.has("renew passport", "pay the rent") and not r.has("water the plants"),
    ),
    Request(
        "daily",
        "I have bought the milk.",
        [
            ("list_tasks", {"text": "milk"}),
            *_more("set_task", {"tasks": [{"path": f"Daily/{day(0)}.md", "text": "buy milk", "status": "done"}]}),
        ],
        lambda r: "- [x] buy milk" in r.note(f"Daily/{day(0)}.md"),
    ),
    Request(
        "daily",
        "Remind me to buy stamps on the day after tomorrow.",
        [("append_daily_note", {"content": f"- [ ] buy stamps 📅 {day(2)}", "section": "Tasks"})],
        lambda r: f"- [ ] buy stamps 📅 {day(2)}" in r.note(f"Daily/{day(0)}.md"),
    ),
    Request(
        "daily",
        "When did I last speak to Priya, and when is her birthday?",
        [("search_notes", {"query": "Priya", "folder": "Daily"}), ("read_notes", {"paths": ["Priya Nair"]})],
        lambda r: r.has(day(-1), "1990-03-14"),
    ),
    Request(
        "daily",
        "How long does grandmother's cake bake?",
        [("search_notes", {"query": "how long does grandmother's cake bake?"})],
        lambda r: r.has("Apple cake", "45 minutes"),
    ),
    Request(
        "daily",
        "Make a meeting note for the talk with Marco, from my template.",
        [("create_note", {"path": "Talk with Marco", "template": "Meeting"})],
        lambda r: (
            "# Talk with Marco\n" in r.note("Inbox/Talk with Marco.md")
            and "## Attendees" in r.note("Inbox/Talk with Marco.md")
        ),
    ),
    Request(
        "daily",
        "Which books did I give five stars, and who wrote them?",
        [("find_notes", {"tags": ["book"], "properties": ["rating=5"], "show": ["author"]})],
        lambda r: r.has("Frank Herbert", "Michael Ende") and not r.has("Jane Austen"),
    ),
    Request(
        "daily",
        "I have finished Dune today.",
        [("set_properties", {"paths": ["Dune"], "set": {"status": "read", "finished": day(0)}})],
        lambda r: "status: read\n" in r.note("Books/Dune.md") and f"finished: {day(0)}\n" in r.note("Books/Dune.md"),
    ),
    Request(
        "daily",
        "Which notes have I changed since yesterday?",
        [("find_notes", {"modified_after": "yesterday", "sort": "modified", "limit": 20})],
        lambda r: r.has("Daily/"),
    ),
    Request(
        "daily",
        "Undo what you did in the last hour.",
        [("undo_changes", {"since": "1h"})],
        lambda r: "nonsense" not in r.note("Books/Emma.md") and not r.is_there("Inbox/Wrong.md"),
        before=[
            ("edit_note", {"path": "Emma", "edits": [{"action": "append", "body": True, "content": "nonsense"}]}),
            ("create_note", {"path": "Wrong", "content": "wrong"}),
        ],
    ),
    Request(
        "daily",
        "Write the highlights of this week into my weekly note.",
        [
            ("read_notes", {"paths": ["last 7 days"]}),
            ("append_daily_note", {"day": "this week", "content": "- Tulip bulbs planted\n- Passport is late"}),
        ],
        lambda r: any(
            "- Tulip bulbs planted" in path.read_text(encoding="utf-8") for path in r.vault.glob("**/*-W*.md")
        ),
        budget=500,
    ),
]

_PROJECTS = [
    Request(
        "projects",
        "Which active projects are due in the next two weeks?",
        [("find_notes", {"properties": ["status=active", f"due<={day(14)}"], "show": ["due", "status"]})],
        lambda r: r.has("Website relaunch", "Hiring", day(9), day(3)) and not r.has("Office move"),
    ),
    Request(
        "projects",
        'Rename "Website relaunch" to "Website 2027".',
        [("move_notes", {"paths": ["Website relaunch"], "to": "Website 2027"})],
        lambda r: (
            r.is_there("Projects/Website 2027.md") and "[[Website 2027]]" in r.note(f"Meetings/{day(0)} Weekly.md")
        ),
    ),
    Request(
        "projects",
        "Move the projects that are done to Archive.",
        [
            ("find_notes", {"folder": "Projects", "properties": ["status=done"]}),
            ("move_notes", {"paths": ["Projects/Audit 2025.md", "Projects/Summer party.md"], "to": "Archive/"}),
        ],
        lambda r: r.is_there("Archive/Audit 2025.md") and r.is_there("Archive/Summer party.md"),
    ),
    Request(
        "projects",
        "Some of my tags say the same thing. Tidy them.",
        [("vault_overview", {"what": "tags"}), ("rename", {"what": "tag", "old": "to-do", "new": "todo"})],
        lambda r: not any("#to-do" in path.read_text(encoding="utf-8") for path in r.vault.glob("Meetings/*.md")),
    ),
    Request(
        "projects",
        'Call the property "deadline" "due", as everywhere else.',
        [("rename", {"what": "property", "old": "deadline", "new": "due"})],
        lambda r: "due: " in r.note("Projects/Budget 2026.md"),
    ),
    Request(
        "projects",
        "Set Hiring, Office move and Tax return to waiting.",
        [("set_properties", {"paths": ["Hiring", "Office move", "Tax return"], "set": {"status": "waiting"}})],
        lambda r: all(
            "status: waiting" in r.note(f"Projects/{name}.md") for name in ("Hiring", "Office move", "Tax return")
        ),
    ),
    Request(
        "projects",
        "How is this vault organised?",
        [("vault_overview", {"what": "folders"}), ("vault_overview", {"what": "properties"})],
        lambda r: r.has("Meetings", "Archive", "status"),
    ),
    Request(
        "projects",
        "Fix the broken links in my inbox.",
        [
            ("check_notes", {"folder": "Inbox"}),
            (
                "edit_note",
                {
                    "path": "Inbox/Broken.md",
                    "edits": [
                        {"action": "replace", "text": "[[Lea Kimm]]", "content": "[[Lea Kim]]"},
                        {"action": "replace", "text": "[[Ofice move]]", "content": "[[Office move]]"},
                        {
                            "action": "replace",
                            "text": "[[Website relaunch#Goals]]",
                            "content": "[[Website relaunch#Goal]]",
                        },
                    ],
                },
            ),
        ],
        lambda r: "[[Lea Kim]], [[Office move]] and [[Website relaunch#Goal]]" in r.note("Inbox/Broken.md"),
    ),
    Request(
        "projects",
        "What is still to do, soonest first?",
        [("list_tasks", {"sort": "due", "limit": 10})],
        lambda r: r.found(r"(?s)(write the plan for \w+)") == "write the plan for Hiring",
    ),
    Request(
        "projects",
        "Which meetings spoke about the budget?",
        [("list_links", {"what": "in", "path": "Budget 2026"})],
        lambda r: r.has(f"Meetings/{day(0)} Weekly.md", f"Meetings/{day(-77)} Weekly.md"),
        budget=300,
    ),
    Request(
        "projects",
        "Add a risk to Website relaunch: the designer may be ill. It needs a heading of its own.",
        [
            ("read_notes", {"paths": ["Website relaunch"], "part": "outline"}),
            (
                "edit_note",
                {
                    "path": "Website relaunch",
                    "edits": [{"action": "append", "body": True, "content": "\n## Risks\n- The designer may be ill"}],
                },
            ),
        ],
        lambda r: r.note(_WEBSITE).endswith("## Risks\n- The designer may be ill\n"),
    ),
    Request(
        "projects",
        "I have two notes on Acme. Make one of them.",
        [
            ("find_notes", {"name": "Acme"}),
            *_more("merge_notes", {"source": "Vendors/Acme Ltd 1.md", "target": "Vendors/Acme Ltd.md"}),
        ],
        lambda r: "Pays late." in r.note("Vendors/Acme Ltd.md") and not r.is_there("Vendors/Acme Ltd 1.md"),
    ),
    Request(
        "projects",
        "Make the ideas of Website relaunch a note of their own.",
        [*_more("extract_section", {"path": "Website relaunch", "section": "Ideas", "to": "Projects/Website ideas"})],
        lambda r: "[[Lea Kim]]" in r.note("Projects/Website ideas.md") and "Website ideas" in r.note(_WEBSITE),
    ),
    Request(
        "projects",
        "Put the logo from my pictures folder into Website relaunch.",
        [
            *_more(
                "add_attachment",
                lambda r: {"source": str(r.vault.parent / "pictures" / "logo.png"), "embed_in": "Website relaunch"},
            )
        ],
        lambda r: "![[" in r.note(_WEBSITE) and r.is_there("Attachments/logo.png"),
        options=_picture,
    ),
    Request(
        "projects",
        "Delete the old draft, but so that I get it back if I was wrong.",
        [("delete_note", {"path": "Old draft"})],
        lambda r: not r.is_there("Inbox/Old draft.md") and r.is_there(".trash/Old draft.md"),
    ),
]

_RESEARCH = [
    Request(
        "research",
        "What do my notes say on how replay helps against forgetting?",
        [("search_notes", {"query": "how does replay help against forgetting?"})],
        lambda r: r.has("Catastrophic forgetting", "Replay of old examples"),
        budget=300,
    ),
    Request(
        "research",
        "Which notes have to do with Replay buffers?",
        [("list_links", {"what": "related", "path": "Replay buffers"})],
        lambda r: r.has("Deep Q networks", "Catastrophic forgetting"),
    ),
    Request(
        "research",
        "Make a map of my papers, each with a line on what it says.",
        [
            ("find_notes", {"folder": "Papers", "show": ["description"]}),
            (
                "create_note",
                {
                    "path": "Papers/Map of papers",
                    "content": "- [[Replay buffers]]: steps are used again\n- [[Deep Q networks]]: values from pixels",
                },
            ),
        ],
        lambda r: r.has("network learns the value") and "[[Replay buffers]]" in r.note("Papers/Map of papers.md"),
        budget=300,
    ),
    Request(
        "research",
        "Which papers by Sutton have I not read?",
        [("find_notes", {"properties": ["author=Sutton", "status=unread"]})],
        lambda r: r.has("Policy gradients", "Options framework") and not r.has("Temporal differences"),
    ),
    Request(
        "research",
        "How is Deep Q networks connected to Catastrophic forgetting?",
        [("list_links", {"what": "path", "path": "Deep Q networks", "to": "Catastrophic forgetting"})],
        lambda r: r.has("Replay buffers"),
    ),
    Request(
        "research",
        "Which concepts does nothing link to?",
        [("search_notes", {"query": "path:Concepts", "limit": 20}), ("list_links", {"what": "orphans", "limit": 20})],
        lambda r: r.has("Concepts/Lonely idea.md"),
        budget=300,
    ),
    Request(
        "research",
        "What is the method of Deep Q networks?",
        [("read_notes", {"paths": ["[[Deep Q networks#Method]]"]})],
        lambda r: r.has("Method of Deep Q networks") and not r.has("## Links"),
    ),
    Request(
        "research",
        'Write "reward function" where I wrote "reward fn".',
        [
            ("search_notes", {"query": '"reward fn"'}),
            (
                "edit_note",
                {
                    "path": "Policy gradients",
                    "edits": [{"action": "replace", "text": "reward fn.", "content": "reward function.", "all": True}],
                },
            ),
        ],
        lambda r: (
            "reward function" in r.note("Papers/Policy gradients.md")
            and "reward fn" not in r.note("Papers/Policy gradients.md")
        ),
    ),
    Request(
        "research",
        "Which notes do I still have to write?",
        [("list_links", {"what": "unresolved"})],
        lambda r: r.has("Target network"),
    ),
    Request(
        "research",
        "Which of my tags mean the same?",
        [*_more("find_duplicates", {"what": "tags"})],
        lambda r: r.has("machine-learning", "machine_learning"),
    ),
    Request(
        "research",
        "What has been changed by assistants today, and how exactly was Attention changed?",
        [("list_changes", {"since": "today"}), ("list_changes", lambda r: {"change": int(r.found(r"(\d+)"))})],
        lambda r: r.has("Concepts/Attention.md", "Heads in parallel"),
        before=[
            (
                "edit_note",
                {"path": "Attention", "edits": [{"action": "append", "body": True, "content": "Heads in parallel."}]},
            )
        ],
        budget=300,
    ),
]

REQUESTS = [*_DAILY, *_PROJECTS, *_RESEARCH]
__all__ = ["REQUESTS", "TODAY", "Request", "Results"]
