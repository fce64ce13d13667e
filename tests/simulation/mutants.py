"""Faults planted in leafspan, to measure whether the simulator finds them: ``python -m tests.simulation.mutants``."""

from __future__ import annotations

import argparse
import importlib
import inspect
import sys
import time
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.simulation.running import run_scenario
from tests.simulation.scenario import scenario_of

MOST_SEEDS = 1_000


@dataclass(frozen=True)
class Mutant:
    """A fault: a piece of a module's source instead of another one.

    Attributes:
        name: What is wrong then.
        module: The module, below ``leafspan``.
        old: The piece, which the source has exactly once.
        new: What takes its place.
        store: The store in which it can be found. None for either.
    """

    name: str
    module: str
    old: str
    new: str
    store: str | None = None


MUTANTS = (
    # Writing: store/_writer.py
    Mutant(
        "leaves are added after their version became current",
        "store._writer",
        """        yield from self._add_leaves(documents, done)
        derived = None if self._copies is None else (yield from self._copies.derive(documents, made or {}))
        # Before step 3, so that a reader that finds the new version in the manifest can see its leaves.
        yield from self.advance(settled=False)
""",
        """        yield from self.write_rows([with_leftovers.get(row.document_id, row) for row, _, _, _ in documents])
        yield from self.advance(settled=False)
        yield from self._add_leaves(documents, done)
        derived = None if self._copies is None else (yield from self._copies.derive(documents, made or {}))
""",
    ),
    Mutant(
        "the manifest does not note the leaves that will come",
        "store._writer",
        "        yield from self.write_rows(noted)\n",
        "",
    ),
    Mutant(
        "readers are not told before a version becomes current",
        "store._writer",
        """        # Before step 3, so that a reader that finds the new version in the manifest can see its leaves.
        yield from self.advance(settled=False)
""",
        "",
    ),
    Mutant(
        "readers are not told after a version became current",
        "store._writer",
        "        yield from self.advance(settled=not with_leftovers)\n",
        "",
    ),
    Mutant(
        "old leaves are not deleted",
        "store._writer",
        "        yield from self.clear(list(with_leftovers.values()))\n",
        "",
    ),
    Mutant(
        "old leaves are not noted when their version is replaced",
        "store._writer",
        "                with_leftovers[row.document_id] = replace(row, leftovers=((old.version, old.leaves),))",
        "                with_leftovers[row.document_id] = row",
    ),
    Mutant(
        "leaves are deleted before the document is",
        "store._writer",
        """        yield from self.advance(settled=False)
        yield from self.write_rows(deleted)
""",
        """        yield from self._leaves.delete([id_ for row in rows for id_ in row.leaf_ids] or ["none"])
        yield from self.advance(settled=False)
        yield from self.write_rows(deleted)
""",
    ),
    Mutant(
        "a deleted document's row goes before its leaves",
        "store._writer",
        """        yield from self.write_rows(deleted)
        if stored:
""",
        """        yield from self._manifest.delete([row.document_id for row in deleted])
        if stored:
""",
    ),
    Mutant(
        "readers are not told before a document is deleted",
        "store._writer",
        """        yield from self.advance(settled=False)
        yield from self.write_rows(deleted)
""",
        """        yield from self.write_rows(deleted)
""",
        "server",
    ),
    Mutant(
        "all versions of a document are cleared, the current one too",
        "store._writer",
        "                if version != row.version\n",
        "",
    ),
    Mutant(
        "what a killed writer left is not finished",
        "store._writer",
        "        yield from self.clear(half_done)\n",
        "        yield from ()\n",
    ),
    Mutant(
        "a failed writer says that all is whole",
        "store._writer",
        "        self._stop(self._is_finished)\n",
        "        self._stop(True)\n",
        "folder",
    ),
    # Which leaves are current: store/_current_leaves.py
    Mutant(
        "a leaf of any version is current",
        "store._current_leaves",
        "        if row is not None and row.version == version:\n",
        "        if row is not None and row.version is not None:\n",
    ),
    Mutant(
        "the selection is not looked at",
        "store._current_leaves",
        "            if ordinal < row.leaves and (within is None or document_id in within.ids):\n",
        "            if ordinal < row.leaves:\n",
        "server",
    ),
    # Reading: store/_visible_documents.py, store/_reader.py, store/_store.py
    Mutant(
        "a version that has become current after a query counts though it was found in part",
        "store._visible_documents",
        "                if new := current - self._history.current:\n",
        "                if new := set():\n",
        "server",
    ),
    Mutant(
        "missing vectors are not noticed",
        "store._reader",
        "        if len(vectors) < len(set(ids)) or len(lengths) > 1:\n",
        "        if False:\n",
    ),
    Mutant(
        "the scope is not applied to ids",
        "store._visible_documents",
        "        shown_id = (yield from self.catalogue()).shown_id if self.scope is not None else None\n",
        "        shown_id = None\n",
    ),
    Mutant(
        "too few current leaves are enough",
        "store._reader",
        "            if not short or limit >= MOST_RESULTS:\n",
        "            if True:\n",
    ),
    Mutant(
        "reading is never started again",
        "store._store",
        "            attempts += not isinstance(error, DamageFound)\n",
        "            attempts = _ATTEMPTS\n",
    ),
    # In a folder: store/_folder_store.py, store/_folder.py, engines/chroma/_files.py, engines/local/_change_file.py
    Mutant(
        "the count is read after the catalogue",
        "store._folder_store",
        "        folder.states[self.name] = state = FolderState(folder.changes, count, catalogue)\n",
        """        count = folder.changes.count
        folder.states[self.name] = state = FolderState(folder.changes, count, catalogue)
""",
        "folder",
    ),
    Mutant(
        "the catalogue is not read again",
        "store._folder_store",
        "        if earlier is not None and earlier.count == count and not earlier.catalogue.is_stale:\n",
        "        if earlier is not None and not earlier.catalogue.is_stale:\n",
        "folder",
    ),
    Mutant(
        "Chroma is not opened again",
        "store._folder",
        "        if self._opened is None or self._synced != count or self._opened.failed:\n",
        "        if self._opened is None or self._opened.failed:\n",
        "folder",
    ),
    Mutant(
        "the first newer row is not read",
        "store._rows_file",
        "            newer = database.execute(query, (owner, earlier.upto)).fetchall()\n",
        "            newer = database.execute(query, (owner, earlier.upto + 1)).fetchall()\n",
        "folder",
    ),
    Mutant(
        "rows that have changed do not count in the catalogue of others",
        "store._stored_rows",
        "            changes[decoded(document)] = None if is_gone else Place(number, version, leaves, bool(is_open))\n",
        "            changes.setdefault(decoded(document), None if is_gone else Place(number, version, leaves, bool(is_open)))\n",
        "folder",
    ),
    Mutant(
        "a killed writer's mark is ignored",
        "store._folder",
        "            if self.changes.writing:\n",
        "            if False:\n",
        "folder",
    ),
    Mutant(
        "Chroma's files are written without their lock",
        "engines.chroma._files",
        "        with self._files.locked(deadline_after(self._timeout)):\n",
        "        if True:\n",
        "folder",
    ),
    Mutant(
        "torn files are not deleted",
        "engines.chroma._files",
        "        files.remove()\n",
        "",
        "folder",
    ),
    Mutant(
        "vectors that are lost are not noted",
        "engines.chroma._files",
        'Note(collection) if collection.endswith(".leaves") else ',
        "",
        "folder",
    ),
    Mutant(
        "files that are in use are not marked",
        "engines.chroma._files",
        "            self._changes.touching = True\n",
        "",
        "folder",
    ),
    Mutant(
        "a client is closed while it has readers",
        "engines.chroma._chroma",
        """            self._retired = True
            unused = self._readers == 0
""",
        """            self._retired = True
            unused = True
""",
        "folder",
    ),
    Mutant(
        "a failed start of writing keeps the lock of a folder",
        "store._folder_store",
        """        except BaseException:
            stop(False)
            raise
""",
        """        except BaseException:
            raise
""",
        "folder",
    ),
    Mutant(
        "changes are not counted",
        "engines.local._change_file",
        "        count = (self.count + 1) % 2**64\n",
        "        count = self.count\n",
        "folder",
    ),
    Mutant(
        "the writer's lock is released early",
        "indexing._writing",
        "            yield from writer.replace((yield Call(_with_vectors, (to_write, row_keys))), wrote, derived)\n",
        """            writer.stop()
            yield from writer.replace((yield Call(_with_vectors, (to_write, row_keys))), wrote, derived)
""",
    ),
    # Behind a client: store/_engine_store.py and store/_change_log.py
    Mutant(
        "a writer at work does not say so in the token",
        "store._change_log",
        '        token = ("" if settled else _BEGUN) + uuid.uuid4().hex\n',
        "        token = uuid.uuid4().hex\n",
        "server",
    ),
    Mutant(
        "the token stays the same",
        "store._change_log",
        '        token = ("" if settled else _BEGUN) + uuid.uuid4().hex\n',
        '        token = "settled"\n',
        "server",
    ),
    Mutant(
        "the token is not compared",
        "store._engine_store",
        "        if position.is_settled and position.token == earlier.position.token and not earlier.failures:\n",
        "        if earlier.position.token is not None and not earlier.failures:\n",
        "server",
    ),
    Mutant(
        "the manifest is read before the token",
        "store._engine_store",
        """        began = time.monotonic()
        position = yield from last_position(self._manifest)
""",
        """        began = time.monotonic()
        rows = unpack_rows((yield from self._manifest.scan(["metadata"])))
        position = yield from last_position(self._manifest)
        if position.token != earlier.position.token:
            earlier = self._latest = _ReadCatalogue(position, Catalogue(rows))
""",
        "server",
    ),
    Mutant(
        "an entry of the log does not name the documents",
        "store._change_log",
        '{"documents": sorted(documents), ',
        '{"documents": [], ',
        "server",
    ),
    Mutant(
        "documents of a writer at work are not read again",
        "store._change_log",
        "            changed = frozenset().union(*before.open.values(), *(each.documents for each in entries.values()))\n",
        "            changed = frozenset().union(*(each.documents for each in entries.values()))\n",
        "server",
    ),
    Mutant(
        "a new log is not noticed",
        "store._change_log",
        "    goes_on = now.log == before.log and before.token is not None and before.entries <= ids\n",
        "    goes_on = before.token is not None\n",
        "server",
    ),
    Mutant(
        "a failed start of writing keeps the lock",
        "store._engine_store",
        """        except BaseException:
            locks.close()
            raise
""",
        """        except BaseException:
            raise
""",
        "server",
    ),
    # Groups, deleting, syncing: indexing
    Mutant(
        "a group is written without finishing what is half done",
        "indexing._writing",
        """        yield from writer.recover()
        replaces: dict[str, bool] = {}
""",
        """        replaces: dict[str, bool] = {}
""",
    ),
    Mutant(
        "what another writer has written meanwhile is not looked at",
        "indexing._writing",
        "            if old is None or old.hash != split.row.hash:\n",
        "            if True:\n",
    ),
    Mutant(
        "a replaced document is deleted all the same",
        "indexing._writing",
        "            current = {id_: row for id_, row in current.items() if row.version == versions.get(id_)}\n",
        "            pass\n",
    ),
    Mutant(
        "a sync deletes what it does not cover",
        "indexing._sync",
        "    gone = [row for row in left if coverage.covers(row) and not reading.is_skipped_document(row.document_id)]\n",
        "    gone = list(left)\n",
    ),
    Mutant(
        "a sync deletes what others have added meanwhile",
        "indexing._sync",
        "    kept = {*ingested.added, *ingested.replaced, *unchanged}\n",
        "    rows = yield from read_consistently(store, Reader.rows, scope)\n"
        "    kept = {*ingested.added, *ingested.replaced, *unchanged}\n",
    ),
    # Segments: segments/_mirror.py, segments/_snapshot.py
    Mutant(
        "segments do not follow the catalogue",
        "segments._mirror",
        "        if (snapshot := self._snapshot) is not None and snapshot.catalogue is catalogue and not snapshot.is_damaged:\n            return snapshot\n        yield from self._lock()\n        try:\n            if",
        "        if (snapshot := self._snapshot) is not None:\n            return snapshot\n        yield from self._lock()\n        try:\n            if",
    ),
    Mutant(
        "dead leaves of segments are found",
        "store._stored_rows",
        "[current.get(id_) == (version, leaves) for id_, version, leaves in documents]",
        "[id_ in current for id_, version, leaves in documents]",
    ),
    Mutant(
        "a document in two segments counts twice",
        "segments._snapshot",
        "        if len(repeated):\n",
        "        if False:\n",
    ),
    # Trees: trees/_trees.py, trees/_visible_trees.py
    Mutant(
        "deleted documents leave their summaries",
        "trees._trees",
        "    yield from delete_trees(opened.store, [rows[id_] for id_ in affected], timeout)\n",
        "",
    ),
    Mutant(
        "a tree stays visible when its document has changed",
        "trees._visible_trees",
        "        return shown is not None and self.documents.rows[shown].version == version\n",
        "        return shown is not None\n",
    ),
    Mutant(
        "summaries of several documents are visible in every view",
        "trees._visible_trees",
        "        return shown is not None and self.documents.rows[shown].version == version\n",
        "        return shown is None or self.documents.rows[shown].version == version\n",
    ),
    Mutant(
        "outdated trees are not deleted",
        "trees._trees",
        "    yield from delete_trees(trees, outdated, timeout)\n",
        "",
    ),
    Mutant(
        "cached texts of deleted documents stay",
        "trees._trees",
        "    yield from texts.delete((dropped | unfinished) - used)\n",
        "",
    ),
    # What Chroma's tables refuse: documents/_metadata.py
    Mutant(
        "a document is accepted that Chroma's tables refuse",
        "documents._metadata",
        "        if count > most:\n",
        "        if False:\n",
    ),
    # Equal vectors: search/_vectors.py
    Mutant(
        "a short result of Chroma's is all that there is",
        "search._vectors",
        "    return bool(min(map(len, short)) < everything.leaves)\n",
        "    return bool(min(map(len, short)) < 0 * everything.leaves)\n",
        "server",
    ),
)


@contextmanager
def planted(mutant: Mutant) -> Iterator[None]:
    """A context in which leafspan has a fault.

    Raises:
        AssertionError: if the source has not exactly one such piece, or no function is changed by the fault.
    """
    module = importlib.import_module(f"leafspan.{mutant.module}")
    source = inspect.getsource(module)
    assert source.count(mutant.old) == 1, f"{mutant.name}: the piece is there {source.count(mutant.old)} times"
    changed = types.ModuleType(module.__name__)
    changed.__dict__.update(__file__=module.__file__, __package__=module.__package__)
    registered = sys.modules[module.__name__]
    sys.modules[module.__name__] = changed  # dataclasses look for the module that they are made in
    try:
        exec(compile(source.replace(mutant.old, mutant.new), module.__file__ or "", "exec"), changed.__dict__)
    finally:
        sys.modules[module.__name__] = registered
    restored = []
    for function, other in _pairs(vars(module), vars(changed), module.__name__):
        if function.__code__.co_code != other.__code__.co_code or _constants(function) != _constants(other):
            restored.append((function, function.__code__))
            function.__code__ = other.__code__
    assert restored, f"{mutant.name}: no function is changed"
    try:
        yield
    finally:
        for function, code in restored:
            function.__code__ = code


def _pairs(old: Any, new: Any, module: str) -> Iterator[tuple[types.FunctionType, types.FunctionType]]:
    """The functions of a module, or of a class of it, with those in their place."""
    for name, value in list(old.items()):
        other = new.get(name)
        function, changed = _unwrapped(value), _unwrapped(other)
        if isinstance(function, types.FunctionType) and isinstance(changed, types.FunctionType):
            if function.__module__ == module:
                yield function, changed
        elif isinstance(value, type) and isinstance(other, type) and value.__module__ == module:
            yield from _pairs(vars(value), vars(other), module)


def _unwrapped(value: Any) -> Any:
    """The function of a property, method or context manager; other values as they are."""
    if isinstance(value, property):
        return value.fget
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    return inspect.unwrap(function) if isinstance(function, types.FunctionType) else function


def _constants(function: types.FunctionType) -> object:
    def of(code: types.CodeType) -> tuple[object, ...]:
        constants = tuple(of(each) if isinstance(each, types.CodeType) else repr(each) for each in code.co_consts)
        return code.co_names, code.co_varnames, constants

    return of(function.__code__)


def seed_that_finds(mutant: Mutant, seeds: int = MOST_SEEDS) -> tuple[int | None, str]:
    """The first seed whose run finds a fault, and what it found; None if no seed's run does."""
    for seed in range(seeds):
        scenario = scenario_of(seed, mutant.store)
        with planted(mutant):
            try:
                problems = run_scenario(scenario).problems
            except Exception as error:  # the fault has broken the run itself
                problems = (f"{type(error).__name__}: {error}",)
        if problems and not run_scenario(scenario).problems:  # or it finds something without the fault, too
            return seed, problems[0]
    return None, ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant one fault after the other, and print which seed found it. Returns the number of those that none found."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of faults (default: all)")
    parser.add_argument("--seeds", type=int, default=MOST_SEEDS, help=f"most seeds for each (default: {MOST_SEEDS})")
    told = parser.parse_args(arguments)
    chosen = [each for each in MUTANTS if not told.names or any(name in each.name for name in told.names)]
    missed = 0
    for mutant in chosen:
        began = time.monotonic()
        seed, problem = seed_that_finds(mutant, told.seeds)
        missed += seed is None
        found = "NOT FOUND" if seed is None else f"seed {seed}"
        print(f"{found:>10}  {time.monotonic() - began:5.1f} s  {mutant.module}: {mutant.name}", flush=True)
        if problem:
            print(f"{'':20}{problem[:160]}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} found")
    return missed


if __name__ == "__main__":
    sys.exit(main())
