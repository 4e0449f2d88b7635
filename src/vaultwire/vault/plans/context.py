"""What a plan is made from: one vault as it is now, and whether the caller still waits. It is not a plan itself.

Also the check of a new path, which several plans need.
"""

from __future__ import annotations

from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import check_new_names
from vaultwire.vault.index.port import Index
from vaultwire.vault.links.note_lookup import locate
from vaultwire.vault.settings.obsidian_settings import Settings
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath


class PlanContext:
    """The vault's files, the index over them, and the person's settings in Obsidian.

    A plan is made and executed under the vault's lock, so the files do not change in between by this program.
    ``progress`` says whether the caller still waits.
    """

    def __init__(self, files: Files, index: Index, settings: Settings, progress: Progress = NO_PROGRESS) -> None:
        self.files = files
        self.index = index
        self.settings = settings
        self.progress = progress

    def locate(self, name: str) -> VaultPath:
        """Return the path of the note that ``name`` means. See ``note_lookup.locate``, also for what it raises."""
        return locate(self.files, self.index, name, self.progress)


def check_new_path(files: Files, path: VaultPath) -> None:
    """Raise VaultError for a new file if its name, or that of a folder to make for it, is none for every system."""
    folder, _, name = path.rpartition("/")
    check_new_names([name] if not folder or files.is_folder(VaultPath(folder)) else path.split("/"))
