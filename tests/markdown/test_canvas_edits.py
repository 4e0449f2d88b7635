"""Edits of canvases: what they mean, and that every other byte stays, in any layout that JSON may have."""

from __future__ import annotations

import json
from itertools import takewhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.markdown.canvas import CanvasEdit, CanvasEditError, NotACanvasError, edit_canvas, read_canvas

OBSIDIAN = """{
\t"nodes":[
\t\t{"id":"a","type":"text","text":"One [[Note]]","x":-300,"y":-120,"width":250,"height":60,"styleAttributes":{}},
\t\t{"id":"b","type":"file","file":"Note.md","x":0,"y":0.5,"width":400,"height":400}
\t],
\t"edges":[
\t\t{"id":"e","fromNode":"a","fromSide":"right","toNode":"b","toSide":"left","label":"why"}
\t],
\t"metadata":{"version":"1.0-1.0"}
}"""


def edited(text: str, action: Any, wanted: str = "", /, **fields: Any) -> str:
    return edit_canvas(text, [CanvasEdit(action, wanted, fields)]).text


def test_a_field_changes_and_nothing_else() -> None:
    assert edited(OBSIDIAN, "set", "a", text="Two") == OBSIDIAN.replace("One [[Note]]", "Two")
    assert edited(OBSIDIAN, "set", "e", label="so") == OBSIDIAN.replace('"why"', '"so"')
    assert edited(OBSIDIAN, "set", "b", subpath="#A") == OBSIDIAN.replace(
        '"height":400}', '"height":400,"subpath":"#A"}'
    )
    assert edited(OBSIDIAN, "set", "e", label=None) == OBSIDIAN.replace(',"label":"why"', "")
    assert edited(OBSIDIAN, "set", "b", y=0.5) == OBSIDIAN


def test_a_node_is_added_as_obsidian_writes_one() -> None:
    added = edited(OBSIDIAN, "add", "c", text="New\n- line", color="4")
    line = '{"id":"c","type":"text","text":"New\\n- line","x":-300,"y":440,"width":260,"height":60,"color":"4"}'
    assert added == OBSIDIAN.replace('"height":400}\n', f'"height":400}},\n\t\t{line}\n')


def test_an_edge_is_added() -> None:
    added = edited(OBSIDIAN, "connect", "f", fromNode="b", toNode="a")
    assert added == OBSIDIAN.replace('"why"}', '"why"},\n\t\t{"id":"f","fromNode":"b","toNode":"a"}')


def test_a_node_goes_with_its_edges() -> None:
    first = OBSIDIAN[OBSIDIAN.index("[") + 1 : OBSIDIAN.index('\n\t\t{"id":"b"')]
    edges = OBSIDIAN[OBSIDIAN.index('"edges":[') + 9 : OBSIDIAN.index('],\n\t"metadata')]
    assert edited(OBSIDIAN, "remove", "a") == OBSIDIAN.replace(first, "").replace(edges, "")
    assert json.loads(edited(OBSIDIAN, "remove", "b"))["edges"] == []


@pytest.mark.parametrize("text", ["", " \n", "{}", '{"nodes":[]}', '{"edges":[]}', '{"nodes":[],"edges":[]}', OBSIDIAN])
def test_nodes_and_edges_come_to_a_canvas_without_any(text: str) -> None:
    edits = [
        CanvasEdit("add", "x", {"text": "X"}),
        CanvasEdit("add", "y", {"url": "https://example.org"}),
        CanvasEdit("connect", "", {"fromNode": "x", "toNode": "y"}),
    ]
    found, added = edit_canvas(text, edits)
    canvas = read_canvas(found)
    assert [node["id"] for node in canvas.nodes][-2:] == ["x", "y"]
    assert canvas.edges[-1] == {"id": added[-1], "fromNode": "x", "toNode": "y"}
    assert len(added[-1]) == 16
    assert edit_canvas(text, edits).added == added


def test_a_new_canvas_looks_like_obsidians() -> None:
    new = edited("", "add", "x", text="X")
    line = '{"id":"x","type":"text","text":"X","x":0,"y":0,"width":260,"height":60}'
    assert new == '{\n\t"nodes":[\n\t\t' + line + '\n\t],\n\t"edges":[]\n}'


@pytest.mark.parametrize(
    ("action", "wanted", "fields", "complaint"),
    [
        ("set", "z", {"text": "x"}, "there is no node 'z'. Nodes: 'a', 'b'"),
        ("set", "b", {"text": "x"}, "'b', a file node, has no text"),
        ("set", "a", {}, "nothing is said to set"),
        ("set", "a", {"text": None}, "text of 'a' cannot be removed"),
        ("set", "e", {"toNode": "z"}, "there is no node 'z'"),
        ("add", "a", {"text": "x"}, "the id 'a' is taken"),
        ("add", "", {}, "one of text, file, url or label"),
        ("add", "", {"text": "x", "url": "y"}, "one of text, file, url or label"),
        ("add", "", {"text": "x", "fromNode": "a"}, "a new text node has no fromNode"),
        ("connect", "", {"fromNode": "a"}, "there is no node ''"),
        ("connect", "", {"fromNode": "a", "toNode": "b", "text": "x"}, "an edge has no text"),
        ("remove", "z", {}, "there is no node 'z'"),
    ],
)
def test_an_edit_that_cannot_be_made_says_why(action: Any, wanted: str, fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(CanvasEditError) as raised:
        edit_canvas(OBSIDIAN, [CanvasEdit(action, wanted, fields)])
    assert complaint in str(raised.value)
    with pytest.raises(CanvasEditError, match=r"^Edit 2 of 2: "):
        edit_canvas(OBSIDIAN, [CanvasEdit("set", "a", {"x": 1}), CanvasEdit(action, wanted, fields)])


def test_an_id_that_two_have_is_not_edited() -> None:
    with pytest.raises(CanvasEditError, match="2 have the id 'b'"):
        edited(OBSIDIAN.replace('"id":"a"', '"id":"b"'), "set", "b", x=1)


@pytest.mark.parametrize("text", ["{", "[]", '{"nodes":{}}', '{"nodes":[],"edges":3}', "1", '{"a":' + "[" * 100_000])
def test_what_is_no_canvas_is_not_edited(text: str) -> None:
    with pytest.raises(NotACanvasError):
        edited(text, "add", text="x")


# ---------------------------------------------------------------------- random canvases

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS, lambda some: st.lists(some, max_size=2), max_leaves=3
)
SPACE = st.sampled_from(["", " ", "\n", "\n\t", "\r\n  "])


@st.composite
def objects(draw: st.DrawFn, fixed: dict[str, Any]) -> str:
    """Return a JSON object with these keys, in any order, among unknown ones, in any layout and spelling."""
    unknown = {f"u{key}": value for key, value in draw(st.dictionaries(TEXTS, JSON, max_size=2)).items()}
    items = draw(st.permutations([*(fixed | unknown).items()]))
    before, after, colon = draw(SPACE), draw(SPACE), draw(st.sampled_from([":", ": ", " :\n"]))
    is_ascii = draw(st.booleans())
    written = [f"{json.dumps(key)}{colon}{json.dumps(value, ensure_ascii=is_ascii)}" for key, value in items]
    return "{" + before + (after + "," + before).join(written) + after + "}"


class Random:
    """A random canvas: its text, and the texts of its nodes and edges."""

    def __init__(self, nodes: list[str], edges: list[str], text: str) -> None:
        self.nodes, self.edges, self.text = nodes, edges, text


@st.composite
def canvases(draw: st.DrawFn) -> Random:
    ids = draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=4))
    nodes = [
        draw(objects({"id": each, "type": "text", "text": draw(TEXTS), "x": 0, "y": number, "width": 1, "height": 1}))
        for number, each in enumerate(ids)
    ]
    ends = st.sampled_from(ids) if ids else st.nothing()
    edges = [
        draw(objects({"id": f"e{number}", "fromNode": draw(ends), "toNode": draw(ends)}))
        for number in range(draw(st.integers(0, 3)) if ids else 0)
    ]

    def listed(items: list[str]) -> str:
        before, after = draw(SPACE), draw(SPACE)
        return "[" + before + f"{after},{before}".join(items) + after + "]"

    parts = {"nodes": listed(nodes), "edges": listed(edges), "metadata": '{"version": 1.0, "a":[ ]}'}
    has_empty = draw(st.booleans())
    kept = [key for key, items in (("nodes", nodes), ("edges", edges)) if items or has_empty]
    before, after = draw(SPACE), draw(SPACE)
    chosen = draw(st.permutations([*kept, "metadata"]))
    body = f"{after},{before}".join(f'"{key}": {parts[key]}' for key in chosen)
    return Random(nodes, edges, draw(SPACE) + "{" + before + body + after + "}" + draw(SPACE))


def without(text: str, parts: list[str]) -> str:
    """Return the text without these parts, which it must hold in this order."""
    rest, place = "", 0
    for part in parts:
        start = text.index(part, place)
        rest, place = rest + text[place:start], start + len(part)
    return rest + text[place:]


@given(canvases(), st.data())
def test_a_changed_node_changes_no_byte_outside_of_its_value(canvas: Random, data: st.DataObject) -> None:
    if not canvas.nodes:
        return
    number = data.draw(st.integers(0, len(canvas.nodes) - 1))
    raw, new = canvas.nodes[number], data.draw(TEXTS)
    node = json.loads(raw)
    after = edited(canvas.text, "set", node["id"], text=new)
    start = canvas.text.index(raw)
    assert after.startswith(canvas.text[:start])
    assert after.endswith(canvas.text[start + len(raw) :])
    expected = json.loads(canvas.text)
    expected["nodes"][number]["text"] = new
    assert json.loads(after) == expected
    changed = after[start : len(after) - (len(canvas.text) - start - len(raw))]
    kept = alike(raw, changed) + alike(raw[::-1], changed[::-1])
    assert kept >= len(raw) - len(json.dumps(node["text"]))


def alike(one: str, other: str) -> int:
    """Return how many characters the two texts begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@given(canvases(), TEXTS)
def test_an_added_node_changes_no_byte_of_the_others(canvas: Random, text: str) -> None:
    after = edited(canvas.text, "add", "new", text=text)
    expected = json.loads(canvas.text)
    nodes = json.loads(after)["nodes"]
    assert (nodes[-1]["id"], nodes[-1]["text"]) == ("new", text)
    assert json.loads(after) | {"nodes": nodes[:-1]} == expected | {"nodes": expected.get("nodes", [])}
    if canvas.nodes:  # what there is stays in one piece before and after the new node
        end = canvas.text.index(canvas.nodes[-1]) + len(canvas.nodes[-1])
        assert after.startswith(canvas.text[:end])
        assert after.endswith(canvas.text[end:])
    elif '"nodes"' in canvas.text:
        assert without(after, canvas.edges)


@given(canvases(), st.data())
def test_removed_nodes_take_their_edges_and_nothing_else(canvas: Random, data: st.DataObject) -> None:
    removed = data.draw(st.lists(st.sampled_from(canvas.nodes), unique=True)) if canvas.nodes else []
    gone = {json.loads(raw)["id"] for raw in removed}
    after = edit_canvas(canvas.text, [CanvasEdit("remove", each, {}) for each in sorted(gone)]).text
    nodes = [raw for raw in canvas.nodes if raw not in removed]
    edges = [raw for raw in canvas.edges if not gone & {json.loads(raw)["fromNode"], json.loads(raw)["toNode"]}]
    expected = json.loads(canvas.text)
    for key, raws in (("nodes", nodes), ("edges", edges)):
        if key in expected:
            expected[key] = [json.loads(raw) for raw in raws]
    assert json.loads(after) == expected
    for raws in (nodes, edges):
        without(after, raws)
    assert (after == canvas.text) == (not removed)


@given(canvases(), st.data())
def test_many_edits_mean_what_they_mean_one_after_the_other(canvas: Random, data: st.DataObject) -> None:
    ids = [json.loads(raw)["id"] for raw in canvas.nodes]
    edits = [CanvasEdit("add", "n1", {"text": "1"}), CanvasEdit("add", "n2", {"label": "2"})]
    for each in ids:
        edits += data.draw(
            st.sampled_from(
                [
                    [],
                    [CanvasEdit("remove", each, {})],
                    [CanvasEdit("set", each, {"x": 7, "color": "1"})],
                    [CanvasEdit("set", each, {"color": "1"}), CanvasEdit("set", each, {"color": None})],
                    [CanvasEdit("connect", "", {"fromNode": each, "toNode": "n1"})],
                ]
            )
        )
    edits += data.draw(st.sampled_from([[], [CanvasEdit("remove", "n2", {})], [CanvasEdit("set", "n2", {"x": 1})]]))
    together = edit_canvas(canvas.text, edits).text
    one_by_one = canvas.text
    for edit in edits:
        one_by_one = edit_canvas(one_by_one, [edit]).text

    def meaning(text: str) -> Any:
        read = json.loads(text)
        for edge in read.get("edges", []):
            edge["id"] = edge["id"] if edge["id"].startswith("e") and len(edge["id"]) == 2 else "new"
        return read

    assert meaning(together) == meaning(one_by_one)
