"""The documentation's site: its menu names every page, and pages are prepared without a change of what they say.

What is built from that is looked at by ``make docs`` (built_site.py).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from scripts.docs_site import pages

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://example.org/ada/vaultwire"


def config() -> dict[str, Any]:
    read: dict[str, Any] = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), pages.ConfigLoader)
    return read


NAV = [path for _, _, path in pages.entries(config()["nav"])]


def test_every_page_is_in_the_menu_once_and_every_entry_is_a_page() -> None:
    existing = [path.name for path in (ROOT / "docs").glob("*.md")]
    assert sorted(NAV) == sorted([*existing, *pages.FROM_ROOT])
    assert all((ROOT / pages.source_of(path)).is_file() for path in NAV)


def test_a_page_that_has_moved_is_gone_and_leads_to_a_heading_there() -> None:
    for path, there in pages.MOVED.items():
        assert path not in NAV
        page, _, anchor = there.partition("#")
        headings = re.findall("^## (.*)$", (ROOT / pages.source_of(page)).read_text(encoding="utf-8"), re.MULTILINE)
        assert anchor in [re.sub(r"[^\w -]", "", each).lower().replace(" ", "-") for each in headings], there
        assert f'"{page.replace(".md", ".html")}" + (location.hash || "#{anchor}")' in pages.leading_on(there)


def test_the_first_sentence_of_a_page_can_stand_in_a_list() -> None:
    for path in NAV:
        said = pages.description((ROOT / pages.source_of(path)).read_text(encoding="utf-8"))
        assert 15 < len(said) < 200, (path, said)


def test_links_lead_to_the_same_places_from_the_site() -> None:
    text = (
        "[a](policy.md#rules) [b](../CONTRIBUTING.md#set-up) [c](../README.md) [d](https://example.com/x.md) [e](#here)"
        '\n<img src="pictures/a.svg">\n```\n[kept](../README.md)\n```\n'
    )
    assert pages.lead_elsewhere(text, "docs/remote.md", REPOSITORY) == (
        f"[a](policy.md#rules) [b](contributing.md#set-up) [c]({REPOSITORY}/blob/main/README.md) "
        '[d](https://example.com/x.md) [e](#here)\n<img src="pictures/a.svg">\n```\n[kept](../README.md)\n```\n'
    )
    assert pages.lead_elsewhere(
        "[a](docs/policy.md) [b](CHANGELOG.md) [c](LICENSE)", "CONTRIBUTING.md", REPOSITORY
    ) == (f"[a](policy.md) [b](changelog.md) [c]({REPOSITORY}/blob/main/LICENSE)")


def test_lists_are_indented_as_the_renderer_wants_them() -> None:
    text = """\
Do this:
1. First,
   then:

   ```
   $ code
     more
   ```

2. Second
   - inner
     goes on
   - [ ] task
     - deep

- other
lazy

```
- no list
  at all
```
"""
    assert (
        pages.indent_lists(text)
        == """\
Do this:

1.  First,
    then:

    ```
    $ code
      more
    ```

2.  Second
    -   inner
        goes on
    -   [ ] task
        -   deep

-   other
    lazy

```
- no list
  at all
```
"""
    )


def test_a_picture_follows_the_colours_that_the_reader_chose() -> None:
    text = """\
<picture>
  <source media="(prefers-color-scheme: dark)" srcset="pictures/demo-dark.svg">
  <img alt="A terminal." src="pictures/demo-light.svg">
</picture>
"""
    assert "![A terminal.](pictures/demo-light.svg#only-light)![A terminal.](pictures/demo-dark.svg#only-dark)" in (
        pages.for_renderer(text, {})
    )


def test_a_link_that_reads_as_a_file_reads_as_the_page_on_the_site() -> None:
    text = "See [policy.md](policy.md), [rest.md](rest.md#keys) and [that](policy.md).\n"
    shown = pages.for_renderer(text, {"policy.md": "Policy", "rest.md": "HTTP and REST"})
    assert shown.endswith("See [Policy](policy.md), [HTTP and REST](rest.md#keys) and [that](policy.md).\n")


def test_a_bar_in_the_code_of_a_table_needs_no_backslash_on_the_site() -> None:
    text = "Text `a\\|b`.\n\n| option | a \\| b |\n|---|---|\n| `--backend app\\|files` | `x` |\n"
    shown = pages.for_renderer(text, {})
    assert "Text `a\\|b`." in shown
    assert "| option | a \\| b |" in shown
    assert "| `--backend app|files` | `x` |" in shown


def test_every_picture_is_shown_in_both_colours_and_tells_nothing_of_the_computer_it_was_made_on() -> None:
    made = {path.name: path.read_bytes() for path in (ROOT / "docs" / "pictures").iterdir()}
    text = "".join(path.read_text(encoding="utf-8") for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
    taken = [name for name in made if re.search(r"-(light|dark)\.", name)]
    assert taken
    for name in taken:
        assert f"pictures/{name}" in text, name
        assert {name.replace("-dark.", "-light."), name.replace("-light.", "-dark.")} <= made.keys(), name
        assert not re.search(rb"https?://(?!www\.w3\.org/)|vaultwire-pictures|/root|/work", made[name]), name
    assert sum(map(len, made.values())) < 1_000_000


def test_what_is_built_otherwise_than_on_github_is_named() -> None:
    text = "# A\n\n- one\n- two\n"
    assert pages.differences(text, "<article><h1>A</h1><ul><li>one</li><li>two</li></ul></article>") == []
    assert pages.differences(text, "<article><h1>A</h1><p>- one - two</p></article>") == ["<li> 0 times, 2 on GitHub"]


def test_llms_txt_has_a_line_for_every_page() -> None:
    texts = {path: (ROOT / pages.source_of(path)).read_text(encoding="utf-8") for path in NAV}
    written = pages.llms("vaultwire", "About it.", config()["nav"], texts, "https://example.org/docs/")
    lines = written.splitlines()
    assert lines[:4] == ["# vaultwire", "", "> About it.", ""]
    links = [line for line in lines if line.startswith("- [")]
    assert [line.split("](https://example.org/docs/")[1].split("): ")[0] for line in links] == NAV
    assert all(line.startswith(("- [", "## ")) or not line for line in lines[4:])
