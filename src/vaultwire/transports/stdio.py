"""MCP over stdin and stdout: one JSON message a line. Only the bytes; what they mean is the dispatcher's matter."""

from __future__ import annotations

import os
import signal
import sys

from vaultwire.server.dispatcher import FrameTooLarge, serve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from vaultwire.protocol.session import Session
    from vaultwire.server.handlers import Handlers

# A note of 10 MiB may be six times as long once JSON has escaped each of its characters; anything beyond is a mistake.
MAX_FRAME_BYTES = 64 * 1024 * 1024

# SIGHUP: the terminal is gone. Windows has neither SIGTERM from outside nor SIGHUP, but Ctrl-Break.
_STOP_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")


class _Stop(BaseException):
    """A stop signal came while we waited for input. Not an Exception: nothing on the way may swallow it."""


class StdioStream:
    """The process's own stdin and stdout, taken over: whatever else prints, prints on stderr from now on."""

    def __init__(self, input_fd: int = 0, output_fd: int = 1) -> None:
        # Private copies, and harmless ones in their place: neither a stray print nor a child process can write into the
        # protocol or take bytes out of it.
        self._input = os.fdopen(os.dup(input_fd), "rb")
        self._output_fd = os.dup(output_fd)
        os.set_blocking(self._output_fd, True)  # inherited non-blocking pipes would lose half of a long answer
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, input_fd)
        os.dup2(2 if _is_open(2) else null, output_fd)
        os.close(null)
        sys.stdout = sys.stderr
        self._peer_is_gone = False
        self._waiting = False
        self._stopping = False

    def stop(self) -> None:
        """End ``receive``, now or when it is next called. Made for signal handlers."""
        self._stopping = True
        if self._waiting:
            raise _Stop

    def receive(self) -> bytes | None:
        """Wait for the next line that is not blank; None at the end of input or once ``stop`` was called."""
        try:
            # A signal between these two lines is seen by the loop; after them it interrupts the wait.
            self._waiting = True
            while not self._stopping:
                line = self._input.readline(MAX_FRAME_BYTES + 1)
                if not line:
                    return None
                if len(line) > MAX_FRAME_BYTES and not line.endswith(b"\n"):
                    self._skip_line()
                    raise FrameTooLarge(MAX_FRAME_BYTES)
                if not line.isspace():
                    return line
        except _Stop:
            pass
        finally:
            self._waiting = False
        return None

    def send(self, frame: bytes) -> None:
        """Write one line, whole."""
        if self._peer_is_gone:
            return
        view = memoryview(frame)
        try:
            while view:
                view = view[os.write(self._output_fd, view) :]
        except OSError:  # the client closed its end; what is in flight is still finished
            self._peer_is_gone = True

    def _skip_line(self) -> None:
        while (piece := self._input.readline(1 << 20)) and not piece.endswith(b"\n"):
            pass


def run(session: Session, handlers: Handlers, on_ready: Callable[[], None]) -> None:
    """Serve the client at stdin and stdout until it ends the input, sends ``exit`` or a stop signal comes."""
    stream = StdioStream()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        for name in _STOP_SIGNALS:  # a second signal means it: no more waiting for what is in flight
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        stream.stop()

    for name in _STOP_SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), on_signal)
    try:
        serve(stream, session, handlers, on_ready)
    except _Stop:  # came just as a frame arrived; `serve` has finished what was in flight
        pass


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
