"""Where the files for attachments may come from, as the person allowed it: folders of this computer, and hosts of the web."""

from __future__ import annotations

from vaultwire.vault.disk.allowed_folders import AllowedFolders
from vaultwire.vault.errors import INVALID_ARGUMENTS, POLICY_DENIED, VaultError
from vaultwire.vault.value_types import Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultwire.trust.policy import Policy


class AttachmentSources:
    """The sources of one run (``registry.Attachments``)."""

    def __init__(self, folders: Sequence[str], vaults: Sequence[str], policy: Policy) -> None:
        """``folders`` may be taken from, except for what is in one of the ``vaults``."""
        self._folders = folders
        self._vaults = vaults
        self._policy = policy

    def read(self, source: str, name: str, max_bytes: int, progress: Progress) -> bytes:
        """Return the bytes of a file, by its path or URL. Raises VaultError."""
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
    return VaultError(
        POLICY_DENIED,
        f"This server takes no files {where}. The person can allow it: start vaultwire with {option}. "
        "Or give the file's bytes as base64 in data.",
    )
