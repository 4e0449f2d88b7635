"""Answers about many notes at once, from the catalog and the text index. Implements ``vault.index.survey.Survey``."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

from vaultwire.vault.disk.paths import stem
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.catalog_queries import below, count_notes
from vaultwire.vault.index.store.remembered import Answers, Ask
from vaultwire.vault.index.store.schema import IN_LIST, UNREAD
from vaultwire.vault.index.store.search_plan import BODY
from vaultwire.vault.index.store.text_index import TextIndex
from vaultwire.vault.index.store.tokenizer import is_break, words_of
from vaultwire.vault.index.survey import FolderFiles, SharedWords
from vaultwire.vault.search.text_forms import fold_case
from vaultwire.vault.value_types import NoteStat, Progress, VaultPath

# Shorter words are rarely about anything; single characters of scripts without spaces are not.
_LEAST_LETTERS = 3
# A word in more notes than these is not rare: a tenth of the vault, but never many hundreds.
_RARE_SHARE, _FEW, _MANY = 10, 5, 200
# So many of the rarest words are enough, and this much of a very long note.
_MOST_WORDS = 60
_MOST_TEXT = 200_000


class StoredSurvey:
    """For what each answer is see the port."""

    def __init__(self, ask: Ask, answers: Answers, text: Callable[[], TextIndex]) -> None:
        """``text`` returns the text index, brought up to date."""
        self._ask = ask
        self._answers = answers
        self._text = text

    def folders(self, folder: VaultPath | None, progress: Progress) -> list[FolderFiles]:
        """See the port."""
        return self._answers.remember("folders", _folders, (folder,), progress)

    def shared_words(self, path: VaultPath, text: str, progress: Progress) -> SharedWords:
        """See the port."""
        return self._ask(
            partial(_shared_words, text_index=self._text, path=path, text=text, progress=progress), progress, text=True
        )

    def notes(self, folder: VaultPath | None, progress: Progress) -> list[NoteStat]:
        """See the port."""
        return self._ask(partial(_notes, folder=folder), progress)

    def names(self, progress: Progress) -> list[tuple[str, VaultPath]]:
        """See the port."""
        return self._ask(_names, progress)

    def same_content(self, progress: Progress) -> list[list[NoteStat]]:
        """See the port."""
        return self._answers.remember("same content", _same_content, (), progress)


def _folders(catalog: Catalog, folder: VaultPath | None) -> list[FolderFiles]:
    condition, values = below(folder)
    rows = catalog.rows(
        f"SELECT folder, sum(is_note), sum(NOT is_note) FROM files WHERE NOT hidden AND {condition}"
        " GROUP BY folder ORDER BY folder",
        values,
    )
    return [FolderFiles(*row) for row in rows]


def _notes(catalog: Catalog, folder: VaultPath | None) -> list[NoteStat]:
    condition, values = below(folder)
    rows = catalog.rows(
        f"SELECT path, size, modified, stamp FROM files WHERE is_note AND NOT hidden AND {condition} ORDER BY path",
        values,
    )
    return [NoteStat(*row) for row in rows]


def _names(catalog: Catalog) -> list[tuple[str, VaultPath]]:
    names = [(stem(path), VaultPath(path)) for (path,) in catalog.rows("SELECT path FROM files WHERE NOT hidden")]
    aliases = catalog.rows("SELECT spelling, path FROM aliases JOIN files ON id = note WHERE NOT hidden")
    return [*names, *((alias, VaultPath(path)) for alias, path in aliases)]


def _shared_words(
    catalog: Catalog, text_index: Callable[[], TextIndex], path: VaultPath, text: str, progress: Progress
) -> SharedWords:
    index = text_index()
    total = count_notes(catalog, None)
    most = max(_FEW, min(total // _RARE_SHARE, _MANY))
    words = {word for word in words_of(fold_case(text[:_MOST_TEXT])) if _says_something(word)}
    holders = index.holders(BODY, sorted(words), most + 1)
    progress.check()
    rarest = sorted(((len(ids), word) for word, ids in holders.items() if len(ids) > 1))[:_MOST_WORDS]
    ids = sorted({note_id for _, word in rarest for note_id in holders[word]})
    rows = catalog.rows(
        f"SELECT id, path, size, modified, stamp FROM files WHERE is_note AND NOT hidden AND id {IN_LIST}",
        [json.dumps(ids)],
    )
    stats = {note_id: NoteStat(*stat) for note_id, *stat in rows if stat[0] != path}
    found = []
    for _, word in rarest:
        paths = sorted(stats[note_id].path for note_id in holders[word] if note_id in stats)
        if paths:
            found.append((word, paths))
    return SharedWords(found, {stat.path: stat for stat in stats.values()}, total)


def _says_something(word: str) -> bool:
    return len(word) >= _LEAST_LETTERS and not is_break(word) and not word.isdecimal()


def _same_content(catalog: Catalog) -> list[list[NoteStat]]:
    visible = f"is_note AND NOT hidden AND digest <> {UNREAD} AND size > 0"
    rows = catalog.rows(
        f"SELECT digest, path, size, modified, stamp FROM files WHERE {visible} AND digest IN"
        f" (SELECT digest FROM files WHERE {visible} GROUP BY digest HAVING count(*) > 1) ORDER BY path"
    )
    groups: dict[tuple[int, int], list[NoteStat]] = {}
    for digest, *stat in rows:
        groups.setdefault((digest, stat[1]), []).append(NoteStat(*stat))
    return [group for group in groups.values() if len(group) > 1]
