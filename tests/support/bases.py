"""A host for expressions of Bases: the vault in which the real app answered, from what it said about itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from vaultwire.bases.base import read_expression
from vaultwire.bases.row import FileFacts, LinkFact, Query, Row
from vaultwire.markdown.yaml_core import PropertyValue

DATA = Path(__file__).parent.parent / "bases" / "data"


class RecordedHost:
    """Answers with the files, links and properties of the recorded context."""

    def __init__(self, context: dict[str, Any]) -> None:
        self.files = {file["path"]: file for file in [*context["files"], context["file"]]}
        self.resolutions: dict[str, str] = context["linkResolutions"]
        self.by_source = {
            (path, link["path"]): link["resolvedPath"]
            for path, file in self.files.items()
            for link in file.get("links", [])
        }
        self.types: dict[str, str] = context["propertyTypes"]

    def resolve(self, linktext: str, source: str) -> str | None:
        """Return where the app said that a link leads."""
        if (source, linktext) in self.by_source:
            found: str | None = self.by_source[source, linktext]
            return found
        linkpath = linktext.partition("#")[0].strip()
        if linkpath in self.resolutions:
            return self.resolutions[linkpath]
        beside = f"{source.rpartition('/')[0]}/{linkpath}"  # a path from the file's own folder
        if beside in self.files:
            return beside
        folded = {name.casefold(): path for name, path in self.resolutions.items()}
        return folded.get(linkpath.casefold()) or folded.get(linkpath.removeprefix("./").casefold())

    def facts(self, path: str) -> FileFacts | None:
        """Return size and times."""
        file = self.files.get(path)
        if file is None:
            return None
        created, modified = (datetime.fromisoformat(file[each]).timestamp() * 1000 for each in ("ctime", "mtime"))
        return FileFacts(file["size"], created, modified)

    def properties(self, path: str) -> Mapping[str, PropertyValue]:
        """Return the properties as the note has them."""
        return {name: _raw(value) for name, value in self.files.get(path, {}).get("properties", {}).items()}

    def tags(self, path: str) -> Sequence[str]:
        """Return the tags."""
        tags: list[str] = self.files.get(path, {}).get("tags", [])
        return tags

    def links(self, path: str) -> Sequence[LinkFact]:
        """Return the links; the app lists the embeds last."""
        file = self.files.get(path, {})
        links, embeds = file.get("links", []), file.get("embeds", [])
        first_embed = len(links) - len(embeds)
        return [LinkFact(link["path"], link["display"], at >= first_embed) for at, link in enumerate(links)]

    def backlinks(self, path: str) -> Sequence[str]:
        """Return the notes that link to the file."""
        return [link["path"] for link in self.files.get(path, {}).get("backlinks", [])]

    def property_type(self, name: str) -> str:
        """Return the declared type."""
        return self.types.get(name, "")


def _raw(value: Any) -> Any:
    if isinstance(value, list):
        return [_raw(each) for each in value]
    if isinstance(value, dict) and value.get("type") == "Link":
        link = value["value"]
        display = f"|{link['display']['value']}" if "display" in link else ""
        return f"[[{link['path']}{display}]]"
    return value


def recorded() -> dict[str, Any]:
    """Return the recorded context and cases."""
    found: dict[str, Any] = json.loads((DATA / "oracle.json").read_text(encoding="utf-8"))
    return found


def recorded_row(context: dict[str, Any]) -> Row:
    """Return the row of the recorded note."""
    zone = ZoneInfo(context["timezone"])
    path = context["file"]["path"]
    formulas = {name: read_expression(text) for name, text in context["formulas"].items()}
    now = datetime.fromisoformat(context["now"]).astimezone(zone)
    return Row(Query(RecordedHost(context), now, formulas, this=path), path)
