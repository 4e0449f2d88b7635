"""Writes new links: in the form the vault's settings ask for, and so that they lead to the file by Obsidian's own rules.

Pure. Existing links are rewritten by ``link_rewriting``; where a link leads is decided by ``vault.links.link_resolver``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from vaultwire.markdown.inline import read_inline
from vaultwire.markdown.link_spans import destination
from vaultwire.markdown.links import percent_encoded
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold, is_note, stem
from vaultwire.vault.links.link_resolver import LinkResolver, file_names_for, link_names_to
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

# Characters with a meaning in a Markdown link's text: brackets, and those that open code, math or HTML.
_BRACKETS = re.compile(r"[\[\]]")
_MARKUP = re.compile(r"[\[\]`$<>\\]")


def link_to(
    source: VaultPath,
    target: VaultPath,
    paths: Iterable[VaultPath],
    settings: Settings,
    *,
    is_embed: bool = False,
    display: str = "",
) -> str:
    """Return the link that leads from a note to a file, in the form the vault's settings ask for.

    ``paths`` are the vault's files; those with the target's name are enough. The shortest form is the bare name if no other
    file has it, else the whole path (obsidian.d.ts ``fileToLinktext``). A form that would lead elsewhere is not used. No link
    leads to a file with ``#`` in its path (engine facts §2.1). ``display`` is shown instead of the name.
    """
    linkpath = linkpath_to(source, target, paths, settings.new_link_format)
    mark = "!" if is_embed else ""
    if not settings.use_markdown_links:
        link = f"{mark}[[{linkpath}{'|' + display if display else ''}]]"
        if [found.linktext for found in read_inline(link)[1]] == [linkpath]:  # "a|b", say, needs the other form
            return link
    suffix = target[-len(NOTE_SUFFIX) :] if is_note(target) and not is_note(linkpath) else ""
    shown = display or ("" if is_embed else stem(target))
    # Other characters may change its meaning: "[b]" makes a wikilink, two backticks make code.
    escaped, written = _MARKUP.sub(r"\\\g<0>", shown), destination(linkpath + suffix)
    forms = [
        (shown, written),
        (_BRACKETS.sub(r"\\\g<0>", shown), written),
        (escaped, percent_encoded(linkpath + suffix)),
    ]
    link = ""
    for text, target_text in forms:
        link = f"{mark}[{text}]({target_text})"
        found = [(one.linktext, one.start, one.end) for one in read_inline(link)[1]]
        if found == [(linkpath + suffix, len(mark), len(link))]:
            break
    return link


def linkpath_to(source: VaultPath, target: VaultPath, paths: Iterable[VaultPath], new_link_format: str) -> str:
    """Return the linkpath, without ``.md``, that leads from a note to a file. See ``link_to``."""
    named = {name for led in link_names_to(target) for name in file_names_for(led)}
    alike = {path for path in paths if fold(path).rpartition("/")[2] in named} | {target}
    targets = LinkResolver(alike)
    whole = _without_suffix(target)
    if new_link_format == "relative":
        # Absolute paths, so that relpath does not ask the system for the current folder.
        relative = _without_suffix(VaultPath(posixpath.relpath(f"/{target}", f"/{posixpath.dirname(source)}")))
        forms = [relative, f"./{relative}"]
    elif new_link_format == "absolute":
        forms = []
    else:
        name = fold(target).rpartition("/")[2]
        is_alone = sum(fold(path).rpartition("/")[2] == name for path in alike) == 1
        forms = [whole.rpartition("/")[2]] if is_alone else []
    forms += [whole, target]
    return next((form for form in forms if targets.resolve(source, form) == target), whole)


def _without_suffix(path: VaultPath) -> str:
    return path[: -len(NOTE_SUFFIX)] if is_note(path) else path
