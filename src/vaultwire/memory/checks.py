"""What is wrong in memory, and which claims of wiki notes rest on no source. It reads, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vaultwire.markdown.parse import parse_note
from vaultwire.memory.entries import Block, Entry, Subject, blocks
from vaultwire.memory.keeping import Memory
from vaultwire.memory.ranking import says_the_same, words_in
from vaultwire.vault.errors import VaultError
from vaultwire.vault.links.faults import (
    MISSING_BLOCK,
    MISSING_HEADING,
    UNRESOLVED_EMBED,
    UNRESOLVED_LINK,
    Finding,
)
from vaultwire.vault.links.likeness import SAME, TYPO, letters_of, likeness_of
from vaultwire.vault.search.questions import bare
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

UNDATED, DUPLICATE, DIFFERING = "undated-entry", "duplicate-entry", "differing-entry"
SUPERSEDED, SUBJECT_TWICE, DEAD_LINK = "superseded-entry", "subject-twice", "dead-link"
UNSOURCED, DEAD_SOURCE, NO_SOURCE_NOTE, NO_ADDRESS = "claim-without-source", "dead-source", "not-a-source", "no-address"

KINDS = (UNDATED, DUPLICATE, DIFFERING, SUPERSEDED, SUBJECT_TWICE, DEAD_LINK)
"""The kinds of findings of the check of entries."""

WIKI_TAGS, SOURCE_TAG = ("subject", "entity"), "source"
"""The tags of wiki notes, and of the notes of their sources."""
_ADDRESSES = ("source", "url")  # properties that hold where a source is
_OPEN = re.compile(r"open questions?|questions?|see also", re.IGNORECASE)
_DEAD = (UNRESOLVED_LINK, UNRESOLVED_EMBED, MISSING_HEADING, MISSING_BLOCK)
_WEB = re.compile(r"https?://[^\s)>\]]+")
_LINKS = re.compile(r"!?\[\[[^\[\]]*\]\]|!?\[[^\[\]]*\]\([^()]*\)|https?://\S+")
_TODO = re.compile(r"\s*[-*+] \[ \]")
_LEAST_WORDS = 3  # fewer, beside the links, claim nothing
# Entries are compared with the others of their subject, and these grow with the square of their number.
_MOST_COMPARED = 300
_NUMBERS = re.compile(r"\d+")


def check_memory(vault: Vault, path: str, folder: str, progress: Progress) -> list[tuple[VaultPath, list[Finding]]]:
    """Return what is wrong in memory, by note in path order; a note without a finding is there, too.

    ``path``: only of this note; ``folder``: another one than that of the vault's memory; both may be empty. Raises VaultError
    as ``Vault.locate`` does.
    """
    only = vault.locate(path, progress) if path else ""
    found = _check_all(vault, Memory(vault, folder.strip("/") or vault.memory_folder, progress), progress)
    return [each for each in found if only in ("", each[0])]


def _check_all(vault: Vault, memory: Memory, progress: Progress) -> list[tuple[VaultPath, list[Finding]]]:
    subjects = memory.subjects
    findings = {subject.path: [*_subject_faults(subject)] for subject in subjects}
    first: dict[str, Entry] = {}
    for subject in subjects:
        progress.check()
        for entry in subject.entries:
            known = None if entry.superseded else first.setdefault(bare(entry.text), entry)
            if known is not None and known is not entry and known.path != entry.path:
                findings[subject.path].append(_duplicate(entry, known))
        findings[subject.path] += [
            Finding(DEAD_LINK, each.message, each.line)
            for each in vault.check(subject.path, progress, exactly=True)[1]
            if each.kind in _DEAD
        ]
    for number, subject in enumerate(subjects):
        other = next((each for each in subjects[:number] if _is_twice(subject, each)), None)
        if other is not None:
            message = f"Nearly the name of {other.path!r}: one subject has one note. merge_notes joins them."
            findings[subject.path].append(Finding(SUBJECT_TWICE, message, 1))
    return [(path, sorted(each, key=lambda finding: finding.line)) for path, each in findings.items()]


def _subject_faults(subject: Subject) -> Iterator[Finding]:
    current: list[Entry] = []
    for entry in subject.entries[:_MOST_COMPARED]:
        if entry.day is None:
            yield Finding(UNDATED, "It has no date: nobody can tell how old it is.", entry.first_line)
        if entry.superseded:
            message = f"A later entry corrected it on {entry.superseded}; forget {entry.address!r} if nobody needs it."
            yield Finding(SUPERSEDED, message, entry.first_line)
            continue
        for other in current:
            if says_the_same(entry.text, other.text):
                yield _duplicate(entry, other)
                break
            if _differs(entry.text, other.text):
                message = (
                    f"It says the same as {other.address!r}, with other numbers. If that is out of date, remember the right "
                    f'one with "replaces", or forget one.'
                )
                yield Finding(DIFFERING, message, entry.first_line)
                break
        current.append(entry)


def _duplicate(entry: Entry, other: Entry) -> Finding:
    return Finding(DUPLICATE, f"{other.address!r} says nearly the same: forget one of them.", entry.first_line)


def _differs(one: str, other: str) -> bool:
    """Tell whether two texts are alike but for their numbers."""
    numbers = [_NUMBERS.findall(text) for text in (one, other)]
    return (
        all(numbers) and numbers[0] != numbers[1] and says_the_same(*(_NUMBERS.sub("", each) for each in (one, other)))
    )


def _is_twice(one: Subject, other: Subject) -> bool:
    return likeness_of(letters_of(one.name), letters_of(other.name)) in (SAME, TYPO)


# ---------------------------------------------------------------------- claims and their sources


def check_sources(vault: Vault, path: str, folder: str, progress: Progress) -> list[tuple[VaultPath, list[Finding]]]:
    """Return the claims without a source in one note, or in all below a folder that are tagged as wiki notes or sources.

    Each claim has a link to a note of its source, which says where that is, or an address. Raises VaultError as
    ``Vault.locate`` does.
    """
    sources = _Sources(vault, progress)
    if path:
        paths = [vault.locate(path, progress)]
    else:
        tags = [*WIKI_TAGS, SOURCE_TAG]
        tagged = vault.overview.tagged(tags, every=False, folder=folder, progress=progress)
        paths = [each.path for each in tagged.all(progress)]
    return [(each, [*sources.findings(each)]) for each in paths]


class _Sources:
    def __init__(self, vault: Vault, progress: Progress) -> None:
        self._vault = vault
        self._progress = progress
        self._known: dict[VaultPath, bool] = {}

    def findings(self, path: VaultPath) -> Iterator[Finding]:
        self._progress.check()
        note = self._vault.read(path, self._progress)
        if self._is_source(path):
            if not any(text.strip() for name in _ADDRESSES for text in parse_note(note.text).frontmatter.texts(name)):
                message = f"A source says where it can be read: set the property {_ADDRESSES[0]!r}."
                yield Finding(NO_ADDRESS, message, 1)
            return
        dead = {
            each.line: each.message
            for each in self._vault.check(path, self._progress, exactly=True)[1]
            if each.kind in _DEAD
        }
        _, links = self._vault.links(path, self._progress)
        targets: dict[int, list[VaultPath]] = {}
        for link in links:
            if link.target is not None and not link.is_embed:
                targets.setdefault(link.line, []).append(link.target)
        for claim in _claims(note.text, parse_note(note.text).frontmatter.end):
            lines = range(claim.first_line, claim.first_line + len(claim.lines))
            broken = [dead[line] for line in lines if line in dead]
            linked = [target for line in lines for target in targets.get(line, ())]
            if broken:
                yield Finding(DEAD_SOURCE, broken[0], claim.first_line)
            elif _WEB.search(" ".join(claim.lines)) or any(map(self._is_source, linked)):
                continue
            elif linked:
                message = f"It links to {linked[0]!r}, which is no note of a source: that has the tag {SOURCE_TAG!r}."
                yield Finding(NO_SOURCE_NOTE, message, claim.first_line)
            else:
                message = 'It says where it is from nowhere: link its source, or put it below "Open questions".'
                yield Finding(UNSOURCED, message, claim.first_line)

    def _is_source(self, path: VaultPath) -> bool:
        """Tell whether a note is one of a source: by its tag, or because it says where the source is."""
        known = self._known.get(path)
        if known is None:
            try:
                parsed = parse_note(self._vault.read(path, self._progress).text) if path.endswith(".md") else None
            except VaultError:
                parsed = None
            tags = [tag.casefold() for tag in parsed.tags] if parsed else []
            is_wiki = any(tag in WIKI_TAGS for tag in tags)
            has_address = parsed is not None and any(parsed.frontmatter.texts(name) for name in _ADDRESSES)
            # An attachment, such as a PDF, is a source itself.
            known = not path.endswith(".md") or SOURCE_TAG in tags or (has_address and not is_wiki)
            self._known[path] = known
        return known


def _claims(text: str, start: int) -> Iterator[Block]:
    """Yield the paragraphs and items that say something: not what is open, to do, or only a list of links."""
    for block in blocks(text, start):
        said = _LINKS.sub(" ", " ".join(block.lines))
        is_open = _OPEN.fullmatch(block.heading.strip()) is not None or _TODO.match(block.lines[0]) is not None
        if not is_open and len(words_in(said)) >= _LEAST_WORDS:
            yield block
