"""The features of several vaults: one list of resources and one of prompts. Not used where there is a single vault.

A resource's URI names its vault. Our own prompts take the vault's name as an argument; prompts made of notes have it in
their name. What one vault answers is in ``one_vault``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vaultwire.protocol.revisions import Revision
from vaultwire.server.features.one_vault import (
    CHANGING_TTL_MS,
    VaultFeatures,
    argument_in,
    caching,
    filled_in,
    listed_templates,
    meanings_in,
    object_in,
    prompt_in,
    refuse_cursor,
    text_in,
    to_completed,
    to_filled,
    to_listed_prompt,
)
from vaultwire.server.vaults import ARGUMENT, Vaults
from vaultwire.tools.prompts import (
    OURS,
    PROMPT_NOT_FOUND,
    Argument,
    Prompt,
    fill_prompt,
    list_prompts,
    plain_name,
)
from vaultwire.tools.resources import TEMPLATE, VIEW_TEMPLATE, Meaning, completions, ranked, root_of, vault_of
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.server.features import Features

# Between a vault's name and a prompt's. Neither contains it: ``plain_name`` puts single underscores between words.
_SEPARATOR = "__"


def make_features(vaults: Vaults, prompts_folder: str | None) -> Features:
    """Return the features of the vaults, or of the only one."""
    return (
        CombinedFeatures(vaults, prompts_folder)
        if vaults.are_several
        else VaultFeatures(vaults.get(vaults.names[0]), prompts_folder)
    )


class CombinedFeatures:
    """Resources, prompts and completions of several vaults. ``prompts_folder`` is the same in each, None for none."""

    def __init__(self, vaults: Vaults, prompts_folder: str | None) -> None:
        self._vaults = vaults
        self._prompts_folder = prompts_folder
        self._prefixes = _prefixes(vaults.names)
        first = Argument(ARGUMENT, f"The vault; {vaults.names[0]} if left out", False, "text")
        self._ours = {prompt.name: prompt._replace(arguments=[*prompt.arguments, first]) for prompt in OURS}
        self._table: dict[str, Callable[[JsonObject, Revision, Progress], JsonObject]] = {
            "resources/list": self._list_resources,
            "resources/templates/list": self._list_templates,
            "resources/read": self._read_resource,
            "prompts/list": self._list_prompts,
            "prompts/get": self._get_prompt,
            "completion/complete": self._complete,
        }

    def answer(self, method: str, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        """Return the result of a request. Raises VaultError, ``Stopped``, and what only a bug raises."""
        return self._table[method](params, revision, progress)

    # ------------------------------------------------------------------ resources

    def _list_resources(self, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        """List one vault after the other, each from a new page. A cursor is a URI, so it names the vault."""
        names = self._vaults.names
        cursor = text_in(params, "cursor") if params.get("cursor") is not None else root_of(names[0])
        try:
            name = self._vaults.name(vault_of(cursor) or "")
        except VaultError:
            raise VaultError(INVALID_ARGUMENTS, "cursor must be the nextCursor of an earlier answer") from None
        page = self._features_of(name).answer("resources/list", {"cursor": cursor}, revision, progress)
        following = names.index(name) + 1
        if "nextCursor" not in page and following < len(names):
            page["nextCursor"] = root_of(names[following])
        return page

    def _list_templates(self, params: JsonObject, revision: Revision, _: Progress) -> JsonObject:
        refuse_cursor(params)
        description = 'A file of a vault by the vault\'s name and its path there, such as "Folder/Note.md".'
        return listed_templates(TEMPLATE, VIEW_TEMPLATE, description, revision)

    def _read_resource(self, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        named = vault_of(text_in(params, "uri"))
        # The first vault refuses a URI of another kind.
        name = self._vaults.names[0] if named is None else self._vaults.name(named)
        return self._features_of(name).answer("resources/read", params, revision, progress)

    def _features_of(self, name: str) -> VaultFeatures:
        return VaultFeatures(self._vaults.get(name), self._prompts_folder)

    # ------------------------------------------------------------------ prompts

    def _list_prompts(self, params: JsonObject, revision: Revision, progress: Progress) -> JsonObject:
        refuse_cursor(params)
        prompts = [*self._ours.values()]
        for name in self._vaults.names:
            prompts += self._of_notes(name, progress).values()
        listed = [to_listed_prompt(prompt, revision) for prompt in prompts]
        return {"prompts": listed, **caching(revision, CHANGING_TTL_MS)}

    def _get_prompt(self, params: JsonObject, _: Revision, progress: Progress) -> JsonObject:
        name, arguments = prompt_in(params)
        vault, prompt = self._find(name, arguments, progress)
        messages = fill_prompt(self._vaults.get(vault), prompt, arguments, progress)
        # Otherwise the tools would look into the first vault.
        return to_filled(prompt, [*messages, f"This is about the vault {vault!r}: pass it to the tools as {ARGUMENT}."])

    def _of_notes(self, vault: str, progress: Progress) -> dict[str, Prompt]:
        """Return the prompts made of a vault's notes, by their names with the vault's."""
        prompts = list_prompts(self._vaults.get(vault), self._prompts_folder, progress).values()
        joined = [
            prompt._replace(
                name=f"{self._prefixes[vault]}{_SEPARATOR}{prompt.name}",
                title=f"{prompt.title} ({vault})",
            )
            for prompt in prompts
            if prompt.note is not None
        ]
        return {prompt.name: prompt for prompt in joined}

    def _find(self, name: str, arguments: Mapping[str, str], progress: Progress) -> tuple[str, Prompt]:
        """Return the prompt of this name and the vault it is about. Raises VaultError."""
        if name in self._ours:
            given = arguments.get(ARGUMENT, "").strip()
            return self._vaults.name(given) if given else self._vaults.names[0], self._ours[name]
        prefix = name.partition(_SEPARATOR)[0]
        for vault in self._vaults.names:
            if self._prefixes[vault] == prefix:
                prompts = self._of_notes(vault, progress)
                if name in prompts:
                    return vault, prompts[name]
        there = [*self._ours]
        for vault in self._vaults.names:
            there += self._of_notes(vault, progress)
        raise VaultError(PROMPT_NOT_FOUND, f"Unknown prompt: {name[:80]!r} (there are: {', '.join(there)})")

    # ------------------------------------------------------------------ completion

    def _complete(self, params: JsonObject, _: Revision, progress: Progress) -> JsonObject:
        reference = object_in(params, "ref")
        given = filled_in(params)
        meanings: dict[str, Meaning]
        match reference.get("type"):
            case "ref/prompt":
                vault, prompt = self._find(text_in(reference, "name", "ref."), given, progress)
                meanings = {argument.name: argument.meaning for argument in prompt.arguments}
                names_vault = prompt.note is None
            case "ref/resource":
                meanings = {ARGUMENT: "text", **meanings_in(reference, TEMPLATE, VIEW_TEMPLATE)}
                named = given.get(ARGUMENT, "")
                vault = self._vaults.name(named) if named else self._vaults.names[0]
                names_vault = True
            case _:
                raise VaultError(INVALID_ARGUMENTS, "ref.type must be 'ref/prompt' or 'ref/resource'")
        name, value = argument_in(params, meanings)
        if names_vault and name == ARGUMENT:
            return to_completed(ranked(self._vaults.names, value))
        return to_completed(completions(self._vaults.get(vault), meanings[name], value, progress, given))


def _prefixes(vaults: tuple[str, ...]) -> dict[str, str]:
    """Return the prefix of each vault's prompts. Vaults whose plain names are equal get numbers."""
    prefixes: dict[str, str] = {}
    for vault in vaults:
        prefix = free = plain_name(vault) or "vault"
        number = 1
        while free in prefixes.values():
            number += 1
            free = f"{prefix}_{number}"
        prefixes[vault] = free
    return prefixes
