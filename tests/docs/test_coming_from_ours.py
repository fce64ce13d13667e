"""What docs/coming-from.md says of leafspan is so: its classes, options and errors exist, and its links lead somewhere."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

import langchain_ext
import leafspan.private
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
    View,
)
from leafspan.retrieval import CallOptions
from tests import public
from tests.docs.page_of_peers import DOCS, PAGE, PROSE, SYSTEMS, in_backticks, named_as_ours, rows, sections
from tests.public import STRATEGIES

OURS = {
    name: getattr(package, name) for package in (*public.WHOLE, langchain_ext, llamaindex_ext) for name in package.__all__
}
OF_CALLS = {"query", "k", "candidates", "budget", "where", "min_score"}
OF_HOSTS = {"similarity_top_k", "filter_policy", "explain", "llm", "callback_manager", "object_map", "objects", "verbose"}


def options_of(thing: Any) -> set[str]:
    parameters = inspect.signature(thing).parameters
    takes_call_options = any("CallOptions" in str(each.annotation) for each in parameters.values())
    return {*parameters, *(CallOptions.__annotations__ if takes_call_options else ())}


def options_of_methods(kind: Any) -> set[str]:
    """Of a strategy and of its methods."""
    methods = [each for _, each in inspect.getmembers(kind, inspect.isfunction)]
    return options_of(kind) | {option for method in methods for option in options_of(method)}


def sections_with_tables() -> Iterator[Any]:
    for system in SYSTEMS:
        for name, text in sections(system).items():
            if name and rows(text):
                yield pytest.param(text, id=f"{system}-{name}")


@pytest.mark.parametrize("text", list(sections_with_tables()))
def test_the_options_in_a_table_are_those_of_the_classes_that_it_names(text: str):
    classes = named_as_ours(text)
    assert classes or "Here: none" in text or "Here: every strategy" in text
    options = [each for row in rows(text) for each in in_backticks(row[1]) if re.fullmatch(r"[a-z]\w*", each)]
    known = OF_CALLS | OF_HOSTS | {"index"} | vars(View).keys() | options_of(Index.open)
    strategies = [each for each in classes if inspect.isclass(OURS.get(each))]
    for each in strategies:
        known |= options_of_methods(OURS[each])
    if "private_view" in classes:
        known |= options_of(leafspan.private.private_view)
    other = [each for each in classes if not each.startswith("index.") and each not in strategies]
    assert other in ([], ["private_view"])
    assert [each for each in options if each not in known] == []


def test_calls_in_the_text_have_options_that_exist():
    theirs = [
        each
        for system in SYSTEMS
        for text in sections(system).values()
        for row in rows(text)
        for each in in_backticks(row[0])
    ]
    known = {"Index.open": Index.open, "index.build_tree": Index.build_tree, **OURS}
    wrong = []
    for code in set(in_backticks(PROSE)) - set(theirs):
        for function, option in options_in(code):
            if function in known and option not in options_of(known[function]):
                wrong.append(f"{function}({option}=) in {code}")
    assert wrong == []


def options_in(code: str) -> Iterator[tuple[str, str]]:
    """Each option of each call in a piece of code, with what is called."""
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((ast.unparse(node.func), each.arg) for each in node.keywords if each.arg)


def test_options_in_code_are_found():
    assert set(options_in("RewriteQuery(base=BM25(scale=True), how='rewrite')")) == {
        ("RewriteQuery", "base"),
        ("BM25", "scale"),
        ("RewriteQuery", "how"),
    }


def test_the_table_at_a_glance_has_each_strategy_and_names_that_have_sections():
    table = rows(PROSE.split("\n## At a glance\n")[1].split("\n## ")[0])
    (_, *systems), *others = table
    assert systems == list(SYSTEMS[:4])
    for _, *cells in others:
        for system, cell in zip(systems, cells, strict=True):
            assert [name for name in in_backticks(cell) if name not in sections(system)] == []
    assert {name for row in others for name in in_backticks(row[0])} == STRATEGIES.keys() - {"Strategy", "HostRetriever"}


def test_links_lead_somewhere():
    for link, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", PROSE):
        target = (DOCS / link).read_text() if link else PAGE
        headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", target, flags=re.DOTALL), re.MULTILINE)
        assert not anchor or anchor in [re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings]


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
