"""Edits of JSON and TOML files: only our entry changes, and taking it out gives the old text back (random files)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vaultwire.client_setup import formats
from vaultwire.client_setup.clients import Format
from vaultwire.client_setup.problems import BrokenFileError, NotEditableError, SetupError

ENTRY = {"command": "/opt/my programs/vaultwire", "args": ["stdio", "--vault", 'C:\\No"tes é 🌱']}
OTHER = {"command": "uvx", "args": ["vaultwire", "stdio"]}
NAMES = st.sampled_from(["a", "other", "x y", "é", "command", "servers", "mcpServers", "//", "a,b", "}"])
TEXTS = st.sampled_from(["", "x", "// no comment", "/*", "*/ ,}", 'a"b', "\\", "# no", "[x]", "{", "é🌱", "on", "a: b"])
SCALARS = st.one_of(TEXTS, st.integers(-9, 9), st.booleans(), st.none(), st.sampled_from([1.5, -0.0, 1e300]))
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))
SERVERS = st.dictionaries(
    st.sampled_from(["a", "b-c", "other"]), st.dictionaries(NAMES, VALUES, max_size=3), max_size=3
)
FILES = st.tuples(st.dictionaries(NAMES, VALUES, max_size=3), st.one_of(st.none(), SERVERS), st.booleans())


@st.composite
def json_files(draw: st.DrawFn, *, comments: bool) -> str:
    """Return a valid file in a random layout, line by line or all in one line."""
    data, servers, is_first = draw(FILES)
    data = {key: value for key, value in data.items() if key != "mcpServers"}
    if servers is not None:
        data = {"mcpServers": servers, **data} if is_first else {**data, "mcpServers": servers}
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    spaces = ["", " ", newline, f"{newline}  ", f"{newline}\t", f"{newline}    {newline} "]
    if comments:
        spaces += [f' // a "comment", }} {newline}', "/* { , */", f"{newline}  // one{newline}  /* two{newline} */ "]
    gaps = st.sampled_from(spaces)

    def emit(value: Any) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        items = (
            [f"{json.dumps(key)}{draw(gaps)}:{draw(gaps)}{emit(each)}" for key, each in value.items()]
            if isinstance(value, dict)
            else [emit(each) for each in value]
        )
        text = ",".join(f"{draw(gaps)}{item}{draw(gaps)}" for item in items) or draw(gaps)
        if comments and items and draw(st.booleans()):
            text += f",{draw(gaps)}"
        return f"{{{text}}}" if isinstance(value, dict) else f"[{text}]"

    pretty = st.sampled_from([1, 2, 4, "\t", None])
    if draw(st.booleans()):
        return json.dumps(data, indent=draw(pretty)).replace("\n", newline) + draw(st.sampled_from(["", newline]))
    return draw(gaps) + emit(data) + draw(gaps)


def is_put_in_and_taken_out(text: str, form: Format, keys: tuple[str, ...]) -> None:
    """Check the round trip, and that the text around the entry is the old one."""
    before = formats.read(text, form)
    new = formats.with_entry(text, form, keys, ENTRY)
    assert formats.entry_in(formats.read(new, form), keys) == ENTRY
    assert is_part_of(text, new)
    renewed = formats.with_entry(new, form, keys, OTHER)
    made = sum(formats.entry_in(before, keys[:depth]) is None for depth in range(1, len(keys)))
    for each in (new, renewed):
        old = formats.without_entry(each, form, keys, containers=made)
        if (
            not before or formats.entry_in(before, keys[:-1]) == {}
        ):  # braces without anything between them keep no layout
            assert "".join(old.split()) == "".join(text.split())
        else:
            assert old == text


def is_part_of(old: str, new: str) -> bool:
    """Tell whether only text was added: all old characters are there, in their order."""
    rest = iter(new)
    return all(character in rest for character in old)


@given(json_files(comments=False))
def test_an_entry_goes_into_json_and_out_again(text: str) -> None:
    is_put_in_and_taken_out(text, "json", ("mcpServers", "vaultwire"))


@given(json_files(comments=True))
def test_an_entry_goes_into_json_with_comments_and_out_again(text: str) -> None:
    is_put_in_and_taken_out(text, "jsonc", ("mcpServers", "vaultwire"))


@given(json_files(comments=True), json_files(comments=True))
def test_entries_of_others_that_come_later_stay(text: str, other: str) -> None:
    keys = ("mcpServers", "vaultwire")
    new = formats.with_entry(formats.with_entry(text, "jsonc", keys, ENTRY), "jsonc", ("mcpServers", "late"), OTHER)
    old = formats.without_entry(new, "jsonc", keys)
    assert formats.entry_in(formats.read(old, "jsonc"), ("mcpServers", "late")) == OTHER
    assert is_part_of("".join(old.split()), "".join(new.split()))


def toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml_value(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return "[\n  " + ", # ] a comment\n  ".join(map(toml_value, value)) + "\n]"
    return json.dumps("" if value is None else value)


@st.composite
def toml_files(draw: st.DrawFn) -> str:
    data, servers, _ = draw(FILES)
    gaps = st.sampled_from(["", "\n", "# [mcp_servers.vaultwire]\n", "\n  # one\n"])
    lines = [f"{draw(gaps)}{json.dumps(key)} = {toml_value(value)} # x" for key, value in data.items()]
    if draw(st.booleans()):
        lines.append(f'{draw(gaps)}text = """\n[mcp_servers.vaultwire]\n""" # x')
    for name, server in (servers or {}).items():
        lines.append(f"{draw(gaps)}[mcp_servers.{json.dumps(name)}]")
        lines += [f"{draw(gaps)}{json.dumps(key)} = {toml_value(value)}" for key, value in server.items()]
        if draw(st.booleans()):
            lines += [f"[ mcp_servers . {json.dumps(name)} . deep ]", "x = 'a'''"[:-2]]
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    return ("\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n", "\n# end"])) * bool(lines)).replace(
        "\n", newline
    )


@given(toml_files())
def test_a_table_goes_into_toml_and_out_again(text: str) -> None:
    try:
        before = formats.read(text, "toml")
    except BrokenFileError:
        assume(False)
    keys = ("mcp_servers", "vaultwire")
    new = formats.with_entry(text, "toml", keys, ENTRY)
    assert new.startswith(text)
    renewed = formats.with_entry(new, "toml", keys, OTHER)
    assert formats.with_entry(renewed, "toml", keys, ENTRY) == new
    assert formats.without_entry(new, "toml", keys) == text
    assert formats.entry_in(formats.read(new, "toml"), keys) == ENTRY
    assert before == formats.read(text, "toml")


@pytest.mark.parametrize(
    ("form", "text", "line", "column"),
    [
        ("json", '{\n  "a": 1,\n}', 3, 1),
        ("json", "{\n  // none\n}", 2, 3),
        ("jsonc", '{\n  "a": 1 /* x */\n  "b": 2\n}', 3, 3),
        ("jsonc", '{\n  "a": "x\n}', 2, 10),
        ("jsonc", '{ "a": 1 /* never ends', 1, 10),
        ("toml", "a = 1\nb = \n", 2, 5),
        ("toml", "a = 1\na = 2\n", 2, 6),
    ],
)
def test_a_broken_file_is_refused_with_its_line_and_column(form: Format, text: str, line: int, column: int) -> None:
    with pytest.raises(BrokenFileError) as error:
        formats.with_entry(text, form, ("servers", "vaultwire"), ENTRY)
    assert (error.value.line, error.value.column) == (line, column)
    assert str(error.value).startswith(f"line {line}, column {column}: ")


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("json", '{"servers": []}'),
        ("json", '{"servers": null}'),
        ("jsonc", '{"servers": "x"}'),
        ("toml", "servers = 1"),
        ("toml", 'servers = { a = { command = "x" } }'),
        ("toml", '[servers]\nvaultwire = { command = "x" }'),
        ("toml", '[[servers]]\ncommand = "x"'),
        ("toml", '[servers.vaultwire]\nargs = [\n"a"\n]'),
        ("toml", 's = """\n[servers.vaultwire]\n"""\n[servers]\nvaultwire.command = "x"'),
    ],
)
def test_a_form_that_only_a_person_can_change_is_refused(form: Format, text: str) -> None:
    with pytest.raises(NotEditableError):
        formats.with_entry(text, form, ("servers", "vaultwire"), ENTRY)


@pytest.mark.parametrize(("form", "text"), [("json", "[]"), ("jsonc", "1")])
def test_a_file_without_names_is_refused(form: Format, text: str) -> None:
    with pytest.raises(SetupError, match="must have names with values"):
        formats.with_entry(text, form, ("servers", "vaultwire"), ENTRY)


def test_values_nested_without_end_are_refused() -> None:
    for form, text in (("json", "[" * 100_000), ("jsonc", '{"a":' * 100_000), ("toml", "a = " + "[" * 100_000)):
        with pytest.raises(BrokenFileError):
            formats.read(text, form)  # type: ignore[arg-type] # the loop's texts are formats


def test_the_layout_of_a_file_is_kept() -> None:
    text = '{\n\t"mcpServers": {\n\t\t"a": {"command": "x"}, // mine\n\t},\n}\n'
    assert formats.with_entry(text, "jsonc", ("mcpServers", "vaultwire"), {"command": "v", "args": []}) == (
        '{\n\t"mcpServers": {\n\t\t"a": {"command": "x"}, // mine\n'
        '\t\t"vaultwire": {\n\t\t\t"command": "v",\n\t\t\t"args": []\n\t\t},\n\t},\n}\n'
    )
    assert formats.with_entry('{"a":{}}', "json", ("a", "v"), {"b": "c"}) == '{"a":{"v":{"b":"c"}}}'


def test_keys_of_a_table_that_are_the_persons_own_stay() -> None:
    text = '[mcp_servers.vaultwire] # mine\nenabled = true\ncommand = "old" # gone\nargs = ["a"] # ]\n# last\n'
    text += '[mcp_servers.vaultwire.env]\nA = "b"\n[mcp_servers.vaultwire.http_headers]\nB = "c"\n[z]\n'
    new = formats.with_entry(text, "toml", ("mcp_servers", "vaultwire"), {**OTHER, "enabled": True, "env": {"A": "b"}})
    assert new == (
        '[mcp_servers.vaultwire] # mine\ncommand = "uvx"\nargs = ["vaultwire", "stdio"]\nenabled = true\n# last\n'
        '[mcp_servers.vaultwire.env]\nA = "b"\n[z]\n'
    )


def test_usual_settings_of_zed_are_edited_as_a_person_would() -> None:
    text = '// Zed settings\n//\n// see: https://zed.dev\n{\n  "ui_font_size": 16,\n'
    text += '  "theme": { "mode": "system" }, // mine\n}\n'
    new = formats.with_entry(text, "jsonc", ("context_servers", "vaultwire"), {"command": "v"})
    added = '  "context_servers": {\n    "vaultwire": {\n      "command": "v"\n    }\n  },\n'
    assert new == text.removesuffix("}\n") + added + "}\n"
    assert formats.without_entry(new, "jsonc", ("context_servers", "vaultwire"), containers=1) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": { // first\n "x": 1, "b": 2}}', {"a": {"b": 2}}),
        ('{"a": {"b": 2, // first\n "x": 1}}', {"a": {"b": 2}}),
        ('{"a": { // first\n "x": 1}}', {"a": {}}),
    ],
)
def test_a_line_comment_before_a_removed_member_does_not_swallow_what_follows(text: str, expected: object) -> None:
    new = formats.without_entry(text, "jsonc", ("a", "x"))
    assert formats.read(new, "jsonc") == expected
    assert "// first" in new
