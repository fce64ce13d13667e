"""A configuration of an index: made once, used by ``Index.open``, the command line and both frameworks."""

from __future__ import annotations

import json
import os
from fractions import Fraction
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import (
    Analyzer,
    AutoMerging,
    BM25Settings,
    Budget,
    Config,
    F,
    HierarchicalSplitter,
    Hybrid,
    Index,
    InvalidArgument,
    RelevantSegments,
    SentenceWindow,
    Vector,
)
from leafspan.config import config_text
from leafspan.config._text import parse_config
from leafspan.errors import IndexMismatch
from leafspan.private import Vault, private_view
from tests.config.test_strategies import STRATEGIES
from tests.private.views.people import KEY
from tests.profiles import examples

KB = """
splitter: {leaf_words: 20, parent_words: [60, 240]}
analyzer: {language: german}
title_weight: 0.5
strategy:
  type: hybrid
  weights: [0.6, 0.4]
k: 3
"""
DOCUMENTS = [
    {
        "id": f"d{number}",
        "text": f"Der Fluss Nummer {number} fließt. Er ist lang.\n\nSein Wasser ist kalt.",
        "metadata": {"n": number},
    }
    for number in range(8)
]
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "splitter": st.builds(HierarchicalSplitter, leaf_words=st.integers(1, 60), parent_words=st.just((80, 200))),
        "context_sentences": st.integers(0, 3),
        "title_weight": st.floats(0, 2),
        "analyzer": st.builds(Analyzer, language=st.sampled_from(["english", "german"]), stem=st.booleans()),
        "bm25": st.builds(BM25Settings, k1=st.floats(0, 3), b=st.floats(0, 1)),
        "strategy": STRATEGIES,
        "k": st.integers(1, 50),
        "candidates": st.integers(1, 10_000),
        "budget": st.integers(1, 2_000),
        "min_score": st.floats(0, 1),
    },
).map(lambda options: Config(**options))


SCHEMA = jsonschema.Draft202012Validator(Config.schema())


@examples(60)
@given(CONFIGS)
def test_a_configuration_survives_yaml_and_json(config: Config):
    plain = config.to_dict()
    assert SCHEMA.is_valid(plain)
    for json_text in (False, True):
        back, _ = parse_config(config_text(plain, json_text=json_text))
        assert Config.from_dict(back) == config
    assert Config.from_dict(config.to_dict(full=True)) == config


def test_a_file_says_how_an_index_is_made_and_asked(tmp_path: Path):
    file = tmp_path / "leafspan.yaml"
    file.write_text(KB, encoding="utf-8")
    with Index.open(tmp_path / "kb", config=file) as index:
        index.add(DOCUMENTS)
        found = index.retrieve("Wo ist der lange Fluss?")
        assert found == index.retrieve("Wo ist der lange Fluss?", Hybrid(weights=(0.6, 0.4)), k=3)
        assert len(found) == 3
        assert index.default_strategy == Hybrid(weights=(0.6, 0.4))
    with Index.open(tmp_path / "kb") as index:  # made with the splitter and analyzer, asked without the configuration
        assert index.stats().documents == len(DOCUMENTS)
        assert index.default_strategy == RelevantSegments()
    with pytest.raises(IndexMismatch, match="splitter"):
        Index.open(tmp_path / "kb", config={"splitter": {"leaf_words": 21}})


def test_a_call_has_the_last_word(tmp_path: Path):
    config = Config(strategy=Vector(), k=2, title_weight=0.1)
    with Index.open(tmp_path / "kb", config=config, title_weight=0.9) as index:
        index.add(DOCUMENTS)
        assert len(index.retrieve("Fluss")) == 2
        assert len(index.retrieve("Fluss", k=4)) == 4
        assert len(index.retrieve("Fluss", budget=1_000)) > 2  # k and budget say one thing together
        assert index.retrieve("Fluss", "bm25") != index.retrieve("Fluss")
    with pytest.raises(IndexMismatch, match="title_weight"):
        Index.open(tmp_path / "kb", config=config)


def test_every_view_of_the_index_is_asked_in_the_same_way(tmp_path: Path):
    with Index.open(tmp_path / "kb", config={"strategy": "vector", "k": 2}) as index:
        index.add(DOCUMENTS)
        vault = Vault.open(tmp_path / "vault.db", KEY)
        for view in (index.scoped(F("n") < 6), private_view(index, vault, finder=lambda text: [])):
            assert len(view.retrieve("Fluss")) == 2
            assert view.default_strategy == Vector()
        strategy = index.as_strategy()
        assert strategy.strategy == Vector()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("k: 3\nstrategie: hybrid", "line 2: strategie: config has no option 'strategie'; did you mean 'strategy'"),
        ("k: 0", "line 1: k: k must be a whole number >= 1, got 0"),
        ("strategy: hybird", "line 1: strategy.* type must be one of .* got 'hybird'; did you mean 'hybrid'"),
        ("analyzer:\n  language: klingon", "line 2: analyzer.language: language must be one of"),
        ("splitter: {leaf_words: 0}", "line 1: splitter"),
        ("- k", "line 1: a configuration must be a mapping"),
        ("k: [", "a configuration must be YAML or JSON"),
        ("k: 3\n# \0", r"line 2: .* it must have no control characters, got '\\x00'"),
        ("strategy:\n\ttype: hybrid", "line 2: .*: indent with spaces, not with tabs"),
        ("analyzer: german", "line 1: analyzer: analyzer must be a mapping with options such as language, got 'german'"),
        ("budget: many", "budget: budget must be a mapping with options such as limit or a whole number, got 'many'"),
    ],
)
def test_errors_of_a_file_say_where_and_why(text, message, tmp_path: Path):
    file = tmp_path / "leafspan.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidArgument, match=message) as caught:
        Index.open(tmp_path / "kb", config=file)
    assert str(file) in str(caught.value)
    assert not (tmp_path / "kb").exists()


def test_what_is_no_configuration_is_refused(tmp_path: Path):
    with pytest.raises(InvalidArgument, match="config must be a Config, the path of a file, or a mapping, got 3"):
        Index.open(tmp_path / "kb", config=3)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=r"a configuration must be a file in UTF-8, got .*no\.yaml"):
        Index.open(tmp_path / "kb", config=tmp_path / "no.yaml")
    (tmp_path / "latin").write_bytes(b"k: 3\n# caf\xe9\n")
    (tmp_path / "long").write_bytes(b"# x\n" * 250_001)
    for name, reason in (
        ("no.yaml", "no such file or directory"),
        ("", "it is a folder"),
        ("latin", "line 2 has a byte that is not UTF-8"),
        ("long", "it has more than 1,000,000 bytes"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            Config.load(tmp_path / name)
        assert str(caught.value) == f"a configuration must be a file in UTF-8, got {str(tmp_path / name)!r}: {reason}"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a FIFO")
def test_a_fifo_is_no_configuration_and_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "kb.yaml")
    with pytest.raises(InvalidArgument, match="it is no regular file"):
        Config.load(tmp_path / "kb.yaml")


def test_functions_are_given_beside_the_file(tmp_path: Path):
    def tokens(text: str) -> int:
        return len(text) // 4

    config = Config(budget=Budget(200, count=tokens), splitter=lambda text: [])
    file = tmp_path / "kb.json"
    with pytest.raises(InvalidArgument, match=r"must be plain values to be written, got .*: name it in given="):
        config.save(file)
    given = {"tokens": tokens, "cut": config.splitter}
    config.save(file, given=given)
    assert json.loads(file.read_text()) == {
        "splitter": {"given": "cut"},
        "budget": {"limit": 200, "count": {"given": "tokens"}},
    }
    assert Config.load(file, given=given) == config


@pytest.mark.parametrize(
    "number", [np.float32(0.25), np.float64(0.25), Fraction(1, 4)], ids=lambda number: type(number).__name__
)
def test_numbers_of_other_libraries_are_written_as_plain_ones(number: float):
    written = Config(strategy=Hybrid(min_answer_probability=number), min_score=number).to_dict()
    assert written["min_score"] == 0.25
    assert type(written["min_score"]) is float
    assert Config.from_dict(json.loads(json.dumps(written))) == Config(
        strategy=Hybrid(min_answer_probability=0.25), min_score=0.25
    )


def test_an_empty_file_is_a_configuration_without_options(tmp_path: Path):
    file = tmp_path / "empty.yaml"
    file.write_text("# nothing yet\n", encoding="utf-8")
    assert Config.load(file) == Config()
    Config().save(file)
    assert Config.load(file) == Config()


def test_what_this_version_writes_stays_readable():
    """Configurations that were written once: later versions must read them, and find the same in them."""
    plain, _ = parse_config("""
strategy:
  type: sentence-window
  base: {type: hybrid, weights: [0.6, 0.4], references: 0.4, aliases: also}
""")
    hybrid = Hybrid(weights=(0.6, 0.4), references=0.4, aliases="also")
    assert Config.from_dict(plain) == Config(strategy=SentenceWindow(base=hybrid))
    text = """
strategy: {type: auto-merging, base: {type: hybrid, weights: [0.7, 0.3], min_answer_probability: 0.4}, threshold: 0.5}
splitter: {leaf_words: 45, parent_words: [150, 600], unit: words}
analyzer: {language: english, stem: true, stop_words: true}
bm25: {k1: 0.9, b: 0.4, variant: lucene, delta: null, epsilon: 0.25}
context_sentences: 0
title_weight: 0.3
k: 5
candidates: 24
budget: 300
min_score: 0.1
"""
    plain, _ = parse_config(text)
    config = Config.from_dict(plain)
    assert config == Config(
        strategy=AutoMerging(base=Hybrid(weights=(0.7, 0.3), min_answer_probability=0.4), threshold=0.5),
        splitter=HierarchicalSplitter(),
        analyzer=Analyzer("english"),
        bm25=BM25Settings(),
        context_sentences=0,
        title_weight=0.3,
        k=5,
        candidates=24,
        budget=300,
        min_score=0.1,
    )
