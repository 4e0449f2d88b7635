"""The tree of a YAML text: its texts, lists, maps and aliases with their positions. ``yaml_core`` has their values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vaultwire.markdown.yaml_core import NotYamlError, yaml_events

if TYPE_CHECKING:
    from yaml import Event


class YamlNode:
    """A node and the nodes in it; a map has names and values in turn. Positions are (row, column), from 0.

    ``kind`` is the name of its event's class: PyYAML is imported only when it is needed. ``target`` is the node that an alias
    repeats, of any other node itself.
    """

    __slots__ = ("aliases", "anchors", "end", "event", "inner", "kind", "start", "target")

    def __init__(self, event: Event, kind: str) -> None:
        self.event = event
        self.kind = kind
        self.start = _place(event.start_mark)
        self.end = _place(event.end_mark)
        self.inner: list[YamlNode] = []
        self.target = self
        self.anchors: set[str] = set()  # also those of inner nodes, for keys and values of the root map
        self.aliases: set[str] = set()

    def style(self) -> str:
        """Return the style, empty for a text without one: ``'`` ``"`` ``|`` ``>`` of texts, ``[`` ``-`` of lists, ``{`` ``:``
        of maps, ``*`` of an alias.
        """
        if self.kind == "AliasEvent":
            return "*"
        if self.kind == "ScalarEvent":
            return self.event.style or ""  # type: ignore[attr-defined]
        is_flow = self.event.flow_style  # type: ignore[attr-defined]
        return ("[" if is_flow else "-") if self.kind == "SequenceStartEvent" else "{" if is_flow else ":"


def read_tree(yaml: str) -> YamlNode | None:
    """Return the root of the first document; None if there is none. Raises NotYamlError."""
    try:
        return _read(yaml)
    except NotYamlError:  # libyaml refuses a tab between a dash and its text; a space in its place moves nothing
        return _read(yaml.replace("\t", " "))


def _read(yaml: str) -> YamlNode | None:
    root: YamlNode | None = None
    path: list[YamlNode] = []  # the lists and maps that are open
    anchored: dict[str, YamlNode] = {}
    for event in yaml_events(yaml, 2):
        kind = type(event).__name__
        if kind in ("SequenceEndEvent", "MappingEndEvent"):
            node = path.pop()
            # The end mark of a block is only where the next token begins: take the end of its last item.
            node.end = _place(event.end_mark) if node.style() in "[{" else node.inner[-1].end
            continue
        if kind not in ("ScalarEvent", "AliasEvent", "SequenceStartEvent", "MappingStartEvent"):
            continue
        node = YamlNode(event, kind)
        anchor: str | None = event.anchor  # type: ignore[attr-defined]
        if anchor is not None:
            if kind != "AliasEvent":
                anchored[anchor] = node
            elif anchor in anchored:
                node.target = anchored[anchor]
            else:
                raise NotYamlError(node.start[0] + 2, f"there is no &{anchor} before *{anchor}")
            if path:
                owner = path[1] if len(path) > 1 else node
                (owner.aliases if kind == "AliasEvent" else owner.anchors).add(anchor)
        if path:
            path[-1].inner.append(node)
        root = root or node
        if kind.endswith("StartEvent"):
            path.append(node)
    return root


def _place(mark: Any) -> tuple[int, int]:  # two classes, one for each parser of PyYAML
    return mark.line, mark.column
