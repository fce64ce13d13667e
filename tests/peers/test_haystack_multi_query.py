"""Multi-query beside Haystack's MultiQueryTextRetriever and MultiQueryEmbeddingRetriever, over the same leaves."""

import numpy as np
import pytest
from haystack import Document as HaystackDocument
from haystack import component
from haystack.components.retrievers import MultiQueryEmbeddingRetriever, MultiQueryTextRetriever
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Strategy, Vector
from leafspan.strategies import LoadedVectorSearch, MultiQuery, RetrievalContext
from leafspan.values import Query
from tests.profiles import examples
from tests.word_trees import hit, tree

LEAVES = tree(*[5] * 6)
BY_ID = {leaf.id: leaf for leaf in LEAVES}
ALL = RetrievalContext(len(LEAVES))

WORDS = ["harbour", "pier", "oak", "salt", "timber", "herring", "railway", "keeper", "gas", "bees", "queen", "tea", "water"]
TEXTS = [
    " ".join(WORDS[(3 * number + step * (1 + number % 4)) % len(WORDS)] for step in range(4 + number % 5))
    for number in range(30)
]


@component
class Vectors:
    """An embedder that knows the vectors of the questions, by their names."""

    def __init__(self, vectors):
        self.vectors = vectors

    @component.output_types(embedding=list[float])
    def run(self, text: str):
        return {"embedding": self.vectors[text]}


def store_of(vectors):
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(
        [
            HaystackDocument(id=leaf.id, content=text, embedding=vector)
            for leaf, text, vector in zip(LEAVES, TEXTS, vectors, strict=True)
        ]
    )
    return store


def with_vectors(strategy, query, stored):
    """What the strategy finds, whose one search is answered exactly."""
    asking = strategy.retrieve([query], ALL)
    request = next(asking)
    assert isinstance(request, LoadedVectorSearch)
    asked, stored = np.asarray(request.vectors, dtype=float), np.asarray(stored)
    cosines = asked @ stored.T / np.outer(np.linalg.norm(asked, axis=1), np.linalg.norm(stored, axis=1))
    rows = [
        sorted((hit(leaf, float(score)) for leaf, score in zip(LEAVES, row, strict=True)), key=lambda found: found.order)
        for row in cosines
    ]
    with pytest.raises(StopIteration) as stop:
        asking.send([row[: request.count] for row in rows])
    return stop.value.value[0]


@examples(40)
@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 30))
def test_the_maximum_over_vectors_gives_the_order_and_scores_of_haystack(seed, questions, top_k):
    random = np.random.default_rng(seed)
    stored = random.normal(size=(len(LEAVES), 6)).tolist()
    asked = {f"q{number}": random.normal(size=6).astype(np.float32).astype(float).tolist() for number in range(questions)}
    retriever = InMemoryEmbeddingRetriever(store_of(stored), top_k=top_k)
    theirs = MultiQueryEmbeddingRetriever(retriever=retriever, query_embedder=Vectors(asked)).run(list(asked))["documents"]

    first, *_ = asked.values()
    strategy = MultiQuery(base=Vector(k=top_k), phrasings=[*asked.values()], fusion="maximum")
    ours = with_vectors(strategy, Query(vector=tuple(first)), stored)
    assert [found.leaf.id for found in ours] == [document.id for document in theirs]
    assert [found.score for found in ours] == pytest.approx([document.score for document in theirs], abs=1e-6)


class OfHaystack(Strategy):
    """A text retriever of Haystack as a base."""

    def __init__(self, retriever):
        self.retriever = retriever

    def retrieve(self, queries, context):
        yield from ()
        rows = [self.retriever.run(query=query.text)["documents"] for query in queries]
        return [[hit(BY_ID[document.id], document.score) for document in row] for row in rows]


QUESTIONS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=3, unique=True).map(" ".join), min_size=1, max_size=4, unique=True
)


@examples(40)
@given(QUESTIONS, st.integers(1, 30))
def test_the_maximum_over_texts_gives_the_scores_of_haystack(questions, top_k):
    retriever = InMemoryBM25Retriever(store_of([None] * len(LEAVES)), top_k=top_k)
    theirs = MultiQueryTextRetriever(retriever=retriever).run(questions)["documents"]

    asking = MultiQuery(base=OfHaystack(retriever), phrasings=questions, fusion="maximum").retrieve(
        [Query(questions[0])], ALL
    )
    with pytest.raises(StopIteration) as stop:
        next(asking)
    ours = stop.value.value[0]
    scores = {document.id: document.score for document in theirs}
    assert {found.leaf.id: found.score for found in ours} == scores
    # Theirs has equal scores as they came; ours in the order of documents and then of the text.
    in_order = sorted(theirs, key=lambda document: (-document.score, BY_ID[document.id].ordinal))
    assert [found.leaf.id for found in ours] == [document.id for document in in_order]
