"""Reads a note and turns it into what catalog and text index store of it. ``updater`` decides which notes to read, and when."""

from __future__ import annotations

import hashlib
import time
from json import JSONEncoder

from vaultwire.bases.base_blocks import may_hold_queries
from vaultwire.markdown.offsets import tags_and_above
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.markdown.properties import Frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.errors import NOT_READ, VaultError
from vaultwire.vault.index.catalog import NO_FACTS, NOT_INDEXABLE, PENDING, Facts, Record
from vaultwire.vault.index.search_plan import BODY
from vaultwire.vault.index.text_index import Fields, to_fields
from vaultwire.vault.index.tokenizer import (
    NgramFilter,
    folded_words,
    has_endless_piece,
    has_too_many_words,
    without_encoded,
)
from vaultwire.vault.links.faults import may_have_faults
from vaultwire.vault.links.link_resolver import link_name
from vaultwire.vault.search.filters import EMPTY_VALUES, scalars_as_texts
from vaultwire.vault.search.note_parts import is_searchable, parse_searchable, searchable_text
from vaultwire.vault.value_types import NoteStat, VaultPath

# Turns a parsed note into rows of the catalog's tables. Pure. ``catalog`` puts the note's id before each row.

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


# Clocks of file systems tick every 4 ms (ext4) to 2 s (FAT). A file that is read so soon after its last change may change
# again without a new time.
_RACY_NS = 2_000_000_000
# A shorter note cannot have too many words, so they need not be counted.
_LONG = 400_000
_NOT_INDEXED = "cannot be indexed ({}): its text is searched, its links, tags and properties are not known"


def read_note(files: Files, stat: NoteStat, known_digest: int | None, *, hidden: bool) -> Record:
    """Read a file for the catalog. If its digest is the known one, the record says nothing else of it."""
    if not is_searchable(stat.path):
        return Record(stat, is_note=False, hidden=hidden)
    try:
        data = _data(files, stat.path)
    except VaultError as error:
        return unreadable(stat, error.message, hidden=hidden)
    is_racy = time.time_ns() - stat.modified_ns < _RACY_NS
    digest = int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big", signed=True)
    record = Record(stat, is_note(stat.path), hidden, PENDING, digest, is_racy)
    if digest == known_digest:
        return record
    try:
        return _parsed(record, searchable_text(stat.path, data))
    except Exception as error:  # noqa: BLE001 - if one note breaks its reader, the others must stay searchable
        problem = _NOT_INDEXED.format(type(error).__name__)
        return record._replace(state=NOT_INDEXABLE, problem=problem, facts=NO_FACTS)


def read_fields(files: Files, path: VaultPath, ngrams: NgramFilter) -> Fields | None:
    """Read a note for the text index; None if that cannot have it. Raises VaultError if it cannot be read."""
    text = searchable_text(path, _data(files, path))
    try:
        parsed = parse_searchable(path, text)
        if _has_endless_piece(text, parsed):
            return None
        fields = to_fields(path, text, parsed, ngrams)
    except Exception:  # noqa: BLE001 - as above; the next check of the file says so in the catalog
        return None
    return None if has_too_many_words(fields[0][BODY]) else fields


def unreadable(stat: NoteStat, problem: str, *, hidden: bool) -> Record:
    """Return the record of a file that cannot be read."""
    return Record(stat, is_note=is_note(stat.path), hidden=hidden, state=PENDING, problem=problem)


def _data(files: Files, path: VaultPath) -> bytes:
    if files.is_dataless(path):
        raise VaultError(NOT_READ, "is only in the cloud, not on this computer")
    return files.read(path).data


def _parsed(record: Record, text: str) -> Record:
    parsed = parse_searchable(record.stat.path, text)
    is_indexable = not (
        _has_endless_piece(text, parsed)
        or (len(text) > _LONG and has_too_many_words(folded_words(without_encoded(text))))
    )
    return record._replace(
        state=PENDING if is_indexable else NOT_INDEXABLE,
        problem=parsed.problems[0] if parsed.problems else None,
        facts=to_facts(record.stat.path, parsed),
        suspect=may_have_faults(parsed),
        has_queries=may_hold_queries(text),
    )


def _has_endless_piece(text: str, parsed: ParsedNote) -> bool:
    # Encoded text is left out of the words, but not of the exact values.
    pieces = (without_encoded(text), *parsed.tags, *parsed.frontmatter.values)
    return any(map(has_endless_piece, pieces))
