"""What a view shows, made from a tool's result. It goes into the result's ``_meta``, which a host keeps from the model.

Nothing is in it that the client could not ask for by calls: a change needs the right to list changes and to read notes, the
whole graph the right to list notes. It is bounded; the desk shows the rest.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from vaultwire.review import Reviewer
from vaultwire.review.diff.parts import visible
from vaultwire.review.glance import Glance
from vaultwire.review.rendering import marked, words_of
from vaultwire.server.vaults import Vaults
from vaultwire.tools.resources import uri_of
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.vault import Vault

MOST_BYTES = 200_000
"""Of the files of a change, as JSON."""
MOST_NODES, MOST_EDGES = 1500, 6000
_NEEDED = {"search": (), "change": ("list_changes", "read_note"), "graph": ("list_notes",)}
# What is asked of the links of the whole vault, and not of one note.
_OF_THE_VAULT = ("unresolved", "orphans", "dead_ends", "hubs")

May = Callable[[str], bool]
Data = dict[str, Any]


class ViewData:
    """Makes the data of views, for all vaults of a server. Safe to call from several threads."""

    def __init__(self, vaults: Vaults) -> None:
        self._vaults = vaults
        self._reviewers: dict[str, Reviewer] = {}
        self._glances: dict[str, Glance] = {}

    def of(self, view: str, vault: str, arguments: Mapping[str, Any], data: Mapping[str, Any], may: May) -> Data | None:
        """Return what the view of a call shows; None for what the client may not see, and where there is nothing.

        ``data`` is the tool's result. The call has been made, so nothing that fails here may fail it.
        """
        if not all(may(tool) for tool in _NEEDED[view]):
            return None
        make = {"search": self._search, "change": self._change, "graph": self._graph}[view]
        try:
            made = make(vault, arguments, data)
        except (VaultError, OSError):
            return None
        if made is not None and self._vaults.are_several:
            made["vault"] = vault
        return made

    def _search(self, name: str, arguments: Mapping[str, Any], data: Mapping[str, Any]) -> Data:
        vault, query = self._vaults.get(name), str(arguments.get("query", ""))
        words = words_of(query)
        notes = [_found(vault, note, words) for note in [*data["notes"], *data.get("partial_matches", ())]]
        answer = {"query": query, "notes": notes, "total": data["total"], "is_exact": data["total_is_exact"]}
        return {"kind": "search", "search": {**answer, "problem": "", "hints": [*data.get("hints", ())]}}

    def _change(self, name: str, _: Mapping[str, Any], data: Mapping[str, Any]) -> Data | None:
        listed = data.get("changes")
        if isinstance(listed, list) and "diff" not in data:
            return {"kind": "changes", "changes": listed}
        number = listed[0]["change"] if isinstance(listed, list) else data.get("change")
        proposal = data.get("proposal")
        if number is None and proposal is None:
            return None
        reviewer = self._reviewers.get(name)
        if reviewer is None:  # two threads may make one each; they are equal
            reviewer = self._reviewers[name] = Reviewer(self._vaults.get(name))
        item = reviewer.item(f"p{proposal}" if number is None else f"c{number}")
        item["files"] = _bounded(item["files"])
        return {"kind": "change", "item": item}

    def _graph(self, name: str, arguments: Mapping[str, Any], data: Mapping[str, Any]) -> Data:
        source = self._glances.get(name)
        if source is None:
            source = self._glances[name] = Glance(self._vaults.get(name))
        paths = None if arguments.get("what") in _OF_THE_VAULT else _paths_in(data)
        return {
            "kind": "graph",
            "graph": smaller(source.graph(), paths),
            "root": uri_of(self._vaults.get(name), VaultPath("")),
        }


def _paths_in(links: Mapping[str, Any]) -> set[str]:
    """Return the files that an answer of ``list_links`` is about."""
    paths = {links["path"]} if "path" in links else set()
    for items, field in (
        ("links", "target"),
        ("backlinks", "path"),
        ("notes", "path"),
        ("files", "path"),
        ("files", "via"),
    ):
        paths |= {each[field] for each in links.get(items, ()) if field in each}
    return paths


def _found(vault: Vault, note: Mapping[str, Any], words: list[str]) -> Data:
    href = uri_of(vault, note["path"])
    lines = [
        {"line": each["line"], "href": href, "parts": marked(visible(each["text"]), words)} for each in note["matches"]
    ]
    missing = note.get("missing", [])
    return {
        "path": visible(note["path"]),
        "href": href,
        "lines": lines,
        "matches": note["match_count"],
        "missing": missing,
    }


def _bounded(files: list[Data]) -> list[Data]:
    """Return the files as far as they fit; of the others no lines, and ``is_cut`` says so."""
    left, kept = MOST_BYTES, []
    for file in files:
        size = len(json.dumps(file))
        if size <= left:
            kept.append(file)
            left -= size
            continue
        facts = ("index", "action", "path", "to", "kind", "is_new", "added", "removed", "state")
        kept.append({"is_cut": True, "hunks": [], **{name: file[name] for name in facts}})
    return kept


def smaller(graph: Mapping[str, Any], paths: set[str] | None) -> Data:
    """Return a graph with the wanted notes only, at most ``MOST_NODES`` of them: those with the most links."""
    nodes = graph["nodes"]
    places = [place for place, node in enumerate(nodes) if paths is None or node[0] in paths]
    kept = sorted(sorted(places, key=lambda place: -nodes[place][4])[:MOST_NODES])
    numbers = {place: number for number, place in enumerate(kept)}
    ends = graph["edges"]
    pairs = [(ends[at], ends[at + 1]) for at in range(0, len(ends), 2)]
    inside = [(numbers[one], numbers[other]) for one, other in pairs if one in numbers and other in numbers]
    drawn = inside[:MOST_EDGES]
    return {
        **graph,
        "nodes": [nodes[place] for place in kept],
        "edges": [end for pair in drawn for end in pair],
        "notes": graph["notes"] if paths is None else len(places),
        "links": graph["links"] if paths is None else len(inside),
        "is_cut": graph["is_cut"] or len(kept) < len(places) or len(drawn) < len(inside),
    }
