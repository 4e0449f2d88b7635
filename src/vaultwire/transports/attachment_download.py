"""Fetches one file from the web: over https, from hosts that the person allowed, at public addresses, within size and time.

A model chooses the URL, perhaps because a note told it to. So the host's addresses are looked up here, each is checked, and the
connection goes to a checked one: a name that leads into the person's own network is refused (server-side request forgery).
The same holds for each redirect.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from vaultwire.vault.disk.paths import media_type_of
from vaultwire.vault.errors import INVALID_ARGUMENTS, NETWORK_BLOCKED, TIMEOUT, TOO_LARGE, WEB_FAILED, VaultError
from vaultwire.vault.value_types import Progress

SECONDS = 20.0

_MOST_REDIRECTS = 3
_REDIRECTS = (301, 302, 303, 307, 308)
_OK = 200
_PIECE = 1 << 16
# Other names of media types that servers give.
_ALIASES = {
    "image/jpg": "image/jpeg",
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/x-m4a": "audio/mp4",
    "audio/x-flac": "audio/flac",
    "application/ogg": "audio/ogg",
    "application/x-pdf": "application/pdf",
}
_TEREDO_AND_OTHERS, _SIX_TO_FOUR = ipaddress.ip_network("2001::/23"), ipaddress.ip_network("2002::/16")
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")


def is_public(address: str) -> bool:
    """Tell whether an address is in the public internet, not in a private network, on this computer or a tunnel to one."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if not ip.is_global or ip.is_multicast:
        return False
    if isinstance(ip, ipaddress.IPv4Address):
        return True
    return ip in _GLOBAL_UNICAST and ip not in _TEREDO_AND_OTHERS and ip not in _SIX_TO_FOUR


class Downloader:
    """Fetches files from the hosts that ``may_fetch_from`` allows, after at most so many ``redirects``.

    The other arguments are for tests.
    """

    def __init__(
        self,
        may_fetch_from: Callable[[str], bool],
        *,
        resolve: Callable[..., list[Any]] = socket.getaddrinfo,
        may_connect_to: Callable[[str], bool] = is_public,
        tls: ssl.SSLContext | None = None,
        port: int = 443,
        redirects: int = _MOST_REDIRECTS,
    ) -> None:
        self._may_fetch_from = may_fetch_from
        self._resolve = resolve
        self._may_connect_to = may_connect_to
        self._tls = tls
        self._port = port
        self._redirects = redirects

    def fetch(self, url: str, name: str, max_bytes: int, progress: Progress, seconds: float = SECONDS) -> bytes:
        """Return the bytes at a URL, which must be of the type that ``name`` says by its extension.

        Raises VaultError: INVALID_ARGUMENTS, NETWORK_BLOCKED, WEB_FAILED, TOO_LARGE, TIMEOUT.
        """
        until = time.monotonic() + seconds
        try:
            for _ in range(self._redirects + 1):
                host, target = self._check(url)
                with closing(self._connect(host, until)) as connection:
                    connection.request("GET", target, headers={"User-Agent": "vaultwire", "Accept": "*/*"})
                    with connection.getresponse() as response:
                        if response.status not in _REDIRECTS:
                            _check_response(response, name, max_bytes)
                            return _body(response, max_bytes, progress)
                        url = urljoin(url, response.getheader("Location", ""))
        except TimeoutError:
            raise VaultError(TIMEOUT, f"{host} did not send the file within {seconds:g} seconds.") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "verify_message", "") or str(error) or type(error).__name__
            raise VaultError(WEB_FAILED, f"The file could not be fetched from {host}: {reason}.") from None
        raise VaultError(WEB_FAILED, f"{host} redirects more than {self._redirects} times.")

    def _check(self, url: str) -> tuple[str, str]:
        """Return the host and the target of a request. Raises VaultError for a URL that may not be fetched."""
        try:
            parts = urlsplit(url)
            host = (parts.hostname or "").encode("idna").decode().lower()
            port = parts.port
        except ValueError:  # UnicodeError, too
            host, port, parts = "", None, urlsplit("")
        if parts.scheme != "https" or not host or parts.username is not None or port not in (None, 443):
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{url[:200]!r} cannot be fetched: give a URL such as https://example.org/picture.png, with https, the usual "
                "port and no user name.",
            )
        if not self._may_fetch_from(host):
            raise VaultError(NETWORK_BLOCKED, f"This server may not fetch files from {host}.")
        query = f"?{quote(parts.query, safe=_URL_SIGNS)}" if parts.query else ""
        return host, quote(parts.path or "/", safe=_URL_SIGNS) + query

    def _connect(self, host: str, until: float) -> http.client.HTTPConnection:
        """Return a connection to one of the host's addresses, all of which are checked. Raises VaultError, OSError."""
        try:
            found = self._resolve(host, self._port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise VaultError(WEB_FAILED, f"There is no address for {host}: {error.strerror or error}.") from None
        addresses = list(dict.fromkeys(place[4][0] for place in found))
        if not addresses or not all(map(self._may_connect_to, addresses)):
            raise VaultError(
                NETWORK_BLOCKED, f"{host} is not an address in the public internet, so nothing was fetched."
            )
        failure: OSError = TimeoutError()
        for address in addresses:
            try:
                plain = socket.create_connection((address, self._port), _left(until))
                break
            except OSError as error:
                failure = error
        else:
            raise failure
        tls = self._tls or ssl.create_default_context()
        tls.sslsocket_class = _BoundedSocket
        connection = http.client.HTTPConnection(host, 443)
        try:
            secure = tls.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise
        assert isinstance(secure, _BoundedSocket)
        secure.until = until
        connection.sock = secure
        return connection


_URL_SIGNS = "/%:@!$&'()*+,;=~-._?"


class _BoundedSocket(ssl.SSLSocket):
    """A socket whose reading ends at a time, however slowly the other side sends."""

    until = 0.0

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        """Read as usual, for the time that is left."""
        self.settimeout(_left(self.until))
        return super().recv_into(*args, **kwargs)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _check_response(response: http.client.HTTPResponse, name: str, max_bytes: int) -> None:
    if response.status != _OK:
        raise VaultError(WEB_FAILED, f"The server answered with HTTP {response.status}, not with the file.")
    media_type = response.getheader("Content-Type", "").partition(";")[0].strip().lower()
    named_type = media_type_of(name)
    if _ALIASES.get(media_type, media_type) != named_type:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{name!r} would be {named_type or 'of an unknown type'}, and the server says that the file is "
            f"{media_type or 'of no type'}. Give the name its right extension.",
        )
    if response.getheader("Content-Encoding", "identity") != "identity":
        raise VaultError(WEB_FAILED, "The server packed the file, though it was not asked to.")
    if (response.length or 0) > max_bytes:
        raise _too_large(max_bytes)


def _body(response: http.client.HTTPResponse, max_bytes: int, progress: Progress) -> bytes:
    data = b""
    while piece := response.read(_PIECE):
        progress.check()
        data += piece
        if len(data) > max_bytes:
            raise _too_large(max_bytes)
    if response.length:  # a bounded read does not report missing bytes
        raise OSError("the connection ended in the middle of the file")
    return data


def _too_large(max_bytes: int) -> VaultError:
    return VaultError(
        TOO_LARGE, f"The file is larger than an attachment may be ({max_bytes} bytes).", max_size=max_bytes
    )
