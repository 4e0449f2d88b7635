"""How one run is set up: options and environment to settings, checked. Seen by ``cli`` and ``app`` only."""

from __future__ import annotations

import os
import sys

from vaultwire.protocol.dialects import DIALECTS

VAULT_VARIABLE = "VAULTWIRE_VAULT"
CACHE_VARIABLE = "VAULTWIRE_CACHE"
STATE_VARIABLE = "VAULTWIRE_STATE"
PROMPTS_VARIABLE = "VAULTWIRE_PROMPTS"
POLICY_VARIABLE = "VAULTWIRE_POLICY"
OBSIDIAN_VARIABLE = "VAULTWIRE_OBSIDIAN"

# Who answers the obsidian_* tools: see obsidian.backends.
BACKENDS = ("app", "files", "auto")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal, TypeAlias

    from vaultwire.trust.limits import ClientLimits
    from vaultwire.trust.tokens import Trusted

    Backend: TypeAlias = Literal["app", "files", "auto"]

_MAX_PORT = 65535


class ConfigError(Exception):
    """Settings nobody can work with; the message is one line for a person."""


class Config:
    """The settings of one run. ``vaults`` are absolute paths of folders that can be listed, by the vaults' names.

    The first vault is the one that is meant where none is named; a single one may have no name (``""``) but its folder's.
    ``cache`` is the folder for what can be made anew, below which the index is kept; ``state`` the one for what cannot,
    below which the journal of changes is. They need not be there yet. ``read_first``: a note is edited only in a session
    that has read it. ``prompts`` is a folder in the vault, ``/`` between parts, whose notes are prompts; None for none.
    ``policy`` is the file that says what is allowed, ``limits`` what was asked for besides; None for none.
    ``dialect`` is the contract whose spelling is used (``protocol.dialects``).
    ``backend`` says who answers the ``obsidian_*`` tools, None for nobody; ``obsidian`` where the app's command is.
    """

    __slots__ = (
        "backend",
        "cache",
        "dialect",
        "limits",
        "obsidian",
        "policy",
        "prompts",
        "read_first",
        "read_only",
        "state",
        "vaults",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - one for each option, by name
        self,
        vaults: dict[str, str],
        *,
        cache: str,
        state: str,
        read_only: bool = False,
        read_first: bool = False,
        prompts: str | None = None,
        policy: str | None = None,
        backend: Backend | None = None,
        dialect: str = "mcp",
        obsidian: str | None = None,
        limits: ClientLimits | None = None,
    ) -> None:
        self.vaults = vaults
        self.cache = cache
        self.state = state
        self.read_only = read_only
        self.read_first = read_first
        self.prompts = prompts
        self.policy = policy
        self.backend = backend
        self.dialect = dialect
        self.obsidian = obsidian
        self.limits = limits

    @property
    def vault(self) -> str:
        """The folder of the vault that is meant where none is named."""
        return next(iter(self.vaults.values()))

    @property
    def rendezvous_folder(self) -> str:
        """The folder in which this person's running programs find one another."""
        return os.path.join(self.state, "serving")

    @property
    def vault_options(self) -> list[str]:
        """What ``--vault`` is to be given for the same vaults, once for each."""
        return [f"{name}={folder}" if name else folder for name, folder in self.vaults.items()]

    def alone(self, name: str) -> Config:
        """Return the same settings for one of the vaults."""
        settings: dict[str, Any] = {setting: getattr(self, setting) for setting in self.__slots__}
        return Config(**settings | {"vaults": {name: self.vaults[name]}})


class Serving:
    """How one run is reached over the network. ``host`` and ``port`` are where it listens, 0 for any free port.

    ``names``: that it answers to besides those of the computer itself. ``origins``: pages from elsewhere that may call;
    ``any_origin``: the REST API may be called from every page, as its contract has it. ``keys``: the folder of the keys.
    """

    __slots__ = (
        "any_origin",
        "host",
        "keys",
        "legacy_sse",
        "log_json",
        "metrics",
        "names",
        "needs_key",
        "oauth",
        "origins",
        "port",
        "tls_cert",
        "tls_key",
    )

    def __init__(  # noqa: PLR0913 - one for each option, by name
        self,
        *,
        keys: str,
        host: str = "127.0.0.1",
        port: int = 3000,
        names: tuple[str, ...] = (),
        origins: tuple[str, ...] = (),
        any_origin: bool = False,
        needs_key: bool = False,
        oauth: Trusted | None = None,
        tls_cert: str | None = None,
        tls_key: str | None = None,
        metrics: bool = False,
        log_json: bool = False,
        legacy_sse: bool = False,
    ) -> None:
        self.keys = keys
        self.host = host
        self.port = port
        self.names = names
        self.origins = origins
        self.any_origin = any_origin
        self.needs_key = needs_key
        self.oauth = oauth
        self.tls_cert = tls_cert
        self.tls_key = tls_key
        self.metrics = metrics
        self.log_json = log_json
        self.legacy_sse = legacy_sse


def make_serving(config: Config, **given: Any) -> Serving:
    """Return the settings of the network doors; ``given`` are ``Serving``'s own, checked here. Raises ConfigError."""
    serving = Serving(keys=keys_folder(config.state), **given)
    if not 0 <= serving.port <= _MAX_PORT:
        raise ConfigError(f"--port must be from 0 (any free one) to {_MAX_PORT}, got {serving.port}")
    if serving.tls_key is not None and serving.tls_cert is None:
        raise ConfigError("--tls-key needs --tls-cert: the certificate that goes with the key")
    for name in serving.names:
        if not name or any(character in name for character in ":/@ *"):
            raise ConfigError(f"--allow-host takes the name of a computer such as notes.example.org, got {name!r}")
    for origin in serving.origins:
        scheme, separator, rest = origin.partition("://")
        if not scheme or not separator or not rest or any(character in rest for character in "/@ *"):
            raise ConfigError(f"--allow-origin takes a page's origin such as https://example.org, got {origin!r}")
    serving.origins = tuple(map(str.lower, serving.origins))  # as browsers spell them
    return serving


def keys_folder(state: str | None = None) -> str:
    """Return the folder for the keys of network doors, in the state folder."""
    if state is None:
        given = os.environ.get(STATE_VARIABLE)
        state = os.path.abspath(os.path.expanduser(given)) if given else _user_state()
    return os.path.join(state, "keys")


def audit_file(given: str) -> str:
    """Return the file of the audit log: the one given, or the usual one in the folder given."""
    path = os.path.abspath(os.path.expanduser(given))
    return os.path.join(path, "audit.jsonl") if os.path.isdir(path) or given.endswith(("/", os.sep)) else path


def make_config(
    vault: str | Sequence[str] | None,
    *,
    read_only: bool = False,
    read_first: bool = False,
    prompts: str | None = None,
    policy: str | None = None,
    backend: Backend | None = None,
    dialect: str | None = None,
    limits: ClientLimits | None = None,
) -> Config:
    """Return the settings; ``vault``, ``prompts`` and ``policy`` fall back to the environment. Raises ConfigError.

    A vault is a folder's path, the name of one that Obsidian knows, or either behind ``NAME=``.
    """
    given = os.environ.get(VAULT_VARIABLE, "") if vault is None else vault
    each = [given] if isinstance(given, str) else list(given)
    if not each or not all(each):
        message = f"which vault? Give --vault PATH or set {VAULT_VARIABLE} to a folder of Markdown notes"
        from vaultwire.obsidian.vault_selection import known_names  # noqa: PLC0415 - only for a message

        raise ConfigError(message + known_names(" or one that Obsidian knows: "))
    vaults = _choose(each)
    for folder in vaults.values():
        cache = _outside(folder, CACHE_VARIABLE, _user_cache())
        state = _outside(folder, STATE_VARIABLE, _user_state())
    if os.environ.get(STATE_VARIABLE) and _below(state, cache)[:2] != "..":
        raise ConfigError(f"{STATE_VARIABLE} must not be in the cache, which may be deleted at any time, got {state}")
    if dialect not in (None, *DIALECTS):
        raise ConfigError(f"--dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
    if backend not in (None, *BACKENDS):
        raise ConfigError(f"--backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    log = None if limits is None else limits.audit
    if log is not None and any(_is_part(os.path.dirname(log), folder) for folder in vaults.values()):
        raise ConfigError(f"--audit must not be in the vault, where it would be taken along with the notes, got {log}")
    return Config(
        vaults,
        cache=cache,
        state=state,
        read_only=read_only,
        read_first=read_first,
        prompts=_prompts_folder(prompts),
        policy=policy_place(policy),
        # Its tools are those of the command, wherever the app runs and where it does not.
        backend=backend or ("auto" if dialect == "obsidian-cli" else None),
        dialect=dialect or "mcp",
        obsidian=os.environ.get(OBSIDIAN_VARIABLE) or None,
        limits=limits,
    )


def _choose(given: list[str]) -> dict[str, str]:
    """Return the vaults' folders by their names. Raises ConfigError.

    Folders within one another are refused: their notes would be in two vaults, under two locks and in two journals.
    """
    path = os.path.abspath(os.path.expanduser(given[0]))
    if len(given) == 1 and _can_be_listed(path):  # as most servers are started: nothing more is loaded for it
        return {"": path}
    from vaultwire.obsidian.vault_selection import VaultSelectionError, select_vaults  # noqa: PLC0415

    try:
        vaults = select_vaults(given)
    except VaultSelectionError as error:
        raise ConfigError(str(error)) from None
    for outer, folder in vaults.items():
        for inner, its_folder in vaults.items():
            if inner != outer and _is_part(its_folder, folder):
                raise ConfigError(
                    f"the vault {inner!r} lies in {outer!r} ({its_folder} in {folder}), so its notes would be in both. Give "
                    "the outer one alone, or folders beside one another"
                )
    return vaults


def _can_be_listed(path: str) -> bool:
    try:
        with os.scandir(path):
            return True
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False


def _outside(vault: str, variable: str, usual: str) -> str:
    """Return the folder named in the environment, else the usual one for this user. Raises ConfigError."""
    given = os.environ.get(variable)
    folder = os.path.abspath(os.path.expanduser(given)) if given else usual
    if _is_part(folder, vault):
        raise ConfigError(f"{variable} must not be a folder in the vault, got {folder}")
    return folder


def _is_part(folder: str, vault: str) -> bool:
    """Tell whether a folder is the vault's or in it. A hidden one is no part of it: a vault may be the user's home."""
    below = _below(folder, vault)
    return below == "." or not any(part.startswith(".") for part in below.split(os.sep))


def _below(folder: str, other: str) -> str:
    """Return the way from one folder to another; ``..`` where it leaves the other."""
    return os.path.relpath(os.path.realpath(folder), os.path.realpath(other)) if _share_drive(folder, other) else ".."


def _share_drive(one: str, other: str) -> bool:
    return os.path.splitdrive(one)[0].lower() == os.path.splitdrive(other)[0].lower()


def _user_cache() -> str:
    home = os.path.expanduser("~")
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "vaultwire")
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Caches", "vaultwire")
    return os.path.join(_xdg_folder("XDG_CACHE_HOME", os.path.join(home, ".cache")), "vaultwire")


def _user_state() -> str:
    home = os.path.expanduser("~")
    if sys.platform == "win32":  # beside the cache, which Windows has no folder of its own for
        return f"{_user_cache()}-state"
    if sys.platform == "darwin":
        return os.path.join(home, "Library", "Application Support", "vaultwire")
    return os.path.join(_xdg_folder("XDG_STATE_HOME", os.path.join(home, ".local", "state")), "vaultwire")


def _xdg_folder(variable: str, usual: str) -> str:
    base = os.environ.get(variable, "")
    return base if os.path.isabs(base) else usual  # a relative one is to be ignored (XDG)


def policy_place(given: str | None) -> str | None:
    """Return the absolute path of the policy's file; whether it is one shows when it is read."""
    given = given if given is not None else os.environ.get(POLICY_VARIABLE)
    return os.path.abspath(os.path.expanduser(given)) if given else None


def _prompts_folder(given: str | None) -> str | None:
    """Return the folder's path in the vault. Whether it is there shows when it is read: it may come later."""
    given = given if given is not None else os.environ.get(PROMPTS_VARIABLE)
    if not given:
        return None
    slashed = given.replace("\\", "/")
    parts = [part for part in slashed.split("/") if part not in ("", ".")]
    # A second character ":" is a drive's letter before it.
    if not parts or slashed.startswith("/") or slashed[1:2] == ":" or any(part.startswith(".") for part in parts):
        raise ConfigError(
            f"no folder for prompts: {given!r}. Give a folder in the vault, such as Prompts; not the vault itself, not "
            "an absolute path, and nothing hidden"
        )
    return "/".join(parts)
