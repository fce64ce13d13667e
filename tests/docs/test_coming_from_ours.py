"""docs/coming-from.md names only classes, options and errors of leafspan that exist."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import langchain_ext
import llamaindex_ext
from leafspan import (
    BM25,
    AutoMerging,
    BM25Settings,
    Browse,
    Ensemble,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    ParentDocument,
    SentenceWindow,
    Tree,
    Vector,
    errors,
)
from leafspan.retrieval import CallOptions
from tests import public
from tests.docs.page_of_peers import PROSE, SYSTEMS, at_a_glance, chapter, in_backticks, rows
from tests.public import STRATEGIES

OURS = {
    name: getattr(package, name)
    for package in (errors, *public.WHOLE, langchain_ext, llamaindex_ext)
    for name in getattr(package, "__all__", vars(package))
}
OF_HOSTS = {"similarity_top_k", "filter_policy", "explain", "llm"}


def options_of(thing: Any) -> set[str]:
    parameters = inspect.signature(thing).parameters
    takes_call_options = any("CallOptions" in str(each.annotation) for each in parameters.values())
    return {*parameters, *(CallOptions.__annotations__ if takes_call_options else ())}


def all_options() -> set[str]:
    """The options of calls, of the adapters and of every strategy."""
    strategies = {option for kind in STRATEGIES.values() for option in options_of(kind)}
    return strategies | OF_HOSTS | CallOptions.__annotations__.keys()


def unknown(cell: str) -> list[str]:
    """The names in the column of ours that are neither classes nor options."""
    codes = in_backticks(cell)
    names = [name for code in codes for name in re.findall(r"\b[A-Z]\w+(?=\()|^[A-Z]\w+$", code)]
    options = [code for code in codes if re.fullmatch(r"[a-z]\w+", code)]
    return [each for each in names if each not in OURS] + [each for each in options if each not in all_options()]


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_stands_in_the_column_of_ours_exists(system: str):
    cells = [ours for _, ours, _ in rows(chapter(system))]
    assert len(cells) > 5
    assert [each for cell in cells for each in unknown(cell)] == []


def test_calls_in_the_text_have_options_that_exist():
    theirs = {each for system in SYSTEMS for row in rows(chapter(system)) for each in in_backticks(row[0])}
    known = {"Index.open": Index.open, **OURS}
    calls = [(code, *call) for code in in_backticks(PROSE) if code not in theirs for call in options_in(code)]
    wrong = [code for code, function, option in calls if function in known and option not in options_of(known[function])]
    assert len(calls) > 30
    assert wrong == []


def test_attributes_of_an_index_in_the_text_exist():
    named = [name for code in in_backticks(PROSE) for name in re.findall(r"\b[Ii]ndex\.(\w+)", code)]
    assert len(named) > 4
    assert [name for name in named if not hasattr(Index, name)] == []


def options_in(code: str) -> Iterator[tuple[str, str]]:
    """Each option of each call in a piece of code, with what is called."""
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((ast.unparse(node.func), each.arg) for each in node.keywords if each.arg)


def test_what_does_not_exist_would_be_noticed():
    assert unknown("`Teapot(steep=3)`, `Kettle`, `steep`, `BM25()`, `k`") == ["Teapot", "Kettle", "steep"]
    assert set(options_in("RewriteQuery(base=BM25(scale=True), how='rewrite')")) == {
        ("RewriteQuery", "base"),
        ("BM25", "scale"),
        ("RewriteQuery", "how"),
    }


def test_the_table_at_a_glance_has_each_strategy():
    assert re.search(r"^\| here \| (.*) \|$", PROSE, re.MULTILINE)[1].split(" | ") == list(SYSTEMS)  # type: ignore[index]
    named = {name for ours, _ in at_a_glance() for name in in_backticks(ours)}
    assert named == STRATEGIES.keys() - {"Strategy", "HostRetriever"}


ERRORS = {
    "Haystack: top_k of words": lambda: BM25(k=0),
    "Haystack: top_k of vectors": lambda: Vector(k=0),
    "Haystack: window_size": lambda: SentenceWindow(before=-1),
    "Haystack: threshold": lambda: AutoMerging(threshold=1.5),
    "gllm: one retriever": lambda: Ensemble(retrievers=[Vector()]),
    "gllm: number of weights": lambda: Ensemble(retrievers=[Vector(), BM25()], weights=[1.0]),
    "gllm: weight that is not positive": lambda: Ensemble(retrievers=[Vector(), BM25()], weights=[1.0, 0.0]),
    "gllm: rank_constant": lambda: Ensemble(retrievers=[Vector(), BM25()], rank_constant=-1),
    "gllm: min_candidate": lambda: Ensemble(retrievers=[Vector(), BM25()], min_candidates=0),
    "gllm: parent_top_k": lambda: ParentDocument(max_parents=0),
    "LlamaIndex: fusion mode": lambda: MultiQuery(fusion="merge"),  # type: ignore[arg-type]
    "archi: weights": lambda: Hybrid(weights=(0.6,)),  # type: ignore[arg-type]
    "archi: b": lambda: BM25Settings(b=2.0),
    "bookacle: layers": lambda: Tree(mode="traversal", start_layer=1, end_layer=2),
    "a negative page": lambda: Browse(offset=-1),
}
"""What is an error of an option in the other libraries."""


@pytest.mark.parametrize("make", ERRORS.values(), ids=ERRORS.keys())
def test_wrong_options_are_value_errors_when_a_strategy_is_made(make: Any):
    with pytest.raises(ValueError, match="must be") as error:
        make()
    assert isinstance(error.value, InvalidArgument)


@pytest.mark.parametrize(("package", "k"), [(langchain_ext, "k"), (llamaindex_ext, "similarity_top_k")])
def test_wrong_options_are_value_errors_when_a_retriever_is_made(package: Any, k: str, shared_index: Index):
    with pytest.raises(ValueError, match="must be a whole number >= 1, got 0"):
        package.VectorRetriever(index=shared_index, **{k: 0})
