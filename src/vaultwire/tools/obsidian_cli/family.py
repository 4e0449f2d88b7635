"""The ``obsidian_*`` family: which tools it has, in the order in which clients see them. Offered only on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vaultwire.toolkit.registry import AnyTool
from vaultwire.tools.obsidian_cli import extras as app_extras
from vaultwire.tools.obsidian_cli import lists as app_lists
from vaultwire.tools.obsidian_cli import notes as app_notes
from vaultwire.tools.obsidian_cli.port import Obsidian
from vaultwire.vault.vault import Vault

_FAMILY = (
    app_notes.obsidian_create_note,
    app_notes.obsidian_create_in_base,
    app_notes.obsidian_read_note,
    app_notes.obsidian_append_note,
    app_notes.obsidian_prepend_note,
    app_notes.obsidian_move_note,
    app_notes.obsidian_rename_note,
    app_notes.obsidian_delete_note,
    app_notes.obsidian_open_note,
    app_notes.obsidian_read_daily,
    app_notes.obsidian_append_daily,
    app_notes.obsidian_prepend_daily,
    app_lists.obsidian_search,
    app_lists.obsidian_tags,
    app_lists.obsidian_tag,
    app_lists.obsidian_note_properties,
    app_lists.obsidian_properties,
    app_notes.obsidian_set_property,
    app_notes.obsidian_remove_property,
    app_lists.obsidian_links,
    app_lists.obsidian_backlinks,
    app_lists.obsidian_outline,
    app_lists.obsidian_tasks,
    app_lists.obsidian_set_task,
    app_extras.obsidian_templates,
    app_extras.obsidian_read_template,
    app_extras.obsidian_bookmarks,
    app_extras.obsidian_bases,
    app_extras.obsidian_query_base,
    app_extras.obsidian_base_views,
    app_extras.obsidian_history,
    app_extras.obsidian_read_history,
    app_extras.obsidian_commands,
    app_extras.obsidian_workspace,
    app_extras.obsidian_eval,
)


def make_family(obsidian_of: Callable[[Vault], Obsidian]) -> Sequence[AnyTool]:
    """Return the family over a backend, with the tool that is not offered to everybody (``catalog.EVAL``)."""
    return [make(obsidian_of) for make in _FAMILY]
