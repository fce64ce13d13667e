"""The strategy that docs/write-a-strategy.md writes works as the page says, in the core and in both hosts."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, get_args

import pytest

import langchain_ext
import leafspan.strategies
import llamaindex_ext
from leafspan import BM25, AutoMerging, Ensemble, Index, InvalidArgument, MultiQuery, SentenceWindow, Strategy, Vector
from leafspan.strategies import Candidate, Request, RetrievalContext

PAGE = (Path(__file__).parents[2] / "docs" / "write-a-strategy.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
QUESTION = "When does the ferry to the island leave?"
TODAY = date(2026, 6, 1)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What the page has defined when all of it has run, in a folder of its own."""
    names: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        for block in BLOCKS:
            exec(compile(block, "write-a-strategy.md", "exec"), names)
        yield names
        names["index"].close()


@pytest.fixture(scope="module")
def index(page: dict[str, Any]) -> Index:
    return page["index"]


@pytest.fixture(scope="module")
def fresh_first(page: dict[str, Any]) -> Any:
    return page["FreshFirst"]


def shown(passages):
    return [(each.id, each.score, each.text) for each in passages]


LIMITS = [{}, {"k": 1}, {"candidates": 2}, {"budget": 12}, {"where": {"date": {"$ne": "2026-05-20"}}}]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("base", [Vector(), BM25(), None], ids=repr)
def test_the_core_and_both_hosts_find_the_same(index: Index, fresh_first, base: Strategy | None, limits: dict[str, Any]):
    strategy = fresh_first(today=TODAY, **({} if base is None else {"base": base}))
    passages = index.retrieve(QUESTION, strategy, **limits)
    assert passages
    in_langchain = langchain_ext.StrategyRetriever(index=index, strategy=strategy, **limits)
    words = {"similarity_top_k" if name == "k" else name: value for name, value in limits.items()}
    in_llamaindex = llamaindex_ext.StrategyRetriever(index, strategy=strategy, **words)
    for documents in (in_langchain.invoke(QUESTION), asyncio.run(in_langchain.ainvoke(QUESTION))):
        assert [(each.id, each.metadata["score"], each.page_content) for each in documents] == shown(passages)
    for nodes in (in_llamaindex.retrieve(QUESTION), asyncio.run(in_llamaindex.aretrieve(QUESTION))):
        assert [(each.node_id, each.score, each.text) for each in nodes] == shown(passages)
    assert shown(asyncio.run(index.aretrieve(QUESTION, strategy, **limits))) == shown(passages)


def test_its_scores_are_cosines_and_freshness(index: Index, fresh_first):
    cosines = {each.document_id: each.score for each in index.retrieve(QUESTION, Vector())}
    passages = index.retrieve(QUESTION, fresh_first(half_life=10, weight=0.4, today=TODAY))
    assert {each.document_id: each.score for each in passages} == pytest.approx(
        {
            "winter": 0.6 * cosines["winter"] + 0.4 * 0.5 ** (142 / 10),
            "summer": 0.6 * cosines["summer"] + 0.4 * 0.5 ** (12 / 10),
            "undated": 0.6 * cosines["undated"] + 0.4 * 0,
        },
        abs=1e-6,
    )


def test_its_weight_reaches_from_the_question_alone_to_the_date_alone(index: Index, fresh_first):
    vector = [each.id for each in index.retrieve(QUESTION, Vector())]
    assert [each.id for each in index.retrieve(QUESTION, fresh_first(base=Vector(), weight=0))] == vector
    by_date = index.retrieve(QUESTION, fresh_first(weight=1, half_life=1000, today=TODAY))
    assert [each.document_id for each in by_date] == ["summer", "winter", "undated"]


def test_the_trace_says_what_it_did_after_what_the_base_did(index: Index, fresh_first):
    [passage] = index.retrieve(QUESTION, fresh_first(base=Vector(), today=TODAY), k=1)
    first, last = passage.trace.explain()
    assert first.startswith("vector found leaf 0 (score ")
    assert re.fullmatch(r"cosine 0\.\d\d and freshness 0\.76 gave 0\.\d\d", last)


@pytest.mark.parametrize(
    "compose",
    [
        lambda fresh: SentenceWindow(base=fresh),
        lambda fresh: AutoMerging(base=fresh),
        lambda fresh: MultiQuery(base=fresh, phrasings=["the ferry in summer"]),
        lambda fresh: Ensemble(retrievers=[fresh, BM25()]),
    ],
)
def test_it_can_be_the_base_of_others(index: Index, fresh_first, compose):
    passages = index.retrieve(QUESTION, compose(fresh_first(weight=0.9, today=TODAY)))
    assert passages[0].document_id == "summer"


def test_it_can_build_on_a_retriever_of_a_host_through_a_host(index: Index, fresh_first):
    bases = [
        langchain_ext.SentenceWindowRetriever(index=index, base=fresh_first(today=TODAY)),
        llamaindex_ext.SentenceWindowRetriever(index, base=fresh_first(today=TODAY)),
    ]
    in_langchain, in_llamaindex = bases[0].invoke(QUESTION), bases[1].retrieve(QUESTION)
    assert [each.id for each in in_langchain] == [each.node_id for each in in_llamaindex]


@pytest.mark.parametrize("options", [{"half_life": 0}, {"weight": 1.5}, {"base": SentenceWindow()}], ids=str)
def test_a_wrong_option_is_an_error_where_it_is_made(fresh_first, options: dict[str, Any]):
    with pytest.raises(InvalidArgument, match=f"{next(iter(options))} must be"):
        fresh_first(**options)


def test_nothing_found_is_nothing_returned(index: Index, fresh_first):
    assert index.retrieve(QUESTION, fresh_first(), where={"date": "never"}) == []


# The page and the code: each table is complete.


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table whose head begins with this."""
    table = PAGE[PAGE.index(f"| {heading} |") :].split("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines()[2:]]


def signature(kind: type) -> str:
    """``Load(ids, optional=())``, as the table of requests has it."""
    fields = [
        each.name if each.default is dataclasses.MISSING else f"{each.name}={each.default!r}".replace("'", '"')
        for each in dataclasses.fields(kind)
    ]
    return f"`{kind.__name__}({', '.join(fields)})`"


def test_the_table_of_requests_has_each_with_its_fields():
    assert [row[0] for row in rows("request")] == [signature(kind) for kind in ordered_requests()]


def ordered_requests() -> list[type]:
    """All requests, in the order of the page."""
    order = re.findall(r"^\| `(\w+)\(", PAGE, re.MULTILINE)
    return sorted(get_args(Request), key=lambda kind: order.index(kind.__name__) if kind.__name__ in order else len(order))


def test_the_table_of_members_has_each():
    members = [name for name, _ in inspect.getmembers(Strategy) if not name.startswith("_")]
    assert sorted(re.sub(r"\W.*", "", row[0].strip("`")) for row in rows("member")) == members


@pytest.mark.parametrize(("kind", "before"), [(RetrievalContext, "**`RetrievalContext`**"), (Candidate, "**`Candidate`**")])
def test_the_tables_of_attributes_have_each(kind: type, before: str):
    table = PAGE[PAGE.index(before) :].split("\n\n")[1]
    listed = re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)
    properties = [name for name, value in vars(kind).items() if isinstance(value, property)]
    assert listed == [*(each.name for each in dataclasses.fields(kind)), *properties]


def test_the_page_imports_only_what_is_public():
    modules = set(re.findall(r"^(?:from|import) ([\w.]+)", "\n".join(BLOCKS), re.MULTILINE))
    ours = {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}
    # values: a Span, for candidates that a test makes by hand
    assert ours == {"leafspan", "leafspan.strategies", "langchain_ext", "llamaindex_ext"}


def test_what_the_page_names_is_there():
    offered = {*leafspan.strategies.__all__, *leafspan.__all__, "FreshFirst", "StrategyRetriever"}
    named = {
        name for name in re.findall(r"`([A-Z]\w+)\b[^`]*`", PAGE) if name not in ("None", "False", "True", "Exception")
    }
    assert named - offered == set()
