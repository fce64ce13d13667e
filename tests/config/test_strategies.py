"""Strategies become plain values, YAML and JSON, and strategies again."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leafspan import (
    BM25,
    AutoMerging,
    BM25Settings,
    Browse,
    Config,
    Decay,
    Ensemble,
    F,
    FollowReferences,
    Hybrid,
    InvalidArgument,
    MultiQuery,
    ParentDocument,
    Query,
    RelevantSegments,
    Rerank,
    RewriteQuery,
    Router,
    SentenceWindow,
    Tree,
    Vector,
)
from leafspan.config import config_name, config_text, schema_of
from leafspan.config._kinds import kinds_below
from leafspan.config._text import parse_config
from leafspan.private import PIIAware
from leafspan.sources import SQL
from leafspan.strategies import Strategy
from tests.profiles import examples

SHARES = st.floats(0, 1)
WEIGHTS = st.floats(0.01, 5)
COUNTS = st.integers(1, 50)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
BM25S = st.builds(BM25Settings, k1=st.floats(0.1, 3), b=SHARES)


def options(kind: type, **values: Any) -> st.SearchStrategy[Any]:
    """The class with any of these options; each may be left out."""
    return st.fixed_dictionaries({}, optional=values).map(lambda chosen: kind(**chosen))


LEGS = st.one_of(
    options(Vector, k=COUNTS, instruction=TEXTS, min_score=SHARES, summaries=st.booleans()),
    options(BM25, k=COUNTS, bm25=BM25S, scale=st.booleans()),
    options(
        Hybrid,
        weights=st.tuples(WEIGHTS, WEIGHTS),
        min_score=st.none() | SHARES,
        min_answer_probability=st.none() | SHARES,
        bm25=st.none() | BM25S,
        instruction=TEXTS,
        summaries=st.booleans(),
        references=SHARES,
        aliases=st.none() | TEXTS,
    ),
    options(Browse, offset=COUNTS),
)
LEAVES = LEGS.filter(lambda leg: not getattr(leg, "summaries", False))
STRATEGIES: st.SearchStrategy[Any] = st.recursive(
    LEGS,
    lambda bases: st.one_of(
        options(AutoMerging, base=LEAVES, threshold=st.floats(0.1, 1), fill_gaps=COUNTS, max_words=st.none() | COUNTS),
        options(SentenceWindow, base=LEAVES, before=COUNTS, after=COUNTS, max_words=st.none() | st.integers(100, 400)),
        options(ParentDocument, base=LEAVES, level=st.none() | COUNTS, max_parents=COUNTS),
        options(RelevantSegments, base=LEAVES, run_cost=st.floats(0, 60), passage_words=COUNTS),
        options(
            Tree,
            base=LEAVES.filter(lambda leg: not isinstance(leg, Browse)),
            mode=st.sampled_from(["collapsed", "traversal"]),
        ),
        st.builds(
            MultiQuery,
            base=bases,
            phrasings=st.lists(TEXTS.filter(str.strip), min_size=1, max_size=3),
            fusion=st.just("maximum"),
        ),
        options(
            Decay,
            base=bases,
            scale=st.floats(0.5, 90) | st.timedeltas(timedelta(hours=1), timedelta(days=900)),
            now=st.dates(date(2000, 1, 1)) | st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)),
        ),
        options(PIIAware, base=bases, entities_field=st.sampled_from(["entities", "people"])),
        st.lists(bases, min_size=2, max_size=3).map(lambda found: Ensemble(retrievers=found)),
        st.dictionaries(st.sampled_from(["docs", "type", "given", "1"]), bases, max_size=2).map(
            lambda found: FollowReferences(targets=found)
        ),
    ),
    max_leaves=4,
)


@examples(300)
@given(STRATEGIES, st.booleans(), st.booleans())
@example(FollowReferences(targets={"given": Vector()}), False, False)
def test_a_strategy_is_the_same_after_its_text(strategy, full, as_json):
    text = config_text(strategy.to_config(full=full), json_text=as_json)
    plain, _ = parse_config(text)
    again = Strategy.from_config(plain)
    assert again == strategy
    assert type(again) is type(strategy)
    assert again.to_config(full=full) == strategy.to_config(full=full)


SCHEMA = jsonschema.Draft202012Validator(schema_of(Strategy))


@examples(60)
@given(STRATEGIES, st.booleans())
def test_the_schema_takes_what_is_written(strategy, full):
    assert SCHEMA.is_valid(strategy.to_config(full=full))


@examples(300)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
        lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXTS, part, max_size=3),
        max_leaves=8,
    )
)
def test_plain_values_are_the_same_after_yaml(plain):
    again, _ = parse_config(config_text(plain))
    assert again == plain
    assert repr(again) == repr(plain)


def answer(_: Any) -> str:
    return ""


def rerank(_question: str, passages: Any) -> Any:
    return passages


EVERY = [
    Vector(),
    BM25(bm25=BM25Settings(k1=1.2)),
    Hybrid(weights=(0.5, 0.5)),
    Browse(),
    AutoMerging(threshold=0.4),
    SentenceWindow(),
    ParentDocument(),
    RelevantSegments(),
    Tree(mode="traversal"),
    MultiQuery(phrasings=["bees", Query("wasps", vector=[0.5, 1.0])]),
    MultiQuery(generate=answer),
    RewriteQuery(how="hyde", generate=answer),
    Rerank(rerank=rerank),
    Decay(now=datetime(2026, 5, 1, 10)),
    PIIAware(),
    Ensemble(retrievers=[Vector(), BM25()], weights=[1, 2]),
    Router(retrievers={"a": Vector(), "b": BM25()}, generate=answer, descriptions={"a": "bees", "b": "wasps"}),
    FollowReferences(targets={"a": Vector()}),
]


@pytest.mark.parametrize("strategy", EVERY, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("full", [False, True])
def test_every_strategy_can_be_written_and_read(strategy, full):
    given = {"answer": answer, "rerank": rerank}
    plain = json.loads(json.dumps(strategy.to_config(given=given, full=full)))
    assert Strategy.from_config(plain, given=given) == strategy
    SCHEMA.validate(plain)


def test_the_list_has_every_strategy():
    elsewhere = {"sql", "light-rag", "property-graph", "at-least", "filtered"}  # need a database or graph, or see below
    own = {name for name, kind in kinds_below(Strategy).items() if kind.__module__.startswith("leafspan")}
    assert {config_name(type(each)) for each in EVERY} == own - elsewhere


def test_a_database_is_given_beside_the_configuration(tmp_path: Path):
    strategy = SQL(f"sqlite:///{tmp_path}/shop.db", generate=answer, tables={"bees": ["name"]}, row_limit=7)
    given = {"shop": strategy.database, "llm": answer}
    plain = strategy.to_config(given=given)
    assert plain == {
        "type": "sql",
        "database": {"given": "shop"},
        "generate": {"given": "llm"},
        "tables": {"bees": ["name"]},
        "row_limit": 7,
    }
    assert Strategy.from_config(plain, given=given) == strategy


def test_what_is_written_is_what_one_would_write():
    strategy = AutoMerging(base=Hybrid(weights=(0.6, 0.4), bm25=BM25Settings(k1=1.2)), threshold=0.4)
    assert config_text(strategy.to_config()) == (
        "type: auto-merging\nbase:\n  type: hybrid\n  weights: [0.6, 0.4]\n  bm25: {k1: 1.2}\nthreshold: 0.4\n"
    )
    assert Strategy.from_config("hybrid") == Hybrid()
    assert Strategy.from_config({"type": "auto-merging", "base": "vector"}) == AutoMerging(base=Vector())
    assert Hybrid().to_config() == {"type": "hybrid"}


def test_a_filter_is_written_as_it_is_in_python():
    from leafspan.strategies._over_base import Filtered

    strategy = Filtered(base=Vector(), where=(F("year") >= 2020) & ~F("tags").contains("draft"))
    plain = strategy.to_config()
    assert plain == {
        "type": "filtered",
        "base": "vector",
        "where": "(F('year') >= 2020) & ~F('tags').contains('draft')",
    }
    assert Strategy.from_config(plain) == strategy
    assert Strategy.from_config({**plain, "where": {"year": 2020}}) == Filtered(base=Vector(), where=F("year") == 2020)


def test_a_function_must_be_named():
    strategy = MultiQuery(generate=answer)
    with pytest.raises(InvalidArgument, match=r"generate must be plain values to be written, got .*: name it in given="):
        strategy.to_config()
    assert strategy.to_config(given={"llm": answer}) == {"type": "multi-query", "generate": {"given": "llm"}}
    with pytest.raises(
        InvalidArgument, match=r"generate: 'llm' must be given beside the configuration: given=\{'llm': ...\}"
    ):
        Strategy.from_config(strategy.to_config(given={"llm": answer}))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hybird", "type must be one of .*, got 'hybird'; did you mean 'hybrid'"),
        ("type: hybrid\nweigths: 1", "kb.yaml, line 2: weigths: hybrid has no option 'weigths'; did you mean 'weights'"),
        ("type: auto-merging\nbase:\n  type: vector\nthreshold: 3", "line 4: threshold: threshold must be .* got 3"),
        ("type: auto-merging\nbase: {type: bm25,\n  k: 0}", r"line 3: base\.k: k must be a whole number >= 1, got 0"),
        ("type: auto-merging\nbase:\n  depth: 3", "line 2: base: type must name one of .*"),
        ("type: ensemble\nretrievers: [vector, bm52]", r"line 2: retrievers\[1\].*type must be .* did you mean 'bm25'"),
        ("type: ensemble", "line 1: ensemble must have retrievers"),
        ("base: vector", "line 1: type must name one of"),
        ("[vector]", "line 1: a strategy must be a name or a mapping, got"),
        ("", "a strategy must be a name or a mapping, got None"),
        ("type: vector\nk: 1\nk: 2", "line 3: k: k must occur once, and occurs twice"),
        ("type: [", "line 1: a configuration must be YAML or JSON"),
        ("type: vector\nk: !!python/object/apply:os.getcwd []", "line 2: k: a configuration must have no tags"),
        ("type: vector\nmin_score: .inf", "line 2: min_score: a number must be finite"),
        ("a: &a [x]\nb: *a", r"b: a configuration must have no aliases"),
        ("type: vector\nk: 1\n---\ntype: bm25", "a configuration must be YAML or JSON"),
    ],
)
def test_errors_say_where_and_why(text, message, tmp_path: Path):
    path = tmp_path / "kb.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=message) as caught:
        Strategy.from_config(path)
    assert str(path) in str(caught.value)


def test_deep_and_long_texts_are_refused():
    for text in ("[" * 5_000, "{a: " * 300 + "1" + "}" * 300, "9" * 10_000):
        with pytest.raises(InvalidArgument, match=r"configuration|finite"):
            parse_config(text)


@pytest.mark.parametrize(
    "number", ["0x" + "f" * 300, "0x" + "f" * 6_000, "0o" + "7" * 6_000, "9" * 6_000, "1e400", "-.inf"]
)
@pytest.mark.parametrize(
    "text",
    ["k: {}", "budget: {}", "min_score: {}", "strategy: {{type: sentence-window, window: {}}}", "k: [{}]", "strategy: {}"],
)
def test_a_number_too_large_for_a_float_is_refused_wherever_it_stands(text: str, number: str, tmp_path: Path):
    path = tmp_path / "kb.yaml"
    path.write_text(text.format(number), encoding="utf-8")
    with pytest.raises(InvalidArgument, match=r"line 1: .* a number must be finite"):
        Config.load(path)


def test_yaml_follows_version_1_2():
    plain, _ = parse_config("a: no\nb: 1e3\nc: 0o17\nd: 12:30:45\ne: 2026-05-01\nf: ~\ng: '1'\nh: True")
    assert plain == {"a": "no", "b": 1000.0, "c": 15, "d": "12:30:45", "e": "2026-05-01", "f": None, "g": "1", "h": True}
    assert math.isclose(parse_config("-1.5e-3")[0], -0.0015)


def test_nobody_takes_a_name_away_from_a_strategy_of_leafspan():
    @dataclass(frozen=True)
    class BM25(Vector):
        """A strategy of the user's own, which is called like one of leafspan's."""

    assert type(Strategy.from_config("bm25")).__module__.startswith("leafspan.")
    with pytest.raises(InvalidArgument, match="it must be plain values to be written, got "):
        BM25().to_config()


def test_a_type_hint_that_cannot_be_resolved_does_no_harm():
    @dataclass(frozen=True)
    class OddlyTyped(Vector):
        """A strategy of the user's own."""

        size: NoSuchType = 3  # type: ignore[name-defined]  # noqa: F821

    assert Strategy.from_config({"type": "oddly-typed", "size": 5}) == OddlyTyped(size=5)
    assert OddlyTyped(size=5).to_config() == {"type": "oddly-typed", "size": 5}
    assert schema_of(Strategy)
