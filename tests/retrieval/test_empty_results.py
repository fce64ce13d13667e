"""An empty result says why it is empty."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import leafspan
from leafspan import (
    BM25,
    Document,
    F,
    HostRetriever,
    Hybrid,
    Index,
    MultiQuery,
    Passages,
    RelevantSegments,
    RewriteQuery,
    Strategy,
    Tree,
    Vector,
)
from leafspan.agents import agent_tools
from leafspan.checks import shown_below
from leafspan.private import private_view
from leafspan.strategies import HostResult, NoteWhyEmpty
from tests.cli.test_cli import leafspan as command
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.lab.serving.browsing import Browser
from tests.private.views.people import fixed_vault

QUESTION = QUESTIONS[0]


def why_empty(found: object) -> str | None:
    assert isinstance(found, Passages)
    return found.why_empty


def test_an_index_without_documents_is_empty(tmp_path: Path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        assert why_empty(index.retrieve(QUESTION)) == "the index is empty"
        index.add(Document("bees", "Bees dance."))
        assert why_empty(index.scoped(F("topic") == "food").retrieve(QUESTION)) == "the view shows no document"


def test_a_lowest_score_says_how_many_it_leaves_out_and_how_good_the_best_is(shared_index: Index):
    for strategy in (Vector(), RelevantSegments(base=Vector())):
        everything = shared_index.retrieve(QUESTION, strategy, candidates=8, min_score=-1)
        found = shared_index.retrieve(QUESTION, strategy, candidates=8, min_score=0.999)
        best = f"{everything[0].score:.3g}"
        assert why_empty(found) == f"all {len(everything)} results are below min_score=0.999, the best has {best}"
        assert found[:1] == []


def test_a_single_result_below_the_score_is_not_all_of_them(shared_index: Index):
    found = shared_index.retrieve(QUESTION, Vector(), candidates=1, min_score=0.999)
    assert str(why_empty(found)).startswith("the only result is below min_score=0.999, the best has 0.")


def test_a_filter_that_no_document_matches_is_named(shared_index: Index):
    assert why_empty(shared_index.retrieve(QUESTION, where=F("topic") == "wasps")) == "no document matches the filter"


def test_words_that_no_leaf_has_are_not_found(shared_index: Index):
    assert why_empty(shared_index.retrieve("xyzzy", BM25())) == "the strategy found nothing"


ONLY_STOP_WORDS = "the question has only stop words, which a search by words ignores"


@pytest.mark.parametrize("question", ["The Who", "to be or not to be", "Is it?", "?!", "and\n(the)"])
@pytest.mark.parametrize(
    "strategy",
    [
        BM25(),
        RelevantSegments(base=BM25()),
        Tree(base=BM25()),
        MultiQuery(base=BM25(), phrasings=["when and where"]),
        RewriteQuery(base=BM25(), how=lambda question: f"{question} when"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_question_of_stop_words_alone_says_so(shared_index: Index, question: str, strategy: Strategy):
    assert why_empty(shared_index.retrieve(question, strategy)) == ONLY_STOP_WORDS
    assert [*map(why_empty, shared_index.retrieve_many([question, "xyzzy", QUESTION], BM25()))] == [
        ONLY_STOP_WORDS,
        "the strategy found nothing",
        None,
    ]


async def test_each_of_several_queries_has_a_reason_of_its_own(shared_index: Index):
    found, nothing = await shared_index.aretrieve_many([QUESTION, "xyzzy"], BM25())
    assert (why_empty(found), why_empty(nothing)) == (None, "the strategy found nothing")


OVERS = {
    "itself": lambda base: base,
    "segments": lambda base: RelevantSegments(base=base),
    "tree": lambda base: Tree(base=base),
    "something else": lambda base: RewriteQuery(base=base, how=lambda question: f"{question} Please."),
}


@pytest.mark.parametrize("over", OVERS.values(), ids=OVERS)
def test_an_answer_that_is_too_improbable_is_named_with_its_probability(shared_index: Index, over):
    found = shared_index.retrieve(QUESTION, over(Hybrid(min_answer_probability=1)))
    said = re.fullmatch(
        r"the probability that the index holds an answer is (.*), below min_answer_probability=1", str(why_empty(found))
    )
    assert said is not None
    assert 0 < float(said[1]) < 1


@given(st.floats(-1e6, 1e6, width=32), st.floats(-1e6, 1e6, width=32))
@example(0.9998, 1.0)
@example(0.1, 0.1000001)
def test_a_number_below_its_limit_looks_lower(one: float, other: float):
    value, limit = sorted((one, other))
    assume(value < limit)
    assert float(shown_below(value, limit)) < limit
    assert float(shown_below(value, limit)) == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize("strategy", [Hybrid(), Vector(), BM25(scale=True), Tree(), Hybrid(references=0)])
def test_a_lowest_score_of_the_strategy_is_named_with_the_best_score(shared_index: Index, strategy):
    [best] = shared_index.retrieve(QUESTION, strategy, k=1)
    found = shared_index.retrieve(QUESTION, replace(strategy, min_score=0.9999))
    expected = f"no result reaches the strategy's min_score=0.9999, the best has {best.score:.3g}"
    assert why_empty(found) == expected
    [first, second] = shared_index.retrieve_many([QUESTION, QUESTIONS[1]], replace(strategy, min_score=0.9999))
    assert why_empty(first) == expected
    assert why_empty(second) != expected


def test_what_a_strategy_of_the_users_says_is_the_reason(shared_index: Index):
    class Closed(Strategy):
        def retrieve(self, queries, context):
            for query in queries:
                yield NoteWhyEmpty(query, "the shop is closed")
            return [[] for _ in queries]

    assert why_empty(shared_index.retrieve(QUESTION, Closed())) == "the shop is closed"
    assert why_empty(leafspan.retrieve(QUESTION, Closed())) == "the shop is closed"


def test_where_nothing_is_returned_the_nearest_documents_are_named(shared_index: Index):
    [best, *_] = shared_index.retrieve(QUESTION, Hybrid(), k=3)
    for strategy in (
        Hybrid(min_answer_probability=1),
        RelevantSegments(base=Hybrid(min_answer_probability=1)),
        *(replace(each, min_score=0.9999) for each in (Hybrid(), Vector(), BM25(scale=True), Tree())),
    ):
        found = shared_index.retrieve(QUESTION, strategy)
        assert found == []
        assert str(found.why_no_answer).startswith(f"{found.why_empty}; nearest: {best.document_id!r}"), strategy
    found = shared_index.retrieve(QUESTION, Hybrid(), min_score=0.9999)
    assert str(found.why_no_answer).startswith(f"{found.why_empty}; nearest: {best.document_id!r}")


IN_VAIN = ["zebra crossing regulations", "xyzzy", "Whree can I prchase a bysickle?"]


@pytest.mark.parametrize("question", [*IN_VAIN, QUESTION])
def test_whether_nothing_answers_is_said_alike_by_library_command_agents_and_pages(
    question: str, tmp_path_factory: pytest.TempPathFactory
):
    folder = tmp_path_factory.mktemp("alike") / "kb"
    with Index.open(folder, splitter=SPLITTER) as index:
        index.add(DOCUMENTS)
        found = index.retrieve(question, Hybrid(), k=5)
        [search, *_] = agent_tools(index, strategies={"hybrid": Hybrid()}, k=5)
        told = search.call({"question": question, "budget": 2_000}).content
        with Browser(index) as browser:
            page = browser.send(browser.open(), q=question, k="5")
    printed = command("query", question, "--kb", folder, "-s", "hybrid", "-k", 5)
    listed = json.loads(command("query", question, "--kb", folder, "-s", "hybrid", "-k", 5, "--json").stdout)
    shown = [each.id for each in found.worth_showing()]
    assert shown
    assert [each["id"] for each in listed] == shown
    assert [each["document_id"] for each in told["passages"]] == [each.document_id for each in found.worth_showing()]
    assert page.html.count('class="ls-card"') == len(shown)
    sentence = f"nothing in the index answers this: {found.why_no_answer}"
    assert (found.why_no_answer is None) is (question == QUESTION)
    if found.why_no_answer is not None:
        assert shown == [each.id for each in found]
        assert found.why_no_answer.startswith(f"all probabilities are nearly 0; nearest: {found[0].document_id!r}")
        assert repr(found).endswith(f"# {found.why_no_answer}")
        assert printed.stderr == f"{sentence}\n"
        assert told["note"].startswith(sentence.capitalize()[:40])
        assert sentence in page.text
    else:
        assert printed.stderr == ""
        assert "note" not in told
        assert "nothing in the index" not in page.text


def test_it_is_shown_as_a_comment_and_in_notebooks(shared_index: Index):
    found = shared_index.retrieve("xyzzy", BM25())
    assert repr(found) == "[]  # the strategy found nothing"
    assert "nothing was found: the strategy found nothing" in found._repr_html_()
    assert repr(Passages()) == "[]"


def test_without_an_index_it_goes_by_what_was_found():
    def ask(_question: str) -> list[HostResult]:
        return [HostResult("a", "Bees.", 0.3, {}), HostResult("b", "Tea.", 0.2, {})]

    found = leafspan.retrieve("bees", HostRetriever("shop", ask, None), min_score=0.5)
    assert why_empty(found) == "all 2 results are below min_score=0.5, the best has 0.3"
    assert why_empty(leafspan.retrieve("bees", HostRetriever("shop", lambda _: [], None))) == "the strategy found nothing"


def test_a_private_view_says_it_too(index: Index, tmp_path: Path):
    view = private_view(index, fixed_vault(tmp_path / "vault.db"))
    assert why_empty(view.retrieve("xyzzy", BM25())) == "the strategy found nothing"


@pytest.mark.parametrize("strategy", [Vector(), Hybrid(), RelevantSegments()])
def test_a_lowest_score_keeps_what_reaches_it_and_nothing_else(shared_index: Index, strategy):
    everything = shared_index.retrieve(QUESTION, strategy, candidates=12, min_score=-1)
    least = everything[-2].score
    kept = shared_index.retrieve(QUESTION, strategy, candidates=12, min_score=least)
    assert kept == [each for each in everything if each.score >= least]
    assert len(kept) < len(everything)
