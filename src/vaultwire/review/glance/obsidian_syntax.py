"""Obsidian's additions to Markdown, as rules for markdown-it-py: they make tokens, which ``rendering`` reads.

Each rule looks at a character once, or finds its end with one search that stops at the next mark of the same kind.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from vaultwire.markdown.patterns import compile_pattern

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.ruler import RuleOptionsType
    from markdown_it.rules_block import StateBlock
    from markdown_it.rules_core import StateCore
    from markdown_it.rules_inline import StateInline

MAX_INLINE = 8_000
"""Characters of a paragraph. A longer one is shown as plain text: the time of some rules grows with its square."""

_WIKILINK = compile_pattern(r"!?\[\[([^\[\]\n]++)\]\]")
_TAG = compile_pattern(r"#([^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)")
_MATH = compile_pattern(r"\$\$([^$]++)\$\$|\$(?=[^\s$])([^$\n]*+)(?<!\s)\$(?!\d)")
_FOOTNOTE = compile_pattern(r"\[\^([^\[\]\s^]{1,200})\]")
_DEFINITION = compile_pattern(r"\[\^([^\[\]\s^]{1,200})\]:[ \t]*")
_BLOCK_ID = compile_pattern(r"\^[A-Za-z0-9-]+[ \t]*\Z")
_CALLOUT = re.compile(r"\[!([^\[\]\n]{1,60})\]([+-]?)[ \t]*([^\n]*)(?:\n|\Z)")
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
        elif before.type == "blockquote_open" and (callout := _CALLOUT.match(token.content)):
            before.meta["callout"] = callout[1].partition("|")[0].strip().lower()
            before.meta["title"] = callout[3]
            token.content = token.content[callout.end() :]
