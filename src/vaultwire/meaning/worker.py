"""The process in which a model works: what it reads and writes, and the end of its pipes in the server.

A model of a package or folder is code and data of others. In a process of its own it can crash, hang or take memory, and the
server only loses an answer. The server sends a line of JSON for each request; the answer is a head of nine bytes and a body.
The process ends when its input ends, so also when the server is killed.
"""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from vaultwire.meaning.models import ModelError, open_embedder

if TYPE_CHECKING:
    from vaultwire.meaning.models import Vectors

# Whether the request was answered, then two numbers: of an answer rows and dimensions, else the length of a text and 0.
_HEAD = struct.Struct(">?II")
_MAX_TEXTS = 256
_MAX_SAID = 100_000
_NICENESS = 15
# A library that works on all cores would take them from the person.
_FEW_THREADS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "0",
}


class Worker:
    """A model in a process of its own, started with the first request. Safe to use from several threads."""

    def __init__(self, model: str, *, is_background: bool) -> None:
        """``is_background``: everything else on this computer goes first."""
        self._model = model
        self._is_background = is_background
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closed = False
        self.name = ""
        """What stands for the model (``Embedder.name``), once it is loaded."""

    def load(self, seconds: float) -> str:
        """Start the process if it does not run, and return the model's name. Raises ModelError, also if that takes longer."""
        with self._running(seconds):
            return self.name

    def embed(self, texts: Sequence[str], *, is_query: bool, seconds: float) -> Vectors:
        """Return the vectors of the texts (``Embedder.embed``). Raises ModelError, also if they take longer than this.

        The time is for everything: the requests before it, the start of the process, and the model.
        """
        import numpy as np  # noqa: PLC0415 - an extra, and 200 ms

        assert len(texts) <= _MAX_TEXTS
        request = json.dumps({"texts": [*texts], "is_query": is_query}).encode() + b"\n"
        with self._running(seconds) as until:
            rows, dimensions, body = self._exchange(request, until)
        if rows != len(texts):
            raise ModelError(f"the process of the model {self._model} gave {rows} vectors for {len(texts)} texts")
        return np.frombuffer(body, "<f4").reshape(rows, dimensions).astype(np.float32)

    def close(self) -> None:
        """End the process. Safe from any thread, and while another one waits for an answer."""
        self._is_closed = True
        process = self._process
        if process is not None:
            process.kill()
            with self._lock:
                self._reap()

    @contextmanager
    def _running(self, seconds: float) -> Iterator[float]:
        """Hold the lock while the process runs. Yields when the answer must be there, by the monotonic clock."""
        seconds = max(0.0, seconds)
        until = time.monotonic() + seconds
        within = f"within {round(seconds, 1):g} seconds"
        late = ModelError(f"the model {self._model} gave no answer {within}: see that it runs, or name a quicker one")
        if not self._lock.acquire(timeout=seconds):
            raise late
        try:
            self._start(until)
            yield until
        except TimeoutError:
            raise late from None
        finally:
            self._lock.release()

    def _start(self, until: float) -> None:
        """Start the process unless it runs. Holds the lock. Raises ModelError, and TimeoutError as ``_exchange``."""
        if self._is_closed:
            raise ModelError("the server ends")
        if self._process is not None and self._process.poll() is None:
            return
        self._reap()
        # Not from the folder it is started in (-P): that may be the vault, with a note-taker's own np.py.
        command = [sys.executable, "-P", "-m", "vaultwire.meaning.worker", self._model]
        options: dict[str, Any] = {"start_new_session": True}  # Ctrl-C at the terminal is for the server
        if sys.platform == "win32":
            priority = subprocess.BELOW_NORMAL_PRIORITY_CLASS if self._is_background else 0
            flags = subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP | priority
            options = {"creationflags": flags}
        elif self._is_background:
            command.append("--background")
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own Python, and no shell
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | _FEW_THREADS,
                **options,
            )
        except OSError as error:
            raise ModelError(f"the process of the model {self._model} cannot start: {error.strerror}") from None
        try:
            _, _, body = self._exchange(b"", until, is_text=True)
        except ModelError:
            self._reap()  # it is about to end
            raise
        self.name = body.decode()

    def _exchange(self, request: bytes, until: float, *, is_text: bool = False) -> tuple[int, int, bytes]:
        """Send a request, and return the two numbers and the body of the answer. Holds the lock.

        Raises ModelError, and TimeoutError at the time ``until``; then the process has ended.
        """
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        # A pipe has no time limit on Windows. The end of the process ends each wait.
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(max(0.0, until - time.monotonic()), end)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(request)
            process.stdin.flush()
            is_answer, first, second = _HEAD.unpack(_read(process.stdout, _HEAD.size))
            body = _read(process.stdout, first if is_text or not is_answer else 4 * first * second)
        except (OSError, EOFError):
            self._reap()
            if is_late.is_set():
                raise TimeoutError from None
            crashed = f"the process of the model {self._model} has crashed: see that there is memory for it"
            raise ModelError("the server ends" if self._is_closed else crashed) from None
        finally:
            timer.cancel()
        if not is_answer:
            raise ModelError(body.decode(errors="replace"))
        return first, second, body

    def _reap(self) -> None:
        """Forget the process, which has ended or is ended now. Holds the lock."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                try:
                    pipe.close()
                except OSError:  # a request that it did not take
                    pass


def _read(pipe: IO[bytes], length: int) -> bytes:
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return data


# ---------------------------------------------------------------------- in the process itself


def work(model: str, requests: IO[bytes], answers: IO[bytes]) -> None:
    """Load the model, then answer requests until there are no more."""

    def answer(first: int, second: int, body: bytes, *, is_answer: bool = True) -> None:
        answers.write(_HEAD.pack(is_answer, first, second) + body)
        answers.flush()

    def refuse(error: Exception) -> None:
        failed = f"the model {model} failed: {type(error).__name__}: {error}"
        said = str(error) if isinstance(error, ModelError) else failed
        body = " ".join(said.split()).encode("utf-8", "replace")[: _MAX_SAID // 2]
        answer(len(body), 0, body, is_answer=False)

    try:
        embedder = open_embedder(model)
        name = embedder.name.encode("utf-8", "replace")
        answer(len(name), 0, name)
    except Exception as error:  # noqa: BLE001 - whatever a model does, the server hears of it
        refuse(error)
        return
    for line in requests:
        request = json.loads(line)
        try:
            vectors = embedder.embed(request["texts"], is_query=request["is_query"])
            rows, dimensions = vectors.shape
            answer(rows, dimensions, vectors.astype("<f4").tobytes())
        except Exception as error:  # noqa: BLE001 - as above
            refuse(error)


def _main(arguments: Sequence[str]) -> None:
    model, *flags = arguments
    if flags and sys.platform != "win32":
        os.nice(_NICENESS)
    # What a library prints is no answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    work(model, sys.stdin.buffer, answers)


if __name__ == "__main__":
    _main(sys.argv[1:])
