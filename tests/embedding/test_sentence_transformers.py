"""Models with ``encode``, like sentence-transformers, tested with fakes of the same shape."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from leafspan import Document, Index, InvalidArgument, Vector
from leafspan.embedding import to_embedder
from tests.embedding.test_embedding import vector


class Module:
    """As torch's: calling it is something else than embedding."""

    def __call__(self, features):
        raise TypeError("forward() takes tokens")


class SentenceTransformer(Module):
    """Version 5: with methods for texts and questions."""

    def __init__(self, base: str = "all-MiniLM-L6-v2") -> None:
        self.model_card_data = SimpleNamespace(base_model=base)
        self.prompts = {"query": "query: ", "document": ""}

    def encode(self, sentences, prompt_name=None, **kwargs):
        raise AssertionError("texts and questions have methods of their own")

    def encode_document(self, sentences, **kwargs):
        return np.array([vector(text) for text in sentences], dtype=np.float32)

    def encode_query(self, sentences, **kwargs):
        return np.array([vector(f"query: {text}") for text in sentences], dtype=np.float32)


class Older(Module):
    """Version 3: with one method, and prompts that are named."""

    def __init__(self, **prompts: str) -> None:
        self.prompts = prompts

    def encode(self, sentences, prompt_name=None, **kwargs):
        prompt = self.prompts[prompt_name] if prompt_name else ""
        return np.array([vector(prompt + text) for text in sentences])


class Tensor:
    """A tensor of torch on a graphics card; numpy can make no array of it."""

    def __init__(self, numbers) -> None:
        self.numbers = numbers

    def __array__(self, *_, **__):
        raise TypeError("can't convert cuda tensor to numpy")

    def detach(self):
        return self

    cpu = float = detach

    def numpy(self):
        return np.array(self.numbers)


class Static:
    """As model2vec's: it cannot be called, and has no prompts."""

    def __init__(self, kind) -> None:
        self.kind = kind

    def encode(self, sentences, **kwargs):
        return self.kind([vector(text) for text in sentences])


def test_an_index_takes_a_model_with_encode(tmp_path: Path):
    with Index.open(tmp_path, embedder=SentenceTransformer()) as index:
        index.add([Document("a", "One."), Document("b", "query: Two."), Document("c", "Three.")])
        assert index.stats().embedder == "SentenceTransformer(all-MiniLM-L6-v2)"
        found = index.retrieve("Two.", Vector(), k=1)[0]
    assert (found.document_id, found.score) == ("b", pytest.approx(1, abs=1e-5))


def test_texts_and_questions_go_to_their_own_methods():
    embedder = to_embedder(SentenceTransformer())
    assert embedder.documents(["x"])[0] == pytest.approx(vector("x"), abs=1e-6)
    assert embedder.queries(["x"])[0] == pytest.approx(vector("query: x"), abs=1e-6)


@pytest.mark.parametrize(
    ("prompts", "document", "query"),
    [
        ({"query": "Q: ", "passage": "P: "}, "P: x", "Q: x"),
        ({"query": "Q: ", "document": ""}, "x", "Q: x"),
        ({}, "x", "x"),
    ],
)
def test_an_older_model_gets_the_names_of_its_prompts(prompts, document, query):
    embedder = to_embedder(Older(**prompts))
    assert embedder.documents(["x"])[0] == pytest.approx(vector(document))
    assert embedder.queries(["x"])[0] == pytest.approx(vector(query))


@pytest.mark.parametrize("kind", [np.array, list, Tensor, lambda rows: [Tensor(row) for row in rows]])
def test_vectors_may_be_arrays_or_tensors_or_lists_of_them(tmp_path: Path, kind):
    with Index.open(tmp_path, embedder=Static(kind)) as index:
        index.add([Document("a", "One."), Document("b", "Two.")])
        assert index.retrieve("Two.", Vector(), k=1)[0].document_id == "b"
        assert index.stats().embedder == "Static"


async def test_asyncio_gives_the_same_vectors(tmp_path: Path):
    index = await Index.aopen(tmp_path, embedder=SentenceTransformer())
    await index.aadd([Document("a", "One."), Document("b", "query: Two.")])
    assert (await index.aretrieve("Two.", Vector(), k=1))[0].score == pytest.approx(1, abs=1e-5)


def test_it_is_local():
    assert to_embedder(SentenceTransformer()).local


def test_the_name_of_a_model_is_no_embedder_and_the_error_says_what_is(tmp_path: Path):
    with pytest.raises(
        InvalidArgument,
        match=r"got 'all-MiniLM-L6-v2'; for another model give an object that embeds with it, .* "
        r"SentenceTransformer\(...\) for one from Hugging Face",
    ):
        Index.open(tmp_path, embedder="all-MiniLM-L6-v2")


def test_a_class_is_no_embedder(tmp_path: Path):
    with pytest.raises(InvalidArgument, match="an embedder must be an object, got the class SentenceTransformer: call it"):
        Index.open(tmp_path, embedder=SentenceTransformer)
