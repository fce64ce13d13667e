"""Maximal marginal relevance beside LangChain's and LlamaIndex's, and a whole search beside LangChain's over Chroma."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from langchain_chroma import Chroma
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores.utils import maximal_marginal_relevance as langchains
from llama_index.core.indices.query.embedding_utils import get_top_k_mmr_embeddings as llamaindexs

from leafspan import Index, Rerank, Vector
from leafspan.embedding import default_embedder
from leafspan.strategies._rerank import maximal_marginal_relevance
from tests.corpus import QUESTIONS
from tests.profiles import examples

rows = st.lists(st.tuples(*[st.floats(-1, 1, width=16)] * 4), min_size=1, max_size=10, unique=True)
shares = st.floats(0.01, 0.99)


def cosines(query, vectors):
    matrix = np.asarray(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
    return matrix @ (np.asarray(query) / np.linalg.norm(query))


@given(rows, st.tuples(*[st.floats(-1, 1, width=16)] * 4), shares)
@examples(300)
def test_the_order_is_langchains(vectors, query, diversity):
    assume(np.linalg.norm(query) > 0.1 and np.linalg.norm(vectors, axis=1).min() > 0.1)
    ours = maximal_marginal_relevance(cosines(query, vectors), vectors, diversity=diversity)
    theirs = langchains(np.array(query), [np.array(row) for row in vectors], lambda_mult=1 - diversity, k=len(vectors))
    assume(not _has_ties(query, vectors, diversity, theirs))
    assert [each.place for each in ours] == theirs


def _has_ties(query, vectors, diversity, order):
    """Whether the next best one is so close somewhere that rounding may decide."""
    relevance, matrix = cosines(query, vectors), np.asarray(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
    alike = matrix @ matrix.T
    for step in range(len(order) - 1):
        left = order[step:]
        values = sorted(
            (1 - diversity) * relevance[place]
            - (diversity * max(alike[place][before] for before in order[:step]) if step else 0)
            for place in left
        )
        if values[-1] - values[-2] < 1e-9:
            return True
    return False


@given(rows, st.tuples(*[st.floats(-1, 1, width=16)] * 4), shares)
@examples(200)
def test_the_first_two_are_llamaindexs_which_then_looks_at_the_last_one_only(vectors, query, diversity):
    assume(np.linalg.norm(query) > 0.1 and np.linalg.norm(vectors, axis=1).min() > 0.1)
    ours = maximal_marginal_relevance(cosines(query, vectors), vectors, diversity=diversity, count=2)
    _, theirs = llamaindexs(list(query), [list(row) for row in vectors], mmr_threshold=1 - diversity, similarity_top_k=2)
    assume(not _has_ties(query, vectors, diversity, [each.place for each in ours][:1] + _rest(ours, vectors)))
    assert [each.place for each in ours] == theirs


def _rest(chosen, vectors):
    first = chosen[0].place
    second = [each.place for each in chosen[1:]]
    return second + [place for place in range(len(vectors)) if place != first and place not in second]


class Bundled(Embeddings):
    def embed_documents(self, texts):
        return default_embedder().documents(texts).tolist()

    def embed_query(self, text):
        return self.embed_documents([text])[0]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("diversity", [0.2, 0.5, 0.8])
def test_a_search_of_diverse_leaves_finds_what_langchains_search_of_chroma_finds(
    shared_index: Index, question: str, diversity: float
):
    store = Chroma(client=shared_index.client, collection_name="kb.leaves", embedding_function=Bundled())
    theirs = store.max_marginal_relevance_search(question, k=6, fetch_k=20, lambda_mult=1 - diversity)
    ours = shared_index.retrieve(question, Rerank(base=Vector(), diversity=diversity), k=6, candidates=20)
    assert {passage.id for passage in ours} == {document.id for document in theirs}  # it returns them as they were found
