"""Turns a parsed note into rows of the catalog's tables. Pure. ``catalog_writer`` puts the note's id before each row."""

from __future__ import annotations

from json import JSONEncoder

from vaultwire.markdown.bounds import tags_and_above
from vaultwire.markdown.model import ParsedNote
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.index.store.schema import Facts
from vaultwire.vault.links.resolution import name_of
from vaultwire.vault.model import VaultPath

# One encoder for all: ``json.dumps`` with arguments makes a new one for each call.
_to_json = JSONEncoder(ensure_ascii=False, default=str).encode


def to_facts(path: VaultPath, parsed: ParsedNote) -> Facts:
    """Return the rows for the tables ``schema.FACTS``, without the note's id."""
    above: dict[str, str] = {}
    for tag in tags_and_above(parsed.tags):
        above.setdefault(fold(tag), tag)
    # Of names that differ only in case the first one counts, as for ``Frontmatter.value``.
    values = parsed.frontmatter.values
    named = {fold(name): (place, name) for place, name in reversed([*enumerate(values)])}
    return (
        [
            (
                place,
                link.line,
                name_of(path, link.linktext),
                link.linktext,
                link.display,
                link.is_embed + 2 * link.is_markdown,
            )
            for place, link in enumerate(parsed.links)
        ],
        [*enumerate(parsed.tags)],
        [*above.items()],
        [(place, fold(alias), alias) for place, alias in enumerate(parsed.frontmatter.texts("aliases"))],
        [(place, folded, name, _to_json(values[name])) for folded, (place, name) in named.items()],
        _tasks(parsed),
    )


def _tasks(parsed: ParsedNote) -> list[tuple[int, str, str, str]]:
    """Return line, mark, heading above and text of each task."""
    rows = []
    headings = iter(parsed.headings)
    above, following = "", next(headings, None)
    for task in parsed.tasks:
        while following is not None and following.line < task.line:
            above, following = following.text, next(headings, None)
        rows.append((task.line, task.mark, above, task.text))
    return rows
