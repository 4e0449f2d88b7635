"""The files of a chat, as ChatGPT gives them: an object with a URL that is valid for some minutes.

ChatGPT fills in only an argument that ``openai/fileParams`` names in the list. A module of its own, so that who searches loads
nothing of what changes notes.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.registry import (
    AnyTool,
    Attachments,
    Bounds,
    DryRun,
    Open,
    OptionalName,
    Outcome,
    ToolMaker,
    tool,
)
from vaultwire.tools.edit import MadeFile, make_add_attachment
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault


class ChatFile(TypedDict):
    """A file of a chat, as ChatGPT gives it."""

    download_url: Annotated[str, Bounds(1, 8192), "Where it can be fetched"]
    file_id: str
    mime_type: NotRequired[str]
    file_name: NotRequired[str]


def make_save_file(sources: Attachments) -> AnyTool:
    """Return the tool over the sources that the person allowed."""
    add_attachment = make_add_attachment(sources)

    @tool(
        title="Save a file of the chat",
        category="attachments",
        listed="chatgpt",
        open_world=True,
        same_as="add_attachment",
        meta={"openai/fileParams": ["file"]},
    )
    def save_file(
        vault: Vault,
        progress: Progress,
        /,
        file: Annotated[ChatFile, Open()],
        name: OptionalName = "",
        embed_in: OptionalName = "",
        section: OptionalName = "",
        dry_run: DryRun = False,
    ) -> Outcome[MadeFile]:
        """Save a file that the person put into this chat in the vault, and show it in a note if asked; returns its link.

        Example: {"file": {"download_url": "https://files.oaiusercontent.com/file-1", "file_id": "file-1"}, "name": "bed.png"}.

        Args:
            file: The file, as the chat gives it.
            name: File name with extension, such as "diagram.png". Empty for the file's own.
            embed_in: The note to show it in, at the end. Empty for none.
            section: Heading of that note to show it below instead. One that is not there is made.
            dry_run: Only show where it would go.
        """
        if not file["download_url"].startswith("https://"):  # a path would be one of this computer
            raise VaultError(INVALID_ARGUMENTS, "download_url must begin with https://.", argument="file")
        own = file.get("file_name", "").replace("\\", "/").rpartition("/")[2]
        return add_attachment(
            vault,
            progress,
            name=name or own,
            source=file["download_url"],
            embed_in=embed_in,
            section=section,
            dry_run=dry_run,
        )

    return save_file


save_file = ToolMaker(lambda outside: make_save_file(outside.attachments))
