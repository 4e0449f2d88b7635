"""Tools on canvases: their nodes and edges, read as text and edited. Docstrings here are product text: a model reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from vaultwire.markdown import canvas as canvas_text
from vaultwire.markdown.canvas import CanvasAction, CanvasEdit, NotACanvasError
from vaultwire.toolkit.phrases import add_facts, counted
from vaultwire.toolkit.registry import Bounds, DryRun, IfMatch, Name, Outcome, tool
from vaultwire.tools.changes import ChangedNote, change_texts, to_changed_note
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

Text = Annotated[str, Bounds(0, 1_000_000)]
Side = Literal["top", "right", "bottom", "left"]
Length = Annotated[int, Bounds(-(2**31), 2**31)]

# Where a field of ours has another name than in JSON Canvas.
_NAMES = {"from": "fromNode", "to": "toNode", "from_side": "fromSide", "to_side": "toSide"}
_MARKS = {(False, True): "->", (True, True): "<->", (True, False): "<-", (False, False): "--"}
_PLACE = ("x", "y", "width", "height")
_COLOUR = "A colour, as in Obsidian"


class CanvasNode(TypedDict):
    """A node."""

    id: Annotated[str, "Its id"]
    type: Annotated[str, '"text", "file", "link" or "group"']
    text: Annotated[NotRequired[str], "Of a text node: its Markdown"]
    file: Annotated[NotRequired[str], "Of a file node: the path in the vault"]
    subpath: Annotated[NotRequired[str], "Of a file node: the heading or block that it shows"]
    url: Annotated[NotRequired[str], "Of a link node"]
    label: Annotated[NotRequired[str], "Of a group"]
    color: Annotated[NotRequired[str], _COLOUR]
    position: Annotated[NotRequired[list[int]], "x, y, width, height"]


class CanvasEdge(TypedDict):
    """An edge from a node to another."""

    id: Annotated[str, "Its id"]
    from_node: Annotated[str, "Id of the node where it begins"]
    to_node: Annotated[str, "Id of the node where it ends"]
    label: Annotated[NotRequired[str], "Its text"]
    color: Annotated[NotRequired[str], _COLOUR]


class CanvasContent(TypedDict):
    """A canvas."""

    path: Annotated[str, "Path in the vault"]
    etag: Annotated[str, "Fingerprint of the canvas; pass as if_match when changing it"]
    nodes: list[CanvasNode]
    node_count: Annotated[int, "How many nodes in all"]
    edges: list[CanvasEdge]


class EditedCanvas(ChangedNote):
    """What was changed in a canvas."""

    added: Annotated[list[str], "Ids of the new nodes and edges, in the order of the edits"]


# "from" is a word of Python.
GivenCanvasEdit = TypedDict(
    "GivenCanvasEdit",
    {
        "action": Annotated[
            CanvasAction, '"add" a node, "connect" two nodes, "set" fields of a node or edge, "remove" one'
        ],
        "id": Annotated[NotRequired[Name], "The node or edge to set or remove; for a new one its id, if it needs one"],
        "text": Annotated[NotRequired[Text], "Makes or changes a text node: its Markdown"],
        "file": Annotated[NotRequired[Name], 'Makes or changes a file node: a note or attachment, "Note#Heading" too'],
        "url": Annotated[NotRequired[Name], "Makes or changes a link node"],
        "label": Annotated[NotRequired[Text], "Text of an edge or group; alone it makes a group. Empty for none"],
        "color": Annotated[NotRequired[Annotated[str, Bounds(0, 30)]], '"1" to "6" or "#rrggbb". Empty for none'],
        "x": Annotated[NotRequired[Length], "Left side; without it, below all other nodes"],
        "y": Annotated[NotRequired[Length], "Top"],
        "width": Annotated[NotRequired[Length], "Width"],
        "height": Annotated[NotRequired[Length], "Height"],
        "from": Annotated[NotRequired[Name], "Of an edge: id of the node where it begins"],
        "to": Annotated[NotRequired[Name], "Of an edge: id of the node where it ends"],
        "from_side": Annotated[NotRequired[Side], "Of an edge: where it begins"],
        "to_side": Annotated[NotRequired[Side], "Of an edge: where it ends"],
    },
)
GivenCanvasEdit.__doc__ = "One edit."


@tool(title="Read canvas", category="canvases", read_only=True)
def read_canvas(
    vault: Vault,
    progress: Progress,
    /,
    path: Name,
    positions: bool = False,
    limit: Annotated[int, Bounds(1, 10_000)] = 200,
) -> Outcome[CanvasContent]:
    """Read a canvas (whiteboard): its cards, files and links with their ids, and the edges between them.

    Args:
        path: The canvas, such as "Board.canvas" or "Board".
        positions: Also show where each node is, and how large.
        limit: How many nodes to return.
    """
    note = vault.read_canvas(path, progress)
    try:
        canvas = canvas_text.read_canvas(note.text)
    except NotACanvasError as error:
        raise VaultError(INVALID_ARGUMENTS, f"{note.path!r} cannot be read as a canvas: it {error}.") from None
    nodes = [_to_node(node, positions=positions) for node in canvas.nodes[:limit]]
    data = CanvasContent(
        path=note.path,
        etag=note.etag,
        nodes=nodes,
        node_count=len(canvas.nodes),
        edges=[_to_edge(edge) for edge in canvas.edges],
    )
    lines = [_node_line(node) for node in nodes]
    lines += [_edge_line(edge) for edge in canvas.edges]
    if len(canvas.nodes) > limit:
        lines.append(f"There are {len(canvas.nodes) - limit} more nodes: give a larger limit.")
    count = f"{counted(len(canvas.nodes), 'node')}, {counted(len(canvas.edges), 'edge')}"
    return Outcome(["\n".join([f"({note.path}, {count}, etag {note.etag})", *lines])], data)


@tool(title="Edit canvas", category="canvases", destructive=True)
def edit_canvas(
    vault: Vault,
    progress: Progress,
    /,
    path: Name,
    edits: Annotated[list[GivenCanvasEdit], Bounds(1, 500)],
    if_match: IfMatch = None,
    dry_run: DryRun = False,
) -> Outcome[EditedCanvas]:
    """Add, change and remove the nodes (cards, files, links, groups) and edges of a canvas. Every other byte stays.

    Several edits are made together or not at all. A later edit may use the id that an earlier one gives. A node is removed
    with its edges.

    Examples: {"action": "add", "id": "a", "text": "An idea"} | {"action": "connect", "from": "a", "to": "b", "label": "so"} |
    {"action": "set", "id": "a", "text": "A better idea"} | {"action": "remove", "id": "a"}.

    Example: {"path": "Board", "edits": [{"action": "add", "text": "An idea"}]}.

    Args:
        path: The canvas, such as "Board.canvas" or "Board".
        edits: What to change.
        if_match: Etag from read_canvas. The canvas is changed only if it still is what was read.
    """
    wanted = [_to_edit(each) for each in edits]
    revised, added = vault.revising.edit_canvas(path, wanted, if_match, progress, dry_run=dry_run)
    changed = to_changed_note(revised.done, revised.path, revised.before)
    data = cast("EditedCanvas", {**changed, "added": added})  # mypy wants optional fields spelt out
    ids = f", added {', '.join(added)}" if added else ""
    return Outcome(
        change_texts(revised.done, f"edited {revised.path} (etag {changed.get('etag')}){ids}", changed), data
    )


def _to_edit(edit: GivenCanvasEdit) -> CanvasEdit:
    fields: dict[str, Any] = {
        _NAMES.get(key, key): None if value == "" and key in ("label", "color") else value
        for key, value in edit.items()
        if key not in ("action", "id")
    }
    if edit["action"] == "add":  # an empty label makes a group without one
        fields |= {key: "" for key in ("label",) if edit.get(key) == ""}
    return CanvasEdit(edit["action"], edit.get("id", ""), fields)


def _to_node(node: Mapping[str, Any], *, positions: bool) -> CanvasNode:
    texts = {key: node[key] for key in CanvasNode.__annotations__ if isinstance(node.get(key), str)}
    found = cast("CanvasNode", {"id": "", "type": "", **texts})
    if positions:
        found["position"] = [int(node[key]) if isinstance(node.get(key), int | float) else 0 for key in _PLACE]
    return found


def _to_edge(edge: Mapping[str, Any]) -> CanvasEdge:
    data = CanvasEdge(id=_said(edge, "id"), from_node=_said(edge, "fromNode"), to_node=_said(edge, "toNode"))
    add_facts(data, label=_said(edge, "label"), color=_said(edge, "color"))
    return data


def _node_line(node: CanvasNode) -> str:
    said = (
        node.get("text") or node.get("file", "") + node.get("subpath", "") or node.get("url") or node.get("label", "")
    )
    x, y, width, height = node.get("position") or (None,) * 4
    place = "" if x is None else f" at {x},{y} size {width}x{height}"
    colour = f" color {node['color']}" if node.get("color") else ""
    return f"[{node['id']}] {node['type']}{place}{colour}: " + said.replace("\n", "\n    ")


def _edge_line(edge: Mapping[str, Any]) -> str:
    # JSON Canvas: by default an edge has an arrow at its end only.
    mark = _MARKS[edge.get("fromEnd") == "arrow", edge.get("toEnd", "arrow") == "arrow"]
    label = f": {_said(edge, 'label')}" if _said(edge, "label") else ""
    return f"[{_said(edge, 'id')}] edge {_said(edge, 'fromNode')} {mark} {_said(edge, 'toNode')}{label}"


def _said(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return value if isinstance(value, str) else ""
