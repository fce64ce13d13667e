"""Re-embedding an index: another edition gets the same documents with other vectors or leaves, and takes its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from leafspan.documents import TREE_SETTINGS, IndexSettings, OpenOptions
from leafspan.embedding import CheckedEmbedder
from leafspan.errors import ConcurrentUpdate, IndexMismatch, InvalidArgument
from leafspan.flows import Flow
from leafspan.indexing._copying import copy_store, copy_texts, differences, take_place
from leafspan.indexing._recipe import Recipe, count_texts
from leafspan.search import SearchIndexes
from leafspan.store import Editions, Store, family, grouped
from leafspan.trees import Trees

_GROUP = 1_000  # leaves whose texts are counted at a time
_ROUNDS = 20  # attempts to switch while others write


@dataclass(frozen=True, slots=True)
class Reembedded:
    """What ``reembed`` did, or with ``dry_run`` would do.

    Attributes:
        edition: Name of the edition with the new vectors. Before the switch, ``Index.open(..., name=edition)`` opens it.
        documents: Number of its documents.
        texts: Number of texts that were embedded: leaves, titles and headings. Those in the embedding cache count, too.
        switched: Whether the index answers questions with it now.
    """

    edition: str
    documents: int
    texts: int
    switched: bool


@dataclass(frozen=True, slots=True)
class Reembedding:
    """An index, and how to re-embed it."""

    store: Store
    trees: Trees
    settings: IndexSettings
    options: OpenOptions  # those that change
    embedder: CheckedEmbedder  # the new one, which no index has recorded
    timeout: float
    exists: Callable[[str], Flow[bool]]  # whether there is an index of this name
    open_store: Callable[..., Flow[Store]]  # opens the store of this name

    def run(self, *, switch: bool, dry_run: bool, show: bool | None) -> Flow[Reembedded]:
        store = self.store
        editions, recorded = (yield from current_editions(store)), (yield from store.embedder())
        if recorded is None:
            raise InvalidArgument("an index without documents has nothing to re-embed: open it with the new embedder")
        identity = yield from self.embedder.confirm(record=True)
        assert identity is not None
        settings, record = self.settings.changed(self.options, store.settings)
        recipe = Recipe(settings, self.embedder.documents, record["splitter"] != store.settings["splitter"])
        if recorded.is_same(identity.vector) and record == store.settings:
            if editions.spare is not None and not dry_run:  # an earlier call may have been killed in the last step
                yield from self._record(editions)
            wanted, _, _ = yield from differences(store, None, recipe)
            return Reembedded(store.name, len(wanted), 0, True)
        spare = editions.spare or (yield from self._new_name(editions.newest + 1))
        if dry_run and not (editions.spare and (yield from self.exists(spare))):
            documents, texts = yield from self._price(None, recipe)
            return Reembedded(spare, documents, texts, False)
        if editions.spare is None:
            editions = Editions(store.name, spare, int(spare.rpartition(".")[2]))
            yield from self._record(editions)
        target = yield from self.open_store(spare, settings=record, create=True, spare=identity, base=store.base)
        indexes = SearchIndexes.of(target, settings)  # with which segments are written, too
        trees = Trees(partial(self.open_store, family(spare)[1], settings=TREE_SETTINGS), settings)
        try:
            yield from self._record(editions)  # in a database, the mark of a spare edition is in its own tables
            made_by = yield from target.embedder()
            if target.settings != record or made_by is None or not made_by.is_same(identity.vector):
                raise InvalidArgument(
                    f"the index has a spare edition {spare!r} with another embedder or other options"
                    f"{f' ({made_by.name})' if made_by else ''}: delete it first, with delete_spare()"
                )
            if dry_run:
                documents, texts = yield from self._price(target, recipe)
                return Reembedded(spare, documents, texts, False)
            documents, texts = yield from self._fill(target, trees, recipe, show)
            after = editions._replace(current=spare, spare=store.name)
            for _ in range(_ROUNDS if switch else 0):
                if (yield from take_place(store, target, recipe, after, self.timeout)):
                    return Reembedded(spare, documents, texts, True)
                documents, more = yield from self._fill(target, trees, recipe, show)
                texts += more
            if switch:
                raise ConcurrentUpdate(
                    "documents are changed faster than they are embedded: call it again in a calmer moment"
                )
            return Reembedded(spare, documents, texts, False)
        finally:
            indexes.close()
            trees.close()

    def _record(self, editions: Editions) -> Flow[None]:
        with (yield from self.store.start_writing(self.timeout, [])):
            yield from self.store.record_editions(editions)

    def _new_name(self, number: int) -> Flow[str]:
        """Return a name for a new edition, which no index of the user's own has."""
        while (yield from self.exists(name := f"{self.store.base}.{number}")):
            number += 1
        return name

    def _price(self, target: Store | None, recipe: Recipe) -> Flow[tuple[int, int]]:
        """Return how many documents an edition will have, and how many texts must be embedded for that."""
        wanted, missing, _ = yield from differences(self.store, target, recipe)
        texts = 0
        for group in grouped(missing, _GROUP):
            prepared = yield from recipe.prepared(self.store, [row.document_id for row in group])
            texts += count_texts(prepared, recipe)
        return len(wanted), texts

    def _fill(self, target: Store, trees: Trees, recipe: Recipe, show: bool | None) -> Flow[tuple[int, int]]:
        """Write what an edition lacks, with the trees unless their leaves are gone. Return its documents and new texts."""
        how: dict[str, Any] = {"timeout": self.timeout, "show": show, "what": "Re-embedding"}
        documents, _, texts = yield from copy_store(self.store, target, recipe, **how)
        own = None if recipe.has_other_leaves else (yield from self.trees.existing())
        if own is not None:
            copies = (yield from trees.created()).store
            yield from copy_texts(own.store, copies, timeout=self.timeout)
            _, _, more = yield from copy_store(own.store, copies, recipe.of_summaries, **how)
            texts += more
        return documents, texts


def current_editions(store: Store) -> Flow[Editions]:
    """Return the editions of an index that answers questions with its current one."""
    editions = yield from store.editions()
    if editions.current != store.name:
        raise IndexMismatch(
            f"the index {store.described} answers questions with its edition {editions.current!r}, and this is "
            f"{store.name!r}: open the index again, under its own name"
        )
    return editions


def delete_spare(store: Store, timeout: float) -> Flow[str | None]:
    """Delete the spare edition of an index, and return its name, or None without one."""
    editions = yield from current_editions(store)
    if editions.spare is not None:
        with (yield from store.start_writing(timeout, [])):
            yield from store.drop(editions.spare)
            yield from store.record_editions(editions._replace(spare=None))
    return editions.spare
