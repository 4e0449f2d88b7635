"""Random names of files and folders that people use and programs handle wrongly."""

from __future__ import annotations

from hypothesis import strategies as st

# What ends or opens a link in one of its forms, what has to be encoded, what looks like markup.
PIECES = [
    *"abxy(()[][]#^%$&'`_!,;=@~{}+-", " ", " ", "%20", "%%", "\u00e9", "e\u0301", "\u65e5", "\U0001f5c2", "(x)", "[y]", "[[",
    "]]", "](", "~~", "md", ".", "2",
]  # fmt: skip


def is_name(name: str) -> bool:
    return bool(name) and not name.startswith((".", " ")) and not name.endswith((".", " "))


ODD_NAMES = st.one_of(
    st.sampled_from(["New (folder) [x]", "[z]", "(a) [b] (c)", "x [1]", "p) q(", "u] v["]),
    st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join).filter(is_name),
)
