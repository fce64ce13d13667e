from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import wordllama
from chromadb import EmbeddingFunction
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from llama_index.core.embeddings import BaseEmbedding

from leafspan import Document, Embedder, Index, InvalidArgument, MissingExtra, Vector
from leafspan.embedding import blend, default_embedder, to_embedder
from leafspan.embedding._named import _loaded_word_llama
from leafspan.errors import IndexMismatch
from tests.profiles import examples


def vector(text: str, dimension: int = 16) -> list[float]:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])
    return np.random.default_rng(seed).standard_normal(dimension).tolist()


class InLangChain(Embeddings):
    def embed_documents(self, texts):
        return [vector(text) for text in texts]

    def embed_query(self, text):
        return vector(text)


class AsyncInLangChain(InLangChain):
    called = 0

    async def aembed_query(self, text):
        type(self).called += 1
        return vector(text)


class InLlamaIndex(BaseEmbedding):
    def _get_text_embedding(self, text):
        return vector(text)

    def _get_query_embedding(self, query):
        return vector(query)

    async def _aget_query_embedding(self, query):
        return vector(query)


class InChroma(EmbeddingFunction):
    def __init__(self):
        pass

    def __call__(self, input):
        return [np.array(vector(text)) for text in input]

    @staticmethod
    def name():
        return "in-chroma"

    def get_config(self):
        return {}

    @staticmethod
    def build_from_config(config):
        return InChroma()


def as_function(texts):
    return [vector(text) for text in texts]


@pytest.mark.parametrize(
    "made_with",
    [InLangChain(), InLlamaIndex(), InChroma(), as_function],
    ids=lambda e: str(getattr(e, "__name__", type(e).__name__)),
)
def test_an_index_can_be_made_through_one_wrapper_of_a_model_and_read_through_another(tmp_path: Path, made_with):
    with Index.open(tmp_path, embedder=made_with) as index:
        index.add([Document("a", "One."), Document("b", "Two.")])
    for read_with in (InLangChain(), InLlamaIndex(), InChroma(), as_function):
        with Index.open(tmp_path, embedder=read_with) as index:
            assert index.retrieve("Two.", Vector())[0].document_id == "b"
            assert index.retrieve("Two.", Vector())[0].score == pytest.approx(1, abs=1e-5)


async def test_asynchronous_embedders_are_awaited(tmp_path: Path):
    model = AsyncInLangChain()
    index = await Index.aopen(tmp_path, embedder=model)
    await index.aadd(Document("a", "One."))
    await index.aretrieve("One.")
    assert model.called == 1


@pytest.mark.parametrize("other", [None, DeterministicFakeEmbedding(size=16), lambda texts: [vector(t, 8) for t in texts]])
def test_another_model_is_refused_naming_both(tmp_path: Path, other):
    with Index.open(tmp_path, embedder=as_function) as index:
        index.add(Document("a", "One."))
    with Index.open(tmp_path, embedder=other) as index:
        with pytest.raises(
            IndexMismatch, match=r"made with the embedder as_function \(16 dimensions\), it cannot go on with"
        ):
            index.retrieve("question")
        with pytest.raises(
            IndexMismatch, match=r"whose vectors differ: open the index with embedder= .* the one it was made with"
        ):
            index.add(Document("b", "Two."))
        # What needs no embedder works all the same.
        assert index.get("a").text == "One."
        assert index.delete(["a"]) == ["a"]


@pytest.mark.parametrize(
    ("embed", "message"),
    [
        (lambda texts: [vector(t) for t in texts][1:], r"must give vectors of shape \(1, dimension\), got \(0,\)"),
        (lambda texts: [[float("nan")] * 4 for _ in texts], "must give finite numbers, got nan"),
        (lambda texts: ["abc" for _ in texts], "must give vectors of numbers"),
        (lambda texts: [vector(t) for t in texts] * 2, r"must give vectors of shape \(1, dimension\), got \(2, 16\)"),
        (lambda texts: np.zeros((len(texts), 2, 2)), r"must give vectors of shape \(1, dimension\), got \(1, 2, 2\)"),
    ],
)
def test_what_is_no_matrix_of_numbers_is_refused(tmp_path: Path, embed, message):
    with Index.open(tmp_path, embedder=embed) as index:
        with pytest.raises(InvalidArgument, match=message):
            index.add(Document("a", "One."))
        assert index.count() == 0


def test_what_cannot_embed_is_refused(tmp_path: Path):
    with pytest.raises(InvalidArgument, match=r"an embedder must be a name, a LangChain Embeddings, .* got int"):
        Index.open(tmp_path, embedder=5)
    assert isinstance(to_embedder(default_embedder()), Embedder)


def test_the_default_embedder_gives_unit_vectors_and_zero_for_nothing():
    lengths = np.linalg.norm(default_embedder().documents(["one text", "another", ""]), axis=1)
    assert lengths == pytest.approx([1, 1, 0], abs=1e-5)


def test_a_missing_default_embedder_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "wordllama", None)
    _loaded_word_llama.cache_clear()
    message = r'pip install "wordllama>=0\.4,<0\.5", or open the index with embedder='
    with Index.open(tmp_path) as index, pytest.raises(MissingExtra, match=message):
        index.add(Document("a", "One."))


def test_a_default_embedder_without_its_model_says_which_file_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "wordllama").mkdir()
    (tmp_path / "wordllama/__init__.py").touch()
    monkeypatch.delitem(sys.modules, "wordllama", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    _loaded_word_llama.cache_clear()
    with pytest.raises(MissingExtra, match=r"not complete: '.*l2_supercat_tokenizer_config\.json' is missing: pip install"):
        default_embedder().documents(["One."])


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200) | st.sampled_from(["one " * 700, "\0", "🙂🙂", "﷽"])


@examples(100, fast=8)
@given(st.lists(TEXTS, max_size=5), st.booleans())
def test_the_default_embedder_gives_what_wordllama_does(texts: list[str], many: bool):
    texts = texts * 40 if many else texts
    theirs = wordllama_itself().embed(texts, norm=False)
    assert (_loaded_word_llama().means(texts) == np.nan_to_num(theirs)).all()


@cache
def wordllama_itself():
    return wordllama.WordLlama.load(cache_dir=Path(wordllama.__file__).parent, disable_download=True)


def test_an_instruction_stands_before_the_query(tmp_path: Path):
    seen = []

    def listening(texts):
        seen.extend(texts)
        return as_function(texts)

    with Index.open(tmp_path, embedder=listening) as index:
        index.add(Document("a", "One."))
        index.retrieve("question", Vector(instruction="query: "))
    assert seen[-1] == "query: question"


def test_a_leafs_vector_is_drawn_towards_its_title_and_headings(tmp_path: Path):
    with Index.open(tmp_path, embedder=as_function, title_weight=0.5) as index:
        index.add([Document("a", "# Part\n\nOne.", "Title"), Document("b", "Two.")])
        assert index.retrieve("question", where=None)
        leaves = index.client.get_collection("kb.leaves", embedding_function=None)
        stored = leaves.get(include=["embeddings", "documents"])
        by_text = dict(zip(stored["documents"], stored["embeddings"], strict=True))
    wanted = unit(unit(vector("# Part\n\nOne.")) + 0.5 * unit(vector("Title\nPart")))
    assert by_text["# Part\n\nOne."] == pytest.approx(wanted, abs=1e-6)
    assert by_text["Two."] == pytest.approx(unit(vector("Two.")), abs=1e-6)


def test_a_weight_of_zero_leaves_titles_out(tmp_path: Path):
    seen = []

    def listening(texts):
        seen.extend(texts)
        return as_function(texts)

    with Index.open(tmp_path, embedder=listening, title_weight=0) as index:
        index.add(Document("a", "One.", "Title"))
    assert "Title" not in seen
    with pytest.raises(IndexMismatch, match=r"made with title_weight=0\.0, it cannot go on with 0\.3"):
        Index.open(tmp_path, title_weight=0.3)
    with pytest.raises(InvalidArgument, match="title_weight must be a number >= 0, got -1"):
        Index.open(tmp_path / "other", title_weight=-1)


def test_blending_leaves_vectors_of_length_zero_alone():
    blended = blend([[0.0, 0.0], [3.0, 0.0], [0.0, 2.0]], [[0.0, 5.0]], [None, 0, None], 1.0)
    assert blended == pytest.approx(np.array([[0, 0], [0.5**0.5, 0.5**0.5], [0, 1]]))


def unit(numbers) -> np.ndarray:
    return np.array(numbers) / np.linalg.norm(numbers)
