"""Re-embedding an index: while others ask and write, after an interruption at any call, there and back, in every store."""

from __future__ import annotations

import json
import shutil
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from typer.testing import CliRunner

from leafspan import BM25, Document, Embedder, HierarchicalSplitter, Hybrid, Index, InvalidArgument, Tree, Vector, chunks_of
from leafspan.cli import app
from leafspan.errors import ConcurrentUpdate, DamagedIndex, IndexMismatch
from leafspan.flows import Call, run
from leafspan.flows import _flow as flow_module
from leafspan.indexing import _copying, _editions
from leafspan.lab import Answer, Question, evaluate
from leafspan.store import Editions
from leafspan.store._change_log import SPARE_ID
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.indexing.test_copying import everything, place
from tests.profiles import THOROUGH, quick

__all__ = ["place"]

STORES = ("folder", "memory", "postgres", "qdrant")
WIDE = HierarchicalSplitter(leaf_words=12, parent_words=(30,))


def hashing(dimension: int) -> Embedder:
    """An embedder that counts the checksums of words."""

    def embed(texts: list[str]) -> Any:
        vectors = np.full((len(texts), dimension), 0.01, np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % dimension] += 1
        return vectors

    return Embedder(f"hashing {dimension}", embed, embed, local=True)


OLD, NEW = hashing(16), hashing(24)


def filled(there: dict[str, Any], embedder: Embedder = OLD, **options: Any) -> Index:
    """A new index of the small corpus, with trees, chunks, and a document that was replaced."""
    index = Index.open(**there, embedder=embedder, **{"splitter": SPLITTER, **options})
    index.add(Document(DOCUMENTS[0].id, "Another text."))
    index.add(DOCUMENTS)
    index.add(chunks_of(["One chunk of a text. ", "And a second one."], id="chunks"))
    return index


def check_as_new(index: Index, fresh: Index, *, versions: bool = True) -> None:
    """Check that the same is stored of both. Leaves that were cut again have other versions than a new index's leaves."""
    found, wanted = everything(index), everything(fresh)
    if not versions:
        assert replace(index.stats(), spare=None) == fresh.stats()
        assert [(each.text, each.start, each.headings) for each in index.leaves()] == [
            (each.text, each.start, each.headings) for each in fresh.leaves()
        ]
        return
    assert found.keys() == wanted.keys()
    for key, value in found.items():
        if key[0] == "vectors":  # engines keep vectors with length 1, which changes the last bits
            assert value.expected == pytest.approx(wanted[key].expected, abs=3e-7), key
        else:
            assert value == wanted[key], key


def answers(index: Index) -> list[Any]:
    return [
        [(each.text, pytest.approx(each.score, abs=1e-6)) for each in index.retrieve(question, strategy, k=8)]
        for question in QUESTIONS
        for strategy in (BM25(), Vector(), Hybrid())
    ]


@contextmanager
def suppress_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


@pytest.mark.parametrize("kind", quick(2, reversed(STORES)))
def test_an_index_that_was_embedded_again_is_like_a_new_one(
    place: Callable[[str], dict[str, Any]], tmp_path: Path, kind: str
):
    there = place(kind) | ({} if kind == "folder" else {"cache_dir": tmp_path / "cache"})
    index, fresh = filled(there), filled({"path": tmp_path / "fresh"}, NEW)
    before = answers(index)
    planned = index.reembed(NEW, dry_run=True)
    made = index.reembed(NEW, switch=False, progress=False)
    assert (made.edition, made.documents, made.switched) == ("kb.2", 4, False)
    assert planned == made
    assert answers(index) == before
    with Index.open(**there, name=made.edition, embedder=NEW) as spare:
        assert answers(spare) == answers(fresh)
        with pytest.raises(IndexMismatch, match=r"'kb\.2' is the spare edition of an index that was re-embedded"):
            spare.add(Document("a", "A."))
    index.add(Document("late", "It came late."))
    fresh.add(Document("late", "It came late."))
    assert index.reembed(NEW, progress=False) == type(made)("kb.2", 5, 1, True)
    check_as_new(index, fresh)
    assert answers(index) == answers(fresh)
    with Index.open(**there, embedder=NEW) as again:
        assert answers(again) == answers(fresh)
        assert again.add([*DOCUMENTS, Document("more", "More of it.")]).added == ("more",)
        assert again.delete_spare() == "kb"
        assert again.delete_spare() is None
        assert again.check() == []
        if kind in ("postgres", "qdrant"):
            tables = run(again._store._engine.tables())  # type: ignore[union-attr]
            assert "kb.leaves" not in tables
            manifest = run(again._store._manifest_of("kb"))  # type: ignore[union-attr]
            assert manifest is not None  # it says where the index is
            assert run(manifest.scan([])).keys() == {SPARE_ID}
        assert again.reembed(OLD, progress=False).edition == "kb.3"
        assert again.delete(["more"]) == ["more"]
        assert again.count() == 5


@pytest.mark.parametrize("kind", quick(1, STORES))
def test_the_old_vectors_are_put_back_and_only_changes_are_embedded(
    place: Callable[[str], dict[str, Any]], tmp_path: Path, kind: str
):
    there = place(kind)
    index = filled(there)
    index.reembed(NEW, progress=False)
    index.add(Document("late", "It came late."))
    index.delete([DOCUMENTS[1].id])
    back = index.reembed(OLD, progress=False)
    assert (back.edition, back.texts, back.switched) == ("kb", 1, True)
    fresh = filled({"path": tmp_path / "fresh"})
    fresh.add(Document("late", "It came late."))
    fresh.delete([DOCUMENTS[1].id])
    check_as_new(index, fresh)
    assert index.reembed(OLD, progress=False).texts == 0


@pytest.mark.parametrize("kind", quick(1, reversed(STORES)))
def test_what_was_open_goes_on_with_its_vectors_and_writes_no_more(
    place: Callable[[str], dict[str, Any]], tmp_path: Path, kind: str
):
    there = place(kind)
    index = filled(there)
    index.build_tree(progress=False)
    view = index.scoped({"topic": "food"})
    with Index.open(**there, embedder=OLD) as other:
        before = answers(other)
        index.reembed(NEW, progress=False)
        with pytest.warns(
            RuntimeWarning, match="was re-embedded: this process goes on with the vectors that it had opened"
        ):
            assert answers(other) == before
        for write in (
            lambda: other.add(Document("lost", "It would be lost.")),
            lambda: other.delete([DOCUMENTS[0].id]),
            lambda: other.sync(
                [Document("lost", "It would be lost.", metadata={"topic": "food"})], within={"topic": "food"}
            ),
            lambda: view.add(Document("lost", "It would be lost.")),
            lambda: other.build_tree(across_documents=True, progress=False),
            lambda: other.reembed(NEW),
            other.delete_spare,
        ):
            with suppress_warnings(), pytest.raises(IndexMismatch, match="open the index again, under its own name"):
                write()
        with pytest.raises(IndexMismatch, match="the index was made with the embedder hashing 24"):
            Index.open(**there, embedder=OLD).retrieve("bees")
        index.delete_spare()
        with pytest.raises(DamagedIndex, match="was deleted meanwhile: open it again"):
            other.count()
        if kind == "folder":
            with pytest.raises(DamagedIndex, match="was deleted meanwhile: open it again"):
                other.retrieve("bees", Vector())
    assert index.count() == 4


def test_the_trees_come_along_unless_the_leaves_are_others(tmp_path: Path):
    index, fresh = filled({"path": tmp_path / "kb"}), filled({"path": tmp_path / "fresh"}, NEW)
    index.build_tree(progress=False)
    fresh.build_tree(progress=False)
    planned = index.reembed(NEW, dry_run=True).texts
    assert index.reembed(NEW, progress=False).texts == planned
    assert [each.text for each in index.summaries()] != []
    assert index.check() == []
    with Index.open(tmp_path / "kb", embedder=NEW) as again:
        assert again.retrieve(QUESTIONS[0], Tree(base=Hybrid()), k=8)
        assert again.build_tree(progress=False).built == ()
    index.delete_spare()
    assert index.reembed(OLD, splitter=WIDE, progress=False).edition == "kb.3"
    assert index.summaries() == []
    assert index.check() == []


@pytest.mark.parametrize("kind", quick(1, STORES))
def test_other_leaves_are_those_of_a_new_index(place: Callable[[str], dict[str, Any]], tmp_path: Path, kind: str):
    there = place(kind)
    index, fresh = filled(there), filled({"path": tmp_path / "fresh"}, splitter=WIDE, context_sentences=1)
    ids = {each.id for each in index.leaves()}
    planned = index.reembed(splitter=WIDE, context_sentences=1, dry_run=True)
    made = index.reembed(splitter=WIDE, context_sentences=1, progress=False)
    assert (made.texts, made.switched) == (planned.texts, True)
    check_as_new(index, fresh, versions=False)
    assert answers(index) == answers(fresh)
    # An id that was cited before must not name another text.
    assert {each.id.rpartition("#")[0] for each in index.leaves()}.isdisjoint(
        {id_.rpartition("#")[0] for id_ in ids if not id_.startswith("chunks")}
    )
    assert index.add(DOCUMENTS).unchanged == len(DOCUMENTS)
    assert index.reembed(splitter=SPLITTER, context_sentences=0, progress=False).edition == "kb"
    assert {each.id for each in index.leaves()} == ids


def test_files_keep_their_pages_headings_and_lines_with_other_leaves(tmp_path: Path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.md").write_text(
        "# Bees\n\nThey dance a lot. They hum.\n\n## Honey\n\nHoney is sweet. It keeps for long.\n"
    )
    (source / "b.py").write_text("def first():\n    return 1\n\n\ndef second():\n    return 2\n")
    (source / "c.html").write_text(
        "<h1>Tea</h1><p>Green tea is heated. Black tea is not.</p><h2>Water</h2><p>It is hot.</p>"
    )
    with (
        Index.open(tmp_path / "kb", embedder=OLD) as index,
        Index.open(tmp_path / "fresh", embedder=OLD, splitter=WIDE) as fresh,
    ):
        index.sync(source)
        fresh.sync(source)
        index.reembed(splitter=WIDE, progress=False)
        found = [(each.text, each.headings, each.lines) for each in index.leaves()]
        assert found == [(each.text, each.headings, each.lines) for each in fresh.leaves()]
        synced = index.sync(source)
        assert (synced.added, synced.replaced, synced.deleted) == ((), (), ())


class Killed(BaseException):
    """Stands for the end of the process."""


def killing(perform: Any, calls: Iterator[int], place: int, call: Call, deadline: Any) -> Any:
    """Make a call. Before or after the one at this place, the process ends."""
    number = next(calls)
    if number == place and place % 2:
        raise Killed
    result = perform(call, deadline)
    if number == place:
        raise Killed
    return result


@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_after_an_interruption_at_any_call_it_goes_on(
    place: Callable[[str], dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    """Before and after each call: questions are answered with one of both, and nothing is lost."""
    monkeypatch.setattr(_copying, "_GROUP", 8)
    fresh = filled({"path": tmp_path / "fresh"}, NEW)
    perform, old = flow_module._perform, None
    there = place(kind)
    if kind == "folder":
        filled({"path": tmp_path / "whole"}).close()
    step, stride = 0, 1 if THOROUGH else {"memory": 5, "folder": 41}[kind]
    while True:
        if kind == "folder":
            there = {"path": shutil.copytree(tmp_path / "whole", tmp_path / f"kb{step}")}
            index = Index.open(**there, embedder=OLD)
        else:
            there = place(kind)
            index = filled(there)
        old = old or answers(index)
        calls = count()
        monkeypatch.setattr(flow_module, "_perform", partial(killing, perform, calls, step))
        with suppress_warnings(), suppress(Killed):
            index.reembed(NEW, progress=False)
        monkeypatch.setattr(flow_module, "_perform", perform)
        if next(calls) <= step:
            break
        index.close()
        with Index.open(**there) as looking:
            is_new = looking.stats().embedder == NEW.name
        with Index.open(**there, embedder=NEW if is_new else OLD) as again:
            assert answers(again) == (answers(fresh) if is_new else old), step
            again.add(Document("late", "It came late."))
            again.delete(["late"])
            again.reembed(NEW, progress=False)
            check_as_new(again, fresh)
            assert again.check() == []
            assert again.delete_spare() == "kb"
            assert again.check() == []
        step += stride


def test_the_copy_of_an_index_gets_trees_after_both_were_re_embedded(tmp_path: Path):
    index = filled({"path": tmp_path / "kb"})
    index.build_tree(progress=False)
    index.copy_to(tmp_path / "copy", progress=False)
    with Index.open(tmp_path / "copy", embedder=OLD) as copy:
        copy.reembed(NEW, progress=False)
        index.reembed(NEW, progress=False)
        index.add(Document("late", "It came late. " * 40))
        index.build_tree(progress=False)
        copied = index.copy_to(tmp_path / "copy", progress=False)
        assert copied.summaries == len(copy.summaries()) == len(index.summaries())
        copy.reembed(OLD, progress=False)
        assert {each.id for each in copy.summaries()} == {each.id for each in index.summaries()}


@pytest.mark.parametrize("kind", ["memory", "folder"])
def test_an_interrupted_deletion_of_the_spare_edition_is_finished(
    place: Callable[[str], dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
):
    fresh = filled({"path": tmp_path / "fresh"})
    for step in range(0, 200, 1 if THOROUGH else 9):
        there = place(kind)
        index, perform, calls = filled(there), flow_module._perform, count()
        index.reembed(NEW, progress=False)
        index.reembed(OLD, progress=False)  # the spare edition is not the first one
        monkeypatch.setattr(flow_module, "_perform", partial(killing, perform, calls, step))
        with suppress(Killed):
            index.delete_spare()
        monkeypatch.setattr(flow_module, "_perform", perform)
        if next(calls) <= step:
            break
        index.close()
        with Index.open(**there, embedder=OLD) as again:
            check_as_new(again, fresh)
            assert again.reembed(NEW, switch=False, progress=False).documents == 4
            assert again.delete_spare() is not None
            assert again.stats().spare is None
            assert again.check() == []
            if kind == "folder":
                assert {each.name for each in again.client.list_collections()} == {"kb.leaves"}
    else:
        pytest.fail("it never ended")


def test_two_at_once_and_a_deletion_in_between_end_with_an_error_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    index = filled({"path": tmp_path / "kb"})
    other = Index.open(tmp_path / "kb", embedder=OLD)
    meanwhile = [lambda: other.reembed(hashing(30), switch=False, progress=False)]

    def slow(texts: list[str]) -> Any:
        if meanwhile:
            meanwhile.pop()()
        return NEW.documents(texts)

    late = Embedder("late", slow, NEW.queries, local=True)
    with pytest.raises(ConcurrentUpdate, match="another process re-embeds the index"):
        index.reembed(late, progress=False)
    assert index.stats().spare == "kb.2"
    index.delete_spare()
    write = _copying._write
    meanwhile.append(other.delete_spare)

    def writing(*given: Any) -> Any:
        if meanwhile:
            meanwhile.pop()()
        return (yield from write(*given))

    monkeypatch.setattr(_copying, "_write", writing)
    with pytest.raises(ConcurrentUpdate, match="the spare edition was deleted meanwhile: call reembed again"):
        index.reembed(NEW, progress=False)
    assert index.stats().spare is None
    assert {each.name for each in index.client.list_collections()} == {"kb.leaves"}


def test_a_dry_run_writes_nothing(tmp_path: Path):
    index = filled({"path": tmp_path / "kb"})
    index.reembed(NEW, switch=False, progress=False)
    index.add(Document("late", "It came late."))
    index.close()
    with Index.open(tmp_path / "kb", embedder=OLD, read_only=True) as reading:
        assert reading.reembed(NEW, dry_run=True).texts == 1


def test_a_document_that_changes_all_the_time_does_not_keep_the_others_from_switching(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    index, version = filled({"path": tmp_path / "kb"}), count()
    other = Index.open(tmp_path / "kb", embedder=OLD)
    write = _copying._write

    def changing(*given: Any) -> Any:
        if (number := next(version)) < 12:
            other.add(Document("hot", f"Version {number}."))
        return (yield from write(*given))

    monkeypatch.setattr(_copying, "_write", changing)
    assert index.reembed(NEW, progress=False).switched
    assert index.get("hot").text == "Version 11."


def test_both_editions_are_evaluated_before_the_switch(tmp_path: Path):
    index = filled({"path": tmp_path / "kb"})
    edition = index.reembed(NEW, switch=False, progress=False).edition
    start = DOCUMENTS[1].text.index("Karl von Frisch decoded the dance")
    asked = [Question("Who decoded the dance of the bees?", [Answer("bees", start, start + 33)])]
    with Index.open(tmp_path / "kb", name=edition, embedder=NEW) as spare:
        means = [evaluate(each, asked, ["vector"], progress=False).mean("vector", "recall@600") for each in (index, spare)]
    assert means == [1.0, 1.0]


def test_what_changes_during_the_last_step_is_embedded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    index = filled({"path": tmp_path / "kb"})
    other = Index.open(tmp_path / "kb", embedder=OLD)
    take_place, changes = _editions.take_place, [Document("late", "It came late."), Document("later", "It came later.")]

    def late(*given: Any) -> Any:
        if changes:
            other.add(changes.pop(0))
        return (yield from take_place(*given))

    monkeypatch.setattr(_editions, "take_place", late)
    done = index.reembed(NEW, progress=False)
    assert (done.documents, done.switched) == (6, True)
    assert index.count() == 6


def test_what_cannot_be_embedded_again_is_refused_before_anything_is_written(tmp_path: Path):
    empty = Index.open(tmp_path / "empty", embedder=OLD)
    with pytest.raises(InvalidArgument, match="an index without documents has nothing to re-embed"):
        empty.reembed(NEW)
    index = filled({"path": tmp_path / "kb"})
    with pytest.raises(InvalidArgument, match="embedder must be"):
        index.reembed(3)
    with pytest.raises(InvalidArgument, match="title_weight must be"):
        index.reembed(title_weight=-1)
    with pytest.raises(InvalidArgument, match="switch must be True or False"):
        index.reembed(NEW, switch="no")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="progress must be True or False"):
        index.reembed(NEW, progress=3)  # type: ignore[arg-type]
    with (
        filled({"path": tmp_path / "long", "name": "a" * 494}) as long,
        pytest.raises(InvalidArgument, match="the index's name is too long for another edition"),
    ):
        long.reembed(NEW, progress=False)
    assert index.stats().spare is None
    index.reembed(NEW, switch=False, progress=False)
    assert index.stats().spare == "kb.2"
    with pytest.raises(
        InvalidArgument, match=r"has a spare edition 'kb.2' with another embedder or other options \(hashing 24"
    ):
        index.reembed(hashing(40))
    with pytest.raises(InvalidArgument, match="with another embedder or other options"):
        index.reembed(NEW, splitter=WIDE)
    assert index.delete_spare() == "kb.2"
    Index.open(tmp_path / "kb", name="kb.3", embedder=OLD).close()
    assert index.reembed(title_weight=1.0, progress=False).edition == "kb.4"


def test_an_index_at_the_address_of_a_database_keeps_its_connections(pgvector_server: str, tmp_path: Path):
    """Each opening of an address has connections of its own, which the spare edition must not close before the end."""
    there = {"path": pgvector_server, "name": f"kb{uuid4().hex}", "cache_dir": tmp_path / "cache"}
    index, fresh = filled(there), filled({"path": tmp_path / "fresh"}, NEW)
    index.build_tree(progress=False)
    assert index.reembed(NEW, progress=False).switched
    assert answers(index) == answers(fresh)
    assert index.summaries() != []
    assert index.delete_spare() == there["name"]
    index.add(Document("late", "It came late."))
    assert index.count() == 5
    index.close()


async def test_the_asynchronous_twins_do_the_same(tmp_path: Path):
    index, fresh = filled({"path": tmp_path / "kb"}), filled({"path": tmp_path / "fresh"}, NEW)
    assert (await index.areembed(NEW, progress=False)).switched
    check_as_new(index, fresh)
    assert await index.adelete_spare() == "kb"


def ran(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["reembed", *arguments])
    assert done.exit_code == 0, done.output
    return " ".join(done.stdout.split())


def test_the_command_shows_the_price_switches_and_deletes(tmp_path: Path):
    kb, config = str(tmp_path / "kb"), tmp_path / "wide.yaml"
    Index.open(kb, splitter=SPLITTER).add(DOCUMENTS)
    config.write_text("splitter:\n  leaf_words: 30\n  parent_words: [60]\n")
    name = "tests.indexing.test_reembedding:NEW"
    assert "3 documents, 37 texts to embed; nothing was written" in ran("--kb", kb, "--embedder", name, "--dry-run")
    assert "as the edition kb.2, which answers no questions yet" in ran("--kb", kb, "--embedder", name, "--no-switch")
    done = json.loads(ran("--kb", kb, "--embedder", name, "--json"))
    assert done == {"edition": "kb.2", "documents": 3, "texts": 0, "switched": True}
    assert "the spare edition kb was deleted" in ran("--kb", kb, "--delete-spare")
    assert json.loads(ran("--kb", kb, "--delete-spare", "--json")) == {"deleted": None}
    assert "the edition kb.3 answers questions now" in ran("--kb", kb, "--embedder", name, "--config", str(config))
    with Index.open(kb, embedder=NEW) as index:
        assert "leaf_words=30" in index.stats().splitter
    refused = CliRunner().invoke(app, ["reembed", "--kb", kb, "--delete-spare", "--dry-run"])
    assert refused.exit_code == 2
    # Without --embedder it would be the bundled one, which did not make the index.
    missing = CliRunner().invoke(app, ["reembed", "--kb", kb, "--config", str(config)])
    assert f"the index was made with the embedder {name} (24 dimensions)" in " ".join(missing.output.split())


def test_retrievers_of_both_hosts_follow_the_switch(tmp_path: Path):
    from langchain_ext import HybridRetriever
    from llamaindex_ext import HybridRetriever as OfNodes

    index = filled({"path": tmp_path / "kb"})
    documents, nodes = HybridRetriever(index=index, k=2), OfNodes(index, similarity_top_k=2)
    index.reembed(NEW, progress=False)
    index.add(Document("late", "Karl von Frisch decoded the dance late."))
    assert "late" in {each.id.partition("#")[0] for each in documents.invoke("Who decoded the dance late?")}
    assert "late" in {each.node.node_id.partition("#")[0] for each in nodes.retrieve("Who decoded the dance late?")}


def test_an_index_that_a_server_made_is_refused_in_its_folder(tmp_path: Path):
    with Index.open(tmp_path / "kb", embedder=OLD) as index:
        index.add(DOCUMENTS)
        index._store._was_served = True  # type: ignore[union-attr]
        with pytest.raises(InvalidArgument, match="was made by a server, and such an index cannot be re-embedded: copy it"):
            run(index._store.record_editions(Editions("kb")))
