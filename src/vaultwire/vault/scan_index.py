"""The index backend without an index: every answer looks at the files. Always fresh, as slow as the vault is large.

All it keeps is the tags and links of notes that have not changed since they were read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.model import Link
from vaultwire.vault.errors import VaultError
from vaultwire.vault.facts import Facts, KeptFacts
from vaultwire.vault.files import Files
from vaultwire.vault.matching import Matcher
from vaultwire.vault.model import Found, Hit, NoteStat, Progress, Tagged, VaultPath
from vaultwire.vault.query import Query

# Often enough to look alive on a large vault, seldom enough to cost nothing.
_REPORT_EVERY = 200


class ScanIndex:
    """Fills ``vault.index.Index`` by walking and reading."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._facts = KeptFacts(self._text)

    def notes(self, folder: VaultPath | None, progress: Progress) -> Iterable[NoteStat]:
        """Return every note, in no promised order."""
        for note in self._files.walk(folder):
            progress.check()
            yield note

    def search(self, query: Query, folder: VaultPath | None, offset: int, limit: int, progress: Progress) -> Found:
        """Return ``limit`` notes that match, best first, ties in path order, and how many match in all."""
        matcher = Matcher(query)
        hits: list[Hit] = []
        searched = skipped = 0
        for path, text in self._texts(folder, progress):
            if text is None:
                skipped += 1
                continue
            searched += 1
            match = matcher.match(path, text)
            if match is not None:
                hits.append(Hit(path, match.score, match.matches, match.lines))
        hits.sort(key=lambda hit: (-hit.score, hit.path))
        return Found(hits[offset : offset + limit], len(hits), searched, skipped)

    def paths(self, progress: Progress) -> Iterable[VaultPath]:
        """Return every file a link may lead to, notes and attachments, in no promised order."""
        for file in self._files.walk(attachments=True):
            progress.check()
            yield file.path

    def links(self, progress: Progress) -> Iterable[tuple[VaultPath, list[Link]]]:
        """Return every note that has links, in path order, and its links in line order."""
        for path, facts in self._each_facts(None, progress):
            if facts.links:
                yield path, facts.links

    def tagged(self, folder: VaultPath | None, progress: Progress) -> list[Tagged]:
        """Return every note that has tags."""
        return [Tagged(path, facts.tags) for path, facts in self._each_facts(folder, progress) if facts.tags]

    def _each_facts(self, folder: VaultPath | None, progress: Progress) -> Iterator[tuple[VaultPath, Facts]]:
        notes = self._sorted_notes(folder, progress)
        if folder is None:
            self._facts.keep_only(notes)
        for note in _reported(notes, progress):
            yield note.path, self._facts.of(note)

    def _texts(self, folder: VaultPath | None, progress: Progress) -> Iterator[tuple[VaultPath, str | None]]:
        """Yield each note's text, None where it cannot be read: one such note must not stop the rest."""
        for note in _reported(self._sorted_notes(folder, progress), progress):
            yield note.path, self._text(note.path)

    def _sorted_notes(self, folder: VaultPath | None, progress: Progress) -> list[NoteStat]:
        return sorted(self.notes(folder, progress))

    def _text(self, path: VaultPath) -> str | None:
        try:
            data = self._files.read(path).data
        except VaultError:
            return None
        return to_plain(data.decode("utf-8-sig", "replace"))


def _reported(notes: list[NoteStat], progress: Progress) -> Iterator[NoteStat]:
    """Yield the notes, saying now and then how far the work is and hearing whether to stop."""
    for done, note in enumerate(notes):
        progress.check()
        if done % _REPORT_EVERY == 0:
            progress.report(done, len(notes), f"{done} of {len(notes)} notes")
        yield note
