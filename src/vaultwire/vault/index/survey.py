"""What the engine asks of an index about many notes at once, beside the questions of ``port``. Only ``vault.insights`` asks."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from vaultwire.vault.value_types import NoteStat, Progress, VaultPath


class FolderFiles(NamedTuple):
    """The number of notes and attachments right in a folder (``""`` is the vault's root)."""

    folder: str
    notes: int
    attachments: int


class SharedWords(NamedTuple):
    """The rarest words of a text that other notes have too, rarest first, each with all these notes.

    ``sizes``: the stats of these notes. ``total``: how many notes there are.
    """

    words: list[tuple[str, list[VaultPath]]]
    sizes: dict[VaultPath, NoteStat]
    total: int


class Survey(Protocol):
    """Answers about many notes. None of them has notes that the vault's own rules exclude."""

    def folders(self, folder: VaultPath | None, progress: Progress) -> list[FolderFiles]:
        """Return the folders that hold files, with what is right in each, in path order."""

    def shared_words(self, path: VaultPath, text: str, progress: Progress) -> SharedWords:
        """Return the rare words that the note at ``path``, whose text is given, shares with others.

        A note that has just changed may be missing until the index has its words, 0.3 seconds after the last change.
        """

    def notes(self, folder: VaultPath | None, progress: Progress) -> list[NoteStat]:
        """Return every note, in path order. They take 250 bytes each in memory."""

    def names(self, progress: Progress) -> list[tuple[str, VaultPath]]:
        """Return the names of all notes, without ``.md``, and attachments, and all aliases, each with its file's path."""

    def same_content(self, progress: Progress) -> list[list[NoteStat]]:
        """Return the notes that have the same bytes as others, by groups, in path order; no empty notes."""
