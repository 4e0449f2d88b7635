"""The position of each tag of a note, to the character, and the renaming of a tag in place.

``inline`` and ``parse`` decide what is a tag. Text is the file's own, ``\\r\\n`` where the file has it, without a BOM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.block_parser import read_body
from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.inline import line_tags, tag_places
from vaultwire.markdown.offsets import FileOffsets, Replacement, apply_replacements, end_of_reading
from vaultwire.markdown.parse import property_tag
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue, plain_scalar
from vaultwire.markdown.yaml_tree import Scalar, YamlNode, YamlText, property_nodes

# The ``tags`` property of a note with the position of each tag, in any form of YAML.
#
# ``properties`` reads the property's value, and ``parse`` decides which texts are tags. Text has ``\n`` line ends.

Extent: TypeAlias = tuple[int, int]
"""The start and the end of something in a text."""

# A property of that name, in a block that as a whole is not YAML.
_TAGS_LINE = compile_pattern(r"^[\"']?tags[\"']?[ \t]*:", re.IGNORECASE | re.MULTILINE)


class Element(NamedTuple):
    """A text, or an item of a list: its extent, its text if it is one, the tag that this names, and where, without ``#``."""

    extent: Extent
    scalar: Scalar | None
    tag: str
    name: Extent


class TagsProperty(NamedTuple):
    """The property: a text, or a list."""

    form: Literal["text", "flow", "block"]
    elements: list[Element]


def tags_property(plain: str, frontmatter: Frontmatter) -> TagsProperty | None:
    """Return the property with its positions; None if it is missing or has no value."""
    name = next((key for key in frontmatter.values if key.casefold() == "tags"), None)
    value = None if name is None else frontmatter.values[name]
    if not isinstance(value, (list, str)):
        return None
    for key, node, yaml in reversed([*property_nodes(plain, frontmatter, _TAGS_LINE)]):  # the last of a name counts
        if key == name and (found := _tags_of(yaml, node, value)) is not None:
            return found
    return None


def _tags_of(yaml: YamlText, node: YamlNode, value: list[PropertyValue] | str) -> TagsProperty | None:
    """Return the property that a node is; None if its value is not the expected one."""
    is_text = isinstance(value, str)
    if node.target.kind != ("ScalarEvent" if is_text else "SequenceStartEvent"):
        return None
    nodes, values = ([node], [value]) if is_text else (node.target.inner, value)
    if len(nodes) != len(values):
        return None
    elements: list[Element] = []
    for child, said in zip(nodes, values, strict=True):
        scalar = yaml.scalar(child.target) if isinstance(said, str) and child.target.kind == "ScalarEvent" else None
        tag = property_tag(scalar.text) if scalar else ""
        if isinstance(said, str) and tag != property_tag(said):
            return None
        at = scalar.text.find(tag) if scalar else 0
        name = (scalar.places[at], scalar.places[at + len(tag)]) if scalar else (0, 0)
        elements.append(Element(yaml.extent(child), scalar, tag, name))
    return TagsProperty("text" if is_text else "flow" if node.target.style() == "[" else "block", elements)


_SPACE = re.compile(r"\s")
_UNTYPEABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")


class TagSpan(NamedTuple):
    """A tag and the position of its name, without ``#``, in offsets of the file's own text.

    ``tag`` is the name: the text of the span, with the escapes of a quoted property decoded.
    """

    start: int
    end: int
    line: int
    tag: str


class TagError(ValueError):
    """A tag cannot have this name, or not in this place. The message says why."""


def tag_spans(text: str) -> list[TagSpan]:
    """Return every occurrence of every tag in a note: those of the property first, then those of the body in line order.

    The tag of an alias (``*a``) is in the text that it repeats.
    """
    plain = to_plain(text)
    frontmatter = parse_frontmatter(plain)
    tags = tags_property(plain, frontmatter)
    top = {each.name: each.tag for each in tags.elements if each.tag} if tags else {}
    spans = [(start, end, tag) for (start, end), tag in top.items()]
    spans += [(start, end, plain[start:end]) for start, end in _inline_tags(plain, frontmatter.end)]
    offsets = FileOffsets(text, plain)
    return [TagSpan(offsets.of(start), offsets.of(end), offsets.line(start), tag) for start, end, tag in spans]


def check_tag(tag: str) -> str:
    """Return a tag's name without ``#``. Raises TagError, which says why, if it can be no tag (engine facts §2.2)."""
    name = tag.strip().removeprefix("#")
    if _SPACE.search(name):
        reason = "a tag has no spaces; write - or _ between words"
    elif not name or name.isdecimal():
        reason = "a tag needs a character that is no digit"
    elif name.startswith("/") or name.endswith("/") or "//" in name:
        reason = "a slash stands between two names"
    elif _UNTYPEABLE.search(name):
        reason = "a tag has no control characters"
    elif line_tags(f"#{name}") != [name]:
        reason = "the only punctuation in a tag is - and _, and / between a tag and the one below it"
    else:
        return name
    raise TagError(f"{tag!r} cannot be a tag: {reason}.")


def renamed_tag(tag: str, old: str, new: str) -> str:
    """Return a tag's name after ``old`` was renamed to ``new``: ``old/x`` becomes ``new/x``, in any case of letters."""
    depth = old.count("/") + 1
    parts = tag.split("/")
    return "/".join([new, *parts[depth:]]) if "/".join(parts[:depth]).casefold() == old.casefold() else tag


def rename_tag(text: str, old: str, new: str) -> str:
    """Return the text with the tag ``old``, and the tags below it, renamed to ``new``; no other character changes.

    The property keeps its form and quotes. If the renaming makes two of its tags equal, the renamed one is removed. A name
    that YAML would not take for a text gets quotes. Raises TagError for a name that is no tag, and if the text, parsed
    again, would not have exactly the tags wanted.
    """
    old, new = old.strip().removeprefix("#").strip("/"), check_tag(new)
    plain = to_plain(text)
    frontmatter = parse_frontmatter(plain)
    tags = tags_property(plain, frontmatter)
    edits = _property_edits(plain, tags, old, new) if tags else {}
    before = {each.tag for each in tags.elements if each.tag} if tags else set()
    for start, end in _inline_tags(plain, frontmatter.end):
        tag = plain[start:end]
        before.add(tag)
        if (name := renamed_tag(tag, old, new)) != tag:
            edits[start, end] = name
    if not edits:
        return text
    offsets = FileOffsets(text, plain)
    result = apply_replacements(
        text,
        [Replacement(offsets.of(start), offsets.of(end), written) for (start, end), written in sorted(edits.items())],
    )
    wanted = {renamed_tag(tag, old, new).casefold() for tag in before}
    if {span.tag.casefold() for span in tag_spans(result)} != wanted:
        raise TagError(f"#{old} cannot be called #{new} where it stands: it would be read as another tag.")
    return result


# ---------------------------------------------------------------------- tags on lines


def _inline_tags(plain: str, top: int) -> Iterator[Extent]:
    """Yield the span of the name of each tag in the body."""
    if plain.find("#", top) < 0:
        return
    for line in read_body(plain[top : end_of_reading(plain, top)], 1).lines:
        if "#" in line.prose:
            for _, first, last in tag_places(line.prose):
                yield top + line.start + first, top + line.start + last


# ---------------------------------------------------------------------- the property


def _property_edits(plain: str, tags: TagsProperty, old: str, new: str) -> dict[Extent, str]:
    kept = {each.tag.casefold() for each in tags.elements if each.tag and renamed_tag(each.tag, old, new) == each.tag}
    edits: dict[Extent, str] = {}
    dropped: list[int] = []  # numbers of elements
    for number, (_, scalar, tag, place) in enumerate(tags.elements):
        if scalar is None or not tag or (name := renamed_tag(tag, old, new)) == tag:
            continue
        if name.casefold() in kept:
            dropped.append(number)
            continue
        kept.add(name.casefold())
        edits[place] = name
        if not scalar.style:
            extent = scalar.start, scalar.end
            source = apply_replacements(plain, [Replacement(*place, name)], *extent)
            if not _is_plain(source):
                del edits[place]
                edits[extent] = _quoted(source)
    extents = [each.extent for each in tags.elements]
    if tags.form == "flow":
        edits |= dict.fromkeys(_joined(extents, dropped), "")
    elif tags.form == "block":
        edits |= {_lines_of(plain, extents[element]): "" for element in dropped}
    return edits


def _joined(extents: Sequence[Extent], dropped: list[int]) -> Iterator[Extent]:
    """Yield the spans to remove from a flow list: up to the next element that stays, or from the last one that stays."""
    gone = set(dropped)
    for number in dropped:
        if number - 1 in gone:
            continue
        following = next((other for other in range(number, len(extents)) if other not in gone), None)
        if following is not None:
            yield extents[number][0], extents[following][0]
        else:
            yield extents[number - 1][1], extents[-1][1]


def _lines_of(plain: str, extent: Extent) -> Extent:
    """Return the lines of an element of a block list."""
    start = plain.rfind("\n", 0, extent[0]) + 1
    while not plain[start : extent[0]].lstrip(" \t").startswith("-"):
        start = plain.rfind("\n", 0, start - 1) + 1
        if start == 0:
            raise TagError("a list of tags is written in a form that cannot be edited.")
    end = extent[1]
    return start, end if plain[end - 1] == "\n" else plain.index("\n", end) + 1


def _is_plain(source: str) -> bool:
    """Tell whether YAML reads a scalar with this source, without quotes, as that text."""
    return isinstance(plain_scalar(source), str) and source != "-" and not source.startswith(("- ", "-\t", "-\n"))


def _quoted(source: str) -> str:
    return "'" + source.replace("'", "''") + "'" if '"' in source or "\\" in source else f'"{source}"'


# Everything that may be a tag, also where Obsidian may see none. A policy needs all: a missed tag would show a hidden note.
#
# ``parse`` decides which tags search and lists have.

_NAMES = ("tags", "tag")  # the second until Obsidian 1.9
_BETWEEN = re.compile(r"[,\s]+")
# Not within a word or an address; any other character may stand before it.
_TAG = re.compile(r"(?<![^\W_])(?<![/&])#([^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")
# Without these characters there is no math, no HTML and no HTML comment.
_NO_MATH_OR_HTML = str.maketrans("$<", "  ")


def tag_candidates(text: str, parsed: ParsedNote) -> Iterator[str]:
    """Yield all that may be a tag in a note, ``parsed`` from its text, without ``#``; some of it more than once.

    That is every word behind a ``#``, except in code, in links and within a word, and every word of the properties ``tags``
    and ``tag``, in any form of YAML.
    """
    yield from parsed.tags
    for name, value in parsed.frontmatter.values.items():
        if name.casefold() in _NAMES:
            for word in _words(value):
                yield word.removeprefix("#").strip("/")
    body = text[parsed.frontmatter.end :]
    for read in {body, body.translate(_NO_MATH_OR_HTML)}:
        for line in read_body(read, 1).lines:
            for found in _TAG.finditer(line.prose):
                yield found[1].strip("/")
                yield found[1].strip("/_")


def _words(value: PropertyValue) -> Iterator[str]:
    if isinstance(value, str):
        yield from _BETWEEN.split(value)
    elif isinstance(value, list):
        for each in value:
            yield from _words(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _words(name)
            yield from _words(each)
    elif value is not None:
        yield str(value)
