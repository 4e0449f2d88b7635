"""Listening sockets: their address and names, and TLS. Not what is spoken there (``http_server``).

An error that stops a server from starting is a ``StartError``, whose message is one line for a person.
"""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl


class StartError(Exception):
    """The server cannot start with these options."""


MAX_PORT = 65535


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address. Port 0 means any free port. Raises StartError."""
    if not 0 <= port <= MAX_PORT:  # the system would take the rest of a division
        raise StartError(f"--port must be from 0 (any free one) to {MAX_PORT}, got {port}")
    try:
        # Of a name with several addresses the IPv4 address: older clients try only that.
        addresses = sorted(
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE),
            key=lambda each: each[0] != socket.AF_INET,
        )
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no name of a computer"
        raise StartError(f"cannot listen on {host!r}: {reason}. Give an address of this computer with --host") from None
    family, kind, protocol, _, address = addresses[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform == "win32":  # where SO_REUSEADDR would let two servers have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1)  # else a second server could bind the port, too; the real backlog is set later
    except OSError as error:
        listener.close()
        raise StartError(why_not(error, host, port)) from None
    return listener


def is_loopback(listener: socket.socket) -> bool:
    """Tell whether only this computer itself can reach the socket."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def is_any_address(listener: socket.socket) -> bool:
    """Tell whether the socket can be reached at every address of this computer."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_unspecified


def names(listener: socket.socket, *others: str) -> frozenset[str]:
    """Return the names of the socket's server, as ``Host`` headers spell them, without ports."""
    return local_names(listener.getsockname()[0], *others)


def local_names(*others: str) -> frozenset[str]:
    """Return the names of this computer for its own programs, and others, as ``Host`` headers spell them."""
    named = {"localhost", "127.0.0.1", "::1", *others}
    return frozenset(f"[{name}]" if ":" in name else name.lower() for name in named)


def url(listener: socket.socket, *, tls: bool) -> str:
    """Return the URL at which a bound socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def make_tls(certificate: str, key: str | None) -> ssl.SSLContext:
    """Return the TLS context of PEM files. Without ``key``, the certificate's file holds the key, too. Raises StartError."""
    for what, path in (("certificate", certificate), ("key", key)):
        if path is not None:
            _check_readable(what, path)
    import ssl  # noqa: PLC0415 - 4 MB that a server without does not need

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])

    def refuse_password() -> str:
        raise StartError(f"the key {key or certificate} is protected by a password; give one without")

    try:
        context.load_cert_chain(certificate, key, refuse_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise StartError(f"the key {key} does not belong to the certificate {certificate}") from None
        files = certificate if key is None else f"{certificate} and {key}"
        raise StartError(f"no certificate and key in PEM form in {files} ({error.reason or error})") from None
    except OSError as error:
        raise StartError(f"cannot read {certificate}: {error.strerror}") from None
    return context


def why_not(error: OSError, host: str, port: int, *, on_windows: bool = sys.platform == "win32") -> str:
    """Return why a socket cannot be bound, and what would work."""
    match error.errno:
        case errno.EACCES if (
            on_windows
        ):  # WSAEACCES: a program has it for itself alone, or Hyper-V and WSL have reserved it
            return f"port {port} is in use by another program or reserved by Windows; give another one with --port"
        case errno.EADDRINUSE:
            return f"port {port} is in use by another program; give another one with --port"
        case errno.EACCES if 0 < port < 1024:  # noqa: PLR2004 - what Unix calls privileged ports
            return f"no permission for port {port}: those below 1024 are the system's; give another one with --port"
        case errno.EADDRNOTAVAIL:
            return f"this computer has no address {host}; give one it has with --host"
    return f"cannot listen on {host}, port {port}: {error.strerror}"


def _check_readable(what: str, path: str) -> None:
    """Raise StartError for a file that cannot be read, because the TLS library does not say which one."""
    problem = ""
    if not os.path.exists(path):
        problem = "there is no such file"
    elif not os.path.isfile(path):
        problem = "it is no file"
    elif not os.access(path, os.R_OK):
        problem = "permission denied"
    if problem:
        raise StartError(f"cannot read the {what} {path}: {problem}")
