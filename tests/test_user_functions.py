"""If a user's function fails or returns nonsense, the error names it, its argument and its own error."""

from __future__ import annotations

import asyncio
import functools
import pickle
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafspan import (
    Budget,
    ChunkSplitter,
    Document,
    Embedder,
    Index,
    InvalidArgument,
    MultiQuery,
    Rerank,
    RewriteQuery,
    Router,
    Vector,
    WriterBusy,
)
from leafspan.checks import name_of
from leafspan.checks._user_functions import beginning
from leafspan.embedding import check_vectors
from leafspan.errors import FunctionFailed, LeafspanError, SourceFailed, UnusableResult
from leafspan.private import Key, Vault, private_view
from leafspan.splitting import Cut
from leafspan.trees import Abstractive
from tests.corpus import SPLITTER
from tests.profiles import paired

BEES = Document("bees", "Workers dance to show where flowers are. Karl von Frisch decoded the dance.")
HERE = r"tests\.test_user_functions\.\S*"


def two_numbers(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0] for text in texts]


def boom(*_: Any) -> Any:
    raise OSError("boom")


def whole(text: str) -> list[Cut]:
    return [Cut(len(text))]


@pytest.fixture
def bees(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(BEES)
        yield index


def opened(folder: Path, **options: Any) -> Index:
    return Index.open(folder / "kb", **options)


# Names and texts


def test_functions_are_called_by_their_qualified_names():
    class Caller:
        def __call__(self, text: str) -> str:
            return text

        def method(self, text: str) -> str:
            return text

    here = "tests.test_user_functions.test_functions_are_called_by_their_qualified_names.<locals>"
    assert name_of(boom) == "tests.test_user_functions.boom"
    assert name_of(Caller()) == f"{here}.Caller"
    assert name_of(Caller().method) == f"{here}.Caller.method"
    assert name_of(functools.partial(functools.partial(boom, 1), 2)) == "tests.test_user_functions.boom"
    assert name_of(functools.partial(Caller().method)) == f"{here}.Caller.method"
    assert name_of(lambda: None) == f"{here}.<lambda>"
    assert name_of(len) == "builtins.len"
    assert name_of("a name") == "a name"


def test_a_text_is_shown_by_its_beginning_on_one_line():
    assert beginning("short") == "'short'"
    assert beginning("two\n  lines") == "'two lines'"
    assert beginning("word " * 100) == repr("word " * 11 + "wo...")
    assert beginning(" " * 1_000) == "'...'"
    assert beginning(3) == "3"


# Splitters


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (
            boom,
            r"the splitter tests\.test_user_functions\.boom failed with OSError: boom; it was given document 'bees', 'Workers",
        ),
        (lambda text: None, rf"the splitter {HERE} must return a list of Cuts of whole numbers, got None"),
        (lambda text: "abc", r"must return a list of Cuts of whole numbers, got 'abc'"),
        (lambda text: [len(text)], r"must return a list of Cuts of whole numbers, got 75"),
        (lambda text: [Cut(75.0)], r"must return a list of Cuts of whole numbers, got Cut\(end=75\.0, level=0\)"),
        (lambda text: [Cut(True)], r"must return a list of Cuts of whole numbers, got Cut\(end=True, level=0\)"),
        (lambda text: [Cut(75, None)], r"must return a list of Cuts of whole numbers, got Cut\(end=75, level=None\)"),
        (lambda text: iter([Cut(75)]), r"must return a list of Cuts of whole numbers, got <list_iterator"),
    ],
    ids=["raises", "nothing", "text", "numbers", "float", "bool", "no level", "iterator"],
)
def test_a_splitter(tmp_path: Path, split: Callable[[str], Any], message: str):
    with opened(tmp_path, splitter=split) as index, pytest.raises(FunctionFailed, match=message) as caught:
        index.add([BEES])
    assert caught.value.__notes__ == ["stored 0 of 1 document; add the same again to go on"]


def test_a_splitter_may_return_numbers_of_numpy(tmp_path: Path):
    with opened(tmp_path, splitter=lambda text: [Cut(np.int64(10)), Cut(np.int64(len(text)), np.int32(0))]) as index:
        index.add([BEES])
        assert [(leaf.start, leaf.end) for leaf in index.leaves()] == [(0, 10), (10, 75)]


@pytest.mark.parametrize(
    ("split", "message"),
    [
        (boom, "the splitter words failed with OSError: boom; it was given 'Workers dance"),
        (lambda text: None, "the splitter words must return a list of texts, got None; it was given 'Workers dance"),
        (lambda text: text, "the splitter words must return a list of texts, got 'Workers dance"),
        (lambda text: [text, None], "the splitter words must return a list of texts, got None"),
    ],
    ids=["raises", "nothing", "text", "no text"],
)
def test_a_function_that_cuts_into_chunks(tmp_path: Path, split: Callable[[str], Any], message: str):
    with opened(tmp_path, splitter=ChunkSplitter(split, "words")) as index, pytest.raises(FunctionFailed, match=message):
        index.add(BEES)


# Embedders


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        (lambda texts: None, r"must give vectors of shape \(1, dimension\), got \(\)"),
        (lambda texts: [[1.0, None]] * len(texts), "must give finite numbers, got nan"),
        (lambda texts: [["1", "2"]] * len(texts), "must give vectors of numbers, got"),
        (lambda texts: [[True, False]] * len(texts), "must give vectors of numbers, got"),
        (lambda texts: [[1j, 2]] * len(texts), "must give vectors of numbers, got"),
        (lambda texts: [[1.0], [1.0, 2.0]], "must give vectors of numbers of one length"),
        (lambda texts: [[1e300, 1.0]] * len(texts), "must give finite numbers, got inf"),
        (lambda texts: [[10**400, 1]] * len(texts), "must give vectors of numbers of one length"),
        (lambda texts: [[-np.inf, 1]] * len(texts), "must give finite numbers, got -inf"),
        (lambda texts: [], r"must give vectors of shape \(1, dimension\), got \(0,\)"),
        (lambda texts: [[]] * len(texts), r"must give vectors of shape \(1, dimension\), got \(1, 0\)"),
        (lambda texts: 5, r"must give vectors of shape \(1, dimension\), got \(\)"),
    ],
)
def test_what_an_embedder_returns(tmp_path: Path, vectors: Callable[[list[str]], Any], message: str):
    with opened(tmp_path, embedder=vectors, embedding_cache=False) as index, pytest.raises(UnusableResult, match=message):
        index.add(BEES)


BAD_VECTORS = {
    "nan": [float("nan"), 1.0],
    "infinite": [float("inf"), 1.0],
    "nothing": None,
    "nothing within": [1.0, None],
    "shorter": [1.0],
    "longer": [1.0, 2.0, 3.0],
    "empty": [],
    "text": ["1", "2"],
    "a number": 1.0,
    "a list of lists": [[1.0], [2.0]],
    "too large": [10**400, 1],
    "too large for 32 bits": [1e300, 1.0],
}


@pytest.mark.parametrize("bad", BAD_VECTORS.values(), ids=BAD_VECTORS)
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("dimension", [None, 2])
def test_a_vector_that_is_not_usable_names_its_text(bad: Any, place: int, dimension: int | None):
    vectors: list[Any] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    vectors[place] = bad
    with pytest.raises(
        UnusableResult, match=f"the embedder model must give .*; it was given text {place + 1} of 3, 't{place}'"
    ):
        check_vectors(vectors, ["t0", "t1", "t2"], name="model", dimension=dimension)


@pytest.mark.parametrize(("how", "bad"), paired([*product([True, False], repeat=3)], [[float("nan"), 1.0], None, [1.0]]))
def test_a_document_or_question_whose_vector_is_not_usable_is_named(tmp_path: Path, how: tuple[bool, bool, bool], bad: Any):
    cache, local, awaited = how

    def embed(texts: list[str]) -> Any:
        return [bad if "Ants" in text else vector for text, vector in zip(texts, two_numbers(texts), strict=True)]

    def run(of_index: Any, name: str, *arguments: Any) -> Any:
        return asyncio.run(getattr(of_index, f"a{name}")(*arguments)) if awaited else getattr(of_index, name)(*arguments)

    embedder = Embedder("model", embed, embed, local=local)
    with opened(tmp_path, embedder=embedder, embedding_cache=cache) as index:
        index.add(BEES)
        with pytest.raises(UnusableResult, match=r"it was given text 2 of 3, 'Ants walk\.'"):
            run(index, "add", [Document(text[:4], text) for text in ("Wasps fly.", "Ants walk.", "Flies buzz.")])
        with pytest.raises(UnusableResult, match="it was given text 2 of 2, 'Do Ants dance"):
            run(index, "retrieve_many", ["Who dances?", "Do Ants dance?"], Vector())


def test_an_embedder_of_questions(tmp_path: Path):
    working = [True]

    def embed(texts: list[str]) -> Any:
        return two_numbers(texts) if working[0] else boom()

    with opened(tmp_path, embedder=embed, embedding_cache=False) as index:
        index.add(BEES)
        working[0] = False
        with pytest.raises(
            FunctionFailed, match=r"the embedder \S*embed failed with OSError: boom; it was given 'Who dances\?'"
        ) as caught:
            index.retrieve("Who dances?", Vector())
        assert isinstance(caught.value.__cause__, OSError)
        with pytest.raises(FunctionFailed, match="failed with OSError: boom"):
            asyncio.run(index.aretrieve("Who dances?", Vector()))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()], ids=repr)
def test_what_is_no_exception_passes(tmp_path: Path, error: BaseException):
    def embed(texts: list[str]) -> Any:
        raise error

    with opened(tmp_path, embedder=embed, embedding_cache=False) as index, pytest.raises(type(error)) as caught:
        index.add(BEES)
    assert caught.value is error


def test_an_error_of_leafspans_passes_as_it_is(tmp_path: Path):
    error = WriterBusy("another one")

    def split(text: str) -> Any:
        raise error

    with opened(tmp_path, splitter=split) as index, pytest.raises(WriterBusy) as caught:
        index.add(BEES)
    assert caught.value is error


def test_what_was_stored_before_is_said_and_kept(tmp_path: Path, monkeypatch):
    def split(text: str) -> list[Cut]:
        return boom() if "third" in text else whole(text)

    documents = [Document(name, f"The {name} one.") for name in ("first", "second", "third", "fourth")]
    with opened(tmp_path, splitter=split) as index:
        monkeypatch.setattr(index._store, "batch", 1)
        with pytest.raises(FunctionFailed, match="it was given document 'third', 'The third one") as caught:
            index.add(documents)
        assert caught.value.__notes__ == ["stored 1 of 4 documents; add the same again to go on"]
        assert [info.id for info in index.documents()] == ["first"]


# Counters, clusterers, analyzers


@pytest.mark.parametrize(
    ("count", "message"),
    [
        (boom, "count of the budget, .*boom failed with OSError: boom; it was given '(Workers|Karl)"),
        (lambda text: None, "count of the budget, .* must return a whole number >= 0 .*, got None; it was given"),
        (lambda text: "3", "must return a whole number >= 0 .*, got '3'"),
        (lambda text: -1, "must return a whole number >= 0 .*, got -1"),
        (lambda text: True, "must return a whole number >= 0 .*, got True"),
        (lambda text: [1, 2], r"must return a whole number >= 0 .*, got \[1, 2\]"),
    ],
)
def test_a_counter_of_tokens(bees: Index, count: Callable[[str], Any], message: str):
    with pytest.raises(FunctionFailed, match=message):
        bees.retrieve("dance", budget=Budget(10, count=count))


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (boom, r"the clusterer \S*boom failed with OSError: boom; it was given 2 texts, the first 'Workers"),
        (lambda vectors, sizes, most: None, "must return clusters as lists of places, got None; it was given 2 texts"),
        (
            lambda vectors, sizes, most: [[0]],
            "must return clusters of all texts: every place must be in a cluster, got none for 1",
        ),
        (lambda vectors, sizes, most: [["a", 1]], "must return clusters of all texts: a place must be a whole number"),
    ],
)
def test_a_clusterer(tmp_path: Path, cluster: Callable[..., Any], message: str):
    with opened(tmp_path, splitter=lambda text: [Cut(41), Cut(len(text))]) as index:
        index.add(BEES)
        with pytest.raises(FunctionFailed, match=message):
            index.build_tree(clusterer=cluster)


def test_an_analyzer_that_fails_on_a_text(tmp_path: Path):
    def analyze(text: str) -> list[str]:
        return boom() if "Karl" in text else text.split()

    with opened(tmp_path, analyzer=analyze) as index:
        index.add(BEES)
        with pytest.raises(
            FunctionFailed, match=r"the analyzer \S*analyze failed with OSError: boom; it was given '.*Karl"
        ):
            index.retrieve("dance")


# Functions of strategies


def scores(question: str, texts: list[str]) -> list[float]:
    return [1.0] * len(texts)


async def later(*_: Any) -> str:
    return "bees"


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (Rerank(rerank=lambda *_: later()), "rerank must not return a coroutine: give the coroutine function as arerank"),
        (RewriteQuery(how=lambda _: later()), "how must not return a coroutine: give the coroutine function as ahow"),
        (RewriteQuery(generate=lambda _: later()), "generate must not return a coroutine: give .* as agenerate"),
        (MultiQuery(generate=lambda _: later()), "generate must not return a coroutine: give .* as agenerate"),
        (
            Router(retrievers={"a": Vector()}, choose=lambda _: later()),
            "choose must not return a coroutine: give .* as achoose",
        ),
    ],
    ids=["rerank", "how", "generate", "phrasings", "choose"],
)
def test_a_function_that_should_be_awaited(bees: Index, strategy: Any, message: str):
    with pytest.raises(InvalidArgument, match=message):
        bees.retrieve("Who dances?", strategy)


def test_a_summarizer_that_should_be_awaited(bees: Index):
    [failed] = bees.build_tree(summarizer=Abstractive(generate=lambda _: later(), retries=0)).failed[:1] or [None]
    assert failed is None or "generate must not return a coroutine" in str(failed.error)


@pytest.mark.parametrize("chosen", ["b", 3, ["a", "b"], [[]], {"a": 1}, True, object()])
def test_a_choice_that_is_no_name_is_refused(bees: Index, chosen: Any):
    router = Router(retrievers={"a": Vector(), "bees": Vector()}, choose=lambda _: chosen)
    message = f"choose must return a name, a list of names or None, with names among 'a', 'bees'; it returned {chosen!r}"
    with pytest.raises(UnusableResult, match=re.escape(message)):
        bees.retrieve("Who dances?", router)


def two(first: str, second: str) -> str:
    return first


def none() -> str:
    return ""


@pytest.mark.parametrize("function", [two, none, lambda *, question: "a", functools.partial(whole, "x")])
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("choose", lambda function: Router(retrievers={"a": Vector()}, choose=function)),
        ("achoose", lambda function: Router(retrievers={"a": Vector()}, choose=str, achoose=function)),
        ("generate", lambda function: Router(retrievers={"a": Vector()}, descriptions={"a": "b"}, generate=function)),
        ("generate", lambda function: MultiQuery(generate=function)),
        ("generate", lambda function: RewriteQuery(generate=function)),
        ("how", lambda function: RewriteQuery(how=function)),
    ],
)
def test_a_function_that_cannot_take_its_argument_is_refused_before_it_is_called(
    name: str, make: Callable[[Any], Any], function: Any
):
    with pytest.raises(InvalidArgument, match=rf"{name} must be callable with 1 argument, got .*, which takes \("):
        make(function)


@pytest.mark.parametrize("function", [str, len, lambda *texts: "a", functools.partial(two, "a"), whole])
def test_any_callable_that_can_take_the_argument_is_accepted(function: Any):
    assert Router(retrievers={"a": Vector()}, choose=function).choose is function
    with pytest.raises(InvalidArgument, match="rerank must be callable with 2 arguments, got"):
        Rerank(rerank=whole)


# Private views


def test_nothing_of_a_text_is_quoted_in_a_private_view(tmp_path: Path):
    def embed(texts: list[str]) -> Any:
        if any("hon" in text for text in texts):
            raise ValueError(f"I cannot read {texts[0]}")
        return two_numbers(texts)

    vault = Vault.open(tmp_path / "vault", Key("0123456789abcdefghijklmnopqrstuvwxyz"))
    with opened(tmp_path, embedder=embed, embedding_cache=False) as index:
        private = private_view(index, vault, finder=lambda text: [], known={"PERSON": ["Alice Smith"]})
        with pytest.raises(FunctionFailed) as caught:
            private.add(Document("a", "Alice Smi and Alice Smith like honey."))
    assert str(caught.value).startswith("the embedder")
    assert "failed with ValueError" in str(caught.value)
    assert "Alice" not in str(caught.value)
    assert "honey" not in str(caught.value)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_the_errors_can_be_sent_to_another_process():
    for error in (FunctionFailed("what", "less"), UnusableResult("what", "less"), SourceFailed("what")):
        assert str(pickle.loads(pickle.dumps(error))) == "what"
        assert isinstance(error, LeafspanError)
