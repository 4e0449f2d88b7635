"""The process of a model: it ends with its input, is started again after a crash, and never holds up the server for long."""

from __future__ import annotations

import io
import os
import signal
import socket
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from support.static_model import write_model
from vaultwire.meaning.models import ModelError, open_embedder
from vaultwire.meaning.worker import Worker, work


@pytest.mark.parametrize("is_background", [True, False])
def test_a_worker_gives_the_vectors_of_the_model(tmp_path: Path, *, is_background: bool) -> None:
    folder = str(write_model(tmp_path))
    worker = Worker(folder, is_background=is_background)
    texts = ["car", "garden\nbread", "\ud800", ""]
    try:
        expected = open_embedder(folder).embed(texts, is_query=False)
        assert np.array_equal(worker.embed(texts, is_query=False, seconds=60), expected)
        assert worker.name == worker.load(60) == open_embedder(folder).name
    finally:
        worker.close()


@pytest.mark.skipif(sys.platform == "win32", reason="priorities are classes there")
@pytest.mark.parametrize(("is_background", "lower"), [(True, 15), (False, 0)])
def test_notes_are_embedded_at_low_priority_and_questions_are_not(
    tmp_path: Path, *, is_background: bool, lower: int
) -> None:
    worker = Worker(str(write_model(tmp_path)), is_background=is_background)
    try:
        worker.load(60)
        assert worker._process is not None
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, worker._process.pid) == min(19, own + lower)
    finally:
        worker.close()


def test_a_worker_at_rest_has_no_process_and_begins_again(tmp_path: Path) -> None:
    worker = Worker(str(write_model(tmp_path)), is_background=True)
    before = worker.embed(["car"], is_query=True, seconds=60)
    process = worker._process
    assert process is not None
    worker.rest()
    assert process.returncode is not None
    worker.rest()
    assert np.array_equal(before, worker.embed(["car"], is_query=True, seconds=60))
    worker.close()


def test_a_model_that_cannot_be_opened_says_why_each_time(tmp_path: Path) -> None:
    worker = Worker(str(tmp_path), is_background=False)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"there is no model\.safetensors in "):
            worker.load(60)
    write_model(tmp_path)
    assert worker.load(60)
    worker.close()


def test_an_error_of_the_model_leaves_the_process_at_work(tmp_path: Path) -> None:
    rows = np.full((2, 3), np.nan, np.float32)
    worker = Worker(str(write_model(tmp_path, {"embeddings": rows})), is_background=False)
    for _ in range(2):
        with pytest.raises(ModelError, match="no numbers"):
            worker.embed(["car"], is_query=True, seconds=60)
    assert not worker.embed(["unknown"], is_query=True, seconds=60).any()
    worker.close()


def test_a_model_that_hangs_is_ended_and_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # connections are made, and nobody answers
        worker = Worker(f"http://127.0.0.1:{silent.getsockname()[1]}/v1#m", is_background=False)
        for _ in range(2):
            with pytest.raises(ModelError, match="no answer within 1 seconds"):
                worker.embed(["car"], is_query=True, seconds=1)
        worker.close()


def test_the_time_of_a_request_is_also_for_those_before_it_and_for_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1#m"
        worker = Worker(address, is_background=False)

        def ask() -> None:
            with pytest.raises(ModelError, match="the server ends"):
                worker.embed(["car"], is_query=True, seconds=600)

        thread = threading.Thread(target=ask)
        thread.start()
        with silent.accept()[0]:
            for late in (lambda: worker.embed(["car"], is_query=True, seconds=0.1), lambda: worker.load(0.1)):
                with pytest.raises(ModelError, match=f"{address} gave no answer within 0.1 seconds: see that it runs"):
                    late()
            assert thread.is_alive()
            worker.close()
            thread.join()
    started = Worker(str(write_model(tmp_path)), is_background=False)
    with pytest.raises(ModelError, match="no answer within 0 seconds"):
        started.load(0)
    assert started.embed(["car"], is_query=True, seconds=60).any()
    started.close()


def test_a_process_that_crashes_is_told_with_the_name_of_its_model(tmp_path: Path) -> None:
    worker = Worker(str(write_model(tmp_path)), is_background=False)
    worker.load(60)
    process = worker._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.write(b"no JSON\n")
    process.stdin.flush()
    with pytest.raises(ModelError, match=f"{tmp_path} has crashed: see that there is memory"):
        worker.embed(["car"], is_query=True, seconds=60)
    assert worker.embed(["car"], is_query=True, seconds=60).any()
    worker.close()


def test_close_ends_a_request_that_waits_and_all_later_ones() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        worker = Worker(f"http://127.0.0.1:{silent.getsockname()[1]}/v1#m", is_background=True)
        said: list[str] = []

        def ask() -> None:
            with pytest.raises(ModelError) as refused:
                worker.embed(["car"], is_query=True, seconds=600)
            said.append(str(refused.value))

        thread = threading.Thread(target=ask)
        thread.start()
        with silent.accept()[0]:
            worker.close()
            thread.join()
        assert said == ["the server ends"]
        with pytest.raises(ModelError, match="the server ends"):
            worker.load(60)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_killed_process_is_started_again(tmp_path: Path) -> None:
    worker = Worker(str(write_model(tmp_path)), is_background=False)
    before = worker.embed(["car"], is_query=True, seconds=60)
    process = worker._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert np.array_equal(before, worker.embed(["car"], is_query=True, seconds=60))
    worker.close()


def test_a_package_in_the_folder_it_is_started_in_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_model(tmp_path / "model")
    for name in ("numpy", "json", "tokenizers"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('loaded from the vault')")
    monkeypatch.chdir(tmp_path)
    worker = Worker(str(folder), is_background=False)
    assert worker.embed(["car"], is_query=True, seconds=60).any()
    worker.close()


def test_the_work_ends_with_its_input(tmp_path: Path) -> None:
    answers = io.BytesIO()
    work(str(write_model(tmp_path)), io.BytesIO(b'{"texts": ["car"], "is_query": true}\n'), answers)
    assert answers.getvalue().startswith(b"\1")


def test_no_network_code_is_loaded_for_a_folder(tmp_path: Path) -> None:
    import subprocess  # noqa: PLC0415 - a fresh process shows what is loaded

    code = (
        "import sys; from vaultwire.meaning.models import open_embedder; "
        "open_embedder(sys.argv[1]).embed(['car'], is_query=True); "
        "print([name for name in ('huggingface_hub', 'http.client', 'httpx') if name in sys.modules])"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code, str(write_model(tmp_path))], capture_output=True, text=True, check=True
    )
    assert finished.stdout.strip() == "[]"
