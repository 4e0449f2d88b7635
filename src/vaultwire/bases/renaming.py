"""Renames a property or a tag in a base: in filters, formulas, columns, sorting, groups and summaries. All else stays."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from vaultwire.bases.base import normal_id
from vaultwire.bases.base_blocks import BlockError, edit_blocks
from vaultwire.bases.functions import LAMBDAS
from vaultwire.bases.parser import (
    ITEM_NAMES,
    ROOTS,
    Binary,
    Call,
    Index,
    Literal,
    Member,
    Name,
    Node,
    SyntaxProblem,
    children,
    end_of_token,
    is_word,
    parse,
    property_text,
)
from vaultwire.markdown.offsets import Replacement, apply_replacements
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.property_values import one_line
from vaultwire.markdown.tag_spans import renamed_tag
from vaultwire.markdown.yaml_core import NotYamlError, read_yaml
from vaultwire.markdown.yaml_tree import YamlNode, YamlText, texts_in

# Settings of views that name a property.
_ID_SETTINGS = frozenset(("image", "coordinates", "markerIcon", "markerColor"))
_ID_MAPS = frozenset(("summaries", "columnSize"))
_MOST = 200_000
# A name that YAML and quotes never write in another way.
_PLAIN = compile_pattern(r"[\w/-]++")


class NotRenamedError(ValueError):
    """A base names the property or tag, and it cannot be renamed there without changing anything else."""


class _Scalar(NamedTuple):
    """A text of the YAML that may name it, and what it becomes. ``edits``: of an expression, the changes in it."""

    node: YamlNode
    renamed: str
    edits: Sequence[Replacement] = ()


class Renaming(ABC):
    """What a base says after a property or a tag has got another name."""

    def __init__(self, old: str, new: str, word: str, in_queries: str) -> None:
        """``word``: a pattern of the old name in small letters; ``in_queries``: of it in queries of other languages."""
        self.old = old
        self.new = new
        self._word = re.compile(word)
        self.in_queries = re.compile(in_queries, re.IGNORECASE)

    def may_be_in(self, text: str) -> bool:
        """Tell whether a text may name it."""
        return self._word.search(text.casefold()) is not None

    @abstractmethod
    def edits(self, text: str, root: Node, own: frozenset[str] = ROOTS) -> list[Replacement]:
        """Return the edits of an expression, whose tree is ``root``. ``own``: names with a meaning of their own there."""

    def property_id(self, written: str) -> str:
        """Return what the name of a column or the like says afterwards."""
        return written


class PropertyRenaming(Renaming):
    """A property gets another name."""

    def __init__(self, old: str, new: str) -> None:
        word, in_queries = rf"(?<!\w){re.escape(old.casefold())}(?!\w)", rf"(?<![\w#/-]){re.escape(old)}(?![\w-])"
        super().__init__(old, new, word, in_queries)

    def edits(self, text: str, root: Node, own: frozenset[str] = ROOTS) -> list[Replacement]:
        """See ``Renaming``."""
        edits: dict[int, Replacement] = {}
        waiting = [(root, own)]
        while waiting:
            node, names = waiting.pop()
            edit = self._edit(node, text, names)
            if edit is not None:
                edits[edit.start] = edit
            if isinstance(node, Call):
                is_lambda = isinstance(node.function, Member) and node.function.name in LAMBDAS
                # The second argument of "reduce" is where it starts: it knows no item.
                each_item, others = (node.arguments[:1], node.arguments[1:]) if is_lambda else ((), node.arguments)
                of = [node.function.of] if isinstance(node.function, Member) else []
                waiting += [
                    *((each, names | ITEM_NAMES) for each in each_item),
                    *((each, names) for each in (*of, *others)),
                ]
            else:
                waiting += [(each, names) for each in children(node)]
        return [edits[start] for start in sorted(edits)]

    def _edit(self, node: Node, text: str, own: frozenset[str]) -> Replacement | None:
        """Return the edit of a node that names the property itself. ``own``: names with a meaning of their own."""
        old, new = self.old, self.new
        if isinstance(node, Name):
            if node.name in own or node.name.casefold() != old.casefold():
                return None
            return Replacement(node.start, end_of_token(text, node.start), property_text(new))
        if isinstance(node, Member) and _has_properties(node.of, node.name) and node.name.casefold() == old.casefold():
            if is_word(new):
                return Replacement(node.start, end_of_token(text, node.start), new)
            dot = text.rindex(".", 0, node.start)
            return Replacement(dot, end_of_token(text, node.start), f"[{json.dumps(new, ensure_ascii=False)}]")
        literal = node.index if isinstance(node, Index) and _has_properties(node.of, _constant(node.index)) else None
        if isinstance(node, Call) and isinstance(node.function, Member) and node.function.name == "hasProperty":
            literal = node.arguments[0] if node.arguments else None
        if literal is None or _constant(literal).casefold() != old.casefold():
            return None
        return _literal_edit(text, literal, new)

    def property_id(self, written: str) -> str:
        """See ``Renaming``."""
        found = normal_id(written)
        if not found.startswith("note.") or found[5:].casefold() != self.old.casefold():
            return written
        is_bare = written.strip().casefold() == self.old.casefold() and normal_id(self.new) == f"note.{self.new}"
        return self.new if is_bare else f"note.{self.new}"


class TagRenaming(Renaming):
    """A tag, and those below it, get another name: texts that are compared with tags, and all texts that begin with ``#``."""

    def __init__(self, old: str, new: str) -> None:
        word, in_queries = rf"(?<![\w/-]){re.escape(old.casefold())}(?![\w-])", rf"#{re.escape(old)}(?![\w-])"
        super().__init__(old, new, word, in_queries)

    def edits(self, text: str, root: Node, own: frozenset[str] = ROOTS) -> list[Replacement]:  # noqa: ARG002 - of the protocol
        """See ``Renaming``."""
        edits: dict[int, Replacement] = {}
        waiting = [(root, False)]  # a part of the expression, and whether its texts are tags
        while waiting:
            node, is_tags = waiting.pop()
            said = _constant(node)
            name = said.removeprefix("#").strip("/")
            if (is_tags or said.startswith("#")) and (renamed := renamed_tag(name, self.old, self.new)) != name:
                edits[node.start] = _literal_edit(text, node, "#" * said.startswith("#") + renamed)
            if isinstance(node, Call):
                function = node.function
                of = [function.of] if isinstance(function, Member) else []
                is_about = bool(of) and (function.name == "hasTag" or _gives_tags(of[0]))
                waiting += [(each, is_tags) for each in of] + [(each, is_tags or is_about) for each in node.arguments]
            elif isinstance(node, Binary) and node.operator not in ("&&", "||"):
                waiting += [
                    (node.left, is_tags or _gives_tags(node.right)),
                    (node.right, is_tags or _gives_tags(node.left)),
                ]
            else:
                waiting += [(each, is_tags) for each in children(node)]
        return [edits[start] for start in sorted(edits)]


def _gives_tags(node: Node) -> bool:
    """Tell whether a value is a note's tags, or is made of them: ``tags``, ``file.tags``, ``note.tags.map(…)``."""
    while True:
        if isinstance(node, Name):
            return node.name.casefold() == "tags"
        if isinstance(node, Call):
            if isinstance(node.function, Name):
                return node.function.name == "list" and any(map(_gives_tags, node.arguments))
            node = node.function.of
            continue
        if not isinstance(node, Member | Index):
            return False
        name = node.name if isinstance(node, Member) else _constant(node.index)
        is_of_note = isinstance(node.of, Name) and node.of.name in ("file", *ROOTS - {"formula"})
        if name.casefold() == "tags" and (is_of_note or isinstance(node.of, Member)):
            return True
        node = node.of


def rename_in_base(text: str, renaming: Renaming, unread: list[str] | None = None) -> str:
    """Return a base in which a property or a tag has another name; the same text if it does not name it.

    ``unread``: gets the expressions that may name it and stay, because they cannot be read. Raises NotRenamedError for a
    base that cannot be read, and where the new name cannot be written.
    """
    if _PLAIN.fullmatch(renaming.old) and renaming.old.casefold() not in text.casefold():
        return text
    if "\r\n" in text:  # positions in YAML count such a line end as one character
        if text.count("\n") != text.count("\r\n"):
            raise NotRenamedError("mixes line ends of Windows and of other systems")
        return rename_in_base(text.replace("\r\n", "\n"), renaming, unread).replace("\n", "\r\n")
    if len(text) > _MOST:
        raise NotRenamedError(f"has more than {_MOST:,} characters")
    yaml = _read(text)
    changed = [each for each in _scalars(yaml.root, renaming, unread) if each.renamed != _value(each.node)]
    if not changed:
        return text
    in_flow = {node.start for node in _texts_in_flow(yaml.root)}
    edits = [edit for each in changed for edit in _edits_of(each, yaml, in_flow=each.node.start in in_flow)]
    after = apply_replacements(text, sorted(edits))
    wanted = {each.node.start: each.renamed for each in changed}
    expected = [wanted.get(node.start, _value(node)) for node in _all(yaml.root)]
    # Only the texts that were to change have changed, and they say what they should.
    if [_value(node) for node in _all(_read(after).root)] != expected:
        raise NotRenamedError("holds the name in a form that cannot hold the new one")
    if _count_problems(after) > _count_problems(text):
        raise NotRenamedError(f"has {renaming.new!r} beside {renaming.old!r} already, where each name can stand once")
    return after


def rename_in_blocks(note: str, renaming: Renaming, unread: list[str] | None = None) -> str:
    """Return a note in whose base blocks a property or a tag has another name. See ``rename_in_base``."""
    try:
        return edit_blocks(note, lambda block: rename_in_base(block.text, renaming, unread))
    except BlockError as error:
        raise NotRenamedError(str(error)) from None


def _literal_edit(text: str, literal: Node, new: str) -> Replacement:
    """Return the edit of a text in quotes, which stay as they are."""
    quote = text[literal.start]
    inner = json.dumps(new, ensure_ascii=False)[1:-1]
    inner = inner.replace('\\"', '"').replace("'", "\\'") if quote == "'" else inner
    return Replacement(literal.start, end_of_token(text, literal.start), f"{quote}{inner}{quote}")


def _constant(node: Node) -> str:
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else ""


def _has_properties(node: Node, field: str) -> bool:
    """Tell whether a field of a value is a property: of ``note``, ``this``, ``file.properties``; ``this.file`` is a file."""
    if isinstance(node, Member):
        return node.name == "properties"
    return isinstance(node, Name) and (node.name in ("note", "property") or (node.name == "this" and field != "file"))


def _read(text: str) -> YamlText:
    try:
        return YamlText(text)
    except NotYamlError as error:
        raise NotRenamedError(f"is not YAML: {error}") from None


def _count_problems(text: str) -> int:
    """Return how many names of a base are there twice."""
    try:
        return len(read_yaml(text, 1).problems)
    except NotYamlError as error:
        raise NotRenamedError(f"is not YAML: {error}") from None


def _value(node: YamlNode) -> str:
    value: str = getattr(node.event, "value", "")
    return value


def _all(root: YamlNode | None) -> Iterator[YamlNode]:
    """Yield all texts, in their order."""
    return (node for node in _nodes(root) if node.kind == "ScalarEvent")


def _nodes(root: YamlNode | None) -> Iterator[YamlNode]:
    waiting = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.inner)


def _pairs(node: YamlNode | None) -> Iterator[tuple[YamlNode, YamlNode]]:
    if node is not None and node.kind == "MappingStartEvent":
        yield from zip(node.inner[::2], node.inner[1::2], strict=True)


def _scalars(root: YamlNode | None, renaming: Renaming, unread: list[str] | None) -> Iterator[_Scalar]:
    """Yield every text of the base that may name a property or a tag."""

    def expression(node: YamlNode, own: frozenset[str] = ROOTS) -> _Scalar:
        text = _value(node)
        try:
            edits = renaming.edits(text, parse(text), own)
        except SyntaxProblem:
            edits = []
            if unread is not None and renaming.may_be_in(text):
                unread.append(text)
        return _Scalar(node, apply_replacements(text, edits), edits)

    def property_id(node: YamlNode) -> _Scalar:
        return _Scalar(node, renaming.property_id(_value(node)))

    for key, value in _pairs(root):
        name = _value(key)
        if name == "filters":
            yield from map(expression, texts_in(value))
        elif name in ("formulas", "summaries"):
            own = ROOTS | {"values"} if name == "summaries" else ROOTS
            yield from (expression(each, own) for _, each in _pairs(value) if each.kind == "ScalarEvent")
        elif name == "properties":
            yield from (property_id(each) for each, _ in _pairs(value))
        elif name == "views":
            for view in value.inner:
                yield from _in_view(view, expression, property_id)


def _in_view(
    view: YamlNode, expression: Callable[[YamlNode], _Scalar], property_id: Callable[[YamlNode], _Scalar]
) -> Iterator[_Scalar]:
    for key, value in _pairs(view):
        name = _value(key)
        if name == "filters":
            yield from map(expression, texts_in(value))
        elif name == "order" or name in _ID_SETTINGS:
            yield from map(property_id, texts_in(value))
        elif name in _ID_MAPS:
            yield from (property_id(each) for each, _ in _pairs(value))
        elif name in ("sort", "groupBy"):
            each_sort = value.inner if value.kind == "SequenceStartEvent" else [value]
            for each in each_sort:
                if each.kind == "ScalarEvent":
                    yield property_id(each)
                yield from (property_id(its) for what, its in _pairs(each) if _value(what) in ("property", "column"))


def _texts_in_flow(root: YamlNode | None) -> Iterator[YamlNode]:
    """Yield the texts within ``[…]`` or ``{…}``, where commas and brackets end a text without quotes."""
    waiting = [(root, False)] if root is not None else []
    while waiting:
        node, in_flow = waiting.pop()
        if in_flow and node.kind == "ScalarEvent":
            yield node
        is_flow = in_flow or (node.kind.endswith("StartEvent") and node.style() in "[{")
        waiting += [(each, is_flow) for each in node.inner]


def _edits_of(changed: _Scalar, yaml: YamlText, *, in_flow: bool) -> list[Replacement]:
    """Return the edits that give a text of the YAML its new meaning in the style that it has. Raises NotRenamedError."""
    scalar = yaml.scalar(changed.node)
    if scalar is None:
        raise NotRenamedError("holds the name in a text of many lines that cannot be changed: write it on one line")
    if scalar.style in ("", "'", '"'):
        written = one_line(changed.renamed, scalar.style, 1 if in_flow else 0)
        return [Replacement(scalar.start, scalar.end, written)]
    places = scalar.places
    edits = changed.edits or [Replacement(0, len(scalar.text.rstrip("\n")), changed.renamed.rstrip("\n"))]
    return [each._replace(start=places[each.start], end=places[each.end - 1] + 1) for each in edits]
