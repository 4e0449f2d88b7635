"""Brings Markdown that GitHub reads to the site's renderer: lists, links, pictures. Also llms.txt. Knows no MkDocs.

The pages of docs/ are read on GitHub, in editors and on the site. The site's renderer (Python-Markdown) differs: it wants the
content of a list item indented by four columns, and an empty line before a list.
"""

from __future__ import annotations

import itertools
import json
import posixpath
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml
from markdown_it import MarkdownIt

# Pages of the site that are files at the repository's root.
FROM_ROOT = {"contributing.md": "CONTRIBUTING.md", "changelog.md": "CHANGELOG.md"}
# Pages that there were, and where what they said stands now. Links to them, with or without an anchor, lead on.
MOVED = {
    "how-it-works.md": "index.md#how-it-works-with-your-vault",
    "vaults.md": "index.md#several-vaults",
    "bundles.md": "install.md#bundles-one-file-for-a-client",
    "upgrade.md": "install.md#upgrade-uninstall-where-the-files-are",
    "claude-code.md": "editors.md#claude-code",
    "gemini-cli.md": "editors.md#gemini-cli-and-qwen-code",
    "obsidian-app.md": "editors.md#the-running-app",
    "apps.md": "editors.md#views-inside-clients",
    "review.md": "policy.md#let-changes-wait",
    "audit.md": "policy.md#audit-log-limits-lists-of-tools-the-web",
    "service.md": "team.md#as-a-service",
    "relay.md": "rest.md#one-server-many-clients",
    "security.md": "safety.md#threats-and-tests",
    "coming-from.md": "comparison.md#coming-from-another-server",
    "glossary.md": "faq.md#glossary",
    "platforms.md": "windows-and-cloud.md#linux-macos-and-windows-inside-the-program",
    "protocol.md": "runtime.md#protocol",
    "changing.md": "runtime.md#changing-a-vault",
}
_INDENT = 4
_STRUCTURE = ("h1", "h2", "h3", "h4", "h5", "h6", "li", "table", "tr", "td", "pre", "blockquote")
_LINK = re.compile(r"(\]\(|\b(?:href|src|srcset)=\")([^)\s\"]+)")
_MARKER = re.compile(r" *([-+*]|\d+[.)]) +(?=\S)")
_FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
_PICTURE = re.compile(
    r"<picture>\s*<source[^>]*\(prefers-color-scheme: dark\)[^>]*srcset=\"(?P<dark>[^\"]+)\"[^>]*>\s*"
    r"<img[^>]*alt=\"(?P<alt>[^\"]*)\"[^>]*src=\"(?P<light>[^\"]+)\"[^>]*>\s*</picture>"
)


class _Item(NamedTuple):
    start: int
    end: int
    offset: int
    """Of its content, in columns."""
    marker: str


class ConfigLoader(yaml.SafeLoader):
    """Reads mkdocs.yml; the renderer's own tags, which name Python objects, are left as None."""


ConfigLoader.add_multi_constructor("", lambda *_: None)


def entries(nav: list[Any]) -> Iterator[tuple[str, str, str]]:
    """Yield section, title and path of each page in mkdocs.yml's ``nav``."""
    for entry in nav:
        for title, inner in entry.items():
            if isinstance(inner, str):
                yield title, title, inner
            else:
                yield from ((title, name, path) for page in inner for name, path in page.items())


def source_of(path: str) -> str:
    """Return where in the repository a page of the site comes from."""
    return FROM_ROOT.get(path, f"docs/{path}")


def lead_elsewhere(markdown: str, source: str, repository: str) -> str:
    """Return a page's text with links that lead to the same places from the site."""
    return _outside_fences(markdown, lambda text: _lead_links(text, source, repository))


def leading_on(there: str) -> str:
    """Return the HTML of a page that there was, which leads on to where it stands now, or to the same anchor there."""
    page, _, anchor = there.partition("#")
    page = page.replace(".md", ".html")
    return (
        f'<!doctype html>\n<meta charset="utf-8">\n<title>Moved</title>\n<link rel="canonical" href="{page}">\n'
        f'<script>location.replace("{page}" + (location.hash || "#{anchor}"))</script>\n'
        f'<p>This page is now <a href="{page}#{anchor}">a part of another one</a>.</p>\n'
    )


def for_renderer(markdown: str, titles: dict[str, str]) -> str:
    """Return a page's text as the site's renderer wants it, with the ``titles`` of pages where it names their files."""
    text = _outside_fences(markdown, lambda part: _name_pages(_bare_bars(_choose_pictures(part)), titles))
    about = description(markdown)
    return f"---\ndescription: {json.dumps(about, ensure_ascii=False)}\n---\n{indent_lists(text)}"


def keep_names_whole(html: str) -> str:
    """Mark short code, such as options: browsers break lines after a hyphen."""
    return re.sub(r"<code>(?=[^<\n]{1,28}</code>)", '<code class="short">', html)


def differences(markdown: str, html: str) -> list[str]:
    """Name the elements of which a built page has another number than the same page on GitHub."""
    here = _structure(html.partition("<article")[2].partition("</article>")[0])
    there = _structure(MarkdownIt("commonmark").enable("table").render(markdown))
    return [f"<{tag}> {here[tag]} times, {there[tag]} on GitHub" for tag in _STRUCTURE if here[tag] != there[tag]]


def _structure(html: str) -> dict[str, int]:
    return {tag: len(re.findall(rf"<{tag}[\s>]", html)) for tag in _STRUCTURE}


def indent_lists(markdown: str) -> str:
    """Indent the content of list items by four columns for each list they are in, with an empty line before a list."""
    lines = markdown.split("\n")
    items, begun = _list_items(markdown)
    out: list[str] = []
    for number, line in enumerate(lines):
        if number in begun and number > 0 and out[-1].strip():
            out.append("")
        around = [item for item in items if item.start <= number < item.end]
        out.append(_indented(line, number, len(around), around[-1]) if around else line)
    return "\n".join(out)


def description(markdown: str) -> str:
    """Return the first sentence of the first paragraph, as plain text."""
    tokens = MarkdownIt("commonmark").parse(markdown)
    for before, token in itertools.pairwise(tokens):
        if before.type == "paragraph_open" and before.level == 0 and token.children:
            text = "".join(" " if child.type == "softbreak" else child.content for child in token.children)
            if text.strip() and token.children[0].type != "html_inline":
                return re.split(r"(?<=[.!?]) (?![a-z])", text.strip())[0].rstrip(":")
    return ""


def llms(title: str, about: str, nav: list[Any], texts: dict[str, str], url: str) -> str:
    """Return llms.txt (https://llmstxt.org): the site's pages for a language model, one line each."""
    parts = [f"# {title}\n\n> {about}"]
    for section, group in itertools.groupby(entries(nav), lambda entry: entry[0]):
        lines = [f"- [{name}]({url}{path}): {description(texts[path])}" for _, name, path in group]
        parts.append(f"## {section}\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _outside_fences(markdown: str, change: Callable[[str], str]) -> str:
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [change(markdown[end : fence.start()]), fence.group()]
        end = fence.end()
    return "".join([*parts, change(markdown[end:])])


def _lead_links(text: str, path: str, repository: str) -> str:
    def lead(match: re.Match[str]) -> str:
        target, anchor, fragment = match[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        there = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        from_root = {source: page for page, source in FROM_ROOT.items()}
        if there in from_root:
            there = from_root[there]
        elif there.startswith("docs/"):
            there = there.removeprefix("docs/")
        else:
            there = f"{repository}/blob/main/{there}"
        return f"{match[1]}{there}{anchor}{fragment}"

    return _LINK.sub(lead, text)


def _choose_pictures(text: str) -> str:
    """Show one of two pictures by the colours that the reader chose on the site, not by the system's."""
    return _PICTURE.sub(
        lambda match: "".join(f"![{match['alt']}]({match[kind]}#only-{kind})" for kind in ("light", "dark")), text
    )


def _bare_bars(text: str) -> str:
    """Leave out the backslash before a bar in the code of a table: the renderer would show it, and splits no code there."""
    return re.sub(
        r"^\|.*$",
        lambda row: re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), row[0]),
        text,
        flags=re.MULTILINE,
    )


def _name_pages(text: str, titles: dict[str, str]) -> str:
    return re.sub(r"\[([\w-]+\.md)\](?=\(\1[)#])", lambda match: f"[{titles.get(match[1], match[1])}]", text)


def _list_items(markdown: str) -> tuple[list[_Item], set[int]]:
    """Return all list items, the outer before the inner, and the lines where outermost lists begin."""
    lines = markdown.split("\n")
    items, begun, depth = [], set(), 0
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.map is not None and token.type in ("bullet_list_open", "ordered_list_open"):
            begun |= {token.map[0]} if depth == 0 else set()
        elif token.map is not None and token.type == "list_item_open":
            first = _MARKER.match(lines[token.map[0]])
            assert first is not None, lines[token.map[0]]
            items.append(_Item(token.map[0], token.map[1], first.end(), first[1]))
        depth += token.nesting if token.type.endswith(("_list_open", "_list_close")) else 0
    return items, begun


def _indented(line: str, number: int, depth: int, item: _Item) -> str:
    if not line.strip():
        return ""
    if number == item.start:
        return " " * _INDENT * (depth - 1) + f"{item.marker} ".ljust(_INDENT) + line[item.offset :]
    return " " * _INDENT * depth + line[min(item.offset, len(line) - len(line.lstrip(" "))) :]
