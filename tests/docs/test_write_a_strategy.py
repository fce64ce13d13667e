"""The strategy that docs/write-a-strategy.md writes, and one over any base, work in the core and in both hosts."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, get_args

import pytest
from langchain_core.retrievers import BaseRetriever

import langchain_ext
import leafspan.strategies
import llamaindex_ext
from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Ensemble,
    Hybrid,
    Index,
    InvalidArgument,
    MultiQuery,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Tree,
    Vector,
)
from leafspan.strategies import (
    Candidate,
    Leaf,
    LoadTexts,
    OverBase,
    Query,
    Request,
    RetrievalContext,
    Span,
    Trace,
    check_strategy,
    check_text,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class WithPhrase(OverBase):
    """Those results of any base that have ``phrase`` in their text. The base is run again with more candidates."""

    phrase: str
    base: Strategy = field(default_factory=Hybrid)

    def __post_init__(self) -> None:
        check_text("phrase", self.phrase)
        check_strategy("base", self.base)

    def retrieve(self, queries, context):
        wider, seen = context.for_base, set()
        while True:
            results = yield from self.base.retrieve(queries, wider)
            ids = dict.fromkeys(id_ for row in results for found in row for id_ in found.span.leaf_ids)
            texts = yield LoadTexts(tuple(ids))
            kept = [
                [found for found in row if self.phrase in "".join(texts[id_] for id_ in found.span.leaf_ids)]
                for row in results
            ]
            enough = all(len(row) >= context.results for row in kept)
            if enough or seen.issuperset(ids) or wider.candidates >= leafspan.strategies.MOST_CANDIDATES:
                return kept
            seen.update(ids)
            wider = replace(wider, candidates=min(4 * wider.candidates, leafspan.strategies.MOST_CANDIDATES))


@pytest.fixture
def with_phrase() -> type[WithPhrase]:
    return WithPhrase


def shown(passages):
    return [(each.id, each.score, each.text) for each in passages]


def check_that_all_find_the_same(index: Index, strategy: Strategy, limits: dict[str, Any]) -> None:
    passages = index.retrieve(QUESTION, strategy, **limits)
    assert passages
    in_langchain = langchain_ext.SpanRetriever(index=index, strategy=strategy, **limits)
    words = {"similarity_top_k" if name == "k" else name: value for name, value in limits.items()}
    in_llamaindex = llamaindex_ext.SpanRetriever(index, strategy=strategy, **words)
    for documents in (in_langchain.invoke(QUESTION), asyncio.run(in_langchain.ainvoke(QUESTION))):
        assert [(each.id, each.metadata["score"], each.page_content) for each in documents] == shown(passages)
    for nodes in (in_llamaindex.retrieve(QUESTION), asyncio.run(in_llamaindex.aretrieve(QUESTION))):
        assert [(each.node_id, each.score, each.text) for each in nodes] == shown(passages)
    assert shown(asyncio.run(index.aretrieve(QUESTION, strategy, **limits))) == shown(passages)


LIMITS = [{}, {"k": 1}, {"candidates": 2}, {"budget": 12}, {"where": {"date": {"$ne": "2026-05-20"}}}]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("base", [Vector(), BM25(), None], ids=repr)
def test_the_core_and_both_hosts_find_the_same(index: Index, fresh_first, base: Strategy | None, limits: dict[str, Any]):
    strategy = fresh_first(today=TODAY, **({} if base is None else {"base": base}))
    check_that_all_find_the_same(index, strategy, limits)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("base", [Vector(), SentenceWindow()], ids=repr)
def test_the_core_and_both_hosts_find_the_same_phrases(index: Index, with_phrase, base: Strategy, limits: dict[str, Any]):
    check_that_all_find_the_same(index, with_phrase(phrase="island", base=base), limits)


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
    assert re.fullmatch(r"vector found leaf 0 \(rank \d, score 0\.\d{3}\)", first)
    assert re.fullmatch(r"FreshFirst: cosine 0\.\d\d and freshness 0\.76 gave 0\.\d\d", last)


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


@pytest.mark.parametrize(
    "options",
    [
        {"half_life": 0},
        {"half_life": None},
        {"weight": 1.5},
        {"weight": "0.3"},
        {"base": SentenceWindow()},
        {"base": Vector},
    ],
    ids=str,
)
def test_a_wrong_option_is_an_error_where_it_is_made(fresh_first, options: dict[str, Any]):
    with pytest.raises(InvalidArgument, match=f"{next(iter(options))} must be"):
        fresh_first(**options)


def test_nothing_found_is_nothing_returned(index: Index, fresh_first):
    assert index.retrieve(QUESTION, fresh_first(), where={"date": "never"}) == []


def test_a_phrase_keeps_what_has_it_with_the_scores_and_in_the_order_of_the_base(index: Index, with_phrase):
    all_of_base = index.retrieve(QUESTION, Vector())
    kept = index.retrieve(QUESTION, with_phrase(phrase="ferry", base=Vector()))
    assert shown(kept) == [each for each in shown(all_of_base) if "ferry" in each[2]]
    assert {each.document_id for each in kept} == {"winter", "summer"}
    assert index.retrieve(QUESTION, with_phrase(phrase="Ferry")) == []


def test_a_phrase_is_looked_for_further_where_the_first_candidates_do_not_have_it(index: Index, with_phrase):
    assert [each.document_id for each in index.retrieve(QUESTION, Vector(), candidates=1)] != ["undated"]
    [passage] = index.retrieve(QUESTION, with_phrase(phrase="lighthouse", base=Vector()), candidates=1)
    assert passage.document_id == "undated"


class Scripted(Strategy):
    """Finds the first ``candidates`` of these documents, and remembers how many it was asked for."""

    def __init__(self, documents: int) -> None:
        self.documents = documents
        self.asked: list[int] = []

    def retrieve(self, queries, context):
        self.asked.append(context.candidates)
        count = min(self.documents, context.candidates)
        return [[Candidate(Span(f"{n}", "00000000", 0, 0, (0, 0)), 1.0, Trace(), {}) for n in range(count)]]
        yield


@pytest.mark.parametrize(
    ("documents", "having", "asked"),
    [
        (50_000, range(24), [24]),  # enough at once
        (50_000, range(24, 30), [24, 96]),  # k=5 of the wider search
        (50, [], [24, 96, 384]),  # nothing new in the third
        (50_000, [], [24, 96, 384, 1536, 6144, 10_000]),
    ],
)
def test_a_base_is_run_again_until_there_is_enough_or_nothing_new(with_phrase, documents, having, asked):
    base = Scripted(documents)
    flow = with_phrase(phrase="yes", base=base).retrieve([Query("which?")], RetrievalContext(24, k=5))
    assert [[int(found.span.document_id) for found in row] for row in with_texts(flow, having)] == [list(having)]
    assert base.asked == asked


def with_texts(flow, having):
    """The result of a strategy that asks only for texts: "yes" for these documents, "no" for the others."""
    texts = None
    while True:
        try:
            request = flow.send(texts)
        except StopIteration as stop:
            return stop.value
        assert isinstance(request, LoadTexts)
        texts = {id_: "yes" if int(id_.document_id) in having else "no" for id_ in request.ids}


@pytest.mark.parametrize(
    "base", [Vector(), SentenceWindow(), Browse(), Tree(mode="traversal"), Vector(instruction="query: ")], ids=repr
)
def test_a_strategy_over_any_base_is_as_its_base(with_phrase, base: Strategy):
    over = with_phrase(phrase="ferry", base=base)
    for name in ("finds_spans", "needs_query", "returns_all", "query_instruction"):
        assert getattr(over, name) == getattr(base, name)
    summaries = base.with_summaries()
    assert over.with_summaries() == (None if summaries is None else with_phrase(phrase="ferry", base=summaries))


def test_a_strategy_over_any_base_needs_a_query_only_where_the_base_does(index: Index, with_phrase):
    passages = index.retrieve(None, with_phrase(phrase="ferry", base=Browse()))
    assert [each.document_id for each in passages] == ["summer", "winter"]


def test_a_strategy_over_windows_is_no_base_of_windows(with_phrase):
    with pytest.raises(InvalidArgument, match="base must be a strategy that finds single leaves"):
        SentenceWindow(base=with_phrase(phrase="ferry", base=SentenceWindow()))


def test_a_strategy_with_summaries_can_be_the_base_of_a_tree(index: Index, with_phrase):
    passages = index.retrieve(QUESTION, Tree(base=with_phrase(phrase="ferry")))
    assert {each.document_id for each in passages} == {"winter", "summer"}


def test_retrievers_of_hosts_are_bases_of_the_named_retrievers_only(index: Index, fresh_first):
    host = FromLangChain(leaves=langchain_ext.leaf_documents(index))
    assert langchain_ext.SentenceWindowRetriever(index=index, base=host).invoke(QUESTION)
    with pytest.raises(InvalidArgument, match="base must be a strategy such as Vector"):
        fresh_first(base=host)


class FromLangChain(BaseRetriever):
    """A retriever of LangChain, over leaves."""

    leaves: list[Any]

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Any]:
        return self.leaves


def test_a_retriever_without_a_strategy_uses_relevant_segments(index: Index):
    wanted = [each.id for each in index.retrieve(QUESTION, RelevantSegments())]
    assert [each.id for each in langchain_ext.SpanRetriever(index=index).invoke(QUESTION)] == wanted
    assert [each.node_id for each in llamaindex_ext.SpanRetriever(index).retrieve(QUESTION)] == wanted


def test_a_candidate_and_its_passage_have_the_ids_of_the_page(index: Index, page: dict[str, Any]):
    [passage] = index.retrieve(QUESTION, page["FreshFirst"](weight=1), k=1)
    assert f"`{passage.id}`" in PAGE


def leaf(document_id: str, day: str) -> Candidate:
    place = Leaf(document_id, "00000000", 0, start=0, end=39, words=8, ancestors=())
    return Candidate(Span(document_id, "00000000", 0, 0, (0, 0)), 0.0, Trace(), {"date": day}, words=8, leaf=place)


def test_it_can_be_tested_without_an_index(fresh_first):
    strategy = fresh_first(base=Vector(), half_life=10, weight=0.5, today=date(2026, 5, 21))
    flow = strategy.retrieve([Query(vector=(1.0, 0.0))], RetrievalContext(candidates=2))
    next(flow)  # Vector asks for leaves
    request = flow.send([[leaf("old", "2026-05-01"), leaf("new", "2026-05-21")]])
    assert [str(leaf) for leaf in request.ids] == ["old#00000000#0", "new#00000000#0"]
    with pytest.raises(StopIteration) as stop:
        flow.send([[0.8, 0.6]])  # the cosines
    [found] = stop.value.value
    assert [each.score for each in found] == [0.5 * 0.6 + 0.5 * 1, 0.5 * 0.8 + 0.5 * 0.5 ** (20 / 10)]


def test_the_hand_made_leaf_is_as_a_search_finds_it():
    made = leaf("winter", "2026-01-10")
    assert made.leaf.id == made.id
    assert made.leaf.words == made.words
    assert made.span.anchor == (made.leaf.ordinal, made.leaf.start)


# The page and the code: what the tables list is there, and the reference has the rest.

REFERENCE = "\n".join(path.read_text() for path in (Path(__file__).parents[2] / "docs" / "reference").glob("*.md"))


def names_in(heading: str) -> list[str]:
    """The names in the first cells of the table whose head begins with this."""
    table = PAGE[PAGE.index(f"| {heading} |") :].split("\n\n")[0]
    return [name for line in table.splitlines()[2:] for name in re.findall(r"`([^`]+)`", line.split(" | ")[0])]


def call(kind: type) -> str:
    """``AskHost(name, question, ask, aask)``: the request with the fields that it must be given, as the table has it."""
    required = [
        each.name for each in dataclasses.fields(kind) if each.default is each.default_factory is dataclasses.MISSING
    ]
    return f"{kind.__name__}({', '.join(required)})"


def test_the_table_of_requests_has_them_with_the_fields_that_they_need():
    assert names_in("request")
    assert set(names_in("request")) <= {call(kind) for kind in get_args(Request)}


@pytest.mark.parametrize(
    ("heading", "kind"), [("member", Strategy), ("`context`", RetrievalContext), ("candidate", Candidate)]
)
def test_the_tables_of_members_and_attributes_list_what_is_there(heading: str, kind: type):
    listed = names_in(heading)
    if heading == "candidate":
        listed = [name for name in listed if "#" not in name]
    assert listed
    assert set(listed) <= {name for name, _ in inspect.getmembers(kind)}


def test_the_table_of_members_has_the_defaults():
    class Plain(Strategy):
        def retrieve(self, queries, context):
            raise NotImplementedError

    table = PAGE[PAGE.index("| member |") :].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        name, *_, default = [cell.strip(" `") for cell in line.strip("|").split(" | ")]
        assert repr(getattr(Plain(), name)).replace("'", '"') == default


@pytest.mark.parametrize("kind", [Strategy, RetrievalContext, Candidate])
def test_what_the_tables_leave_out_is_described_in_the_reference(kind: type):
    for name, value in inspect.getmembers(kind):
        if not name.startswith("_"):
            assert re.search(rf"^\s*{name}:", kind.__doc__ or "", re.MULTILINE) or inspect.getdoc(value)
    assert f"(reference/{'writing-strategies' if kind is not Strategy else 'strategies'}.md)" in PAGE


def test_the_page_or_the_reference_names_all_that_is_offered_to_authors():
    strategies = {
        name
        for name in leafspan.strategies.__all__
        if inspect.isclass(kind := getattr(leafspan.strategies, name)) and issubclass(kind, Strategy)
    }
    offered = set(leafspan.strategies.__all__) - strategies
    named = {name for name in offered if re.search(rf"\b{name}\b", PAGE)} | set(
        re.findall(r"^::: .*\.(\w+)$", REFERENCE, re.M)
    )
    assert offered - named == set()


def test_the_page_names_each_check():
    assert {name for name in leafspan.strategies.__all__ if name.startswith("check_")} <= set(re.findall(r"`(\w+)", PAGE))


def test_the_page_imports_only_what_is_public():
    modules = set(re.findall(r"^(?:from|import) ([\w.]+)", "\n".join(BLOCKS), re.MULTILINE))
    ours = {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}
    assert ours == {"leafspan", "leafspan.strategies"}


def test_what_the_page_names_is_there():
    in_hosts = {*langchain_ext.__all__} & {*llamaindex_ext.__all__}
    offered = {
        *leafspan.strategies.__all__,
        *leafspan.__all__,
        *vars(leafspan.errors),
        *in_hosts,
        "FreshFirst",
    }
    named = {
        name for name in re.findall(r"`([A-Z]\w+)\b[^`]*`", PAGE) if name not in ("None", "False", "True", "Exception")
    }
    assert named - offered == set()
