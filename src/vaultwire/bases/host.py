"""What the language asks of the vault. The engine answers; tests answer with a few facts in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from vaultwire.markdown.yaml_core import PropertyValue


class FileFacts(NamedTuple):
    """Size in bytes; times in milliseconds since 1970, UTC."""

    size: int
    created_ms: float
    modified_ms: float


class LinkFact(NamedTuple):
    """A link in a file: linkpath and subpath as the app keeps them (Markdown links are not decoded further), what is shown."""

    linktext: str
    display: str
    is_embed: bool


class Host(Protocol):
    """The files of a vault that this run may see. Nothing raises for a path that is not there: it has no facts, no links."""

    def resolve(self, linktext: str, source: str) -> str | None:
        """Return the path of the file that a link in ``source`` leads to, as Obsidian does; None for none."""

    def facts(self, path: str) -> FileFacts | None:
        """Return size and times; None if there is no such file."""

    def properties(self, path: str) -> Mapping[str, PropertyValue]:
        """Return the properties as YAML has them, in their order. A mapping that is no dict finds names in any case."""

    def tags(self, path: str) -> Sequence[str]:
        """Return the tags, without ``#``, those of the properties first."""

    def links(self, path: str) -> Sequence[LinkFact]:
        """Return the links and embeds: of the properties first, then in the order in which the app lists them."""

    def backlinks(self, path: str) -> Sequence[str]:
        """Return the paths of the notes that link to the file, in path order, each once."""

    def property_type(self, name: str) -> str:
        """Return the type that the vault declares for a property: ``date``, ``number`` …; "" for none."""
