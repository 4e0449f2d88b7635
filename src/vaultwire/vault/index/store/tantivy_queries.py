"""Plans of searches as queries of tantivy."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf

from tantivy import Occur, Query, Schema, Searcher

from vaultwire.vault.index.store.search_plan import (
    BODY,
    FEW_SPELLINGS,
    FIRST,
    NEAR_WEIGHT,
    OTHER_WEIGHT,
    WEIGHTS,
    AllOf,
    AnyOf,
    AnyWord,
    Boosted,
    ExactValue,
    MatchAll,
    NoneOf,
    Phrase,
    Plan,
    TheseNotes,
    as_written,
    has_loose,
)
from vaultwire.vault.search.text_forms import rarity

ID = "id"
"""The field with a note's id."""

# From so many words on, the words of a field are looked up as a set. That walks the dictionary (0.4 ms for 34,000 words, so a
# hundred words take twice as long), but then takes a third less time for each word, and far less memory.
_MANY_WORDS = 600


class QueryMaker:
    """Makes queries for one state of a text index."""

    def __init__(self, schema: Schema, searcher: Searcher) -> None:
        self._schema = schema
        self._searcher = searcher

    def clauses_of_all(self, plan: Plan, first: float) -> list[tuple[Occur, Query]]:
        """Return the clauses of a whole plan. ``first``: the extra score of words as written, 0 without loose ones."""
        if first and not loose_leaves(plan):
            written = Query.const_score_query(self._query(as_written(plan)), first)
            return [(Occur.Must, self._query(plan)), (Occur.Should, written)]
        return self._clauses(plan, sets_apart=bool(first))

    def _query(self, plan: Plan) -> Query:
        """Return the plan as a query of the library."""
        if isinstance(plan, MatchAll):
            return Query.const_score_query(Query.all_query(), 0.0)
        if isinstance(plan, AnyOf):
            # One flat list of words is found faster than lists of lists.
            return _any([query for part in plan.parts for query in self._alternatives(part)])
        if isinstance(plan, Phrase):
            return self._phrase_query(plan)
        if isinstance(plan, ExactValue):
            return Query.const_score_query(Query.term_query(self._schema, plan.field, plan.value, "basic"), 1.0)
        if isinstance(plan, TheseNotes):
            return Query.const_score_query(Query.term_set_query(self._schema, ID, [*plan.ids]), 1.0)
        return all_of(self._clauses(plan, sets_apart=False))

    def _clauses(self, plan: Plan, *, sets_apart: bool) -> list[tuple[Occur, Query]]:
        """Return the plan as clauses of one boolean query, not nested: the library copies nested queries.

        ``sets_apart``: words as written score ``FIRST`` more than loose ones.
        """
        clauses = self._clauses_of_part(plan, sets_apart=sets_apart)
        if not any(occur == Occur.Must for occur, _ in clauses):
            clauses.append((Occur.Must, self._query(MatchAll())))
        return clauses

    def _clauses_of_part(self, plan: Plan, *, sets_apart: bool) -> list[tuple[Occur, Query]]:
        """Return the plan as clauses. A plan that only excludes has no clause that must match."""
        if isinstance(plan, AllOf):
            return [clause for part in plan.parts for clause in self._clauses_of_part(part, sets_apart=sets_apart)]
        if isinstance(plan, NoneOf):
            return [(Occur.MustNot, self._query(plan.part))]
        if isinstance(plan, AnyWord):
            return self._clauses_of_part(AnyOf((plan,)), sets_apart=sets_apart)
        if isinstance(plan, Boosted):
            parts = plan.plan.parts if isinstance(plan.plan, AnyOf) else (plan.plan,)
            if absent := [part for part in parts if isinstance(part, NoneOf)]:
                words = tuple(part for part in parts if part not in absent)
                return self._nearly_all([part.part for part in absent], words, plan.boosts, sets_apart=sets_apart)
            boosts = [query for boost in plan.boosts for query in self._alternatives(boost)]
            if sets_apart and isinstance(plan.plan, AnyOf) and has_loose(plan.plan):
                return self._apart(plan.plan, boosts)
            found = self._clauses_of_part(plan.plan, sets_apart=False)
            return [*found, *((Occur.Should, query) for query in boosts)]
        if isinstance(plan, AnyOf) and sets_apart and has_loose(plan):
            return self._apart(plan, [])
        return [(Occur.Must, self._query(plan))]

    def _nearly_all(
        self, absent: Sequence[Plan], words: tuple[Plan, ...], boosts: Sequence[Plan], *, sets_apart: bool
    ) -> list[tuple[Occur, Query]]:
        """Return the clauses for common n-grams: all notes except those from which all are absent, unless a word finds them.

        Finding the few excluded notes takes a fraction of the time of listing all others. Boosts by exact values are kept
        apart from boosts by words, because the library walks a plain list of words faster.
        """
        is_apart = sets_apart and any(map(has_loose, words))
        boosts = [*map(_ranking, words), *boosts]
        ranks = [self._query(boost) for boost in boosts if isinstance(boost, ExactValue)]
        if is_apart:
            loose = self._query(AllOf((*absent, AnyOf(words), *(NoneOf(as_written(part)) for part in words))))
            ranks.append(Query.const_score_query(loose, 0.1 - FIRST))
        clauses = [(Occur.MustNot, self._query(AllOf((*absent, *map(NoneOf, words)))))]
        if ranks:
            every = Query.const_score_query(Query.all_query(), FIRST if is_apart else 0.0)
            clauses.append((Occur.Must, all_of([(Occur.Must, every), *((Occur.Should, rank) for rank in ranks)])))
        others = [query for boost in boosts if not isinstance(boost, ExactValue) for query in self._alternatives(boost)]
        return [*clauses, *((Occur.Should, query) for query in others)]

    def _apart(self, words: AnyOf, boosts: list[Query]) -> list[tuple[Occur, Query]]:
        """Return the clauses for words and phrases. Those as written score far above the loose ones."""
        written: list[Query] = []
        phrases: list[Query] = []
        loose: list[Query] = []
        for part in words.parts:
            if isinstance(part, AnyWord):
                written += self.terms(part.field, (*part.same, *part.near, *part.others))
                loose += self.terms(part.field, part.loose)
                boosts = [*boosts, *self._alternatives(_ranking(part))]
            elif isinstance(part, Phrase):
                (loose if part.is_loose else phrases).append(self._phrase_query(part))
            else:
                written.append(self._query(part))
        found = [Query.const_score_query(_any(loose), 0.1)]
        if written:
            found.append(Query.const_score_query(_any(written), FIRST))
        if phrases:
            # Phrases rank by their own score plus ``FIRST``: a second query for them, as for words, would take twice as long.
            first = Query.const_score_query(Query.all_query(), FIRST)
            found.append(all_of([(Occur.Must, _any(phrases)), (Occur.Must, first)]))
        return [(Occur.Must, _any(found)), *((Occur.Should, query) for query in boosts)]

    def terms(self, field: str, words: Sequence[str | int]) -> list[Query]:
        """Return queries of which one must match: a note that has one of the words."""
        if len(words) >= _MANY_WORDS:
            return [Query.term_set_query(self._schema, field, list(words))]
        return [Query.term_query(self._schema, field, word, "basic") for word in words]

    def _alternatives(self, plan: Plan) -> list[Query]:
        """Return the plan as queries of which one must match."""
        if not isinstance(plan, AnyWord):
            return [self._query(plan)]
        schema, field = self._schema, plan.field
        weight = WEIGHTS[field]
        count, notes = self._searcher.doc_freq, self._searcher.num_docs
        # The library multiplies by the rarity of each word in its field. A typed word that most notes have says little, also
        # where it stands in a name, and so do the rarer words that begin with it.
        commonest = max((count(BODY, word) for word in plan.same or plan.near), default=0)
        most = rarity(commonest, notes) if commonest else inf
        found = [
            Query.boost_query(
                Query.term_query(schema, field, word), share * weight * min(1.0, most / rarity(in_field, notes))
            )
            for words, share in ((plan.same, 1.0), (plan.near, NEAR_WEIGHT))
            for word in words
            # Most words are in one field only. To check that first takes a fifth of the time of a query.
            if (in_field := count(field, word))
        ]
        if plan.others or plan.loose:
            others = _any(self.terms(field, (*plan.others, *plan.loose)))
            found.append(Query.const_score_query(others, OTHER_WEIGHT * weight * min(1.0, most)))
        return found

    def _phrase_query(self, plan: Phrase) -> Query:
        places, schema, field = plan.places, self._schema, plan.field
        if len(places) == 1:
            query = _any([Query.term_query(schema, field, word) for word in places[0].words])
        elif plan.spellings <= FEW_SPELLINGS:
            spellings = product(*(place.words for place in places))
            query = _any([Query.phrase_query(schema, field, list(words)) for words in spellings])
        else:
            query = Query.regex_phrase_query(schema, field, [place.pattern for place in places])
        return Query.boost_query(query, WEIGHTS[field])


def _ranking(plan: Plan) -> Plan:
    """Return the part of the plan to rank by: not the many words that only contain the typed one."""
    return AnyWord(plan.field, plan.same, plan.near) if isinstance(plan, AnyWord) else plan


def _any(queries: list[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.boolean_query([(Occur.Should, query) for query in queries])


def all_of(clauses: list[tuple[Occur, Query]]) -> Query:
    """Return the clauses as one query."""
    return clauses[0][1] if len(clauses) == 1 else Query.boolean_query(clauses)


def loose_leaves(plan: Plan) -> int | None:
    """Count the words and phrases with loose forms, if all of them must match; None if the plan combines them otherwise."""
    if not has_loose(plan):
        return 0
    if isinstance(plan, Boosted):
        return loose_leaves(plan.plan)
    if isinstance(plan, AnyOf):
        return 1 if all(isinstance(part, (AnyWord, Phrase)) or not has_loose(part) for part in plan.parts) else None
    if isinstance(plan, AllOf):
        counts = [loose_leaves(part) for part in plan.parts]
        return None if None in counts else sum(count for count in counts if count)
    return 1
