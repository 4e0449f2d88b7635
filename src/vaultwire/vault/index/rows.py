"""What queries of bases ask of an index: which files meet conditions, and facts of many files at once.

No answer has files that the vault's own rules exclude.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.value_types import NoteStat, Progress, VaultPath


class RowFile(NamedTuple):
    """A file: its number in the index, its path, size and time of the last change in nanoseconds since 1970."""

    id: int
    path: VaultPath
    size: int
    modified_ns: int


class StoredLink(NamedTuple):
    """A link of a note. ``display`` is empty where the link has no text of its own."""

    linktext: str
    display: str
    is_embed: bool


@dataclass(frozen=True, slots=True)
class Tagged:
    """Notes with the tag or a tag below it, in any case."""

    tag: str


@dataclass(frozen=True, slots=True)
class Below:
    """Files anywhere below the folder, in exactly this case; "" means all files."""

    folder: str


@dataclass(frozen=True, slots=True)
class DirectlyIn:
    """Files right in the folder, in exactly this case; "" is the vault's root."""

    folder: str


@dataclass(frozen=True, slots=True)
class AtPath:
    """The file of exactly this path."""

    path: str


@dataclass(frozen=True, slots=True)
class NameEndsWith:
    """Files whose name ends so, in any case."""

    ending: str


@dataclass(frozen=True, slots=True)
class HasExtension:
    """Files with exactly this extension, in this case; it has no dot."""

    extension: str


@dataclass(frozen=True, slots=True)
class HasProperty:
    """Notes that have the property, also without a value; its name in any case."""

    name: str


@dataclass(frozen=True, slots=True)
class HasValue:
    """Notes whose property has one of these values, as ``Rows.values`` gives them; ``or_none``: or files without it."""

    name: str
    values: tuple[str, ...]
    or_none: bool


@dataclass(frozen=True, slots=True)
class AsksFor:
    """Notes with a link that asks for one of these names (``link_name``)."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Every:
    """Files that meet every one of the conditions; all files if there is none."""

    of: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Files that meet one of the conditions; no file if there is none."""

    of: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Files that do not meet the condition."""

    of: Condition


Condition: TypeAlias = (
    Tagged
    | Below
    | DirectlyIn
    | AtPath
    | NameEndsWith
    | HasExtension
    | HasProperty
    | HasValue
    | AsksFor
    | Every
    | AnyOf
    | Not
)
"""A condition on files that an index can answer."""


ResolveLink: TypeAlias = Callable[[VaultPath, str], VaultPath | None]
"""Returns the file that a link path in a note leads to."""


class Rows(Protocol):
    """Answers for queries of bases. Facts are by the file's number; files that have none are not in an answer."""

    def checked(self, progress: Progress) -> Rows:
        """Bring the index up to date, and return the same answers without looking for changes each time.

        One query asks hundreds of questions: where no watch reports changes, each would look at all files of the vault.
        """

    def version(self, progress: Progress) -> Hashable:
        """Return a value that differs once anything has changed that an answer depends on."""

    def find(self, wanted: Condition, progress: Progress) -> list[RowFile]:
        """Return the files that meet the condition, notes and attachments, in path order."""

    def at(self, paths: Collection[str], progress: Progress) -> list[RowFile]:
        """Return the files of exactly these paths, without those that are not there."""

    def values(self, name: str, most: int, progress: Progress) -> dict[str, PropertyValue] | None:
        """Return the values that a property has in any note, by their stored form; None if there are more than ``most``."""

    def column(self, name: str, ids: Collection[int] | None, progress: Progress) -> dict[int, PropertyValue]:
        """Return the values of a property (its name in any case) in these notes, or in all."""

    def properties(self, ids: Collection[int], progress: Progress) -> dict[int, dict[str, PropertyValue]]:
        """Return all properties of these notes, in their order, with names as written."""

    def tags(self, ids: Collection[int], progress: Progress) -> dict[int, list[str]]:
        """Return the tags of these notes, without ``#``, in the order of the note."""

    def links(self, ids: Collection[int], progress: Progress) -> Mapping[int, list[StoredLink]]:
        """Return the links of these notes, in the order of the note, without those to files that the rules exclude."""

    def backlinks(self, path: VaultPath, progress: Progress) -> list[VaultPath]:
        """Return the notes and canvases with a link to the file, in path order."""

    def resolve(self, source: VaultPath, linkpath: str, progress: Progress) -> VaultPath | None:
        """Return the file that a link leads to; None if it leads nowhere, or to a file that the rules exclude."""

    def resolver(self, progress: Progress) -> ResolveLink:
        """Return what resolves very many links as ``resolve`` does, of the files as they are now."""


# What the engine asks of an index about many notes at once, beside the questions of ``port``. Only ``vault.insights`` asks.


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
