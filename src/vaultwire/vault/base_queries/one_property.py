"""What push-down asks of a query: the values of a property in the vault, and whether an expression holds for one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vaultwire.bases.base import Expression
from vaultwire.bases.comparing import is_truthy
from vaultwire.bases.row import FileFacts, LinkFact, Query, Row
from vaultwire.bases.values import ErrorValue
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.base_queries.host import VaultHost
from vaultwire.vault.base_queries.running import ViewQuery, value_of
from vaultwire.vault.index.rows import Rows
from vaultwire.vault.links.link_resolver import link_name, link_names_to, linkpath_of
from vaultwire.vault.value_types import Progress, VaultPath


class OneProperty:
    """Answers the narrowing of one query (``narrowing.Judge``)."""

    def __init__(self, query: ViewQuery, rows: Rows, progress: Progress) -> None:
        self._query = query
        self._rows = rows
        self._progress = progress

    def values(self, name: str, most: int) -> Mapping[str, PropertyValue] | None:
        """See ``Judge``."""
        return self._rows.values(name, most, self._progress)

    def passes(self, expression: Expression, name: str, value: PropertyValue, *, is_there: bool) -> bool | None:
        """See ``Judge``."""
        shared = self._query.shared
        host = _OneNote({name: value} if is_there else {}, self._query.host)
        given = value_of(expression, Row(Query(host, shared.now, shared.formulas, compiled=shared.compiled), ""))
        return None if isinstance(given, ErrorValue) else is_truthy(given)

    def names_of_link(self, linktext: str) -> tuple[str, ...] | None:
        """See ``Judge``."""
        path = linkpath_of(linktext).strip()
        # Where a relative link leads depends on the folder.
        if not path or path.startswith(".") or "[[" in linktext or "|" in linktext:
            return None
        names = {link_name(VaultPath(""), path), *link_names_to(VaultPath(path))}
        found = self._query.host.resolve(path, self._query.this)
        if found is not None:
            names.update(link_names_to(VaultPath(found)))
            # A link to the file by its own text may be an empty one: ``[[#Heading]]``.
            names.add("")
        return tuple(sorted(names))

    def this_path(self) -> str:
        """See ``Judge``."""
        return self._query.this

    def formula(self, name: str) -> Expression | None:
        """See ``Judge``."""
        return self._query.base.formulas.get(name)


class _OneNote:
    """A vault with one file that has one property, or none: a ``Host``."""

    def __init__(self, properties: Mapping[str, PropertyValue], of: VaultHost) -> None:
        self._properties = properties
        self.property_type = of.property_type

    def resolve(self, linktext: str, source: str) -> str | None:  # noqa: ARG002 - there are no other files
        """See ``Host``."""
        return None

    def facts(self, path: str) -> FileFacts | None:  # noqa: ARG002
        """See ``Host``."""
        return FileFacts(0, 0, 0)

    def properties(self, path: str) -> Mapping[str, PropertyValue]:  # noqa: ARG002
        """See ``Host``."""
        return self._properties

    def tags(self, path: str) -> Sequence[str]:  # noqa: ARG002
        """See ``Host``."""
        return ()

    def links(self, path: str) -> Sequence[LinkFact]:  # noqa: ARG002
        """See ``Host``."""
        return ()

    def backlinks(self, path: str) -> Sequence[str]:  # noqa: ARG002
        """See ``Host``."""
        return ()
