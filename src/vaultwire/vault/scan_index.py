"""The index backend that keeps nothing: every answer reads the files. Always fresh, as slow as the vault is large."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.parse import parse_note
from vaultwire.vault.errors import VaultError
from vaultwire.vault.files import Files
from vaultwire.vault.model import Found, Hit, NoteStat, Progress, Tagged, VaultPath
from vaultwire.vault.query import Query, match_note

# Often enough to look alive on a large vault, seldom enough to cost nothing.
_REPORT_EVERY = 200


class ScanIndex:
    """Fills ``vault.index.Index`` by walking and reading."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def notes(self, folder: VaultPath | None, progress: Progress) -> Iterable[NoteStat]:
        """Return every note, in no promised order."""
        for note in self._files.walk(folder):
            progress.check()
            yield note

    def search(self, query: Query, folder: VaultPath | None, offset: int, limit: int, progress: Progress) -> Found:
        """Return ``limit`` notes that match, best first, ties in path order, and how many match in all."""
        hits: list[Hit] = []
        searched = skipped = 0
        for path, text in self._texts(folder, progress):
            if text is None:
                skipped += 1
                continue
            searched += 1
            match = match_note(query, path, text)
            if match is not None:
                hits.append(Hit(path, match.score, match.matches, match.lines))
        hits.sort(key=lambda hit: (-hit.score, hit.path))
        return Found(hits[offset : offset + limit], len(hits), searched, skipped)

    def tagged(self, folder: VaultPath | None, progress: Progress) -> list[Tagged]:
        """Return every note that has tags."""
        tagged: list[Tagged] = []
        for path, text in self._texts(folder, progress):
            if text and ("#" in text or text.startswith("---")):
                tags = parse_note(text).tags
                if tags:
                    tagged.append(Tagged(path, tags))
        return tagged

    def _texts(self, folder: VaultPath | None, progress: Progress) -> Iterator[tuple[VaultPath, str | None]]:
        """Yield each note's text, None where it cannot be read: one such note must not stop the rest."""
        notes = sorted(self.notes(folder, progress))
        for done, note in enumerate(notes):
            progress.check()
            if done % _REPORT_EVERY == 0:
                progress.report(done, len(notes), f"{done} of {len(notes)} notes")
            try:
                data = self._files.read(note.path).data
            except VaultError:
                yield note.path, None
            else:
                yield note.path, to_plain(data.decode("utf-8-sig", "replace"))
