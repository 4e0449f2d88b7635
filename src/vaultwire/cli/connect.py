"""``vaultwire connect``: its options and environment, checked: which server, over which protocols, with which key."""

from __future__ import annotations

import argparse
import os
import sys
from urllib.parse import urlsplit

from vaultwire import app
from vaultwire.cli.command import SERVERS, command
from vaultwire.cli.terminal import complain
from vaultwire.config import ConfigError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports.relay.connect import Target

KEY_VARIABLE = "VAULTWIRE_KEY"

# How a relay may reach its server; the contract's words.
TRANSPORTS = ("auto", "mcp", "v1")

# Longer than any token that fits into a header.
_MAX_KEY_CHARACTERS = 10_000


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", nargs="?", metavar="URL", help="the server (http://127.0.0.1:3000)")
    parser.add_argument(
        "--transport",
        choices=TRANSPORTS,
        help="speak MCP, or the REST API (v1); auto: MCP if the server has it (auto)",
    )
    parser.add_argument(
        "--key",
        metavar="KEY",
        help=f"API key for the server; others can see it in the list of processes (else: ${KEY_VARIABLE})",
    )
    parser.add_argument("--key-file", metavar="FILE", help="file with the key and nothing else")
    parser.add_argument("--ca-file", metavar="FILE", help="certificates to trust, PEM (else: the system's)")


@command(
    "connect",
    SERVERS,
    "connect an MCP client to a vaultwire server on another computer",
    "vaultwire connect https://notes.example.org --key-file ~/notes.key",
    options=_add_options,
)
def run(options: argparse.Namespace) -> int:
    """Relay until the client is done; return 1 if the server was never reached, else 0. Raises ConfigError."""
    key = options.key
    if options.key_file is not None:
        if key is not None:
            raise ConfigError("give --key or --key-file, not both")
        key = read_key(options.key_file)
    target = make_target(options.url, transport=options.transport, key=key, ca_file=options.ca_file)
    if target.is_unencrypted:
        complain("without TLS, others can read the key and the notes on their way")
    if sys.stdin is not None and sys.stdin.isatty():
        complain("waiting for an MCP client's messages on stdin. Clients start this command themselves. Ctrl-D ends it")
    try:
        was_reached = app.run_connect(target, complain)
    except OSError as error:
        if target.ca_file is None:
            raise
        raise ConfigError(
            f"no certificates in PEM form in {os.path.abspath(target.ca_file)}: {error.strerror or error}"
        ) from None
    if not was_reached:
        complain(f"no server was reached at {target.url}")
    return 0 if was_reached else 1


def make_target(
    url: str | None,
    *,
    transport: str | None = None,
    key: str | None = None,
    ca_file: str | None = None,
) -> Target:
    """Return the server to relay to; the key falls back to the environment. Raises ConfigError.

    The environment variables of the original relay work, too.
    """
    get = os.environ.get
    if url is None:
        url = f"http://{get('OBSIDIAN_MCP_HOST') or '127.0.0.1'}:{get('OBSIDIAN_MCP_PORT') or '3000'}"
    transport = transport or get("OBSIDIAN_MCP_TRANSPORT") or "auto"
    if transport not in TRANSPORTS:
        raise ConfigError(f"OBSIDIAN_MCP_TRANSPORT must be one of {', '.join(TRANSPORTS)}, got {transport!r}")
    key = (key if key is not None else get(KEY_VARIABLE) or get("OBSIDIAN_MCP_API_KEY") or "").strip()
    if not (key.isascii() and (key.isprintable() or not key)) or " " in key:
        raise ConfigError("not a key: it has spaces, line breaks or characters beyond ASCII in it")
    return _read_url(url, transport, key or None, ca_file)


def _read_url(url: str, transport: str, key: str | None, ca_file: str | None) -> Target:
    from vaultwire.transports.relay.connect import Target  # noqa: PLC0415 - an HTTP client, for this command only

    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"not a URL of a server: {url!r} ({error})") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise ConfigError(f"not a URL of a server: {url!r}. Give one such as http://127.0.0.1:3000")
    tls = parts.scheme == "https"
    port = port or (443 if tls else 80)
    shown = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    root, query = parts.path.rstrip("/"), f"?{parts.query}" if parts.query else ""
    for ending in ("/mcp", "/bridge/v1"):
        root = root.removesuffix(ending)
    # A path that is not one of ours is the MCP endpoint of another kind of server.
    is_ours = parts.path.rstrip("/") in (root + "/mcp", root + "/bridge/v1") or not root
    mcp = None if transport == "v1" else (f"{root}/mcp" if is_ours else parts.path) + query
    rest = None if transport == "mcp" or not is_ours else f"{root}/bridge/v1"
    if transport == "v1" and rest is None:
        raise ConfigError(f"not a URL of a REST API: {url!r}. Give one such as http://127.0.0.1:3000")
    return Target(f"{parts.scheme}://{shown}:{port}", parts.hostname, port, tls, mcp, rest, key, ca_file)


def read_key(path: str) -> str:
    """Return the key in a file that holds nothing else. Raises ConfigError."""
    try:
        with open(path, encoding="utf-8") as file:
            key = file.read(_MAX_KEY_CHARACTERS).strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the key in {path}: {getattr(error, 'strerror', error)}") from None
    if not key:
        raise ConfigError(f"there is no key in {path}")
    return key
