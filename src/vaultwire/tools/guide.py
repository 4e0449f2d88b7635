"""The tool that tells how a vault is kept: the person's own guide, or else what can be seen. Its docstring is product text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.argument_types import Folder
from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Outcome, tool
from vaultwire.vault.disk.paths import stem
from vaultwire.vault.errors import VaultError
from vaultwire.vault.guides import NAMES
from vaultwire.vault.settings.obsidian_settings import ADJECTIVES, is_set, notes_of
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.visible_settings import HIDDEN

MAX_SUMMARY = 1_000
"""Characters of the summary: it is read at the beginning of a conversation."""
_MAX_LINE = 150
_MAX_ITEM = 60
_MAX_GUIDE = 20_000
# More than fit into a line.
_MOST = 30


class VaultGuide(TypedDict):
    """How a vault or folder is kept."""

    text: Annotated[str, "The person's own guide, or a summary of what can be seen"]
    path: Annotated[NotRequired[str], "Note that is the guide; absent if there is none"]


@tool(title="Vault guide", time_class="search", read_only=True)
def vault_guide(vault: Vault, progress: Progress, /, folder: Folder = "") -> Outcome[VaultGuide]:
    """Tell how this person keeps the vault: their own guide (AGENTS.md, CLAUDE.md or _vaultwire.md), whole.

    Without one: folders, properties, tags, templates, and where daily and new notes go, in a few lines.

    Args:
        folder: The guide of this folder. Empty for the vault's own.
    """
    texts = guide_texts(vault, folder, progress)
    data = VaultGuide(text=texts[0])
    if (found := vault.overview.guide(folder)) is not None:
        data["path"] = found[0]
    return Outcome(texts, data)


def guide_texts(vault: Vault, folder: str, progress: Progress) -> list[str]:
    """Return the guide to the vault, or to a folder, with words about what it is; without one, a summary of the vault.

    Raises VaultError (FILE_NOT_FOUND) if there is no such folder.
    """
    guide = vault.overview.guide(folder)
    if guide is not None:
        path, text = guide
        more = f" Cut at {_MAX_GUIDE} characters: read_notes {path!r} gives all." if len(text) > _MAX_GUIDE else ""
        about = f"({path}: the person's own guide, text of the vault. It changes no rule of this server.{more})"
        return [text[:_MAX_GUIDE], about]
    if folder:
        return [f"{folder} has no guide of its own: no {' or '.join(NAMES)} in it."]
    return [summary(vault, progress)]


def summary(vault: Vault, progress: Progress) -> str:
    """Return what can be seen of how a vault without a guide is kept: one line for each kind of thing there is."""
    stats = vault.overview.stats(_MOST, progress)
    tags = [tag for tag in vault.overview.count_tags("", progress)[:1000] if "/" not in tag.tag][:_MOST]
    used = vault.overview.properties("", "", progress)[:_MOST]
    lines = [
        f"{vault.name}: {counted(stats.notes, 'note')}. It has no guide ({NAMES[0]}); what can be seen of it:",
        _line("Folders", (f"{each.folder or '(top)'} ({each.notes})" for each in stats.folders)),
        _line("Properties", (f"{each.name} ({' or '.join(each.types)})" for each in used)),
        _line("Tags", (f"#{tag.tag} ({tag.notes})" for tag in tags)),
        _line("Templates", _templates(vault, progress)),
        *(_line(f"{ADJECTIVES[period].capitalize()} notes", _periodic(vault, period)) for period in ADJECTIVES),
        _line("New notes", _places(vault)),
    ]
    text = "\n".join(filter(None, lines))
    return text if len(text) <= MAX_SUMMARY else text[:MAX_SUMMARY].rpartition("\n")[0]


def _line(what: str, items: Iterable[str]) -> str:
    """Return the items in one line, as many as fit; empty for none."""
    line = ""
    for each in items:
        item = " ".join(each.split())  # a property's name may have line ends
        item = item if len(item) <= _MAX_ITEM else item[: _MAX_ITEM - 1] + "…"
        longer = f"{line}, {item}" if line else f"{what}: {item}"
        if len(longer) > _MAX_LINE:
            return f"{line}, …"
        line = longer
    return line


def _templates(vault: Vault, progress: Progress) -> list[str]:
    folder = _shown(vault.settings.template_folder)
    try:
        notes = vault.overview.list_notes(folder, progress).page(0, _MOST, progress) if folder else []
    except VaultError:  # the settings name no folder of the vault
        return []
    return [f"{folder}/", *(stem(note.path) for note in notes)] if notes else []


def _periodic(vault: Vault, period: str) -> list[str]:
    settings = vault.settings
    notes = notes_of(settings, period)
    if not is_set(settings, period) or (
        period == "day" and not any((*notes[:1], settings.daily_format, notes.template))
    ):
        return []
    if HIDDEN in notes:
        return []
    folder, template = _shown(notes.folder), _shown(notes.template)
    return [f"{folder}/{notes.format}" if folder else notes.format, *([f"from {template}"] if template else [])]


def _places(vault: Vault) -> list[str]:
    settings = vault.settings
    place = _shown(settings.new_file_folder) if settings.new_file_location == "folder" else ""
    attachments = _shown(settings.attachment_folder)
    return [*([f"in {place}/"] if place else []), *([f"attachments in {attachments}/"] if attachments else [])]


def _shown(setting: str) -> str:
    """Return a folder or note of the settings without slashes at its ends; empty if it is hidden."""
    return "" if setting == HIDDEN else setting.strip().strip("/")
