"""New links: whatever the names, each is read back as one link that leads to its file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.odd_names import ODD_NAMES
from vaultwire.markdown.inline import read_inline
from vaultwire.vault.links.link_resolver import LinkResolver, linkpath_of
from vaultwire.vault.plans.link_rewriting import link_to
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import VaultPath

FORMATS = ["shortest", "relative", "absolute"]


@pytest.mark.parametrize(
    ("target", "markdown", "link"),
    [
        ("A/b.md", False, "[[b]]"),
        ("A/a|b.md", False, "[a|b](a|b.md)"),
        ("A/[b].md", True, "[\\[b\\]]([b].md)"),
        ("A/a [b].md", True, "[a [b]](a%20[b].md)"),
        ("A/a]b.md", True, "[a\\]b](a]b.md)"),
        ("A/`b.md", True, "[\\`b](%60b.md)"),
        ("A/(b.md", True, "[(b](%28b.md)"),
    ],
)
def test_a_link_is_written_so_that_it_is_one(target: str, markdown: bool, link: str) -> None:
    paths = [VaultPath(target), VaultPath("in.md")]
    assert link_to(paths[1], paths[0], paths, Settings(use_markdown_links=markdown)) == link


@given(st.data(), st.sampled_from(FORMATS), st.booleans(), st.booleans())
def test_a_new_link_leads_to_its_file(data: st.DataObject, link_format: str, markdown: bool, is_embed: bool) -> None:
    names = data.draw(st.lists(ODD_NAMES, min_size=3, max_size=3))
    source, target = VaultPath(f"{names[0]}/in.md"), VaultPath(f"{names[1]}/{names[2]}.md")
    settings = Settings(new_link_format=link_format, use_markdown_links=markdown)
    paths = [source, target]
    if "#" in target:  # nothing leads there
        return
    display = data.draw(st.sampled_from(["", "", *names]))
    (read,) = read_inline(link_to(source, target, paths, settings, is_embed=is_embed, display=display))[1]
    assert LinkResolver(paths).resolve(source, linkpath_of(read.linktext)) == target
    assert read.is_embed is is_embed
