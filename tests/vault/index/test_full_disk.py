"""Where the index can be written no more, as on a full disk, answers stay right, nothing raises, and it is said why."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.vaults import write_vault

if sys.platform == "win32":
    pytest.skip("a limit on files is POSIX", allow_module_level=True)

TESTS = Path(__file__).resolve().parents[2]
# Of a file, in bytes: enough for a note.
LIMIT = "1500"
# In a process of its own, since the limit holds for all of one: no file may grow beyond it, which fails like a full disk
# does, at one write or another. The last word is why the index is not kept, if it is not.
CHILD = """
import random, resource, sys, threading
from pathlib import Path
from support.stores import answers, answers_of_new, difference, open_stored

root, cache, limit, is_watched, seed = sys.argv[1:]
random = random.Random(seed)
queries = ["red", "pear", "-red", "word7", "#fruit"]
vault, index, home = open_stored(Path(root), Path(cache))
crashed = []
threading.excepthook = lambda hook: crashed.append(hook.exc_value)
thread = threading.Thread(target=index.run_watch_loop)
if is_watched == "True":
    thread.start()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
try:
    for number in range(3):
        for changed in random.sample(range(200), 40):
            words = " ".join(f"q{number}x{changed}x{word}" for word in range(40))
            (Path(root) / f"{changed}.md").write_text(f"pear {words} #fruit/n{changed}\\n")
        found = answers(index, queries)
        wrong = difference(found, answers_of_new(Path(root), queries))
        assert not wrong or is_watched == "True", wrong  # there, news may be on its way
finally:
    index.close()
    if is_watched == "True":
        thread.join()
assert not crashed, crashed
print(home.problem)
"""


@pytest.mark.parametrize("is_watched", [False, True], ids=["looked at", "watched"])
def test_an_index_that_cannot_be_written_costs_no_answer(tmp_path: Path, *, is_watched: bool) -> None:
    seed = os.environ["VAULTWIRE_SEED"]
    text = "".join(f"=== {number}.md\nred apple word{number} #fruit [[{number + 1}]]\n" for number in range(200))
    root = write_vault(tmp_path / "vault", text)
    command = [sys.executable, "-c", CHILD, str(root), str(tmp_path / "cache"), LIMIT, str(is_watched)]
    finished = subprocess.run([*command, seed], cwd=TESTS, capture_output=True, text=True, check=False, timeout=120)
    assert finished.returncode == 0, finished.stderr
    assert f"cannot be kept in {tmp_path / 'cache'}" in finished.stdout
    assert "Make room there, or set VAULTWIRE_CACHE to a folder on another disk." in finished.stdout


WRITER = """
import resource, sys
from vaultwire.vault.index.text_index import BrokenTextIndexError, TextDocument, TextIndex
text = TextIndex(sys.argv[1])
assert text.start_writing()
text.put(TextDocument(1, {"body": "red apple"}, {}), is_new=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
words = " ".join(f"word{number}" for number in range(20_000))
try:
    for number in range(2, 2_000):  # a thread of the library's writes now and then; the next call hears that it has died
        text.put(TextDocument(number, {"body": words}, {}))
except BrokenTextIndexError:
    print("broken")
"""


def test_a_text_index_whose_writer_has_died_is_broken(tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert finished.stdout == "broken\n", finished.stderr
    assert "Traceback" not in finished.stderr
