"""Tags, properties, tasks and links of a bench's vault, found without the engine: the right answers of the lists.

It knows how the notes of these vaults are written (``engine_vault``); it does not read any other Markdown.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from bench.engine_corpus import Corpus, Note
from bench.engine_vault import COMMON_PROPERTY

_FRONT_TAG = re.compile(r"^  - (.+)$", re.MULTILINE)
_TEXT_TAG = re.compile(r"\s#(\S+)$", re.MULTILINE)
_PROPERTY = re.compile(r"^(\w+):(?: (.+))?$", re.MULTILINE)
_TASK = re.compile(r"^- \[(.)\] (.*)$")
_LINK = re.compile(r"\[\[([^\]]+)\]\]")


class Task(NamedTuple):
    """A task to do."""

    path: str
    line: int
    text: str


class Facts:
    """What the notes of a vault hold besides text."""

    def __init__(self, corpus: Corpus) -> None:
        self.tags: Counter[str] = Counter()
        self.properties: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.common_statuses: Counter[str] = Counter()  # of the notes that have the common property, too
        self.tagged: dict[str, set[str]] = {}
        self.open_tasks: list[Task] = []
        self.tasks_done = self.links = 0
        self.linked_by: Counter[str] = Counter()
        self.dead_ends: list[str] = []
        self._by_name = {note.name: note.path for note in corpus.notes}
        for note in corpus.notes:
            self._read(note)
        self.orphans = [path for path in corpus.paths if not self.linked_by[path]]

    def _read(self, note: Note) -> None:
        front, body = "", note.text
        if body.startswith("---\n"):
            front, _, body = body.partition("\n---\n")
        tags = {tag.lower() for tag in [*_FRONT_TAG.findall(front), *_TEXT_TAG.findall(body)]}
        for tag in tags | {tag.partition("/")[0] for tag in tags}:
            self.tags[tag] += 1
            self.tagged.setdefault(tag, set()).add(note.path)
        properties: dict[str, str] = dict(_PROPERTY.findall(front))
        self.properties.update(properties.keys())
        if "status" in properties:
            self.statuses[properties["status"]] += 1
            self.common_statuses[properties["status"]] += COMMON_PROPERTY in properties
        self._read_tasks(note)
        targets = {self._target(link) for link in _LINK.findall(note.text)} - {note.path}
        self.links += len(_LINK.findall(note.text))
        self.linked_by.update(targets)
        if not targets:
            self.dead_ends.append(note.path)

    def _target(self, link: str) -> str:
        name = link.partition("#")[0]
        return f"{name}.md" if "/" in name else self._by_name[name]

    def _read_tasks(self, note: Note) -> None:
        for number, line in enumerate(note.text.split("\n"), start=1):
            task = _TASK.match(line) if line.startswith("- [") else None
            if task is None:
                continue
            if task[1] == " ":
                self.open_tasks.append(Task(note.path, number, task[2]))
            else:
                self.tasks_done += 1
