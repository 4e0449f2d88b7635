"""Renders a note as a tree of allowed elements (``allowed``). No HTML is made or read anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vaultwire.bases.base_blocks import base_blocks
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.review.glance.allowed import REST, Tree, base_address, file_address, is_allowed_address, only_allowed
from vaultwire.vault.disk.paths import is_base, is_note

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Resolve = Callable[[str], str | None]
"""Where the text of a link leads: a path in the vault; None if nowhere."""

MAX_TEXT = 200_000
"""Characters that are rendered: half a second of work, for hostile texts two. The rest is not shown."""
_MAX_VALUES = 200
"""Properties of a note, and values of one, that are shown."""
_MAX_VALUE = 2_000
"""Characters of a value that are shown."""

_HAS_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_ELEMENTS = {
    "paragraph": "p",
    "bullet_list": "ul",
    "ordered_list": "ol",
    "list_item": "li",
    "blockquote": "blockquote",
    "em": "em",
    "strong": "strong",
    "s": "del",
    "mark": "mark",
    "table": "table",
    "thead": "thead",
    "tbody": "tbody",
    "tr": "tr",
    "th": "th",
    "td": "td",
}


def to_tree(text: str, resolve: Resolve | None = None, *, vault: str = "", note: str = "") -> Tree:
    """Return a note's text as a tree of elements.

    ``vault``: its name, for links to its notes; without it they are plain text. ``note``: the note's path, for links to the
    bases that are in it. A text that is too large ends with a node that says so.
    """
    frontmatter = parse_frontmatter(text[:MAX_TEXT])
    body, is_cut = text[frontmatter.end : MAX_TEXT], len(text) > MAX_TEXT
    if is_cut:
        body = body[: body.rfind("\n") + 1] or body
    builder = _Builder(resolve or (lambda _: None), vault, note, text.count("\n", 0, frontmatter.end))
    if vault and note:
        builder.bases = {block.line: number for number, block in enumerate(base_blocks(text[:MAX_TEXT]), 1)}
    nodes: Tree = []
    if frontmatter.values:
        nodes.append(builder.properties(frontmatter.values))
    nodes += builder.blocks(body)
    if is_cut:
        nodes.append([*REST])
    return only_allowed(nodes)


class _Builder:
    """Builds the tree of one note from the tokens of markdown-it-py."""

    def __init__(self, resolve: Resolve, vault: str, note: str, first_line: int) -> None:
        self.bases: Mapping[int, int] = {}
        """The numbers of the note's bases, by the first lines of their texts."""
        self._resolve = resolve
        self._vault = vault
        self._note = note
        self._first_line = first_line
        self._parser = _parser()
        self._env: dict[str, Any] = {}
        self._notes: dict[str, Tree] = {}  # the footnotes' texts

    def properties(self, values: dict[str, Any]) -> list[Any]:
        rows: Tree = []
        for name, value in list(values.items())[:_MAX_VALUES]:
            items = value if isinstance(value, list) else [value]
            shown: Tree = []
            for item in items[:_MAX_VALUES]:
                text = "" if item is None else str(item).lower() if isinstance(item, bool) else str(item)
                text = text[:_MAX_VALUE]
                shown += [", "] if shown else []
                shown += self.inline(text) if "[[" in text else [text]
            rows.append(["tr", {}, [["th", {}, [str(name)]], ["td", {}, shown]]])
        return ["table", {"class": "properties"}, [["tbody", {}, rows]]]

    def blocks(self, text: str) -> Tree:
        tokens = self._parser.parse(text, self._env)
        nodes = self._tree(tokens)
        numbers: dict[str, int] = self._env.get("footnotes", {})
        if numbers:
            items = [["li", {}, self._notes.get(name, [])] for name in numbers]
            nodes.append(["section", {"class": "footnotes"}, [["ol", {}, items]]])
        return nodes

    def inline(self, text: str) -> Tree:
        return self._tree(self._parser.parseInline(text, self._env))

    def _tree(self, tokens: Sequence[Token]) -> Tree:
        """Return the nodes of a flat list of tokens, some of which open and close elements."""
        root: Tree = []
        stack = [root]
        for token in tokens:
            if token.nesting > 0:
                children: Tree = []
                for node in self._opened(token, children):
                    stack[-1].append(node)
                if token.type == "paragraph_open" and token.hidden:
                    children = stack[-1]
                stack.append(children)
            elif token.nesting < 0:
                if len(stack) > 1:
                    stack.pop()
            else:
                stack[-1] += self._single(token)
        return root

    def _opened(self, token: Token, children: Tree) -> Tree:
        kind = token.type.removesuffix("_open")
        if kind == "definition":
            self._notes.setdefault(token.meta["name"], children)
            return []
        if token.type == "paragraph_open" and token.hidden:
            return []
        attributes = self._line_of(token)
        if kind == "heading":
            return [[token.tag, attributes, children]]
        if kind == "link":
            return [self._link(str(token.attrs.get("href", "")), children)]
        if kind == "list_item" and "task" in token.meta:
            mark = token.meta["task"]
            children.append(["span", {"class": "box"}, ["☐ " if mark == " " else "☑ "]])
            return [["li", {**attributes, "class": "task", "data-mark": mark}, children]]
        if kind == "blockquote" and "callout" in token.meta:
            title = token.meta["title"] or token.meta["callout"].capitalize()
            children.append(["p", {"class": "callout-title"}, self.inline(title)])
            return [["blockquote", {**attributes, "class": "callout", "data-callout": token.meta["callout"]}, children]]
        if kind == "ordered_list" and "start" in token.attrs:
            attributes["start"] = int(token.attrs["start"])
        return [[_ELEMENTS.get(kind, "span"), attributes, children]]

    def _line_of(self, token: Token) -> dict[str, Any]:
        return {"data-line": token.map[0] + 1 + self._first_line} if token.map and token.level < 3 else {}  # noqa: PLR2004

    def _single(self, token: Token) -> Tree:
        kind = token.type
        if kind == "inline":
            return self._tree(token.children or [])
        if kind in ("text", "text_special", "plain", "html_inline", "html_block"):
            return [token.content] if token.content else []
        if kind in ("softbreak", "hardbreak", "hr"):
            # Obsidian shows the end of a line as one, unless strict line breaks are set.
            return [["hr" if kind == "hr" else "br", {}, []]]
        if kind in ("code_inline", "fence", "code_block"):
            code = ["code", {}, [token.content]]
            return [code] if kind == "code_inline" else [["pre", self._line_of(token), [code]], *self._base_of(token)]
        return self._obsidian(token)

    def _base_of(self, token: Token) -> Tree:
        """Return a link to the base in a code block; nothing for other code."""
        number = self.bases.get(token.map[0] + self._first_line + 2) if token.map else None
        if number is None:
            return []
        address = base_address(self._vault, self._note, block=number)
        return [["p", {}, [["a", {"href": address, "class": "embed"}, ["Show what this base lists"]]]]]

    def _obsidian(self, token: Token) -> Tree:
        kind = token.type
        if kind in ("math", "math_block"):
            is_block = kind == "math_block"
            return [["div" if is_block else "span", {"class": "block-math" if is_block else "math"}, [token.content]]]
        if kind == "tag":
            return [["span", {"class": "tag"}, [token.content]]]
        if kind == "footnote":
            return [["sup", {"class": "footnote"}, [str(self._env["footnotes"][token.content])]]]
        if kind == "wikilink":
            return [self._wikilink(token.content, is_embed=token.meta["embed"])]
        if kind == "image":
            return [self._picture(str(token.attrs.get("src", "")), token.content)]
        return []

    def _wikilink(self, content: str, *, is_embed: bool) -> list[Any]:
        linktext, _, display = content.partition("|")
        linktext = linktext.strip().removesuffix("\\")
        if is_embed and _is_size(display):
            display = ""
        return self._to_file(linktext, [display.strip() or linktext], is_embed=is_embed)

    def _link(self, address: str, children: Tree) -> list[Any]:
        if _HAS_SCHEME.match(address):
            return ["a", {"href": address}, children] if is_allowed_address(address) else ["span", {}, children]
        return self._to_file(_decoded(address), children, is_embed=False)

    def _picture(self, address: str, alt: str) -> list[Any]:
        if not _HAS_SCHEME.match(address):
            shown = "" if _is_size(alt) else alt
            return self._to_file(_decoded(address), [shown or _decoded(address)], is_embed=True)
        link = [["a", {"href": address}, [address]]] if is_allowed_address(address) else [address]
        return ["span", {"class": "outside-picture"}, [f"{alt} (" if alt else "(", *link, ")"]]

    def _to_file(self, linktext: str, children: Tree, *, is_embed: bool) -> list[Any]:
        path = self._resolve(linktext)
        if path is None:
            return ["span", {"class": "missing", "title": f"{linktext} is not in the vault"}, children]
        if not self._vault:
            return ["span", {"title": path}, children]
        # An embedded base is shown with the note around it as "this"; a link leads to the base itself.
        view = linktext.partition("#")[2]
        href = file_address(self._vault, path, view, self._note if is_embed else "")
        if not (is_note(path) or is_base(path)):
            return ["a", {"href": href, "class": "attachment", "title": f"{path} in Obsidian"}, children]
        return ["a", {"href": href, "class": "embed" if is_embed else "note", "title": path}, children]


def _decoded(address: str) -> str:
    from mdurl import decode  # noqa: PLC0415 - see _parser

    return decode(address)


def _is_size(text: str) -> bool:
    """Tell whether the text behind an embed is the size of a picture."""
    return text.replace("x", "", 1).strip().isdigit()


def _parser() -> MarkdownIt:
    """Return a parser. It is loaded here, because only the desk renders notes."""
    from markdown_it import MarkdownIt  # noqa: PLC0415 - as above

    from vaultwire.review.glance.obsidian_syntax import use_obsidian  # noqa: PLC0415 - as above

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 30}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    use_obsidian(parser)
    return parser
