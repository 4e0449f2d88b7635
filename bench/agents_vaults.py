"""Three small vaults of invented people, for the requests in ``agents_requests``: daily notes, projects, research.

Dates count from today, because requests speak of yesterday and last week. All else is the same in every run.
"""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

TODAY = date.today()  # noqa: DTZ011 - as the vault's owner sees it
_SEED = 20261123
# A model that searches must find its note among others.
_BACKGROUND = 60
_SUBJECTS = [
    "garden",
    "bicycle",
    "train",
    "piano",
    "kitchen",
    "river",
    "letter",
    "winter",
    "market",
    "window",
    "bread",
    "museum",
    "harbour",
    "camera",
]
_VERBS = [
    "repaired",
    "visited",
    "painted",
    "forgot",
    "found",
    "sold",
    "counted",
    "planned",
    "cleaned",
    "measured",
    "carried",
    "borrowed",
]


def day(offset: int) -> str:
    """Return the ISO date that many days from today."""
    return (TODAY + timedelta(days=offset)).isoformat()


def write_vault(name: str, root: Path) -> None:
    """Write the vault "daily", "projects" or "research" below the folder ``root``."""
    files = {"daily": _daily, "projects": _projects, "research": _research}[name]()
    for path, text in dict(files).items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
        os.utime(target, (_time_of(path), _time_of(path)))


def _time_of(path: str) -> float:
    """Return when a file was changed last: on the day in its name, or long ago."""
    found = re.search(r"\d{4}-\d\d-\d\d", path)
    changed = date.fromisoformat(found[0]) if found else TODAY - timedelta(100)
    return datetime(changed.year, changed.month, changed.day).timestamp()  # noqa: DTZ001 - the owner's clock


def _note(body: str, **properties: str | int) -> str:
    head = "".join(f"{name}: {value}\n" for name, value in properties.items())
    return f"---\n{head}---\n{body}" if head else body


def _background(folder: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """Yield notes of sentences that answer no request."""
    for number in range(_BACKGROUND):
        subject = chance.choice(_SUBJECTS)
        lines = [
            f"We {chance.choice(_VERBS)} the {chance.choice(_SUBJECTS)} near the {chance.choice(_SUBJECTS)}."
            for _ in range(chance.randint(4, 16))
        ]
        yield (
            f"{folder}/{subject.capitalize()} {number}.md",
            f"# {subject.capitalize()} {number}\n\n" + "\n".join(lines) + "\n",
        )


def _daily() -> Iterator[tuple[str, str]]:
    """Yield a person's days, people, books and recipes."""
    chance = random.Random(_SEED)  # noqa: S311 - the same notes everywhere is what it is for
    yield ".obsidian/daily-notes.json", json.dumps({"folder": "Daily", "template": "Templates/Daily"})
    yield ".obsidian/templates.json", json.dumps({"folder": "Templates"})
    yield ".obsidian/app.json", json.dumps({"newFileLocation": "folder", "newFileFolderPath": "Inbox"})
    yield "Templates/Daily.md", "# {{date}}\n\n## Log\n\n## Tasks\n"
    yield "Templates/Meeting.md", "# {{title}}\n\nDate: {{date}}\n\n## Attendees\n\n## Notes\n\n## Next steps\n"
    happened = {
        -1: "- Planted the last tulip bulbs\n- Phone call with [[Priya Nair]] about the flat",
        -2: "- Bought a bicycle lamp",
        -3: "- Dinner with [[Marco Rossi]], he moves to Lisbon",
        -5: "- Dentist: next visit in May",
        -9: "- Lunch with [[Priya Nair]]",
    }
    todo = {
        0: "- [ ] buy milk\n- [ ] water the plants",
        -1: f"- [ ] pay the rent 📅 {day(2)}\n- [x] post the letter",
        -2: f"- [ ] renew passport 📅 {day(-1)}",
    }
    for offset in range(-20, 1):
        log = happened.get(offset, f"- Worked in the {chance.choice(_SUBJECTS)} room")
        tasks = todo.get(offset, "- [x] read the post")
        yield f"Daily/{day(offset)}.md", f"# {day(offset)}\n\n## Log\n{log}\n\n## Tasks\n{tasks}\n"
    yield "People/Priya Nair.md", _note("Friend from Pune, an architect.\n", birthday="1990-03-14")
    yield "People/Marco Rossi.md", _note("Cook. Birthday party in June.\n", birthday="1988-06-02")
    yield (
        "Recipes/Apple cake.md",
        "# Apple cake\n\nGrandmother's way.\n\n- 4 apples\n- 200 g flour\n- 3 eggs\n\nBake for 45 minutes at 180 degrees.\n",
    )
    yield "Recipes/Lentil soup.md", "# Lentil soup\n\nRed lentils, cumin, lemon. Cook 20 minutes.\n"
    for title, author, rating, status in (
        ("Dune", "Frank Herbert", 5, "reading"),
        ("Emma", "Jane Austen", 4, "read"),
        ("Momo", "Michael Ende", 5, "read"),
        ("Solaris", "Stanislaw Lem", 3, "read"),
    ):
        yield f"Books/{title}.md", _note(f"# {title}\n", author=author, rating=rating, status=status, tags="[book]")
    yield from _background("Journal", chance)


def _projects() -> Iterator[tuple[str, str]]:
    """Yield projects with properties and tasks, the notes that link to them, and what became untidy."""
    chance = random.Random(_SEED + 1)  # noqa: S311 - as above
    yield ".obsidian/templates.json", json.dumps({"folder": "Templates"})
    yield ".obsidian/app.json", json.dumps({"attachmentFolderPath": "Attachments"})
    for title, status, due, tag in (
        ("Website relaunch", "active", day(9), "work"),
        ("Office move", "active", day(40), "work"),
        ("Tax return", "waiting", day(5), "home"),
        ("Summer party", "done", day(-90), "home"),
        ("Audit 2025", "done", day(-200), "work"),
        ("Hiring", "active", day(3), "work"),
    ):
        body = (
            f"# {title}\n\n## Goal\nFinish {title.lower()}.\n\n## Tasks\n"
            f"- [{'x' if status == 'done' else ' '}] write the plan for {title} 📅 {due}\n"
            "- [x] ask Lea\n\n## Ideas\nAsk [[Lea Kim]].\n"
        )
        yield f"Projects/{title}.md", _note(body, status=status, due=due, tags=f"[{tag}]")
    yield (
        "Projects/Budget 2026.md",
        _note("# Budget 2026\n\nRent, travel, [[Hiring]].\n", status="active", deadline=day(20), tags="[work]"),
    )
    for number in range(12):
        yield (
            f"Meetings/{day(-7 * number)} Weekly.md",
            (
                "# Weekly\n\n- [[Website relaunch]]: on time\n- [[Budget 2026|budget]]\n"
                f"- #{'todo' if number % 2 else 'to-do'} ask [[Lea Kim]]\n"
            ),
        )
    yield "People/Lea Kim.md", "# Lea Kim\n\nDesigner.\n"
    yield "Vendors/Acme Ltd.md", "# Acme Ltd\n\nPhone 030 1234. Prints our flyers.\n"
    yield "Vendors/Acme Ltd 1.md", "# Acme Ltd\n\nPhone 030 1234. Prints our flyers.\n\nPays late.\n"
    yield "Inbox/Broken.md", "# Broken\n\nSee [[Lea Kimm]], [[Ofice move]] and [[Website relaunch#Goals]].\n"
    yield "Inbox/Old draft.md", "draft\n"
    yield from _background("Archive", chance)


def _research() -> Iterator[tuple[str, str]]:
    """Yield papers and concepts with descriptions, tags and links."""
    chance = random.Random(_SEED + 2)  # noqa: S311 - as above
    for title, author, year, status, about in (
        (
            "Replay buffers",
            "Lin",
            1992,
            "read",
            "Storing past steps lets an agent learn from each of them several times.",
        ),
        (
            "Catastrophic forgetting",
            "McCloskey",
            1989,
            "read",
            "A network that learns a second task loses the first one. Replay of old examples reduces the loss.",
        ),
        (
            "Temporal differences",
            "Sutton",
            1988,
            "read",
            "Predictions are corrected by later predictions, before the outcome is known.",
        ),
        (
            "Policy gradients",
            "Sutton",
            2000,
            "unread",
            "The parameters of a policy follow the gradient of the expected reward fn.",
        ),
        ("Options framework", "Sutton", 1999, "unread", "Actions that take several steps."),
        (
            "Deep Q networks",
            "Mnih",
            2015,
            "read",
            "A network learns the value of actions from pixels, with replay and a target network.",
        ),
    ):
        links = {
            "Deep Q networks": "[[Replay buffers]], [[Temporal differences]], [[Target network]]",
            "Replay buffers": "[[Catastrophic forgetting]]",
            "Policy gradients": "[[Temporal differences]]",
        }
        body = f"# {title}\n\n{about}\n\n## Method\nMethod of {title}: {about.lower()}\n\n## Links\n{links.get(title, '')}\n"
        yield (
            f"Papers/{title}.md",
            _note(body, author=author, year=year, status=status, description=f'"{about}"', tags="[rl, paper]"),
        )
    yield (
        "Concepts/Eligibility trace.md",
        "# Eligibility trace\n\nA memory of recent states, for [[Temporal differences]]. #rl\n",
    )
    yield "Concepts/Lonely idea.md", "# Lonely idea\n\nSleep as replay. #RL\n"
    yield "Concepts/Attention.md", "# Attention\n\nWeights over inputs. #machine-learning\n"
    yield "Concepts/Kernels.md", "# Kernels\n\nSimilarity without features. #machine_learning\n"
    yield from _background("Diary", chance)
