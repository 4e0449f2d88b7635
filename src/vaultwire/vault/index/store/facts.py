"""Turns a parsed note into rows of the catalog's tables. Pure. ``catalog_writer`` puts the note's id before each row."""

from __future__ import annotations

from json import JSONEncoder

from vaultwire.markdown.offsets import tags_and_above
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.markdown.properties import Frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.index.store.schema import Facts
from vaultwire.vault.links.link_resolver import link_name
from vaultwire.vault.search.filters import EMPTY_VALUES, scalars_as_texts
from vaultwire.vault.value_types import VaultPath

# One encoder for all: ``json.dumps`` with arguments makes a new one for each call.
_to_json = JSONEncoder(ensure_ascii=False, default=str).encode


def to_facts(path: VaultPath, parsed: ParsedNote) -> Facts:
    """Return the rows for the tables ``schema.FACTS``, without the note's id."""
    above: dict[str, str] = {}
    for tag in tags_and_above(parsed.tags):
        above.setdefault(fold(tag), tag)
    # Of names that differ only in case the first one counts, as for ``Frontmatter.value``.
    values = parsed.frontmatter.values
    named: dict[str, list[tuple[int, str]]] = {}
    for place, name in enumerate(values):
        named.setdefault(fold(name), []).append((place, name))
    return (
        [
            (
                place,
                link.line,
                link_name(path, link.linktext),
                link.linktext,
                link.display,
                link.is_embed + 2 * link.is_markdown,
            )
            for place, link in enumerate(parsed.links)
        ],
        [*enumerate(parsed.tags)],
        [*above.items()],
        [(place, fold(alias), alias) for place, alias in enumerate(parsed.frontmatter.texts("aliases"))],
        [
            (
                place,
                folded,
                name,
                _value_to_json(values[name]),
                _written(parsed.frontmatter, [each for _, each in names]),
            )
            for folded, names in named.items()
            for place, name in names[:1]
        ],
        _tasks(parsed),
        _outline(parsed),
    )


def _written(frontmatter: Frontmatter, names: list[str]) -> str | None:
    """Return what ``schema`` says of ``written``, of the properties of these names."""
    if len(names) == 1 and frontmatter.written[names[0]] == scalars_as_texts(frontmatter.values[names[0]]):
        return None
    values = [(frontmatter.values[name], frontmatter.written[name]) for name in names]
    return _to_json([(value is None, value in EMPTY_VALUES, texts) for value, texts in values])


def _value_to_json(value: PropertyValue) -> str:
    """Return a property's value as JSON. For each list the encoder would make another encoder, in 3 us."""
    return f"[{', '.join(map(_value_to_json, value))}]" if isinstance(value, list) else _to_json(value)


def _outline(parsed: ParsedNote) -> list[tuple[str, str]]:
    """Return the headings and the block ids as JSON; nothing if there are none."""
    headings = [(heading.level, heading.text) for heading in parsed.headings]
    names = [block.name for block in parsed.block_ids]
    return [(_to_json(headings), _to_json(names))] if headings or names else []


def _tasks(parsed: ParsedNote) -> list[tuple[int, str, str, str, bool]]:
    """Return line, mark, heading above and text of each task, and whether it is open."""
    rows = []
    headings = iter(parsed.headings)
    above, following = "", next(headings, None)
    for task in parsed.tasks:
        while following is not None and following.line < task.line:
            above, following = following.text, next(headings, None)
        rows.append((task.line, task.mark, above, task.text, not task.mark.strip()))
    return rows
