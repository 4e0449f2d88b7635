"""Composes the engine and its tools: files, index, journal, policy, the choice of tools, sources of attachments."""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import partial

from vaultwire.config import Config, ConfigError
from vaultwire.protocol.dialects import DIALECTS
from vaultwire.toolkit.catalog import APP_CATALOG, EVAL, load_catalog
from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES, MAX_NOTE_BYTES
from vaultwire.trust.policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from vaultwire.meaning.finding import Finding
    from vaultwire.toolkit.registry import AnyTool, Description, Outside
    from vaultwire.trust.policy_file import LoadedPolicy
    from vaultwire.vault.attachment_texts.attachment_texts import AttachmentTexts, ReadingReport
    from vaultwire.vault.changes.change import JournalReport
    from vaultwire.vault.changes.record_store import RecordStore
    from vaultwire.vault.disk.files import Files
    from vaultwire.vault.disk.inspection import Fingerprint, Inspection
    from vaultwire.vault.errors import VaultError
    from vaultwire.vault.index.index import Index
    from vaultwire.vault.settings.obsidian_settings import CachedSettings
    from vaultwire.vault.value_types import Coverage, IndexReport, Progress
    from vaultwire.vault.vault import Vault


def load_policy(config: Config) -> LoadedPolicy | None:
    """Return the policy of this run from its file, None for none. Raises ConfigError."""
    if config.policy is None:
        return None
    from vaultwire.trust.policy_file import PolicyError, load_policy  # noqa: PLC0415 - only where there is a policy

    try:
        tools = [*load_catalog(), *load_catalog(APP_CATALOG)]  # a policy may name tools that this run does not have
        return load_policy(config.policy, [description["name"] for description in tools])
    except PolicyError as error:
        raise ConfigError(str(error)) from None


def narrow_policy(loaded: LoadedPolicy | None, folders: Sequence[str]) -> LoadedPolicy | None:
    """Return a policy that also hides what is in none of these folders; for no folder, or the vault's own, the same."""
    if not folders or "" in folders:
        return loaded
    from vaultwire.trust.policy_file import LoadedPolicy  # noqa: PLC0415 - only where it is asked for, here and below
    from vaultwire.trust.policy_rules import PathRules  # noqa: PLC0415

    loaded = loaded or LoadedPolicy("", Policy(), None, MAX_NOTE_BYTES, MAX_ATTACHMENT_BYTES)
    return loaded._replace(paths=(loaded.paths or PathRules(note_bytes=loaded.note_bytes)).only_in(folders))


def make_policy(config: Config, loaded: LoadedPolicy | None = None) -> Policy:
    """Return what the person allows in this run."""
    policy = Policy() if loaded is None else loaded.policy
    policy.read_only |= config.read_only
    policy.hosts = tuple({*policy.hosts, *config.limits.hosts})
    policy.attachment_hosts = tuple({*policy.attachment_hosts, *config.limits.attachment_hosts})
    return policy


def load_descriptions(config: Config, loaded: LoadedPolicy | None) -> Sequence[Description]:
    """Return the descriptions of this run's tools: our own and, with a backend, ``obsidian_*``."""
    if config.backend is None:
        return load_catalog()
    rules = None if loaded is None else loaded.policy.tools
    runs_code = rules is not None and rules.allow is not None and EVAL in rules.allow
    family = [each for each in load_catalog(APP_CATALOG) if runs_code or each["name"] != EVAL]
    listed = DIALECTS[config.dialect].list_name  # some dialects give two tools one name
    names = {each["name"] for each in family}
    return [*(each for each in load_catalog() if listed(each["name"]) not in names), *family]


def tool_loader(config: Config, policy: Policy, public_url: str = "") -> Callable[[Description], AnyTool]:
    """Return what loads a tool's code: the module that declares it, or the ``obsidian_*`` family over the chosen backend.

    ``public_url``: of this server, if people read notes there; empty for none.
    """
    family: dict[str, AnyTool] = {}

    def load(description: Description) -> AnyTool:
        from vaultwire.toolkit.registry import load_tool  # noqa: PLC0415 - after the first answer, here and below

        if description["module"].startswith("vaultwire.tools.obsidian_cli.") and config.backend is not None:
            if not family:
                from vaultwire.obsidian.command import Backends, Command  # noqa: PLC0415 - few runs have them, here and below
                from vaultwire.tools.obsidian_cli.family import make_family  # noqa: PLC0415

                backends = Backends(config.backend, Command(config.obsidian))
                family.update({tool.name: tool for tool in make_family(backends.backend_of)})
            return family[description["name"]]
        outside = make_outside(policy, config.limits.attachment_folders, [*config.vaults.values()])
        if public_url:
            from vaultwire.remote.note_pages import address_of  # noqa: PLC0415 - an extra

            outside = outside._replace(page_of=partial(address_of, public_url))
        return load_tool(description, outside)

    return load


def make_outside(
    policy: Policy | None = None, attachment_folders: Sequence[str] = (), vaults: Sequence[str] = ()
) -> Outside:
    """Return what tools may use outside of the vault; without a policy nothing.

    ``attachment_folders``: folders of this computer from which attachments may be added; not out of the ``vaults`` in them.
    """
    from vaultwire.toolkit.registry import Outside  # noqa: PLC0415

    policy = policy or Policy()
    return Outside(policy.may_reach, AttachmentSources(attachment_folders, vaults, policy))


def open_vault(
    config: Config,
    others: Sequence[str] = (),
    loaded: LoadedPolicy | None = None,
    records_of: Callable[[str], RecordStore] | None = None,
) -> Vault:
    """Return the engine over the default vault; ``others`` are the names of the other vaults of this run.

    ``records_of`` returns what keeps the records of a vault that several servers share, by its name; it raises what this raises
    if this server does not own the vault.
    """
    from datetime import datetime  # noqa: PLC0415 - after the first answer

    from vaultwire.vault.changes.executor import Changes  # noqa: PLC0415
    from vaultwire.vault.disk.file_operations import keep_private  # noqa: PLC0415
    from vaultwire.vault.editing.workbench import Workbench  # noqa: PLC0415
    from vaultwire.vault.vault import Vault  # noqa: PLC0415

    store = None if records_of is None else records_of(shared_name(config))  # first: it says whether this server may
    keep_private(config.state)
    files = open_files(config, loaded)
    index = open_index(files, config.cache)
    recovers = not make_policy(config, loaded).read_only
    changes = Changes(files, index, config.state, recovers=recovers)
    if store is not None:
        changes.recover()  # what a server without the database has left open on this computer
        changes = Changes(files, index, config.state, recovers=recovers, store=store)
    bench = Workbench(
        files,
        index,
        open_settings(files),
        changes,
        now=datetime.now,
        max_attachment_bytes=MAX_ATTACHMENT_BYTES if loaded is None else loaded.attachment_bytes,
        read_first=config.read_first,
    )
    if loaded is not None:
        bench.review = loaded.review
        bench.delayed.quiet_seconds = loaded.write_quiet_seconds
    if config.memory_folder is not None:
        bench.memory_folder = config.memory_folder
    if config.meaning is not None:
        bench.meaning = _open_meaning(config.meaning, files, index, config.cache, make_policy(config, loaded))
    if config.search_attachments:
        bench.attachment_texts = open_attachment_texts(files, index, bench.max_attachment_bytes)
    return Vault(bench, next(iter(config.vaults)), others)


def shared_name(config: Config) -> str:
    """Return the name of the default vault for all servers that share it: its own, or its folder's."""
    name, folder = next(iter(config.vaults.items()))
    return name or os.path.basename(folder) or folder


def _open_meaning(model: str, files: Files, index: Index, cache: str, policy: Policy) -> Finding:
    """Return what finds notes by meaning. Raises ConfigError for an address to which notes may not be sent."""
    from vaultwire.meaning.embedding import Embedding  # noqa: PLC0415 - few runs have it, here and below
    from vaultwire.meaning.finding import Finding  # noqa: PLC0415
    from vaultwire.meaning.models import ModelError, parse_address  # noqa: PLC0415

    try:
        address = parse_address(model)
    except ModelError as error:
        raise ConfigError(f"--meaning: {error}") from None
    if address is not None and not address.is_local:
        if not policy.may_reach(address.host):
            raise ConfigError(
                f"--meaning: the text of notes would go to {address.host}, which is not this computer. Allow that with "
                f"--allow-web {address.host}, or name an address such as http://127.0.0.1:11434/v1#MODEL"
            )
        if not address.is_secure:
            raise ConfigError(f"--meaning: notes go to another computer by https only, got {model!r}")
    return Finding(Embedding(files, index, model, cache), files, index)


def read_guide(config: Config) -> str:
    """Return the head of the default vault's own guide, quoted; empty if there is none. Before the first answer, so quick."""
    from vaultwire.vault.guides import quoted_head, read_root_guide  # noqa: PLC0415 - not for every command

    found = read_root_guide(config.for_vault(next(iter(config.vaults))).vault)
    return "" if found is None else quoted_head(*found)


def open_settings(files: Files) -> CachedSettings:
    """Return Obsidian's settings for a vault, without what the policy hides."""
    if files.hides_some:
        from vaultwire.vault.visibility.visible_files import VisibleSettings  # noqa: PLC0415 - only where there is a policy

        return VisibleSettings(files)
    from vaultwire.vault.settings.obsidian_settings import CachedSettings  # noqa: PLC0415 - after the first answer

    return CachedSettings(files.root)


def open_index(files: Files, cache: str | None) -> Index:
    """Return the index over a vault's files, stored in the cache folder; in memory if that is None."""
    from vaultwire.vault.index.index import Index  # noqa: PLC0415
    from vaultwire.vault.index.index_folder import IndexFolder  # noqa: PLC0415
    from vaultwire.vault.settings.obsidian_settings import CachedSettings  # noqa: PLC0415
    from vaultwire.vault.visibility.excludes import CachedExcludes  # noqa: PLC0415 - after the first answer

    # The index of notes with their inline fields says something else of the same files.
    folder = IndexFolder(files.root, cache, files.stamp + "fields" * files.has_inline_fields)
    return Index(files, folder, CachedExcludes(files.root, CachedSettings(files.root)).get)


def open_attachment_texts(files: Files, index: Index, most_bytes: int) -> AttachmentTexts:
    """Return what searches the text of a vault's attachments, of at most so many bytes each."""
    from vaultwire.vault.attachment_texts.attachment_texts import AttachmentTexts  # noqa: PLC0415 - after the first answer

    return AttachmentTexts(files, index, index.folder, most_bytes)


def open_files(config: Config, loaded: LoadedPolicy | None = None) -> Files:
    """Return the files of the vault, without what the policy hides."""
    from vaultwire.vault.disk.files import Files  # noqa: PLC0415 - after the first answer, here and below

    if loaded is None or loaded.paths is None:
        files = Files(config.vault, MAX_NOTE_BYTES if loaded is None else loaded.note_bytes)
    else:
        from vaultwire.vault.visibility.visible_files import VisibleFiles  # noqa: PLC0415

        files = VisibleFiles(config.vault, loaded.note_bytes, loaded.paths)
    files.has_inline_fields = config.inline_fields
    return files


def survey_vault(config: Config, progress: Progress) -> Inspection:
    """Return what the vault contains, without what the policy hides, and its files' problems. Reads every note."""
    from vaultwire.vault.disk.inspection import inspect_vault  # noqa: PLC0415
    from vaultwire.vault.settings.obsidian_settings import CachedSettings  # noqa: PLC0415
    from vaultwire.vault.visibility.excludes import CachedExcludes  # noqa: PLC0415 - for doctor only

    files = open_files(config, load_policy(config))
    settings = CachedSettings(files.root)
    known = [*settings.get().problems, *CachedExcludes(files.root, settings).get().problems]
    return inspect_vault(files, known, progress)


def examine_index(config: Config, progress: Progress) -> IndexReport:
    """Return a report on the vault's index, after an update."""
    files = open_files(config, load_policy(config))
    index = open_index(files, config.cache)
    try:
        return index.report(progress)
    finally:
        index.close()


def examine_searches(config: Config, progress: Progress) -> tuple[ReadingReport | None, Coverage | None]:
    """Return how far the text of attachments can be searched, and notes by meaning; None for what is off.

    Nothing is read or embedded for it. Raises ConfigError as ``open_vault`` does.
    """
    loaded = load_policy(config)
    files = open_files(config, loaded)
    index = open_index(files, config.cache)
    meaning = None
    try:
        texts = coverage = None
        if config.search_attachments:
            most = MAX_ATTACHMENT_BYTES if loaded is None else loaded.attachment_bytes
            texts = open_attachment_texts(files, index, most).report(progress)
        if config.meaning is not None:
            meaning = _open_meaning(config.meaning, files, index, config.cache, make_policy(config, loaded))
            coverage = meaning.coverage(progress)
        return texts, coverage
    finally:
        if meaning is not None:
            meaning.close()
        index.close()


def examine_journal(config: Config) -> JournalReport:
    """Return a report on the journal of the vault's changes."""
    from vaultwire.vault.changes.executor import Changes  # noqa: PLC0415 - for doctor only

    files = open_files(config)
    index = open_index(files, None)
    try:
        return Changes(files, index, config.state, recovers=False).report()
    finally:
        index.close()


@contextmanager
def own_records(config: Config) -> Iterator[RecordStore]:
    """Yield what this computer has recorded of the vault. Meanwhile no program changes that. Raises VaultError."""
    from vaultwire.vault.changes.executor import Changes  # noqa: PLC0415 - for one command only

    files = open_files(config)
    index = open_index(files, None)
    changes = Changes(files, index, config.state)
    try:
        with changes.locked():  # what was left open is ended first
            yield changes.store
    finally:
        changes.store.close()
        index.close()


def fingerprint_vault(config: Config) -> Fingerprint:
    """Return a fingerprint over every byte in the vault's folder."""
    from vaultwire.vault.disk.inspection import fingerprint  # noqa: PLC0415 - for the demo only

    return fingerprint(open_files(config))


# ---------------------------------------------------------------------- sources of attachments
#
# Where the files for attachments may come from, as the person allowed it: folders of this computer, and hosts of the web.


class AttachmentSources:
    """The sources of one run (``registry.Attachments``)."""

    def __init__(self, folders: Sequence[str], vaults: Sequence[str], policy: Policy) -> None:
        """``folders`` may be taken from, except for what is in one of the ``vaults``."""
        self._folders = folders
        self._vaults = vaults
        self._policy = policy

    def read(self, source: str, name: str, max_bytes: int, progress: Progress) -> bytes:
        """Return the bytes of a file, by its path or URL. Raises VaultError."""
        from vaultwire.vault.disk.files import AllowedFolders  # noqa: PLC0415 - with the first attachment
        from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError  # noqa: PLC0415

        if "://" in source:
            if not self._policy.attachment_hosts:
                raise _refusal("from the web", "--attachments-from https://HOST")
            from vaultwire.transports.attachment_download import Downloader  # noqa: PLC0415 - few runs need it

            return Downloader(self._policy.may_fetch_from).fetch(source, name, max_bytes, progress)
        if source.startswith("data:"):
            raise VaultError(INVALID_ARGUMENTS, "source is a path or URL; give the bytes as base64 in data instead.")
        if not self._folders:
            raise _refusal("from this computer", "--attachments-from FOLDER")
        return AllowedFolders(self._folders, self._vaults).read(source, max_bytes)


def _refusal(where: str, option: str) -> VaultError:
    from vaultwire.vault.errors import POLICY_DENIED, VaultError  # noqa: PLC0415 - as above

    return VaultError(
        POLICY_DENIED,
        f"This server takes no files {where}. The person can allow it: start vaultwire with {option}. "
        "Or give the file's bytes as base64 in data.",
    )
