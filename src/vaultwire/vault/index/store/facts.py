"""What a note says, as rows of the catalog's tables. Pure; the note's id is put before each when it is filed."""

from __future__ import annotations

from json import JSONEncoder
from json.encoder import encode_basestring

from vaultwire.markdown.bounds import tags_and_above
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.index.store.schema import Facts
from vaultwire.vault.links.link_resolver import link_name
from vaultwire.vault.value_types import VaultPath

# One for all: ``json.dumps`` with arguments makes one a call, in the time of two encodings.
_to_json = JSONEncoder(ensure_ascii=False, default=str).encode


def to_facts(path: VaultPath, parsed: ParsedNote) -> Facts:
    """Return the rows of ``schema.FACTS``, without the note's id."""
    above: dict[str, str] = {}
    for tag in tags_and_above(parsed.tags):
        above.setdefault(fold(tag), tag)
    # Of names that differ in case only the first counts, as for ``Frontmatter.value``: a note has a property once.
    values = parsed.frontmatter.values
    named = {fold(name): (place, name) for place, name in reversed([*enumerate(values)])}
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
        [(place, folded, name, _json(values[name])) for folded, (place, name) in named.items()],
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


def _json(value: PropertyValue) -> str:
    # Most properties are texts or lists of them, and this is a tenth of what the rest of the library takes.
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, list):
        texts = [encode_basestring(item) for item in value if isinstance(item, str)]
        if len(texts) == len(value):
            return f"[{', '.join(texts)}]"
    return _to_json(value)
