"""Re-embedding an index: another edition gets the same documents with other vectors or leaves, and takes its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from leafspan.checks import shown
from leafspan.documents import TREE_SETTINGS, IndexSettings, OpenOptions
from leafspan.embedding import CheckedEmbedder
from leafspan.errors import ConcurrentUpdate, DamagedIndex, IndexMismatch, InvalidArgument
from leafspan.flows import Flow
from leafspan.indexing._copying import copy_store, copy_texts, differences, take_place
from leafspan.indexing._recipe import Recipe, count_texts
from leafspan.search import SearchIndexes
from leafspan.store import Editions, Store, family, grouped
from leafspan.trees import Trees

_GROUP = 1_000  # leaves whose texts are counted at a time
_MOST_NAME = 495  # characters of an index's name
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
        editions, recorded = (
            (yield from finished_editions(store, self.timeout, dry_run=dry_run)),
            (yield from store.embedder()),
        )
        if recorded is None:
            raise InvalidArgument("an index without documents has nothing to re-embed: open it with the new embedder")
        identity = yield from self.embedder.confirm(record=True)
        assert identity is not None
        settings, record = self.settings.changed(self.options, store.settings)
        recipe = Recipe(settings, self.embedder.documents, record["splitter"] != store.settings["splitter"])
        if recorded.is_same(identity.vector) and record == store.settings:
            if editions.spare is not None and not dry_run:  # an earlier call may have been killed in the last step
                yield from write_editions(store, editions, editions, self.timeout)
            wanted, _, _ = yield from differences(store, None, recipe)
            return Reembedded(store.name, len(wanted), 0, True)
        spare = editions.spare or (yield from self._new_name(editions.newest + 1))
        if dry_run and not (editions.spare and (yield from self.exists(spare))):
            return Reembedded(spare, *(yield from self._price(None, None, recipe)), False)
        if editions.spare is None:
            before, editions = editions, Editions(store.name, spare, int(spare.rpartition(".")[2]))
            yield from write_editions(store, before, editions, self.timeout)
        target = yield from self.open_store(spare, settings=record, create=True, spare=identity, base=store.base)
        indexes = SearchIndexes.of(target, settings)  # with which segments are written, too
        of_trees = {"settings": TREE_SETTINGS, "spare": identity, "base": family(store.base)[1]}
        trees = Trees(partial(self.open_store, family(spare)[1], **of_trees), settings)
        try:
            if not dry_run:  # in a database, the mark of a spare edition is in its own tables
                yield from write_editions(store, editions, editions, self.timeout)
            made_by = yield from target.embedder()
            if target.settings != record or made_by is None or not made_by.is_same(identity.vector):
                raise InvalidArgument(
                    f"the index has a spare edition {spare!r} with another embedder or other options"
                    f"{f' ({made_by.name})' if made_by else ''}: delete it first, with delete_spare()"
                )
            if dry_run:
                return Reembedded(spare, *(yield from self._price(target, trees, recipe)), False)
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
        except DamagedIndex as error:
            if (yield from store.editions()).spare == spare:
                raise
            raise ConcurrentUpdate("the spare edition was deleted meanwhile: call reembed again") from error
        finally:
            indexes.close()
            trees.close()

    def _new_name(self, number: int) -> Flow[str]:
        """Return a name for a new edition, which no index of the user's own has."""
        while (yield from self.exists(name := f"{self.store.base}.{number}")):
            number += 1
        if len(name) > _MOST_NAME:
            raise InvalidArgument(
                f"the index's name is too long for another edition: copy the index to {shown(name[:9])}..."
            )
        return name

    def _price(self, target: Store | None, trees: Trees | None, recipe: Recipe) -> Flow[tuple[int, int]]:
        """Return how many documents an edition will have, and how many texts must be embedded for that."""
        own = None if recipe.has_other_leaves else (yield from self.trees.existing())
        copies = None if trees is None else (yield from trees.existing())
        wanted, texts = yield from _texts_to_embed(self.store, target, recipe)
        if own is not None:
            target = None if copies is None else copies.store
            texts += (yield from _texts_to_embed(own.store, target, recipe.of_summaries))[1]
        return wanted, texts

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


def _texts_to_embed(source: Store, target: Store | None, recipe: Recipe) -> Flow[tuple[int, int]]:
    """Return how many documents a store has, and how many texts must be embedded for a copy of it."""
    wanted, missing, _ = yield from differences(source, target, recipe)
    texts = 0
    for group in grouped(missing, _GROUP):
        texts += count_texts((yield from recipe.prepared(source, [row.document_id for row in group])), recipe)
    return len(wanted), texts


def write_editions(store: Store, before: Editions, editions: Editions, timeout: float) -> Flow[None]:
    """Record the editions of an index, unless another process has recorded others meanwhile."""
    with (yield from store.start_writing(timeout, None)) as writer:
        if (yield from store.editions()) != before:
            raise ConcurrentUpdate("another process re-embeds the index, or deletes its spare edition: try again later")
        yield from store.record_editions(editions)
        yield from writer.advance()


def current_editions(store: Store) -> Flow[Editions]:
    """Return the editions of an index that answers questions with its current one."""
    editions = yield from store.editions()
    if editions.current != store.name:
        raise IndexMismatch(
            f"the index {store.described} answers questions with its edition {editions.current!r}, and this is "
            f"{store.name!r}: open the index again, under its own name"
        )
    return editions


def finished_editions(store: Store, timeout: float, *, dry_run: bool = False) -> Flow[Editions]:
    """Return the editions of an index, and delete what a killed process has left of one."""
    editions = yield from current_editions(store)
    if editions.deleted is None or dry_run:
        return editions
    with (yield from store.start_writing(timeout, None)) as writer:
        yield from store.drop(editions.deleted)
        yield from writer.advance()
    yield from write_editions(store, editions, editions._replace(deleted=None), timeout)
    return editions._replace(deleted=None)


def delete_spare(store: Store, timeout: float) -> Flow[str | None]:
    """Delete the spare edition of an index, and return its name, or None without one."""
    editions = yield from finished_editions(store, timeout)
    if editions.spare is not None:
        # First the record, so that a killed process leaves nothing that is taken for a whole edition.
        yield from write_editions(store, editions, editions._replace(spare=None, deleted=editions.spare), timeout)
        yield from finished_editions(store, timeout)
    return editions.spare
