"""MCP over stdin and stdout: one JSON message a line. Only the bytes; the dispatcher deals with the messages."""

from __future__ import annotations

import os
import select
import signal
import sys

from vaultwire.server.dispatcher import FrameTooLarge, serve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType

    from vaultwire.protocol.session import Session
    from vaultwire.server.handlers import Handlers

# A note of 10 MiB is six times as long if JSON escapes each of its characters. A longer frame is a mistake.
MAX_FRAME_BYTES = 64 * 1024 * 1024

# SIGHUP: the terminal is gone. Windows has no SIGHUP, and no SIGTERM from other processes, but Ctrl-Break.
_STOP_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")

# What a pipe holds on Linux.
_PIECE_BYTES = 64 * 1024


class StdioStream:
    """The process's own stdin and stdout. From now on all other output of the process goes to stderr."""

    def __init__(self, input_fd: int = 0, output_fd: int = 1) -> None:
        # The stream has private copies, and harmless descriptors take their place: neither a stray print nor a child process
        # can write into the protocol or read from it.
        self._input_fd = _duplicate(input_fd)
        self._output_fd = _duplicate(output_fd)
        self._read_wake_up, self.wake_up_fd = os.pipe()
        self._poll: select.poll | None = None
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(self._input_fd, select.POLLIN)
            self._poll.register(self._read_wake_up, select.POLLIN)
            os.set_blocking(self._output_fd, True)  # an inherited non-blocking pipe would lose half of a long answer
            os.set_blocking(self.wake_up_fd, False)  # signal.set_wakeup_fd insists
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, input_fd)
        os.dup2(2 if _is_open(2) else null, output_fd)
        os.close(null)
        sys.stdout = sys.stderr
        self._buffer = bytearray()
        self._peer_is_gone = False
        self._stopping = False

    def stop(self) -> None:
        """End ``receive``, now or at its next call."""
        self._stopping = True
        os.write(self.wake_up_fd, b"\0")

    def receive(self) -> bytes | None:
        """Wait for the next line that is not blank; None at the end of input or once ``stop`` was called."""
        while (line := self._next_line()) is not None:
            if line and not line.isspace():
                return line
        return None

    def send(self, frame: bytes) -> None:
        """Write one line, whole."""
        if self._peer_is_gone:
            return
        view = memoryview(frame)
        try:
            while view:
                view = view[os.write(self._output_fd, view) :]
        except OSError:  # the client closed its end; calls in flight are still finished
            self._peer_is_gone = True

    def _next_line(self) -> bytes | None:
        """Return the next line without its line end, which the last line need not have. See ``receive``."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0 and len(self._buffer) <= MAX_FRAME_BYTES:
            searched = len(self._buffer)
            if not self._read():
                end = searched
                break
        if self._stopping or not self._buffer:
            return None
        if not 0 <= end <= MAX_FRAME_BYTES:
            self._skip_line()
            raise FrameTooLarge(MAX_FRAME_BYTES)
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _skip_line(self) -> None:
        while (end := self._buffer.find(b"\n")) < 0:
            self._buffer.clear()
            if not self._read():
                return
        del self._buffer[: end + 1]

    def _read(self) -> bool:
        """Wait for more input and buffer it; False at its end or once ``stop`` was called."""
        while not self._stopping:
            # A plain read would not see a signal that comes just before it. Python runs signal handlers on the main thread
            # only, which may be asleep; but a signal writes a byte into the pipe, and this thread polls that.
            ready = [self._input_fd] if self._poll is None else [descriptor for descriptor, _ in self._poll.poll()]
            if self._read_wake_up in ready:
                self._stopping = True
            elif self._input_fd in ready:
                try:
                    piece = os.read(self._input_fd, _PIECE_BYTES)
                except OSError:  # the client is gone: a socket raises, a pipe just ends
                    return False
                self._buffer += piece
                return bool(piece)
        return False


def run(session: Session, handlers: Handlers) -> None:
    """Serve the client at stdin and stdout until it ends the input, sends ``exit`` or a stop signal comes."""
    serve(open_stream(), session, handlers, handlers.run_background, handlers.close)


def open_stream() -> StdioStream:
    """Return the stream over stdin and stdout. A stop signal ends it."""
    stream = StdioStream()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        for name in _STOP_SIGNALS:  # a second signal ends the process at once, without calls in flight
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        stream.stop()

    if hasattr(select, "poll"):
        signal.set_wakeup_fd(stream.wake_up_fd, warn_on_full_buffer=False)
    for name in _STOP_SIGNALS:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), on_signal)
    return stream


def _duplicate(descriptor: int) -> int:
    """Return a copy of the descriptor, or an empty file if the parent has closed it."""
    return os.dup(descriptor) if _is_open(descriptor) else os.open(os.devnull, os.O_RDWR)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
