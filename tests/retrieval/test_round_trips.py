"""Results and merged nodes need one fetch each, for each depth of the tree; behind a client, one search."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import chromadb
import pytest
from chromadb.config import Settings

from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Decay,
    Ensemble,
    FollowReferences,
    HierarchicalSplitter,
    HostRetriever,
    Hybrid,
    Index,
    MultiQuery,
    ParentDocument,
    Rerank,
    RewriteQuery,
    Router,
    SentenceWindow,
    Vector,
)
from leafspan.strategies import HostResult
from tests.corpus import DOCUMENTS, QUESTIONS
from tests.profiles import paired


def traffic(gets: int) -> Counter:
    return +Counter({("kb.leaves", "get"): gets})


def refer(question: str) -> list[HostResult]:
    """A passage of another source that refers to two documents."""
    return [HostResult("overview", "", None, {"reference": ["tea", "bees"]})]


async def arefer(question: str) -> list[HostResult]:
    return refer(question)


REFERRING = HostRetriever("overviews", refer, arefer)

COSTS = [
    # Words and vectors are compared beside Chroma: only the leaves that are returned are fetched from it.
    # strategy, fetches
    (Vector(), 1),
    (SentenceWindow(base=Vector()), 2),
    (ParentDocument(base=Vector()), 2),
    (ParentDocument(base=Vector(), level=None), 2),
    (AutoMerging(base=Vector(), threshold=0.2), 2),
    (AutoMerging(base=Vector(), threshold=0, max_words=None), 2),
    (BM25(), 1),
    (Hybrid(), 1),
    (Browse(), 1),
    (MultiQuery(base=Vector(), phrasings=QUESTIONS), 1),
    (MultiQuery(phrasings=QUESTIONS), 1),
    (RewriteQuery(base=Vector(), how=lambda question: ["pier", question]), 1),
    (RewriteQuery(how=lambda question: question.lower()), 1),
    (Rerank(base=Vector(), rerank=lambda question, texts: list(map(len, texts))), 1),
    (Rerank(base=Vector(), diversity=0.5), 1),
    (Rerank(base=BM25(), diversity=0.5), 1),
    (Decay(base=Vector(), key="year"), 1),
    (SentenceWindow(base=BM25()), 2),
    # The leaves around and above what is found are among the leaves whose words are compared with the question's.
    (SentenceWindow(), 1),
    (ParentDocument(level=None), 1),
    (AutoMerging(threshold=0.2), 1),
    (AutoMerging(threshold=0, max_words=None), 1),
    # Each retriever makes its own.
    (Ensemble(retrievers=[BM25(), Vector()]), 2),
    (Ensemble(retrievers=[BM25(), AutoMerging(base=Vector(), threshold=0.2)]), 3),
    # The retriever that was chosen, for all queries at once. Its description is compared without a search.
    (Router(retrievers={"meaning": Vector(), "words": BM25()}, choose=lambda query: "meaning"), 1),
    (Router(retrievers={"meaning": Vector()}, descriptions={"meaning": "what there is to know"}), 1),
    # One fetch for all documents that are referred to, however many queries and passages refer to them.
    (FollowReferences(base=Vector()), 1),
    (FollowReferences(base=REFERRING), 1),
    (FollowReferences(base=REFERRING, keep=True, per_reference=9, depth=1), 1),
    (FollowReferences(base=REFERRING, targets={"tea": Vector(), "bees": Vector()}), 2),
]


DEPTHS = [(40,), (25, 40, 80), (20, 30, 40, 60, 80, 120)]


@pytest.fixture(scope="module")
def tree(request, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The corpus under trees of several depths, with its words and vectors read already."""
    folder = tmp_path_factory.mktemp("trees") / "kb"
    with Index.open(folder, splitter=HierarchicalSplitter(12, request.param)) as opened:
        opened.add(DOCUMENTS)
        opened.warm()
        yield opened


def named(value: object) -> str:
    """A strategy or a number in the name of a test, which is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


@pytest.mark.usefixtures("leaves_from_chroma")
@pytest.mark.parametrize(("cost", "tree"), paired(COSTS, DEPTHS), indirect=["tree"], ids=named, scope="module")
def test_round_trips_at_any_depth(tree: Index, calls, cost):
    strategy, fetches = cost
    for query in (QUESTIONS[0], QUESTIONS):
        calls.clear()
        (tree.retrieve if isinstance(query, str) else tree.retrieve_many)(query, strategy, k=3, candidates=6)
        assert calls == traffic(fetches)


@pytest.mark.parametrize(
    ("strategy", "tree"), paired([strategy for strategy, _ in COSTS], DEPTHS), indirect=["tree"], ids=named, scope="module"
)
def test_chroma_is_not_asked_for_what_is_beside_it(tree: Index, calls, strategy):
    calls.clear()
    tree.retrieve_many(QUESTIONS, strategy, k=3, candidates=6)
    assert calls == Counter()


COSTS_BEHIND_A_CLIENT = [
    # strategy, searches, fetches: titles, headings and lines come with the rows that say which leaves are current
    (Vector(), 1, 0),
    (SentenceWindow(base=Vector()), 1, 1),
    (ParentDocument(base=Vector(), level=None), 1, 1),
    (MultiQuery(base=Vector(), phrasings=QUESTIONS), 1, 0),
    (BM25(), 0, 1),
    (Browse(), 0, 1),
]


@pytest.fixture(scope="module")
def remote() -> Iterator[Index]:
    """The corpus behind a client, with its words read already."""
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    with Index.open(client=client, name="trips", splitter=HierarchicalSplitter(12, (40,))) as opened:
        opened.add(DOCUMENTS)
        opened.retrieve(QUESTIONS[0], BM25())
        yield opened


@pytest.mark.parametrize(("strategy", "searches", "fetches"), COSTS_BEHIND_A_CLIENT, ids=repr)
def test_what_results_carry_costs_no_round_trip_behind_a_client(remote: Index, calls, strategy, searches, fetches):
    calls.clear()
    found = remote.retrieve(QUESTIONS[0], strategy, k=3)
    assert all(passage.title and passage.lines for passage in found)
    leaves = {("trips.leaves", "query"): searches, ("trips.leaves", "get"): fetches}
    assert calls == +Counter({**leaves, ("trips.manifest", "get"): 1})


@pytest.mark.usefixtures("leaves_from_chroma")
def test_nothing_is_fetched_where_nothing_is_missing(index: Index, calls):
    index.retrieve(QUESTIONS[0], BM25())
    calls.clear()
    index.retrieve(QUESTIONS[0], AutoMerging(base=Vector(), threshold=1))
    assert calls == traffic(1)
    calls.clear()
    index.retrieve(QUESTIONS[0], AutoMerging(threshold=1, fill_gaps=0))
    assert calls == traffic(1)
