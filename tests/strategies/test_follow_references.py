from __future__ import annotations

import asyncio
import dataclasses
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leafspan
from leafspan import (
    BM25,
    AutoMerging,
    Browse,
    Chunk,
    Document,
    Ensemble,
    F,
    FollowReferences,
    HostRetriever,
    Hybrid,
    Index,
    InvalidArgument,
    Query,
    SentenceWindow,
    Strategy,
    Vector,
)
from leafspan.strategies import HostResult, Passage, RetrievalContext, outside_candidate
from leafspan.trace import Trace
from tests.corpus import DOCUMENTS, QUESTIONS, SPLITTER
from tests.lateness import ends_within
from tests.profiles import examples


@dataclasses.dataclass(frozen=True)
class Finds(Strategy):
    """Finds passages of its own for every query: each an id, with a score and what it refers to."""

    found: tuple[tuple[str, float, object], ...] = ()
    asked: list = dataclasses.field(default_factory=list, compare=False)

    def retrieve(self, queries, context):
        self.asked.append(([query.text for query in queries], context))
        return [[passage(*each) for each in self.found[: context.results]] for _ in queries]
        yield


def passage(id_, score=1.0, reference=None):
    metadata = {} if reference is None else {"reference": reference}
    return outside_candidate(Passage(id_, "", None, None, f"text of {id_}", score, metadata, Trace(), kind="row"))


def finds(*found):
    """A strategy that finds these, given as (id, score, references), (id, score) or an id."""
    rows = [(each, 1.0, None) if isinstance(each, str) else (*each, *(None,) * (3 - len(each))) for each in found]
    return Finds(tuple(rows))


def seen(passages):
    return [(each.id, each.score) for each in passages]


def ids(passages):
    return [each.id for each in passages]


# What a reference leads to


def test_a_passage_that_refers_to_a_target_is_replaced_by_what_that_finds_at_its_place_and_score():
    base = finds(("a", 0.9), ("b", 0.8, "more"), ("c", 0.7))
    found = leafspan.retrieve("q", FollowReferences(base=base, targets={"more": finds(("x", 0.1), ("y", 5.0))}))
    assert seen(found) == [("a", 0.9), ("x", 0.8), ("y", 0.8), ("c", 0.7)]
    assert found[1].trace.notes == ("FollowReferences followed 'more' from b, whose score 0.800 it has",)
    assert found[0].trace.notes == ()


def test_it_can_stay_before_what_it_refers_to():
    base = finds(("a", 0.9), ("b", 0.8, "more"))
    found = leafspan.retrieve("q", FollowReferences(base=base, targets={"more": finds("x")}, keep=True))
    assert seen(found) == [("a", 0.9), ("b", 0.8), ("x", 0.8)]


def test_it_may_refer_to_several_in_the_order_of_its_list():
    base = finds(("a", 0.9, ["two", "one", "two"]))
    found = leafspan.retrieve("q", FollowReferences(base=base, targets={"one": finds("x"), "two": finds("y")}))
    assert seen(found) == [("y", 0.9), ("x", 0.9)]


def test_references_have_the_key_that_is_given():
    row = outside_candidate(Passage("a", "", None, None, "t", 1.0, {"see": "one", "reference": "two"}, Trace()))

    class Base(Strategy):
        def retrieve(self, queries, context):
            return [[row] for _ in queries]
            yield

    targets = {"one": finds("x"), "two": finds("y")}
    assert ids(leafspan.retrieve("q", FollowReferences(base=Base(), targets=targets, key="see"))) == ["x"]


def test_each_reference_leads_to_per_reference_results_at_most():
    base = finds(("a", 0.9, ["one", "two"]))
    targets = {"one": finds("x", "y", "z"), "two": finds("u", "v")}
    found = leafspan.retrieve("q", FollowReferences(base=base, targets=targets, per_reference=2), k=10)
    assert ids(found) == ["x", "y", "u", "v"]
    assert targets["one"].asked[0][1].k == 2


def test_passages_that_refer_to_the_same_are_replaced_by_it_once_at_the_place_of_the_first():
    base = finds(("a", 0.9, "more"), ("b", 0.8), ("c", 0.7, "more"))
    found = leafspan.retrieve("q", FollowReferences(base=base, targets={"more": finds("x")}))
    assert seen(found) == [("x", 0.9), ("b", 0.8)]


def test_what_is_found_in_two_ways_comes_once_at_its_first_place_and_says_both():
    base = finds(("a", 0.9, "more"), ("x", 0.8))
    [found] = leafspan.retrieve("q", FollowReferences(base=base, targets={"more": finds("x")}))
    assert seen([found]) == [("x", 0.9)]
    assert found.trace.notes == ("FollowReferences followed 'more' from a, whose score 0.900 it has",)


# Depth and cycles


def chain(length):
    """Targets t1, t2, ..., each of which finds a passage that refers to the next."""
    return {f"t{n}": finds((f"p{n}", 1.0, f"t{n + 1}")) for n in range(1, length)} | {f"t{length}": finds("end")}


@pytest.mark.parametrize(("depth", "last"), [(1, "p1"), (2, "p2"), (3, "end"), (100, "end")])
def test_references_in_a_row_are_followed_as_far_as_the_depth_allows(depth, last):
    [found] = leafspan.retrieve("q", FollowReferences(base=finds(("a", 0.5, "t1")), targets=chain(3), depth=depth))
    assert seen([found]) == [(last, 0.5)]
    expected = (
        [f"FollowReferences: the reference 't{depth + 1}' was not followed: the depth is {depth}"] if depth < 3 else []
    )
    assert [note for note in found.trace.notes if "not followed" in note] == expected


def test_a_cycle_ends_where_it_comes_back_and_each_target_is_asked_once():
    targets = {"one": finds(("x", 1.0, "two")), "two": finds(("y", 1.0, "one"))}
    [found] = leafspan.retrieve("q", FollowReferences(base=finds(("a", 0.5, "one")), targets=targets, depth=50))
    assert seen([found]) == [("y", 0.5)]  # a leads to x, and x to y, which leads back
    assert [len(target.asked) for target in targets.values()] == [1, 1]
    assert found.trace.notes == (
        "FollowReferences followed 'one' from a, whose score 0.500 it has",
        "FollowReferences followed 'two' from x, whose score 0.500 it has",
    )


def test_what_a_target_finds_may_refer_to_the_target_itself():
    target = finds(("x", 1.0, "self"), ("y", 1.0, "self"))
    found = leafspan.retrieve("q", FollowReferences(base=finds(("a", 0.5, "self")), targets={"self": target}))
    assert seen(found) == [("x", 0.5), ("y", 0.5)]


def test_a_passage_that_refers_to_itself_is_not_followed():
    [found] = leafspan.retrieve("q", FollowReferences(base=finds(("a", 0.5, "a")), targets={"a": finds("x")}))
    assert (found.id, found.trace.notes) == ("a", ())


def test_two_branches_that_lead_to_each_other_do_not_both_vanish():
    base = finds(("a", 0.9, "one"), ("b", 0.8, "two"))
    targets = {"one": finds(("x", 1.0, "two")), "two": finds(("y", 1.0, "one"))}
    found = leafspan.retrieve("q", FollowReferences(base=base, targets=targets))
    assert seen(found) == [("a", 0.9), ("b", 0.8)]
    note = "FollowReferences: other passages already led to everything that its references lead to"
    assert [each.trace.notes for each in found] == [(note,), (note,)]


@st.composite
def webs(draw):
    """Targets that refer to each other at random, and a base."""
    names = ["t0", "t1", "t2", "t3"]
    references = st.lists(st.sampled_from([*names, "unknown"]), max_size=3)
    rows = st.lists(
        st.tuples(st.sampled_from("abcdefgh"), st.just(1.0), references), max_size=4, unique_by=lambda row: row[0]
    )
    return finds(*draw(rows)), {name: finds(*draw(rows)) for name in names}


@given(webs(), st.integers(1, 5), st.booleans())
@examples(300)
def test_any_web_ends_with_each_passage_once_and_something_where_the_base_found_something(web, depth, keep):
    base, targets = web
    found = leafspan.retrieve("q", FollowReferences(base=base, targets=targets, depth=depth, keep=keep), k=100)
    assert len(set(ids(found))) == len(found)
    assert bool(found) == bool(base.found)
    assert all(len(target.asked) <= 1 for target in targets.values())
    own = {each[0] for each in base.found}
    reachable = own | {each[0] for target in targets.values() for each in target.found}
    assert set(ids(found)) <= reachable
    if keep:
        assert own <= set(ids(found))
    for each in found:
        if each.id not in own:
            assert any(note.startswith("FollowReferences followed") for note in each.trace.notes)


# References that lead to nothing


@pytest.mark.parametrize(
    ("reference", "note"),
    [
        ("unknown", "FollowReferences: the reference 'unknown' led to nothing"),
        ("empty", "FollowReferences: the reference 'empty' led to nothing"),
        (7, "FollowReferences: the reference 7 is no text"),
        (" ", "FollowReferences: the reference ' ' is no text"),
        (["unknown", None], "FollowReferences: the reference None is no text"),
    ],
)
def test_a_passage_whose_references_lead_to_nothing_stays_and_says_why(reference, note):
    base = finds(("a", 0.9, reference), ("b", 0.8, reference))
    found = leafspan.retrieve("q", FollowReferences(base=base, targets={"empty": finds()}))
    assert seen(found) == [("a", 0.9), ("b", 0.8)]
    assert all(note in each.trace.notes for each in found)


def test_what_one_reference_leads_to_says_what_another_did_not():
    base = finds(("a", 0.9, ["unknown", "more"]))
    [found] = leafspan.retrieve("q", FollowReferences(base=base, targets={"more": finds("x")}))
    assert "FollowReferences: the reference 'unknown' led to nothing" in found.trace.notes


def test_without_references_the_base_is_as_it_is(shared_index: Index):
    for limits in ({"k": 3}, {"budget": 80}, {"candidates": 5}, {}):
        for base in (Vector(), AutoMerging(), Hybrid()):
            assert shared_index.retrieve_many(
                QUESTIONS, FollowReferences(base=base), **limits
            ) == shared_index.retrieve_many(QUESTIONS, base, **limits)


def test_an_empty_base_gives_nothing(tmp_path):
    assert leafspan.retrieve("q", FollowReferences(base=finds(), targets={"more": finds("x")})) == []
    with Index.open(tmp_path / "kb") as index:
        assert index.retrieve("q", FollowReferences()) == []


# Several queries, and failures


def test_all_queries_are_followed_together_and_each_by_itself():
    target, base = finds("x"), finds(("a", 0.9, "more"))
    found = leafspan.retrieve_many(["one", "two"], FollowReferences(base=base, targets={"more": target}))
    assert [ids(row) for row in found] == [["x"], ["x"]]
    assert [asked for asked, _ in target.asked] == [["one", "two"]]
    again = asyncio.run(leafspan.aretrieve_many(["one", "two"], FollowReferences(base=base, targets={"more": target})))
    assert again == found


class Fails(Strategy):
    def __init__(self, error):
        self.error = error

    def retrieve(self, queries, context):
        raise self.error
        yield


def test_a_target_that_fails_is_named_by_the_error():
    strategy = FollowReferences(base=finds(("a", 0.9, "more")), targets={"more": Fails(ConnectionError("no route"))})
    with pytest.raises(ConnectionError, match=r"no route\ntarget 'more' of the FollowReferences failed"):
        leafspan.retrieve("q", strategy)


def test_a_target_that_fails_is_left_out_on_request_and_the_trace_says_so():
    strategy = FollowReferences(
        base=finds(("a", 0.9, "more")), targets={"more": Fails(ConnectionError("no route"))}, on_failure="skip"
    )
    [found] = leafspan.retrieve("q", strategy)
    assert seen([found]) == [("a", 0.9)]
    assert found.trace.notes == ("FollowReferences: the reference 'more' was left out: ConnectionError: no route",)


def test_a_mistake_of_the_caller_is_raised_all_the_same():
    strategy = FollowReferences(base=finds(("a", 0.9, "more")), targets={"more": Vector()}, on_failure="skip")
    with pytest.raises(InvalidArgument, match="Vector must have an index to search"):
        leafspan.retrieve("q", strategy)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_late_target_is_not_waited_for(asynchronous):
    released = threading.Event()

    def ask(question):
        released.wait(60)
        return []

    async def aask(question):
        await asyncio.sleep(60)
        return []

    late = HostRetriever("late", ask, aask)
    strategy = FollowReferences(base=finds(("a", 0.9, "late")), targets={"late": late}, timeout=0.1, on_failure="skip")
    with ends_within(0.8):
        [found] = asyncio.run(leafspan.aretrieve("q", strategy)) if asynchronous else leafspan.retrieve("q", strategy)
    released.set()
    assert found.trace.notes == (
        "FollowReferences: the reference 'late' was left out: TimeoutError: not done after 0.1 seconds",
    )


# Documents and leaves of the index

A = F("tenant") == "a"
OVERVIEW = [
    Document("hot drinks", "An overview of hot drinks.", None, {"reference": "tea"}),
    Document("animals", "An overview of small animals.", None, {"reference": ["bees", "birds"]}),
]


@pytest.fixture(scope="module")
def referring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The corpus, with overviews that refer to documents of it."""
    with Index.open(tmp_path_factory.mktemp("referring") / "kb", splitter=SPLITTER) as opened:
        opened.add([*DOCUMENTS, *OVERVIEW])
        yield opened


def overviews(document_id: str, base: Strategy | None = None) -> Strategy:
    """A base that finds one overview."""
    return leafspan.strategies.filtered(base or Vector(), F("doc_id") == document_id)


def test_a_document_leads_to_its_leaves_that_are_nearest_to_the_query(referring: Index):
    [overview] = referring.retrieve(QUESTIONS[2], overviews("hot drinks"))
    nearest = referring.retrieve(QUESTIONS[2], Vector(), where=F("doc_id") == "tea", k=3)
    found = referring.retrieve(QUESTIONS[2], FollowReferences(base=overviews("hot drinks")), k=9)
    assert seen(found) == [(each.id, overview.score) for each in nearest]
    assert [each.text for each in found] == [each.text for each in nearest]
    assert found[0].trace.hits[0].score == pytest.approx(nearest[0].score)
    assert found[0].metadata == {"topic": "food", "rating": 4.5, "checked": True}


def test_each_query_has_the_leaves_nearest_to_itself(referring: Index):
    strategy = FollowReferences(base=overviews("animals"), per_reference=1)
    together = referring.retrieve_many(QUESTIONS, strategy)
    assert together == [referring.retrieve(question, strategy) for question in QUESTIONS]
    assert together == asyncio.run(referring.aretrieve_many(QUESTIONS, strategy))
    assert len({row[0].id for row in together}) > 1
    assert "FollowReferences: the reference 'birds' led to nothing" in together[0][0].trace.notes


def test_a_query_may_be_a_vector(referring: Index):
    vector = tuple(float(each) for each in leafspan.embedding.default_embedder().queries([QUESTIONS[2]])[0])
    strategy = FollowReferences(base=overviews("hot drinks"))
    by_vector = referring.retrieve(Query(vector=vector), strategy)
    assert ids(by_vector) == ids(referring.retrieve(QUESTIONS[2], strategy))


def test_a_passage_s_id_leads_to_its_leaves(referring: Index):
    leaves = referring.leaves("tea")
    window = f"{leaves[0].id}-2"
    base = finds(("a", 0.9, leaves[4].id), ("b", 0.8, window))
    found = referring.retrieve(QUESTIONS[2], FollowReferences(base=base, per_reference=9), k=9)
    assert found[0].id == leaves[4].id
    assert sorted(ids(found[1:])) == [leaf.id for leaf in leaves[:3]]
    assert {each.score for each in found[1:]} == {0.8}


@pytest.mark.parametrize("end", ["#00000000#0", "#646f0146#99", "#646f0146#0-99", "#646f0146#3-1", "#t646f014#0"])
def test_what_is_no_passage_of_the_index_leads_to_nothing(referring: Index, end):
    [found] = referring.retrieve("q", FollowReferences(base=finds(("a", 0.9, f"tea{end}"))))
    assert found.id == "a"
    assert found.trace.notes == (f"FollowReferences: the reference 'tea{end}' led to nothing",)


def test_a_target_goes_before_a_document_of_its_name(referring: Index):
    strategy = FollowReferences(base=finds(("a", 0.9, "tea")), targets={"tea": finds("x")})
    assert ids(referring.retrieve("q", strategy)) == ["x"]


def test_chunks_of_a_document_have_references_of_their_own(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        text = "See tea for hot drinks. See bees for honey."
        chunks = (Chunk(23, {"reference": "tea"}), Chunk(len(text), {"reference": "bees"}))
        index.add([*DOCUMENTS, Document("contents", text, chunks=chunks)])
        found = index.retrieve("honey", FollowReferences(base=overviews("contents"), per_reference=1), k=2)
        assert [each.document_id for each in found] == ["bees", "tea"]


def test_many_references_are_followed_in_one_comparison(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        names = [f"note {number}" for number in range(300)]
        index.add([Document(name, f"The {name} is about tea.") for name in names])
        index.add(Document("contents", "All notes.", None, {"reference": [*names, *(f"no {name}" for name in names)]}))
        start = time.process_time()
        found = index.retrieve("tea", FollowReferences(base=overviews("contents")), k=500)
        assert time.process_time() - start < 5
        assert [each.document_id for each in found] == names


def test_the_filter_of_a_call_holds_for_what_references_lead_to(referring: Index):
    strategy = FollowReferences(base=finds(("a", 0.9, ["tea", "bees"])))
    found = referring.retrieve(QUESTIONS[0], strategy, where=F("topic") == "animals", k=9)
    assert {each.document_id for each in found} == {"bees"}
    near = FollowReferences(base=finds(("a", 0.9, "near")), targets={"near": Vector()})
    found = referring.retrieve(QUESTIONS[0], near, where=F("topic") == "food", k=9)
    assert {each.document_id for each in found} == {"tea"}


def test_no_reference_leads_out_of_a_view(tmp_path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        b = index.scoped(F("tenant") == "b")
        b.add(Document("secret", "The merger of b.", None, {"reference": "plan"}))
        index.add(Document("shared", "The budget of all."))
        [stored] = [document.id for document in index.documents() if document.id.startswith("secret")]
        [leaf] = index.leaves(stored)
        names = ["secret", stored, leaf.id, b.leaves("secret")[0].id, "shared"]
        index.scoped(A).add([Document("plan", "The budget.", None, {"reference": names}), Document("own", "Honey.")])
        for strategy in (
            FollowReferences(),
            FollowReferences(base=Vector(), keep=True, depth=5),
            FollowReferences(targets={"x": BM25()}),
        ):
            found = index.scoped(A).retrieve("merger budget", strategy, k=50)
            assert {each.document_id for each in found} == {"plan", "own"}
            [plan] = [each for each in found if each.document_id == "plan"]
            assert plan.trace.notes[-5:] == tuple(
                f"FollowReferences: the reference {name!r} led to nothing" for name in names
            )
        # Its own documents are found by the ids that the view shows, and another's of the same id is not.
        index.scoped(A).add(Document("plan", "The budget.", None, {"reference": "secret"}))
        index.scoped(A).add(Document("secret", "The honey of a."))
        found = index.scoped(A).retrieve("budget", FollowReferences(base=overviews("plan")))
        assert [each.text for each in found] == ["The honey of a."]


# In a budget, as a base, and beside others


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Sixty notes of one manual, and sixty of none."""
    with Index.open(tmp_path_factory.mktemp("many") / "kb") as opened:
        opened.add([Document(f"a{n:02}", f"A note on tea, number {n}.", None, {"reference": "manual"}) for n in range(60)])
        opened.add([Document(f"b{n:02}", f"Something on coal and on tea, number {n}.") for n in range(60)])
        opened.add(Document("manual", "Green tea is not boiled."))
        yield opened


def test_where_many_passages_become_one_the_base_is_asked_for_more(many: Index):
    asked = many.retrieve("A note on tea", Vector(), k=24)
    assert sum(each.id.startswith("a") for each in asked) == 24
    found = many.retrieve("A note on tea", FollowReferences(base=Vector()), k=10)
    assert found[0].document_id == "manual"
    assert len(found) == 10
    assert {each.document_id[0] for each in found[1:]} == {"b"}


def test_a_call_that_says_how_many_to_look_at_is_obeyed(many: Index):
    found = many.retrieve("A note on tea", FollowReferences(base=Vector()), k=10, candidates=24)
    assert [each.document_id for each in found] == ["manual"]


def test_a_query_that_is_short_changes_nothing_for_another(many: Index):
    strategy, queries = FollowReferences(base=Hybrid()), ["A note on tea", "something on coal"]
    assert many.retrieve_many(queries, strategy, k=10) == [many.retrieve(query, strategy, k=10) for query in queries]


def test_a_budget_is_filled_and_kept(many: Index):
    found = many.retrieve("A note on tea", FollowReferences(base=Vector()), budget=100)
    assert 90 < sum(len(each.text.split()) for each in found) <= 100
    assert found[0].document_id == "manual"


def test_what_it_finds_can_be_widened_and_fused(referring: Index):
    recursive = FollowReferences(base=overviews("hot drinks"), per_reference=1)
    [window] = referring.retrieve(QUESTIONS[2], SentenceWindow(base=recursive, before=1, after=1))
    [leaf] = referring.retrieve(QUESTIONS[2], recursive)
    assert window.start <= leaf.start < leaf.end <= window.end
    assert window.document_id == "tea"
    [best, *_] = referring.retrieve(QUESTIONS[2], Ensemble(retrievers=[recursive, BM25()]))
    assert best.id == leaf.id
    assert best.score == pytest.approx(1 / 2 / 61 + 1 / 2 / 61)


def test_spans_that_overlap_become_one_at_the_first_place(referring: Index):
    base = finds(("a", 0.9, "windows"), ("b", 0.8, "leaves"))
    targets = {
        "windows": leafspan.strategies.filtered(SentenceWindow(before=1, after=1), F("doc_id") == "tea"),
        "leaves": leafspan.strategies.filtered(Vector(), F("doc_id").in_(["tea", "bees"])),
    }
    strategy = FollowReferences(base=base, targets=targets, per_reference=9)
    assert strategy.finds_spans
    found = referring.retrieve(QUESTIONS[2], strategy, k=20)
    places = [(each.document_id, place) for each in found for place in range(each.start, each.end)]
    assert len(places) == len(set(places))
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def test_what_hosts_find_may_refer_to_documents(referring: Index):
    def ask(question):
        return [HostResult("n1", "about tea", None, {"reference": "tea"}), HostResult(None, "no id", None)]

    async def aask(question):
        return ask(question)

    found = referring.retrieve(QUESTIONS[2], FollowReferences(base=HostRetriever("theirs", ask, aask), per_reference=1))
    assert [(each.kind, each.score) for each in found] == [("text", 1.0), ("document", 0.5)]
    assert found[0].document_id == "tea"
    [alone, _] = leafspan.retrieve("q", FollowReferences(base=HostRetriever("theirs", ask, aask)))
    assert alone.trace.notes == ("FollowReferences: the reference 'tea' led to nothing",)


def test_a_document_replaced_meanwhile_is_found_as_it_is_now(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        index.add([Document("a", "See the manual.", None, {"reference": "manual"}), Document("manual", "Old text.")])
        strategy = FollowReferences(base=overviews("a"))
        assert index.retrieve("text", strategy)[0].text == "Old text."
        index.add(Document("manual", "New text."))
        assert index.retrieve("text", strategy)[0].text == "New text."
        index.delete(["manual"])
        assert index.retrieve("text", strategy)[0].text == "See the manual."


# Options


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"base": "vector"}, r"base must be a strategy such as Vector\(\), got 'vector'"),
        ({"targets": [Vector()]}, "targets must be a mapping from names to strategies"),
        ({"targets": {"a": "b"}}, r"target 'a' must be a strategy such as Vector\(\), got 'b'"),
        ({"targets": {"": Vector()}}, "a name in targets must be a text that is not blank, got ''"),
        ({"key": 5}, "key must be a string, got 5"),
        ({"key": " "}, "key must be a text that is not blank, got ' '"),
        ({"depth": 0}, "depth must be a whole number >= 1, got 0"),
        ({"depth": 101}, "depth must be <= 100, got 101"),
        ({"per_reference": 0}, "per_reference must be a whole number >= 1, got 0"),
        ({"keep": 1}, "keep must be True or False, got 1"),
        ({"timeout": -1}, "timeout must be a number of seconds > 0, got -1"),
        ({"on_failure": "leave"}, "on_failure must be one of 'raise', 'skip', got 'leave'"),
    ],
)
def test_options_out_of_range_are_refused(wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        FollowReferences(**wrong)


def test_it_is_a_value_that_no_change_outside_reaches():
    targets = {"a": Vector()}
    strategy = FollowReferences(targets=targets)
    targets.clear()
    assert strategy == FollowReferences(targets={"a": Vector()})
    assert hash(strategy) == hash(FollowReferences(targets={"a": Vector()}))


def test_it_is_what_its_base_and_its_targets_are():
    assert not FollowReferences(targets={"a": Vector()}).finds_spans
    assert FollowReferences(targets={"a": SentenceWindow()}).finds_spans
    assert FollowReferences(base=AutoMerging()).finds_spans
    assert FollowReferences(base=Browse()).returns_all
    assert FollowReferences(base=Vector(instruction="query: ")).query_instruction == "query: "
    assert FollowReferences().needs_query


def test_a_context_of_its_own_is_left_alone():
    base = finds(("a", 1.0))
    next(iter([leafspan.retrieve("q", FollowReferences(base=base), k=2)]))
    assert base.asked[0][1] == RetrievalContext(24)
