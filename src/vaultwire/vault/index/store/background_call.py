"""A function that runs on a thread of its own while its caller does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable


class BackgroundCall:
    """One call. It begins at once."""

    def __init__(self, function: Callable[[], object]) -> None:
        self._function = function
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._function()
        except BaseException as error:  # noqa: BLE001 - ``wait`` raises it
            self._error = error

    def wait(self) -> None:
        """Wait until the function has returned. Raises what it has raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
