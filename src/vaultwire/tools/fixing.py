"""The tool that fixes links in many notes at once. Its docstring is product text: a model reads it."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from vaultwire.toolkit.phrases import counted
from vaultwire.toolkit.registry import Bounds, DryRun, Folder, Name, OptionalName, Outcome, tool
from vaultwire.tools.changes import Changed, change_texts, to_changed
from vaultwire.vault.editing.fixing import Fixed, GivenFix
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

# Links that an answer names, and links left over that it names.
_MAX_LINKS, _MAX_LEFT = 200, 50

FixOfLink = TypedDict(
    "FixOfLink",
    {
        "path": Annotated[
            NotRequired[OptionalName], "The note or canvas; left out: every note where the link leads nowhere"
        ],
        "from": Annotated[Name, 'The link as it is now, such as "Old name" or "[[Old name#Part]]"'],
        "to": Annotated[Name, 'What it should be: "Right name", "Folder/Name#Part", or "#Part" alone'],
    },
)


class FixedLink(TypedDict):
    """A link that was rewritten."""

    path: Annotated[str, "The file"]
    line: Annotated[int, "Line number, from 1"]
    old: Annotated[str, "The link before"]
    new: Annotated[str, "The link now; of a dry run, as it would be"]


class FixedLinks(Changed):
    """What was fixed."""

    links: Annotated[list[FixedLink], "The first links"]
    link_count: Annotated[int, "How many links in all"]
    left: Annotated[
        list[str], "With suggested: the first links that lead nowhere and were left, because nothing is sure"
    ]
    left_count: Annotated[int, "How many in all"]


@tool(title="Fix links", category="links", destructive=True, time_class="search")
def fix_links(
    vault: Vault,
    progress: Progress,
    /,
    fixes: Annotated[list[FixOfLink] | None, Bounds(1, 500)] = None,
    suggested: bool = False,
    path: OptionalName = "",
    folder: Folder = "",
    dry_run: DryRun = False,
) -> Outcome[FixedLinks]:
    """Fix broken links in many notes as one change: those given, or all of which it is sure what was meant (a typing error,
    another case, a note that moved). All happen or none; one undo takes them back. check_notes lists broken links.

    Example: {"fixes": [{"from": "Old name", "to": "Right name"}]}.

    Args:
        fixes: The links and what they should be. Display texts and headings stay unless "to" has a heading.
        suggested: Fix all that are sure instead. A link that may mean two notes, or a note to be written one day, is left.
        path: With suggested, only in this note or canvas.
        folder: With suggested, only in notes below this folder.
    """
    if bool(fixes) is suggested or ((path or folder) and not suggested) or (path and folder):
        raise VaultError(
            INVALID_ARGUMENTS,
            'Give either fixes, such as [{"from": "Old name", "to": "Right name"}], or suggested true.',
            argument="fixes",
        )
    if suggested:
        fixed = vault.fixing.fix_suggested(path, folder, progress, dry_run=dry_run)
    else:
        given = [GivenFix(each.get("path", ""), each["from"], each["to"]) for each in fixes or ()]
        fixed = vault.fixing.fix_links(given, progress, dry_run=dry_run)
    return _outcome(fixed)


def _outcome(fixed: Fixed) -> Outcome[FixedLinks]:
    links, left = fixed.plan.links, [f"{path}:{finding.line}: {finding.message}" for path, finding in fixed.left]
    data = FixedLinks(
        **to_changed(fixed.done),
        links=[FixedLink(path=each.path, line=each.line, old=each.old, new=each.new) for each in links[:_MAX_LINKS]],
        link_count=len(links) + fixed.done.unread,
        left=left[:_MAX_LEFT],
        left_count=len(left),
    )
    texts = change_texts(fixed.done, f"{counted(data['link_count'], 'link')} fixed", data)
    lines = [f"{each['path']}:{each['line']}: {each['old']} → {each['new']}" for each in data["links"]]
    lines += [f"… and {data['link_count'] - len(lines)} more."] if data["link_count"] > len(lines) else []
    if left:
        lines += [f"{counted(len(left), 'broken link')} left, because it is not sure what was meant:", *data["left"]]
        lines += [f"… and {len(left) - _MAX_LEFT} more."] if len(left) > _MAX_LEFT else []
    return Outcome([*texts, "\n".join(lines)] if lines else texts, data)
