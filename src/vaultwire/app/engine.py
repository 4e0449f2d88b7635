"""Composes the engine and its tools: files, index, journal, policy, and the choice of tools. Opens no door."""

from __future__ import annotations

from vaultwire.config import Config, ConfigError
from vaultwire.protocol.dialects import DIALECTS
from vaultwire.toolkit.catalog import APP_CATALOG, EVAL, load_catalog
from vaultwire.trust.limits import MAX_ATTACHMENT_BYTES, MAX_NOTE_BYTES
from vaultwire.trust.policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultwire.toolkit.registry import AnyTool, Description
    from vaultwire.trust.policy_file import LoadedPolicy
    from vaultwire.vault.changes.change import JournalReport
    from vaultwire.vault.disk.files import Files
    from vaultwire.vault.disk.inspection import Fingerprint, Inspection
    from vaultwire.vault.index.store.stored_index import StoredIndex
    from vaultwire.vault.settings.obsidian_settings import CachedSettings
    from vaultwire.vault.value_types import IndexReport, Progress
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


def make_policy(config: Config, loaded: LoadedPolicy | None = None) -> Policy:
    """Return what the person allows in this run."""
    policy = Policy() if loaded is None else loaded.policy
    policy.read_only |= config.read_only
    policy.hosts = tuple({*policy.hosts, *config.limits.hosts})
    policy.attachment_hosts = tuple({*policy.attachment_hosts, *config.limits.attachment_hosts})
    return policy


def load_descriptions(config: Config, loaded: LoadedPolicy | None) -> list[Description]:
    """Return the descriptions of this run's tools: our own and, with a backend, ``obsidian_*``."""
    if config.backend is None:
        return load_catalog()
    rules = None if loaded is None else loaded.policy.tools
    runs_code = rules is not None and rules.allow is not None and EVAL in rules.allow
    family = [each for each in load_catalog(APP_CATALOG) if runs_code or each["name"] != EVAL]
    listed = DIALECTS[config.dialect].list_name  # some dialects give two tools one name
    names = {each["name"] for each in family}
    return [*(each for each in load_catalog() if listed(each["name"]) not in names), *family]


def load_family(config: Config) -> Sequence[AnyTool]:
    """Return the ``obsidian_*`` tools over the chosen backend; none without a backend."""
    if config.backend is None:
        return ()
    from vaultwire.obsidian.backends import Backends  # noqa: PLC0415 - after the first answer, here and below
    from vaultwire.obsidian.command import Command  # noqa: PLC0415
    from vaultwire.tools.obsidian_cli.family import make_family  # noqa: PLC0415

    return make_family(Backends(config.backend, Command(config.obsidian)).backend_of)


def load_first_tools() -> Sequence[AnyTool]:
    """Return the tools with which conversations begin. The code of the others is a third of the loading time."""
    from vaultwire.tools import find, links, notes, read_notes, reading, search, structure  # noqa: PLC0415 - after the first answer

    return (
        search.search_notes,
        search.search_by_tags,
        find.find_notes,
        read_notes.read_notes,
        notes.list_notes,
        reading.read_note,
        reading.read_many,
        structure.get_outline,
        links.list_links,
        structure.list_backlinks,
        structure.list_tags,
        structure.recent_notes,
    )


def load_tools(
    policy: Policy | None = None, attachment_folders: Sequence[str] = (), vaults: Sequence[str] = ()
) -> Sequence[AnyTool]:
    """Return our own tools in the order of the list. Without a policy they reach nothing outside the vault.

    ``attachment_folders``: folders of this computer from which attachments may be added; not out of the ``vaults`` in them.
    """
    from vaultwire.app.attachment_sources import AttachmentSources  # noqa: PLC0415 - after the first answer, here and below
    from vaultwire.tools import (  # noqa: PLC0415 - after the first answer
        arranging,
        attachments,
        base_changes,
        bases,
        canvases,
        checks,
        daily,
        discovery,
        duplicates,
        find,
        fixing,
        graph,
        guide,
        history,
        links,
        making,
        notes,
        overview,
        pending,
        read_notes,
        reading,
        related,
        renaming,
        revising,
        search,
        structure,
        vault_overview,
        web,
    )

    policy = policy or Policy()
    standard: tuple[AnyTool, ...] = (
        search.search_notes, find.find_notes, read_notes.read_notes, links.list_links, vault_overview.vault_overview,
        overview.list_tasks, checks.check_notes, making.create_note, making.append_daily_note, revising.edit_note,
        revising.set_properties, renaming.move_notes, renaming.rename, notes.delete_note, history.list_changes,
        history.undo_changes, discovery.more_tools,
    )  # fmt: skip
    others: tuple[AnyTool, ...] = (
        revising.set_task, guide.vault_guide, arranging.merge_notes, arranging.extract_section, making.insert_template,
        making.make_add_attachment(AttachmentSources(attachment_folders, vaults, policy)), attachments.list_attachments,
        canvases.read_canvas, canvases.edit_canvas, bases.query_base,
        base_changes.set_properties_in_view, base_changes.create_note_in_view,
        base_changes.edit_base, base_changes.create_base,
        history.restore_note, pending.pending_changes, web.make_web_search(policy.may_reach), notes.list_notes,
        reading.read_note, reading.read_many,
        daily.daily_note, notes.write_note, search.search_by_tags, structure.get_outline, structure.list_backlinks,
        graph.graph, related.related_notes, fixing.fix_links, duplicates.find_duplicates, structure.list_tags,
        structure.recent_notes, overview.list_properties, overview.vault_stats,
        revising.remove_properties, arranging.move_note, arranging.rename_heading, arranging.rename_tag,
        arranging.rename_property, history.show_change, history.undo_change, discovery.search_tools,
        discovery.list_tool_categories,
    )  # fmt: skip
    return (*standard, *others)


def open_vault(config: Config, others: Sequence[str] = (), loaded: LoadedPolicy | None = None) -> Vault:
    """Return the engine over the default vault; ``others`` are the names of the other vaults of this run."""
    from datetime import datetime  # noqa: PLC0415 - after the first answer

    from vaultwire.vault.changes.executor import Changes  # noqa: PLC0415
    from vaultwire.vault.disk.file_operations import keep_private  # noqa: PLC0415
    from vaultwire.vault.editing.workbench import Workbench  # noqa: PLC0415
    from vaultwire.vault.vault import Vault  # noqa: PLC0415

    keep_private(config.state)
    files = _open_files(config, loaded)
    index = open_index(files, config.cache)
    bench = Workbench(
        files,
        index,
        open_settings(files),
        Changes(files, index, config.state, recovers=not make_policy(config, loaded).read_only),
        now=datetime.now,
        max_attachment_bytes=MAX_ATTACHMENT_BYTES if loaded is None else loaded.attachment_bytes,
        read_first=config.read_first,
    )
    bench.review = None if loaded is None else loaded.review
    return Vault(bench, next(iter(config.vaults)), others)


def read_guide(config: Config) -> str:
    """Return the head of the default vault's own guide, quoted; empty if there is none. Before the first answer, so quick."""
    from vaultwire.vault.guides import quoted_head, read_root_guide  # noqa: PLC0415 - not for every command

    found = read_root_guide(config.for_vault(next(iter(config.vaults))).vault)
    return "" if found is None else quoted_head(*found)


def open_settings(files: Files) -> CachedSettings:
    """Return Obsidian's settings for a vault, without what the policy hides."""
    if files.hides_some:
        from vaultwire.vault.visibility.visible_settings import VisibleSettings  # noqa: PLC0415 - only where there is a policy

        return VisibleSettings(files)
    from vaultwire.vault.settings.obsidian_settings import CachedSettings  # noqa: PLC0415 - after the first answer

    return CachedSettings(files.root)


def open_index(files: Files, cache: str | None) -> StoredIndex:
    """Return the index over a vault's files, stored in the cache folder; in memory if that is None."""
    from vaultwire.vault.index.store.index_folder import IndexFolder  # noqa: PLC0415
    from vaultwire.vault.index.store.stored_index import StoredIndex  # noqa: PLC0415
    from vaultwire.vault.settings.obsidian_settings import CachedSettings  # noqa: PLC0415
    from vaultwire.vault.visibility.excludes import CachedExcludes  # noqa: PLC0415 - after the first answer

    folder = IndexFolder(files.root, cache, files.stamp)
    return StoredIndex(files, folder, CachedExcludes(files.root, CachedSettings(files.root)).get)


def _open_files(config: Config, loaded: LoadedPolicy | None = None) -> Files:
    """Return the files of the vault, without what the policy hides."""
    from vaultwire.vault.disk.files import Files  # noqa: PLC0415 - after the first answer, here and below

    if loaded is None:
        return Files(config.vault, MAX_NOTE_BYTES)
    if loaded.paths is None:
        return Files(config.vault, loaded.note_bytes)
    from vaultwire.vault.visibility.visible_files import VisibleFiles  # noqa: PLC0415

    return VisibleFiles(config.vault, loaded.note_bytes, loaded.paths)


def survey_vault(config: Config, progress: Progress) -> Inspection:
    """Return what the vault contains, without what the policy hides, and its files' problems. Reads every note."""
    from vaultwire.vault.disk.inspection import inspect_vault  # noqa: PLC0415
    from vaultwire.vault.settings.obsidian_settings import CachedSettings  # noqa: PLC0415
    from vaultwire.vault.visibility.excludes import CachedExcludes  # noqa: PLC0415 - for doctor only

    files = _open_files(config, load_policy(config))
    settings = CachedSettings(files.root)
    known = [*settings.get().problems, *CachedExcludes(files.root, settings).get().problems]
    return inspect_vault(files, known, progress)


def examine_index(config: Config, progress: Progress) -> IndexReport:
    """Return a report on the vault's index, after an update."""
    files = _open_files(config, load_policy(config))
    index = open_index(files, config.cache)
    try:
        return index.report(progress)
    finally:
        index.close()


def examine_journal(config: Config) -> JournalReport:
    """Return a report on the journal of the vault's changes."""
    from vaultwire.vault.changes.executor import Changes  # noqa: PLC0415 - for doctor only

    files = _open_files(config)
    index = open_index(files, None)
    try:
        return Changes(files, index, config.state, recovers=False).report()
    finally:
        index.close()


def fingerprint_vault(config: Config) -> Fingerprint:
    """Return a fingerprint over every byte in the vault's folder."""
    from vaultwire.vault.disk.inspection import fingerprint  # noqa: PLC0415 - for the demo only

    return fingerprint(_open_files(config))
