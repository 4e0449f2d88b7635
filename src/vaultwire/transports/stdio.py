"""MCP over stdin and stdout: one JSON message a line. Only the bytes; what they mean is the dispatcher's matter."""

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

# A note of 10 MiB may be six times as long once JSON has escaped each of its characters; anything beyond is a mistake.
MAX_FRAME_BYTES = 64 * 1024 * 1024

# SIGHUP: the terminal is gone. Windows has neither SIGTERM from outside nor SIGHUP, but Ctrl-Break.
_STOP_SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGBREAK")

# What a pipe holds on Linux: more is never there at once.
_PIECE_BYTES = 64 * 1024


class StdioStream:
    """The process's own stdin and stdout, taken over: whatever else prints, prints on stderr from now on."""

    def __init__(self, input_fd: int = 0, output_fd: int = 1) -> None:
        # Private copies, and harmless ones in their place: neither a stray print nor a child process can write into the
        # protocol or take bytes out of it.
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
        """End ``receive``, now or when it is next called."""
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
        except OSError:  # the client closed its end; what is in flight is still finished
            self._peer_is_gone = True

    def _next_line(self) -> bytes | None:
        """Return the next line without its end, which the last one need not have. None and raises as ``receive`` does."""
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
        """Wait for more input and take it in; False at its end or once ``stop`` was called."""
        while not self._stopping:
            # A plain read would overlook a signal that comes just before it, until there is more input. Python runs its
            # handlers on the main thread only, which may be asleep; a byte in the pipe is seen by whoever reads.
            ready = [self._input_fd] if self._poll is None else [descriptor for descriptor, _ in self._poll.poll()]
            if self._read_wake_up in ready:
                self._stopping = True
            elif self._input_fd in ready:
                try:
                    piece = os.read(self._input_fd, _PIECE_BYTES)
                except OSError:  # the client is gone: a socket says so, where a pipe just ends
                    return False
                self._buffer += piece
                return bool(piece)
        return False


def run(session: Session, handlers: Handlers) -> None:
    """Serve the client at stdin and stdout until it ends the input, sends ``exit`` or a stop signal comes."""
    serve(open_stream(), session, handlers, handlers.run_background, handlers.close)


def open_stream() -> StdioStream:
    """Take stdin and stdout over; return the stream, which a stop signal ends."""
    stream = StdioStream()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        for name in _STOP_SIGNALS:  # a second signal means it: no more waiting for what is in flight
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
    """Return a copy of the descriptor; of one that the parent closed, an empty file in its place."""
    return os.dup(descriptor) if _is_open(descriptor) else os.open(os.devnull, os.O_RDWR)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
