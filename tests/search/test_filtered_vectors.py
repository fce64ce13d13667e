from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import count

import chromadb
import numpy as np
import pytest
from chromadb.config import Settings
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from leafspan import AutoMerging, Document, HierarchicalSplitter, Hybrid, Index, Vector
from leafspan.filters import F, Where
from leafspan.indexing import AddOptions
from leafspan.search import _vectors as vector_search
from leafspan.store import Reader
from leafspan.strategies import BM25, Browse
from tests.profiles import examples

SPLITTER = HierarchicalSplitter(leaf_words=6, parent_words=(12, 24))
WORDS = ["budget", "salary", "merger", "lawsuit", "harbour", "honey", "tea", "dance"]
DIMENSION = 16
_DIRECTIONS = dict(zip(WORDS, np.random.default_rng(7).normal(size=(len(WORDS), DIMENSION)), strict=True))
ALL = F("doc_id").exists()
_names = count()


def embed(texts: list[str]) -> list[list[float]]:
    """A direction for each word, and one for all."""
    known = [sorted({word.strip(".").lower() for word in text.split()} & _DIRECTIONS.keys()) for text in texts]
    sums = np.array([sum((_DIRECTIONS[word] for word in words), np.full(DIMENSION, 0.01)) for words in known])
    return (sums / np.linalg.norm(sums, axis=1, keepdims=True)).tolist()


def random_document(number: int, chance: random.Random) -> Document:
    sentences = [f"The {' '.join(chance.choices(WORDS, k=3))}." for _ in range(chance.randint(0, 5))]
    metadata = {"number": number, "share": chance.random()}
    if chance.random() < 0.7:
        metadata["year"] = chance.choice([2019, 2020, 2020.5, "2020", "2020-05-01", True])
    if chance.random() < 0.5:
        metadata["tags"] = chance.sample(WORDS, 2)
    return Document(f"{number:03}", " ".join(sentences), None, metadata)


def make(kind, tmp_path_factory) -> Index:
    if kind == "folder":
        return Index.open(tmp_path_factory.mktemp("filtered") / "kb", embedder=embed, splitter=SPLITTER)
    return Index.open(
        client=chromadb.EphemeralClient(Settings(anonymized_telemetry=False)),
        name=f"filtered{next(_names)}",
        embedder=embed,
        splitter=SPLITTER,
    )


@pytest.fixture(scope="module", params=["folder", "memory"])
def filled(request, tmp_path_factory):
    """150 documents, each replaced once, so that the copies hold leaves that do not count."""
    chance = random.Random(5)
    with make(request.param, tmp_path_factory) as index:
        index.add([random_document(number, chance) for number in range(150)])
        index.retrieve("budget", BM25(), where=ALL)
        index.retrieve("budget", Vector(), where=F("number") < 3)
        index.add([random_document(number, chance) for number in range(0, 150, 2)])
        yield index


conditions = st.one_of(
    st.sampled_from([2019, 2020, 2020.0, 2020.5, "2020", True, 1]).map(lambda year: F("year") == year),
    st.sampled_from([2020, 2020.25, "2020-01-01", "2"]).map(lambda year: F("year") >= year),
    st.floats(0, 1).map(lambda share: F("share") < share),
    st.integers(0, 150).map(lambda number: F("number") >= number),
    st.integers(0, 150).map(lambda number: F("doc_id") == f"{number:03}"),
    st.sampled_from(["1", "00", "x"]).map(lambda part: F("doc_id").text_match(part)),
    st.sampled_from(WORDS).map(lambda tag: F("tags").contains(tag)),
    st.sampled_from([F("tags").exists(), F("nothing").exists(), ALL]),
)
filters = st.recursive(
    conditions,
    lambda part: st.one_of(
        part.map(lambda one: ~one), st.builds(Where.__and__, part, part), st.builds(Where.__or__, part, part)
    ),
    max_leaves=4,
)
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
_slow = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
PHASES = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]


def matching_leaves(index, where):
    """The leaves of all documents that match, decided one by one."""
    return [leaf for leaf in index.leaves() if where.matches(leaf.metadata, leaf.document_id)]


def check_vector(index, query, where, k):
    leaves = matching_leaves(index, where)
    found = index.retrieve(query, Vector(), k=k, candidates=k, where=where)
    assert len(found) == len({passage.id for passage in found}) == min(k, len(leaves))
    if not leaves:
        return
    cosines = np.array(embed([leaf.text for leaf in leaves])) @ np.array(embed([query])[0])
    exact = dict(zip([leaf.id for leaf in leaves], cosines, strict=True))
    assert [passage.score for passage in found] == pytest.approx(sorted(exact.values(), reverse=True)[:k], abs=1e-6)
    for passage in found:
        assert passage.score == pytest.approx(exact[passage.id], abs=1e-6)
    assert found == sorted(found, key=lambda passage: (-passage.score, passage.document_id, passage.start))


def check_words(index, query, where, k):
    """Scores do not depend on the filter, so that the scores of a search without filter are right for the documents that match."""
    everything = index.retrieve(query, BM25(), k=10_000, candidates=10_000)
    expected = [passage for passage in everything if where.matches(passage.metadata, passage.document_id)][:k]
    found = index.retrieve(query, BM25(), k=k, candidates=k, where=where)
    assert [(passage.id, passage.score) for passage in found] == [(passage.id, passage.score) for passage in expected]


def check_pages(index, where, k, offset):
    leaves = matching_leaves(index, where)[offset : offset + k]
    found = index.retrieve(None, Browse(offset=offset), k=k, candidates=k, where=where)
    assert [(passage.document_id, passage.start, passage.text) for passage in found] == [
        (leaf.document_id, leaf.start, leaf.text) for leaf in leaves
    ]


@examples(70, fast=8, phases=PHASES, suppress_health_check=_slow)
@given(where=filters, query=queries, k=st.sampled_from([1, 5, 30, 1000]), offset=st.integers(0, 40), few=st.booleans())
def test_a_filter_gives_what_looking_at_every_document_gives(filled, where, query, k, offset, few):
    with pytest.MonkeyPatch.context() as patch:
        if not few:  # as if the index were so large that Chroma is asked for more instead
            patch.setattr(vector_search, "_FEW_FETCHED", 0)
        check_vector(filled, query, where, k)
    check_words(filled, query, where, k)
    check_pages(filled, where, k, offset)


@examples(60, fast=8, phases=PHASES, suppress_health_check=_slow)
@given(words=st.sets(st.sampled_from(WORDS), min_size=1), data=st.data())
def test_a_query_of_any_length_finds_the_same(filled, words, data):
    vector = np.array(embed([" ".join(sorted(words))])[0], dtype=np.float32)
    exponents = np.frexp(vector[vector != 0])[1]
    # Times any power of two for which all numbers stay finite and normal in 32 bits.
    power = data.draw(st.integers(-125 - int(exponents.min()), 127 - int(exponents.max())), label="power")
    expected, found = filled.retrieve_many([vector, np.ldexp(vector, power)], Vector(), k=9)
    assert [(each.id, each.score) for each in found] == [(each.id, each.score) for each in expected]


def ways_of(index, monkeypatch, *calls):
    """How often each way was gone."""
    taken = Counter()

    def counted(name, original):
        def call(*arguments, **options):
            taken[name] += 1
            return original(*arguments, **options)

        return call

    for name in ("_overfetch", "scan", "rank"):
        monkeypatch.setattr(vector_search, name, counted(name, getattr(vector_search, name)))
    for where, k in calls:
        check_vector(index, "budget tea", where, k)
    return dict(taken)


def test_each_way_to_the_nearest_is_taken_and_finds_the_same(filled, monkeypatch):
    look = "scan" if filled._store.embedded else "rank"
    widely = "scan" if filled._store.embedded else "_overfetch"
    monkeypatch.setattr(vector_search, "_FEW_FETCHED", 0)
    few, half, nothing = F("number") < 5, F("share") < 0.5, F("share") > 1
    with monkeypatch.context() as patch:
        assert ways_of(filled, patch, (ALL, 1000)) == {widely: 1}
    with monkeypatch.context() as patch:
        assert ways_of(filled, patch, (few, 10)) == {look: 1}
    with monkeypatch.context() as patch:
        assert ways_of(filled, patch, (nothing, 10)) == {}
    with monkeypatch.context() as patch:
        assert ways_of(filled, patch, (half, 3)).keys() >= {widely}


def test_where_too_few_of_those_that_match_are_near_every_one_is_looked_at(monkeypatch):
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    with Index.open(client=client, name="too-few-near", embedder=embed, splitter=SPLITTER) as index:
        index.add([Document(f"near{n:03}", "The budget.", None, {"far": False}) for n in range(200)])
        index.add([Document(f"far{n:03}", "The tea honey.", None, {"far": True}) for n in range(20)])
        monkeypatch.setattr(vector_search, "_FEW_FETCHED", 0)
        monkeypatch.setattr(vector_search, "MOST_RESULTS", 6)
        monkeypatch.setattr(vector_search, "_MORE", 0.02)  # three are asked for: which ones Chroma finds does not matter
        far = F("far") == True  # noqa: E712
        assert ways_of(index, monkeypatch, (far, 5)) == {"_overfetch": 1, "rank": 1}
        found = index.retrieve("budget", Vector(), k=5, candidates=5, where=far)
        assert [passage.document_id for passage in found] == [f"far{n:03}" for n in range(5)]


@pytest.mark.parametrize("where", [None, ALL], ids=["no filter", "all"])
def test_a_view_finds_its_own_documents_alone_and_all_of_them(filled, where):
    own = F("number") < 5
    expected = filled.retrieve("budget", Vector(), k=1000, where=own)
    assert expected
    assert without_filters(filled.scoped(own).retrieve("budget", Vector(), k=1000, where=where)) == without_filters(
        expected
    )


def without_filters(passages):
    """Passages whose traces do not say which filter they have matched: a view has its own beside it."""
    return [replace(each, trace=replace(each.trace, filters=())) for each in passages]


@pytest.mark.parametrize("strategy", [Vector(), BM25()], ids=["vector", "bm25"])
def test_no_filter_gives_the_same_as_one_that_all_match(filled, strategy):
    for query in ("budget", "tea honey", "The lawsuit of the harbour"):
        plain = filled.retrieve(query, strategy, k=40)
        filtered = filled.retrieve(query, strategy, k=40, where=ALL)
        assert [passage.id for passage in plain] == [passage.id for passage in filtered]
        assert [passage.score for passage in plain] == pytest.approx([passage.score for passage in filtered], abs=1e-6)


@pytest.mark.parametrize("kind", ["folder", "memory"])
def test_only_the_current_one_of_two_versions_of_a_document_is_found(kind, tmp_path_factory):
    with make(kind, tmp_path_factory) as index:
        index.add([Document("plan", "The budget.", None, {"year": 2020}), Document("other", "The tea.")])
        recent, old = F("year") > 2020, F("year") <= 2020
        assert [len(index.retrieve("budget", Vector(), where=where)) for where in (recent, old)] == [0, 1]
        # A writer who was killed before the manifest turned to the new version, whose leaves are there.
        flow = index._ingest(Document("plan", "The budget.", None, {"year": 2024}), AddOptions(progress=False))
        answer = None
        while True:
            call = flow.send(answer)
            answer = call.function(*call.arguments, **call.options)
            function = call.arguments[0] if call.arguments and callable(call.arguments[0]) else call.function
            if getattr(function, "__name__", "") == "add":
                break
        for strategy in (Vector(), BM25(), Browse()):
            assert [len(index.retrieve("budget", strategy, where=where)) for where in (recent, old)] == [0, 1]
        flow.close()
        index.add(Document("plan", "The budget.", None, {"year": 2024}))
        for strategy in (Vector(), BM25(), Browse()):
            assert [len(index.retrieve("budget", strategy, where=where)) for where in (recent, old)] == [1, 0]


changes = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 9), st.integers(0, 10_000)),
    st.tuples(st.just("delete"), st.integers(0, 9), st.just(0)),
)


@pytest.mark.parametrize(("kind", "number"), [("folder", 8), ("memory", 15)])
def test_a_filter_sees_every_change_at_once(kind, number, tmp_path_factory):
    @examples(number, fast=5, phases=PHASES, suppress_health_check=_slow)
    @given(where=filters, work=st.lists(changes, min_size=1, max_size=6), query=queries)
    def law(where, work, query):
        with make(kind, tmp_path_factory) as index:
            for what, name, seed in work:
                if what == "add":
                    index.add(random_document(name, random.Random(seed)))
                else:
                    index.delete([f"{name:03}"])
                check_vector(index, query, where, 5)
                check_words(index, query, where, 5)
                check_pages(index, where, 5, 1)

    law()


def test_another_process_s_changes_are_seen_by_a_filter_that_was_used_before(tmp_path):
    where = F("year") > 2020
    with (
        Index.open(tmp_path / "kb", embedder=embed, splitter=SPLITTER) as one,
        Index.open(tmp_path / "kb") as other,
    ):
        one.add(Document("plan", "The budget.", None, {"year": 2020}))
        assert other.retrieve(None, Browse(), where=where) == []
        one.add(Document("plan", "The budget.", None, {"year": 2021}))
        assert [passage.document_id for passage in other.retrieve(None, Browse(), where=where)] == ["plan"]
        assert [passage.document_id for passage in other.retrieve("budget", BM25(), where=where)] == ["plan"]
        one.delete(["plan"])
        assert other.retrieve(None, Browse(), where=where) == []


@pytest.mark.usefixtures("leaves_from_chroma")
@pytest.mark.parametrize("strategy", [Vector(), BM25(), Browse(), Hybrid(), AutoMerging(base=Vector())], ids=repr)
def test_what_is_replaced_between_the_search_and_the_fetch_is_searched_again(strategy, tmp_path, monkeypatch):
    with (
        Index.open(tmp_path / "kb", embedder=embed, splitter=SPLITTER) as index,
        Index.open(tmp_path / "kb", embedder=embed) as writer,
    ):
        writer.add(Document("plan", "The budget.", None, {"year": 2024}))
        fetch = Reader.fetch_leaves
        fetches = []

        def overtaken(self, ids):
            if not fetches:
                writer.add(Document("plan", "The budget of next year.", None, {"year": 2024}))
            fetches.append(ids)
            return (yield from fetch(self, ids))

        monkeypatch.setattr(Reader, "fetch_leaves", overtaken)
        found = index.retrieve("budget", strategy, where=F("year") > 2020)
        assert [passage.text for passage in found] == ["The budget of next year."]
        versions = [ids[0].version for ids in fetches]
        assert versions[0] not in versions[1:]
        assert len(set(versions[1:])) == 1
