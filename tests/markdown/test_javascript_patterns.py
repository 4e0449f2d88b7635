"""Patterns of JavaScript find what JavaScript finds: as recorded, and as Node answers where it is installed."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from typing import Any

import pytest
import regex  # type: ignore[import-untyped]

from vaultwire.markdown.patterns import javascript_pieces

# Pattern, flags, text, and the first match of JavaScript.
RECORDED = [
    (r"three \d", "m", "three ٣", None),
    (r"caf\W", "m", "caféx", "café"),
    (r"\bé", "m", "xé", "é"),
    (r"^b", "m", "a\u2028b", "b"),
    (r"a$", "", "a\n", None),
    (r"a\sb", "", "a\ufeffb", "a\ufeffb"),
    (r"a\sb", "", "a\x1cb", None),
    (r"[^\s]", "", "\ufeff\xa0", None),
    (r"[\D]", "", "٣", "٣"),
    (r"[^\Wa]+", "", "aéxyz", "xyz"),
    (r"a.b", "", "a\rb", None),
    (r"a.b", "s", "a\rb", "a\rb"),
    (r"(a)|b\1", "", "b", "b"),
    (r"a{,2}", "", "a{,2}", "a{,2}"),
    (r"\a\Z\{", "", "aZ{", "aZ{"),
]
PIECES = [r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\b", r"\B", "a", "é", "[a-c]", r"[\d\s]", r"[^\w]", r"[^\W]", r"[\Dx]",
    r"[^\Dx]", "(a)", "(b|)", r"\1", ".", "^", "$", "*", "+", "?", "{2}", "{", "}", "{,2}", "(?:", "(", ")", "|", "[^]", "[]",
    r"\a", r"\-", r"\u00e9", r"\x41", "(?=a)", "(?<n>a)", r"\k<n>", "(?!b)", "[.{]", r"[\-a]", "٣", r"\t", r"[\b]"]  # fmt: skip
TEXT = "abcABé٣3 \n\r\u2028\xa0\ufeffx-{},_1\t.\x1c\x85"
NODE = shutil.which("node")
SCRIPT = """
const cases = JSON.parse(require("fs").readFileSync(0));
console.log(JSON.stringify(cases.map(([source, flags, text]) => {
  let pattern;
  try { pattern = new RegExp(source, flags); } catch { return false; }
  const found = pattern.exec(text);
  return found && [found.index, found[0]];
})));
"""


def compiled(source: str, flags: str) -> Any:
    pieces = javascript_pieces(source, is_multiline="m" in flags, is_dotall="s" in flags)
    assert "".join(piece.written for piece in pieces) == source
    ours = regex.VERSION0 | (regex.MULTILINE * ("m" in flags)) | (regex.DOTALL * ("s" in flags))
    return regex.compile("".join(piece.translated for piece in pieces), ours)


@pytest.mark.parametrize(("source", "flags", "text", "expected"), RECORDED)
def test_a_pattern_finds_what_javascript_finds(source: str, flags: str, text: str, expected: str | None) -> None:
    found = compiled(source, flags).search(text)
    assert (found and found[0]) == expected


@pytest.mark.skipif(NODE is None, reason="Node is not installed")
def test_any_pattern_finds_what_node_finds() -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    cases = [
        (
            "".join(chance.choices(PIECES, k=chance.randint(1, 6))),
            chance.choice(["m", "", "ms", "s"]),
            "".join(chance.choices(TEXT, k=chance.randint(0, 8))),
        )
        for _ in range(2000)
    ]
    run = subprocess.run([str(NODE), "-e", SCRIPT], input=json.dumps(cases), capture_output=True, text=True, check=True)
    compared = 0
    for (source, flags, text), expected in zip(cases, json.loads(run.stdout), strict=True):
        if expected is False:
            continue
        try:
            found = compiled(source, flags).search(text)
        except regex.error:  # a reference to no group means a character in JavaScript
            assert r"\1" in source or r"\k" in source, source
            continue
        assert (found and [found.start(), found[0]]) == expected, (source, flags, text)
        compared += 1
    assert compared > len(cases) // 4
