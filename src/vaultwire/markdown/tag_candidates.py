"""Everything that may be a tag, also where Obsidian may see none. A policy needs all: a missed tag would show a hidden note.

``parse`` decides which tags search and lists have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from vaultwire.markdown.block_parser import read_body
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.markdown.yaml_core import PropertyValue

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
