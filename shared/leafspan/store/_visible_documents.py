"""The documents and leaves of an index that are visible at one moment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from leafspan.engines import FlowTable, StaleRead
from leafspan.errors import DamagedIndex
from leafspan.filters import Where
from leafspan.flows import Flow
from leafspan.store._catalogue import Catalogue, Selection, Visibility
from leafspan.store._current_leaves import Current, classify, parsed, version_of
from leafspan.store._damage import DamageFound, DamageRule, ReadHistory
from leafspan.store._folder import FolderCollection
from leafspan.store._manifest import CHANGES_ID, Damage, Row, unpack_rows, unpack_token
from leafspan.store._rows_file import RowsInFile
from leafspan.values import LeafId

_SUSPICIONS = 3  # attempts that must find a leaf damaged before it is called damaged, while a writer may be at work


class IndexState(Protocol):
    """The state of an index when a reader was made."""

    last_token: str | None  # the manifest's, which changes with the index; None if unread or before the first change

    @property
    def catalogue(self) -> Catalogue | None:
        """The catalogue, or None behind a client, where few readers need it."""

    @property
    def has_changed(self) -> bool | None:
        """Whether the index has changed since. None if that is unknown."""

    def load(self) -> Flow[Catalogue]: ...

    def is_behind(self, catalogue: Catalogue) -> Flow[bool]:
        """Whether a writer may have deleted leaves since the catalogue was read."""


class VisibleDocuments:
    """The documents of an index that are visible at one moment, and the leaves of their current versions.

    All ids, in arguments and in results, are shown ids, unless the text says stored ids.
    """

    def __init__(
        self,
        manifest: FlowTable | FolderCollection | RowsInFile,
        state: IndexState,
        history: ReadHistory,
        *,
        scope: Visibility | None,
        rule: DamageRule | None,
    ) -> None:
        self._manifest = manifest
        self._state = state
        self._everything = state.catalogue
        self._history = history
        self._suspected: set[tuple[str, str]] = set()  # in this attempt
        self._read: dict[str, Row] = {}
        self._outdated: set[str] = set()  # ids of rows in _read that were read before the last query
        self._token = state.last_token
        self._rule = rule or DamageRule()
        self._leaves_out = self._rule.leave_out
        self.scope = scope

    @property
    def may_be_stale(self) -> bool:
        """Whether the index has changed since it was read; True if that is unknown."""
        return self._state.has_changed is not False

    @property
    def is_stale(self) -> bool:
        """Whether the index is known to have changed since it was read."""
        return self._state.has_changed is True

    def everything(self) -> Flow[Catalogue]:
        """The catalogue of the whole index, without the scope."""
        if self._everything is None:
            self._everything = yield from self._state.load()
        return self._everything.without(self._damaged)

    def catalogue(self) -> Flow[Catalogue]:
        """The catalogue of the visible documents. Damaged ones are in it, without a current version."""
        everything = yield from self.everything()
        return everything.visible_to(self.scope) if self.scope else everything

    def unpacked(self) -> Flow[Catalogue]:
        """The catalogue with all rows in memory, for use after the reading."""
        return (yield from self.catalogue()).unpacked()

    def whole_catalogue(self, where: Where | None = None) -> Flow[Catalogue]:
        """The catalogue, or an error if a damaged document may match: for results that would be incomplete without it."""
        visible = yield from self.catalogue()
        if visible.damaged and not self._leaves_out:
            lacking = {
                id_: damage.problem
                for id_, damage in visible.damaged.items()
                if where is None or damage.in_row or where.matches(visible.rows[id_].filterable, id_)
            }
            if lacking:
                raise self._rule.error(lacking)
        return visible

    def rows(self, ids: Sequence[str] | None = None) -> Flow[Mapping[str, Row]]:
        """The manifest rows of these documents, by id, or of all documents for None. Unknown ids are left out.

        They are the stored rows: a damaged row says so, but the row of a document with damaged leaves does not.
        """
        if self._everything is None and self.scope is None:
            if ids is not None:
                return unpack_rows((yield from self._manifest.get(ids, ["metadata"])))
            return unpack_rows((yield from self._manifest.scan(["metadata"])))
        yield from self.everything()
        assert self._everything is not None
        catalogue = self._everything.visible_to(self.scope) if self.scope else self._everything
        if ids is None:
            return catalogue.unpacked().rows
        return {id_: row for id_ in ids if (row := catalogue.rows.get(id_)) is not None}

    def cached_rows(self, ids: Iterable[str]) -> Flow[Mapping[str, Row]]:
        """The rows of these documents, by id, which are read only once."""
        missing = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._read]
        if missing:
            self._read_rows((yield from self.rows(missing)))
        return self._read

    def stored_rows(self, ids: Sequence[str]) -> Flow[dict[str, Any]]:
        """The stored metadata of these documents' manifest records, by stored id."""
        records = yield from self._manifest.get(ids, ["metadata"])
        return {id_: record.metadata for id_, record in records.items()}

    @property
    def left_out(self) -> dict[str, str]:
        """The known damage of visible documents that were left out, by shown id."""
        if self._everything is not None:
            everything = self._everything.without(self._damaged)
            damaged = (everything.visible_to(self.scope) if self.scope else everything).damaged
        else:
            damaged = {id_: row.damage for id_, row in self._read.items() if row.damage is not None}
        return {id_: damage.problem for id_, damage in sorted(damaged.items())}

    def error(self, damaged: Mapping[str, str]) -> DamagedIndex:
        return self._rule.error(damaged)

    def warn_of_left_out(self) -> dict[str, str]:
        """Warn once for each document that was left out, and return them. Empty if damaged documents are errors instead."""
        if not self._leaves_out:
            return {}
        if left_out := self.left_out:
            self._rule.warn(left_out)
        return left_out

    def suspect(self, leaf: LeafId) -> None:
        """Start reading again, once, because a leaf of a host retriever is missing: a writer may have replaced it."""
        if (leaf.document_id, leaf.version) not in self._history:
            self._history.add((leaf.document_id, leaf.version))
            raise StaleRead

    def refuse(self, problems: Mapping[str, str]) -> Flow[None]:
        """Report damaged leaves or summaries, by shown id. It starts again if a writer may just have replaced them."""
        if problems:
            stored = yield from self._stored_ids(problems)
            self._check({id_: problems[shown] for id_, shown in stored.items()})

    @property
    def _is_empty(self) -> bool:
        return self._everything is not None and not self._everything.rows

    def _stored_ids(self, ids: Iterable[str]) -> Flow[dict[str, str]]:
        """The leaves' shown ids, by stored id. Leaves of unknown documents are left out."""
        if self.scope is None:
            return {id_: id_ for id_ in ids}
        leaves = yield from self._stored_leaves(map(LeafId.parse, ids))
        return {str(stored): str(leaf) for stored, leaf in leaves.items()}

    def _stored_leaves(self, leaves: Iterable[LeafId]) -> Flow[dict[LeafId, LeafId]]:
        """The leaves by their ids with stored document ids. Leaves of unknown documents are left out."""
        if self.scope is None:
            return {leaf: leaf for leaf in leaves}
        visible = yield from self.catalogue()
        stored_id = visible.stored_id
        return {
            leaf._replace(document_id=stored): leaf
            for leaf in leaves
            if (stored := stored_id(leaf.document_id)) is not None
        }

    def _rows_of(self, ids: Iterable[str]) -> Flow[dict[str, Row]]:
        """The rows of these leaves' documents, by leaf id without ordinal, if that version is current."""
        parts = {prefix: prefix.rpartition("#") for prefix in {id_.rpartition("#")[0] for id_ in ids}}
        if self._everything is not None or self.scope is not None:
            rows = (yield from self.everything()).rows
        else:
            rows = yield from self.cached_rows(document_id for document_id, _, _ in parts.values())
        pairs = {prefix: (rows.get(document_id), version) for prefix, (document_id, _, version) in parts.items()}
        self._refuse({row.document_id: row.damage for row, _ in pairs.values() if row and row.damage})
        return {prefix: row for prefix, (row, version) in pairs.items() if row is not None and row.version == version}

    def _rows_after_query(self, ids: Iterable[str]) -> Flow[Mapping[str, Row]]:
        """The rows of documents whose leaves a query has found.

        A version may have become current after the query. The query may then have missed some of its leaves, which were not
        written yet. So if the index has changed since the reader was made, a version must be found current twice, with a
        query in between.

        Rows that were read before the query are read again for the same reason: a version that was current then may have
        lost leaves before the query.
        """
        missing = [id_ for id_ in dict.fromkeys(ids) if id_ not in self._read or id_ in self._outdated]
        if missing:
            records = yield from self._manifest.get([*missing, CHANGES_ID], ["metadata"])
            token = self._state.last_token = unpack_token(records)
            before = {id_: version_of(self._read, id_) for id_ in self._outdated.intersection(missing)}
            for id_ in before:
                del self._read[id_]
            rows = self._read_rows(unpack_rows(records))
            if any(version_of(rows, id_) != version for id_, version in before.items()):
                raise StaleRead
            self._outdated -= before.keys()
            if token != self._token:
                current = {(id_, rows[id_].version) for id_ in missing if id_ in rows}
                if new := current - self._history.current:
                    self._history.current |= new
                    raise StaleRead
        return self._read

    def _read_rows(self, rows: Mapping[str, Row]) -> Mapping[str, Row]:
        """Keep these rows, with damaged ones marked, and return all kept rows."""
        self._read.update(Catalogue(rows).without(self._damaged).rows if self._damaged else rows)
        return self._read

    def _current(
        self, ids: Sequence[str], texts: Sequence[str | None], within: Selection | None = None, *, queried: bool = False
    ) -> Flow[Current]:
        """The leaves that are current, visible and in the selection. A leaf that was just replaced is a StaleRead."""
        leaves = [parsed(id_) for id_ in ids]
        from_catalogue = self._everything is not None or self.scope is not None or within is not None
        if from_catalogue:
            rows = (yield from self.everything()).rows
        else:
            rows = yield from self._rows_after_query(leaf.document_id for leaf in leaves)
        shown_id = (yield from self.catalogue()).shown_id if self.scope is not None else None
        classified = classify(ids, leaves, texts, rows=rows, shown_id=shown_id, within=within, stale=self._history)
        self._refuse({id_: damage for id_ in classified.damaged if (damage := rows[id_].damage)})
        if classified.textless:
            self._check({id_: f"the text of its leaf {id_.rpartition('#')[2]} is missing" for id_ in classified.textless})
        # A killed writer left a leaf that is not current, unless another writer is at work right now.
        if classified.suspects and self.may_be_stale:
            self._history |= classified.suspects
            raise StaleRead
        # A leaf that was not current before either may have become current since the catalogue was loaded, or its document
        # may have been replaced: ask the manifest.
        uncertain = set(classified.stale)
        # A version that was current may have lost leaves before the query, which then has found only its other leaves.
        catalogue = self._everything if queried and classified.current else None
        if catalogue is not None and (yield from self._state.is_behind(catalogue)):
            uncertain |= {LeafId.parse(id_).document_id for id_ in classified.current}
        if uncertain and from_catalogue and self.may_be_stale:
            now = unpack_rows((yield from self._manifest.get(list(uncertain), ["metadata"])))
            if any(version_of(now, id_) != version_of(rows, id_) for id_ in uncertain):
                raise StaleRead
        return Current(classified.current, rows)

    def _check(self, problems: Mapping[str, str]) -> None:
        """Report damaged leaves of current versions, by stored id.

        A writer deletes a leaf only after the index has counted a change. So a leaf is damaged if nothing has changed, or
        if several attempts find it damaged in the same version.
        """
        if not problems:
            return
        damaged: dict[tuple[str, str], Damage] = {}
        for id_, problem in problems.items():
            leaf = LeafId.parse(id_)
            damaged.setdefault((leaf.document_id, leaf.version), Damage(problem, in_row=False))
        if self.may_be_stale:
            self._history.suspect(damaged.keys() - self._suspected)
            self._suspected |= damaged.keys()
            if any(self._history.suspicions[pair] < _SUSPICIONS for pair in damaged):
                raise StaleRead
        self._refuse({document_id: each for (document_id, _), each in damaged.items()})
        if damaged.keys() <= self._damaged.keys():
            raise StaleRead  # DamageFound for known damage would repeat forever
        self._history.damaged = {**self._history.damaged, **damaged}
        if self._everything is not None:
            self._everything.later_damage = {**self._everything.later_damage, **damaged}
        raise DamageFound

    def _refuse(self, damaged: Mapping[str, Damage]) -> None:
        """Raise the error for visible damaged documents, by stored id, unless they are left out."""
        if damaged and not self._leaves_out:
            shown = {self._shown_id(id_): each.problem for id_, each in damaged.items()}
            if visible := {id_: problem for id_, problem in shown.items() if id_ is not None}:
                raise self._rule.error(visible)

    def _shown_id(self, document_id: str) -> str | None:
        if self.scope is None:
            return document_id
        assert self._everything is not None
        return self._everything.without(self._damaged).visible_to(self.scope).shown_id(document_id)

    @property
    def _damaged(self) -> Mapping[tuple[str, str], Damage]:
        """The damaged (document, version) pairs that are left out."""
        own = self._history.damaged
        later = self._everything.later_damage if self._everything is not None else {}
        return {**later, **own} if later and own else later or own
