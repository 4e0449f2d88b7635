"""Texts of bases: one that is edited, in a file or a block of a note, and one that is new."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from vaultwire.bases.base import NotABaseError
from vaultwire.bases.base_blocks import BlockError, edit_block
from vaultwire.bases.base_edits import BaseEditError, ViewEdit, check_base, edit_base, new_base, renamed_views
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.base_queries.sources import filter_of
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.plans.heading_links import NewSubpath
from vaultwire.vault.value_types import VaultPath

# A longer list of warnings helps nobody.
_MOST_NOTICES = 10
_NOT_IN_LINKS = "#^[]|"


class BaseText:
    """One edit of a base: of a file, or of the block of that number in a note."""

    def __init__(self, block: int, changes: Mapping[str, PropertyValue], views: Sequence[ViewEdit]) -> None:
        self._block = block
        self._changes = changes
        self._views = views
        self._before = self._after = ""

    def edit(self, path: VaultPath, text: str) -> str:
        """Return the text of the file with the edit made. Raises VaultError (INVALID_ARGUMENTS)."""
        if not self._block:
            return self._edit(path, text)
        try:
            return edit_block(text, self._block, lambda block: self._edit(path, block.text))
        except BlockError as error:
            raise VaultError(INVALID_ARGUMENTS, f"{path!r} {error}.", path=path) from None

    def _edit(self, path: VaultPath, base: str) -> str:
        try:
            after = edit_base(base, self._changes, self._views)
        except (BaseEditError, NotABaseError) as error:
            raise VaultError(INVALID_ARGUMENTS, f"{path!r} was not changed: {error}", path=path) from None
        self._before, self._after = base, after
        return after

    def new_subpaths(self, path: VaultPath) -> dict[VaultPath, NewSubpath]:
        """Return what links say that name a view which gets another name, for ``with_heading_links``; a block has no links.

        It raises VaultError for a name that no link can have.
        """
        if self._block or not self.renames:
            return {}
        new_name = renamed_views(self._before, self._views)

        def new_subpath(subpath: str) -> str | None:
            new = new_name(subpath)
            odd = [character for character in _NOT_IN_LINKS if new and character in new]
            if odd:
                reason = f"there is a link to the view, and no link can name {new!r}, because of {' '.join(odd)}"
                raise VaultError(INVALID_ARGUMENTS, f"{path!r} was not changed: {reason}.", path=path)
            return new

        return {path: new_subpath}

    @property
    def renames(self) -> str:
        """Which views get another name, for a sentence; empty if none does."""
        return ", ".join(f"{edit.name!r} to {edit.new_name!r}" for edit in self._views if edit.new_name)

    def notices(self, properties: Collection[str]) -> list[str]:
        """Return what is wrong in the base afterwards and was not before. ``properties``: names in use, in small letters."""
        before = {problem.message for problem in check_base(self._before, 1, properties)}
        found = (problem.message for problem in check_base(self._after, 1, properties))
        return [*dict.fromkeys(message for message in found if message not in before)][:_MOST_NOTICES]


def new_base_text(search: str, changes: Mapping[str, PropertyValue], views: Sequence[ViewEdit]) -> str:
    """Return the text of a new base. ``search``: a search whose notes it shows; it may be empty. Raises VaultError."""
    if search.strip():
        if "filters" in changes:
            message = "Give either a search or filters: both say which notes the base shows."
            raise VaultError(INVALID_ARGUMENTS, message, argument="search")
        changes = {"filters": filter_of(search), **changes}
    try:
        return new_base(changes, views)
    except BaseEditError as error:
        raise VaultError(INVALID_ARGUMENTS, str(error), argument="set") from None
