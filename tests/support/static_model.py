"""A small static embedding model in a folder, as model2vec writes one: words of one group mean about the same."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

GROUPS = (
    "car vehicle automobile wagen",
    "garden tomatoes mint beds garten",
    "money budget euros savings geld",
    "doctor medicine illness arzt",
    "music guitar concert song",
    "bread oven flour dough",
)
WORDS = [word for group in GROUPS for word in group.split()]
DIMENSIONS = 16


def table() -> NDArray[np.float32]:
    """Return a vector for each word and, first, for the unknown one."""
    random = np.random.default_rng(7)
    rows = [np.zeros(DIMENSIONS)]
    for group in GROUPS:
        middle = random.standard_normal(DIMENSIONS)
        rows += [middle + 0.1 * random.standard_normal(DIMENSIONS) for _ in group.split()]
    return np.array(rows, np.float32)


def safetensors(tensors: Mapping[str, NDArray[Any]], kinds: Mapping[str, str] = {}) -> bytes:
    """Return the bytes of a file with these tensors. ``kinds``: types that are named other than they are."""
    names = {"float64": "F64", "float32": "F32", "float16": "F16", "int8": "I8", "int64": "I64"}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, tensor in tensors.items():
        start, data = len(data), data + tensor.tobytes()
        kind = kinds.get(name, names[tensor.dtype.name])
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [start, len(data)]}
    head = json.dumps(header).encode()
    return struct.pack("<Q", len(head)) + head + data


def tokenizer(words: list[str] = WORDS) -> dict[str, Any]:
    """Return a tokenizer that knows these words, whole and in any case."""
    vocabulary = {"[UNK]": 0} | {word: number for number, word in enumerate(words, 1)}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "[UNK]"},
    }


def write_model(folder: Path, tensors: Mapping[str, NDArray[Any]] | None = None) -> Path:
    """Write a model into the folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(safetensors(tensors or {"embeddings": table()}))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer()), encoding="utf-8")
    return folder
