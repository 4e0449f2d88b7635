"""Renders a note as a tree of allowed elements. No HTML is made or read anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from vaultwire.bases.base_blocks import base_blocks
from vaultwire.markdown.diffs import differences
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.review.diff.words import tokens_of
from vaultwire.vault.disk.paths import is_base, is_note
from vaultwire.vault.search.query import Not, parse_query
from vaultwire.vault.search.terms import Text, fold_case

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token


# ---------------------------------------------------------------------- addresses on the page of the desk
# ``desk/page/glance/shared.js`` makes the address of a note, too.

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-/")


def quoted(text: str) -> str:
    """Return a text as a part of an address, with ``/`` as it is."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def note_address(vault: str, path: str, line: int = 0) -> str:
    """Return the address of a note on the page."""
    return f"#/{_one_part(vault)}/note/{quoted(path)}{f'?line={line}' if line else ''}"


def base_address(vault: str, path: str, view: str = "", block: int = 0, this: str = "") -> str:
    """Return the address of a base on the page: of a ``.base`` file, or of a block of the note ``path``."""
    # The page decodes each part of an address before it knows of a view, so these values are quoted twice.
    given = (("view", view), ("block", str(block) if block else ""), ("this", this))
    query = "&".join(f"{name}={quoted(_one_part(value))}" for name, value in given if value)
    return f"#/{_one_part(vault)}/base/{quoted(path)}{f'?{query}' if query else ''}"


def file_address(vault: str, path: str, view: str = "", this: str = "") -> str:
    """Return the address of any file: of a note or base on the page, of others in the app. ``view``, ``this``: of a base."""
    if is_base(path):
        return base_address(vault, path, view, this=this)
    return note_address(vault, path) if is_note(path) else f"obsidian://open?vault={quoted(vault)}&file={quoted(path)}"


def _one_part(text: str) -> str:
    return quoted(text).replace("/", "%2F")


# ---------------------------------------------------------------------- what a tree may consist of
#
# A tree is JSON: a text, or ``[element, attributes, children]``. Whatever made a tree, ``only_allowed`` is its last step. The
# page (``desk/page/glance/tree.js``) has the same list a second time.

Tree: TypeAlias = list[Any]
"""Nodes: texts and ``[element, attributes, children]``."""

_NAMES = """
    a blockquote br code dd del div dl dt em h1 h2 h3 h4 h5 h6 hr li mark ol p pre section span strong sub sup table tbody
    td th thead tr ul
"""
_CLASS_NAMES = """
    attachment block-math box changed callout callout-title embed footnote footnotes math missing note outside-picture
    properties rest tag task
"""
ELEMENTS = frozenset(_NAMES.split())
CLASSES = frozenset(_CLASS_NAMES.split())
MAX_NODES = 20_000
"""Of a tree: more would make the page slow. Texts count, too."""
MAX_DEPTH = 60
"""Of elements in each other: quotes and lists go 20 deep in a parsed note."""
REST = ["p", {"class": "rest"}, ["The rest of this note is not shown here: it is too large."]]

_MAX_ADDRESS = 4_000
# Browsers leave out tabs and line ends within an address, so an address with any control character is refused.
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\\]")
_OUTSIDE = re.compile(r"(?:https?://[^/]|mailto:)", re.IGNORECASE)
# Other actions, and other parameters of this one (append, prepend), write notes when such a link is opened; plugins add more.
_IN_APP = re.compile(r"obsidian://open/?\?(?:vault|file)=[^&#]*(?:&(?:vault|file)=[^&#]*)?\Z")
_NOTE = re.compile(r"#/[A-Za-z0-9%._~-]+/note/[A-Za-z0-9%._~/-]+(?:\?line=[0-9]{1,9})?\Z")
_BASE = re.compile(
    r"#/[A-Za-z0-9%._~-]+/base/[A-Za-z0-9%._~/-]+"
    r"(?:\?(?:view|block|this)=[A-Za-z0-9%._~-]+(?:&(?:view|block|this)=[A-Za-z0-9%._~-]+){0,2})?\Z"
)
_CALLOUT = re.compile(r"[a-z][a-z0-9-]{0,30}\Z")
_TEXT_ATTRIBUTES = frozenset(("title", "data-callout", "data-mark"))
_NUMBERS = frozenset(("start", "data-line"))


def is_allowed_address(address: object) -> bool:
    """Tell whether a link may lead to the address: http, https, mailto, a file in Obsidian, a note or base of this page."""
    if not isinstance(address, str) or len(address) > _MAX_ADDRESS or _UNSAFE.search(address):
        return False
    return any(allowed.match(address) for allowed in (_OUTSIDE, _IN_APP, _NOTE, _BASE))


def only_allowed(nodes: object) -> Tree:
    """Return the nodes without any element or attribute that is not in the list. Of an unknown element the children stay."""
    cleaner = _Cleaner()
    found = cleaner.clean(nodes, 0)
    if cleaner.is_cut:
        found.append([*REST])
    return found


class _Cleaner:
    def __init__(self) -> None:
        self.left = MAX_NODES
        self.is_cut = False

    def clean(self, nodes: object, depth: int) -> Tree:
        if not isinstance(nodes, list | tuple):
            return []
        found: Tree = []
        for node in nodes:
            if self.left <= 0 or depth > MAX_DEPTH:
                self.is_cut = True
                break
            self.left -= 1
            if isinstance(node, str):
                found.append(node)
            elif isinstance(node, Sequence) and len(node) == 3:  # noqa: PLR2004 - see the head
                self._element(node, depth, found)
        return found

    def _element(self, node: Sequence[Any], depth: int, found: Tree) -> None:
        name, attributes, children = node
        inner = self.clean(children, depth + 1)
        if not isinstance(name, str) or name not in ELEMENTS:
            found.extend(inner)
            return
        found.append([name, _attributes(name, attributes), inner])


def _attributes(name: str, given: object) -> dict[str, str | int]:
    if not isinstance(given, dict):
        return {}
    return {key: value for key, value in given.items() if _is_allowed(name, key, value)}


def _is_allowed(name: str, key: object, value: object) -> bool:
    if key == "href":
        return name == "a" and is_allowed_address(value)
    if key == "class":
        return isinstance(value, str) and value in CLASSES
    if key == "data-callout":
        return isinstance(value, str) and _CALLOUT.match(value) is not None
    if key in _NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9
    return key in _TEXT_ATTRIBUTES and isinstance(value, str)


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

    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 30}).enable(["table", "strikethrough"])
    parser.disable(["html_block", "html_inline"])
    use_obsidian(parser)
    return parser


# ---------------------------------------------------------------------- Obsidian's additions to Markdown
#
# As rules for markdown-it-py: they make tokens, which are read above.
#
# Each rule looks at a character once, or finds its end with one search that stops at the next mark of the same kind.

MAX_INLINE = 8_000
"""Characters of a paragraph. A longer one is shown as plain text: the time of some rules grows with its square."""

_WIKILINK = compile_pattern(r"!?\[\[([^\[\]\n]++)\]\]")
_TAG = compile_pattern(r"#([^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")
_MATH = compile_pattern(r"\$\$([^$]++)\$\$|\$(?=[^\s$])([^$\n]*+)(?<!\s)\$(?!\d)")
_FOOTNOTE = compile_pattern(r"\[\^([^\[\]\s^]{1,200})\]")
_DEFINITION = compile_pattern(r"\[\^([^\[\]\s^]{1,200})\]:[ \t]*")
_BLOCK_ID = compile_pattern(r"\^[A-Za-z0-9-]+[ \t]*\Z")
_CALLOUT_LINE = re.compile(r"\[!([^\[\]\n]{1,60})\]([+-]?)[ \t]*([^\n]*)(?:\n|\Z)")
_TASK = re.compile(r"\[(.)\][ \t]+")


def use_obsidian(parser: MarkdownIt) -> None:
    """Add the rules to a parser."""
    inline, block = parser.inline.ruler, parser.block.ruler
    for name, rule in (
        ("wikilink", _wikilink),
        ("footnote", _footnote),
        ("comment", _comment),
        ("math", _math),
        ("highlight", _highlight),
        ("tag", _tag),
        ("block_id", _block_id),
    ):
        inline.before("link", name, rule)
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    block.before("fence", "comment_block", _comment_block, interrupts)
    block.before("fence", "math_block", _math_block, interrupts)
    block.before("reference", "footnote_definition", _definition, {"alt": ["paragraph", "reference"]})
    parser.core.ruler.after("block", "marks", _marks)


def _found(state: StateInline, pattern: re.Pattern[str]) -> re.Match[str] | None:
    return pattern.match(state.src, state.pos, state.posMax)


def _push(state: StateInline, kind: str, content: str, end: int, meta: dict[str, Any] | None = None) -> bool:
    token = state.push(kind, "", 0)
    token.content = content
    token.meta = meta or {}
    state.pos = end
    return True


def _wikilink(state: StateInline, silent: bool) -> bool:
    found = _found(state, _WIKILINK) if state.src[state.pos] in "![" else None
    if not found:
        return False
    if silent:
        state.pos = found.end()
        return True
    return _push(state, "wikilink", found[1], found.end(), {"embed": found[0][0] == "!"})


def _footnote(state: StateInline, silent: bool) -> bool:
    found = _found(state, _FOOTNOTE) if state.src[state.pos] == "[" else None
    if not found or found[1].casefold() not in state.env.get("footnotes", {}):
        return False
    if silent:
        state.pos = found.end()
        return True
    return _push(state, "footnote", found[1].casefold(), found.end())


def _comment(state: StateInline, silent: bool) -> bool:  # noqa: ARG001 - markdown-it's signature
    if not state.src.startswith("%%", state.pos):
        return False
    end = state.src.find("%%", state.pos + 2, state.posMax)
    state.pos = state.posMax if end < 0 else end + 2
    return True


def _math(state: StateInline, silent: bool) -> bool:
    found = _found(state, _MATH) if state.src[state.pos] == "$" else None
    if not found:
        return False
    if silent:
        state.pos = found.end()
        return True
    return _push(state, "math", found[1] or found[2], found.end())


def _highlight(state: StateInline, silent: bool) -> bool:
    start = state.pos + 2
    if not state.src.startswith("==", state.pos) or state.src[start : start + 1] in (" ", "=", "\n", ""):
        return False
    end = state.src.find("==", start, state.posMax)
    if end < 0:
        return False
    if not silent:
        last = state.posMax
        state.push("mark_open", "mark", 1)
        state.pos, state.posMax = start, end
        state.md.inline.tokenize(state)
        state.push("mark_close", "mark", -1)
        state.posMax = last
    state.pos = end + 2
    return True


def _tag(state: StateInline, silent: bool) -> bool:
    if state.src[state.pos] != "#" or (state.pos and not state.src[state.pos - 1].isspace()):
        return False
    found = _found(state, _TAG)
    if not found or found[1].isdigit():
        return False
    if silent:
        state.pos = found.end()
        return True
    return _push(state, "tag", found[0], found.end())


def _block_id(state: StateInline, silent: bool) -> bool:  # noqa: ARG001 - as above
    if state.src[state.pos] != "^" or (state.pos and not state.src[state.pos - 1].isspace()):
        return False
    found = _BLOCK_ID.match(state.src, state.pos)
    if not found or found.end() > state.posMax:
        return False
    state.pos = found.end()
    return True


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _fenced(state: StateBlock, first: int, last: int, mark: str) -> tuple[str, int] | None:
    """Return the text between two marks that begin and end lines, and the line behind it; None if there is none."""
    line = _line(state, first)
    if not line.startswith(mark) or state.is_code_block(first):
        return None
    if mark in line[2:]:
        one = line.rstrip()
        return (one[2:-2], first + 1) if one.find(mark, 2) == len(one) - 2 else None
    lines = [line[2:]]
    number = first + 1
    while number < last and state.sCount[number] >= state.blkIndent:
        line = _line(state, number)
        number += 1
        if mark in line:
            lines.append(line.partition(mark)[0])
            return "\n".join(lines), number
        lines.append(line)
    return "\n".join(lines), number


def _comment_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    found = _fenced(state, first, last, "%%")
    if found and not silent:
        state.line = found[1]
    return bool(found)


def _math_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    found = _fenced(state, first, last, "$$")
    if found and not silent:
        token = state.push("math_block", "", 0)
        token.content, token.map = found[0].strip("\n"), [first, found[1]]
        state.line = found[1]
    return bool(found)


def _definition(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read ``[^id]: text`` with the lines of its paragraph. Its text becomes an inline token, which ``_marks`` moves."""
    line = _line(state, first)
    found = _DEFINITION.match(line)
    if not found or state.is_code_block(first):
        return False
    if silent:
        return True
    number = first + 1
    lines = [line[found.end() :]]
    while number < last and not state.isEmpty(number) and not _DEFINITION.match(_line(state, number)):
        lines.append(_line(state, number))
        number += 1
    state.env.setdefault("footnotes", {}).setdefault(found[1].casefold(), len(state.env.get("footnotes", {})) + 1)
    state.push("definition_open", "", 1).meta = {"name": found[1].casefold()}
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = "\n".join(lines), [first, number], []
    state.push("definition_close", "", -1)
    state.line = number
    return True


def _marks(state: StateCore) -> None:
    """Read what stands at the beginning of quotes and items: callouts and tasks. Make long paragraphs plain text."""
    tokens = state.tokens
    for number, token in enumerate(tokens):
        if token.type != "inline":
            continue
        if len(token.content) > MAX_INLINE:
            token.type = "plain"
            continue
        before = tokens[number - 2] if number > 1 else token
        if before.type == "list_item_open" and (task := _TASK.match(token.content)):
            before.meta["task"] = task[1]
            token.content = token.content[task.end() :]
        elif before.type == "blockquote_open" and (callout := _CALLOUT_LINE.match(token.content)):
            before.meta["callout"] = callout[1].partition("|")[0].strip().lower()
            before.meta["title"] = callout[3]
            token.content = token.content[callout.end() :]


# ---------------------------------------------------------------------- marked words

_MOST_WORDS = 50


def words_of(query: str) -> list[str]:
    """Return the words and phrases that a query looks for, folded; those after a minus not. The longest first."""
    found: set[str] = set()
    _collect(parse_query(query), found)
    return sorted(found, key=lambda word: (-len(word), word))[:_MOST_WORDS]


def _collect(part: Any, found: set[str]) -> None:
    if isinstance(part, Not) or not isinstance(part, tuple | list):
        return
    if isinstance(part, Text):
        found.add(fold_case(part.text))
        return
    for each in part:
        _collect(each, found)


def marked(line: str, words: list[str]) -> list[dict[str, Any]]:
    """Return a line in parts, of which those with a word are marked: ``{"t": text, "mark": bool}``."""
    folded = fold_case(line)
    marks = bytearray(len(line))
    if len(folded) == len(line):  # a few letters get longer when they are folded; then the places would be wrong
        for word in filter(None, words):
            position = folded.find(word)
            while position >= 0:
                marks[position : position + len(word)] = b"\1" * len(word)
                position = folded.find(word, position + len(word))
    parts: list[dict[str, Any]] = []
    for character, mark in zip(line, marks, strict=True):
        if parts and parts[-1]["mark"] == bool(mark):
            parts[-1]["t"] += character
        else:
            parts.append({"t": character, "mark": bool(mark)})
    return parts


def mark_changes(old: Tree, new: Tree) -> tuple[Tree, Tree]:
    """Return two rendered notes with the words marked that only one of them has, by spans of the class ``changed``."""
    old_words, new_words = list(_words_in(old)), list(_words_in(new))
    found = differences(old_words, new_words)
    old_marks, new_marks = bytearray(len(old_words)), bytearray(len(new_words))
    for each in found:
        old_marks[each.start : each.end] = b"\1" * (each.end - each.start)
        new_marks[each.new_start : each.new_end] = b"\1" * (each.new_end - each.new_start)
    return only_allowed(_with_marks(old, iter(old_marks))), only_allowed(_with_marks(new, iter(new_marks)))


def _words_in(nodes: Tree) -> Iterator[str]:
    for node in nodes:
        yield from tokens_of(node, "code") if isinstance(node, str) else _words_in(node[2])


def _with_marks(nodes: Tree, marks: Iterator[int]) -> Tree:
    """Return nodes with their marked words in spans; ``marks`` has one for each word, in order."""
    made: Tree = []
    for node in nodes:
        if not isinstance(node, str):
            made.append([node[0], node[1], _with_marks(node[2], marks)])
            continue
        text, is_in = "", False
        for word in tokens_of(node, "code"):
            is_marked = bool(next(marks)) and (is_in or bool(word.strip()))
            if is_marked != is_in and text:
                made.append(["span", {"class": "changed"}, [text]] if is_in else text)
                text = ""
            text, is_in = text + word, is_marked
        if text:
            made.append(["span", {"class": "changed"}, [text]] if is_in else text)
    return made
