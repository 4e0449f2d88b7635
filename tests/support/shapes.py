"""Notes, canvases and bases of the most expensive shapes: each is a function of the size in characters.

Nobody writes such files by hand, but a script, an import or an attacker may. One such file must not take the machine's memory
or delay the others.
"""

from __future__ import annotations

import json
from collections.abc import Callable

Shape = Callable[[int], str]

_LONGEST_PIECE = 1_100  # characters, with what a shape has above and below


def of_bytes(shape: Shape, size: int) -> bytes:
    """Return a file of the shape with a little fewer bytes."""
    text = shape(size)
    each = len(text.encode("utf-8", "surrogatepass")) / max(len(text), 1)
    data = shape(int(size / each) - _LONGEST_PIECE).encode("utf-8", "surrogatepass")
    assert len(data) <= size
    return data


def _filled(piece: Callable[[int], str], size: int) -> str:
    """Return pieces with their numbers, as many as fit."""
    pieces: list[str] = []
    left = size
    while left > 0:
        pieces.append(piece(len(pieces)))
        left -= len(pieces[-1])
    return "".join(pieces)


def _of(piece: str) -> Shape:
    return lambda size: piece * (size // len(piece))


def _numbered(piece: str, above: str = "", below: str = "") -> Shape:
    """Return a shape that repeats one piece; ``{}`` is the number of the repetition."""
    return lambda size: above + _filled(lambda number: piece.replace("{}", f"{number:x}"), size) + below


def _framed(above: str, piece: str, below: str) -> Shape:
    return lambda size: above + piece * (size // len(piece)) + below


def _nested(opening: str, closing: str, above: str = "", below: str = "") -> Shape:
    def shape(size: int) -> str:
        levels = size // (len(opening) + len(closing))
        return above + opening * levels + closing * levels + below

    return shape


def _steps(size: int) -> str:
    """Return a list in which each item is one level deeper; its length grows with the square of its depth."""
    depth = int((2 * size) ** 0.5) - 4
    return "".join(" " * level + "- x\n" for level in range(depth))


def _runs(size: int) -> str:
    """Return runs of backticks of different lengths, so that none closes another."""
    return "".join("`" * length + " " for length in range(1, int((2 * size) ** 0.5) - 2))


def _laughs(size: int) -> str:
    """Return YAML in which each line contains the line before ten times."""
    lines = ["a0: &a0 laugh"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    top = "\n".join(lines)
    return f"---\n{top}\n---\n" + "x " * ((size - len(top)) // 2)


def _all_that_is_read(size: int) -> str:
    """Return a note of the most expensive content, of each kind almost as much as the limit allows."""
    top = _filled(lambda number: f"k{number}: {{a: 1}}\n", min(size // 4, 490_000))
    return f"---\n{top}---\n" + _filled(lambda number: f"#t{number:x}/b/c [[n{number:x}]] ^b\n", size - len(top) - 40)


def _canvas(node: Callable[[int], object]) -> Shape:
    def shape(size: int) -> str:
        one = len(json.dumps(node(size))) + 2  # the longest number there may be
        return json.dumps({"nodes": [node(number) for number in range(size // one)], "edges": []})

    return shape


_LEVELS = "/".join(f"l{level}" for level in range(200))

NOTES: dict[str, Shape] = {
    "one nested tag": lambda size: "#" + "a/" * (size // 2) + "a",
    "one long tag": lambda size: "#" + "a" * size,
    "tags of 200 levels": _numbered(f"#t{{}}/{_LEVELS}\n"),
    "tags of 50 levels": _numbered("#t{}" + "/l" * 50 + " "),
    "many tags": _numbered("#t{} "),
    "a nested tag in a property": lambda size: "---\ntags: [" + "a/" * (size // 2) + "a]\n---\n",
    "tags of 200 levels in a property": _numbered(f"  - t{{}}/{_LEVELS}\n", "---\ntags:\n", "---\n"),
    "many tags in a property": _numbered("  - t{}\n", "---\ntags:\n", "---\n"),
    "a text of tags": _numbered("t{} ", "---\ntags: ", "\n---\n"),
    "billion laughs": _laughs,
    "many uses of one anchor": _framed("---\na: &a x\nb: [", "*a,", "]\n---\n"),
    "many anchors": _numbered("k{}: &k{} x\n", "---\n", "---\n"),
    "many aliases": _numbered("  - alias {}\n", "---\naliases:\n", "---\n"),
    "aliases in one line": _numbered("n{},", "---\naliases: [", "z]\n---\n"),
    "many properties": _numbered("k{}: v\n", "---\n", "---\n"),
    "the same property": _framed("---\n", "k: v\n", "---\n"),
    "properties with links": _numbered('k{}: "[[n]]"\n', "---\n", "---\n"),
    "properties of odd forms": _numbered("k{}: {a: 1}\n", "---\n", "---\n"),
    "a map in a property": _numbered("  k{}: v\n", "---\na:\n", "---\n"),
    "nested lists in a property": _nested("[", "]", "---\na: ", "\n---\n"),
    "nested dashes in a property": lambda size: "---\na:\n  " + "- " * (size // 2) + "x\n---\n",
    "broken properties": _framed("---\n", "a: b: c\n", "---\n"),
    "a broken list of properties": _framed("---\na: [", "x,", "\n---\n"),
    "a long text in a property": _framed('---\na: "', "\\n", '"\n---\n'),
    "unclosed properties": _numbered("k{}: v\n", "---\n"),
    "all that is read": _all_that_is_read,
    "many headings": _numbered("# h{}\n"),
    "headings and links to them": _numbered("# h{}\n[[#h{}]]\n"),
    "equal headings": _of("# h\n"),
    "underlined headings": _of("h\n=\n"),
    "links line by line": _of("[[n]]\n"),
    "links on one line": _of("[[n]]"),
    "links with other targets": _numbered("[[n{}]]\n"),
    "links in Markdown": _of("[a](b)\n"),
    "links in Markdown on one line": _of("[a](b)"),
    "links within links": _nested("[", "](a)"),
    "embeds": _numbered("![[n{}|d]]\n"),
    "open links": _of("[[n"),
    "open brackets": _of("["),
    "open targets": _of("[a]("),
    "parentheses in a target": _nested("(", ")", "[a]"),
    "tasks": _of("- [ ] x\n"),
    "tasks below headings": _numbered("# h{}\n- [ ] x\n"),
    "block ids": _numbered("x ^b{}\n\n"),
    "block ids alone": _numbered("x\n\n^b{}\n\n"),
    "items": _of("- x\n"),
    "items within items on one line": _of("- "),
    "items within items": _steps,
    "quotes within quotes": lambda size: ">" * size,
    "quotes": _of("> x\n"),
    "table": _framed("|a|b|\n|-|-|\n", "|x|y|\n", ""),
    "code marks": _of("`"),
    "runs of code marks": _runs,
    "fences": _of("```\n"),
    "comments": _of("%%\n"),
    "comments on one line": _of("%%"),
    "HTML comments": _of("<!--"),
    "tags of HTML": _of("<a "),
    "lines of HTML": _of("<div>\n"),
    "math": _of("$"),
    "math in pieces": _of("$a$ "),
    "emphasis": _of("**a"),
    "empty lines": _of("\n"),
    "short lines": _of("x\n"),
    "one long line": _of("word "),
    "one long word": _of("x"),
    "other words": _numbered("w{} "),
    "other words line by line": _numbered("w{}\n"),
    "broken words": _of("x."),
    "broken words behind an emoji": _framed("\U0001f600", "x.", ""),
    "text of a script without blanks": _of("\u6f22"),
    "diacritics": _of("e\u0301\u0323 "),
    "emoji": _of("\U0001f600 "),
    "carriage returns": _of("x\r\n"),
    "zeros": _of("\0"),
}  # fmt: skip

CANVASES: dict[str, Shape] = {
    "nested lists": _nested("[", "]"),
    "nested maps": _nested('{"nodes":', "}", "", ""),
    "nested lists in a node": _nested("[", "]", '{"nodes":[{"id":', "}]}"),
    "many nodes": _canvas(lambda number: {"id": f"{number}", "type": "file", "file": "n.md"}),
    "many empty nodes": _framed('{"nodes":[', "{},", "{}]}"),
    "cards with links": _canvas(lambda number: {"id": f"{number}", "type": "text", "text": "[[n]] [[n]]"}),
    "one card of links": lambda size: json.dumps({"nodes": [{"type": "text", "text": "[[n]] " * (size // 6)}]}),
    "keys told twice": _framed('{"nodes":[{', '"file":"n.md",', '"type":"file"}]}'),
    "open": _of("["),
    "a long number": lambda size: '{"nodes":' + "1" * size + "}",
}

BASES: dict[str, Shape] = {
    "nested lists": _nested("[", "]", "filters: "),
    "nested dashes": _of("- "),
    "many names": _framed("filters:\n  and:\n", '    - file.hasLink("n")\n', ""),
    "many views": _numbered("- type: table\n  name: v{}\n", "views:\n"),
    "many uses of one anchor": _framed("a: &a x\nb: [", "*a,", "]\n"),
    "open quotes": _framed("filters: ", "link('", ""),
}
