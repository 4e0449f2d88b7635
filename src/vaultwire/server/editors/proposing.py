"""From a client's words for a change to the diff that the person sees: which file is meant, and what may be read of it."""

from __future__ import annotations

import os

from vaultwire.editor.proposals import Diff
from vaultwire.server.editors.notifications import ClientPaths
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.errors import VaultError
from vaultwire.vault.vault import Vault


def make_diff(vault: Vault, paths: ClientPaths, given: str, label: str, new: str) -> Diff:
    """Return what a client proposes for a file. ``given`` is the client's name of the file.

    Of a file outside the vault, or one that is hidden or private, nothing is read.
    """
    path = paths.vault_path(given)
    place = os.path.abspath(given) if path is None else paths.absolute(path)
    if path is not None:
        try:
            found, file = vault.read_file(path, MAX_NOTE_BYTES)
            return Diff(found, label, file.data, new)
        except VaultError:
            if not os.path.lexists(place) and vault.may_have(path):
                return Diff(path, label, None, new)
    return Diff(os.path.basename(place) or place, label, None, new, outside=place)
