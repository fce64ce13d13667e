"""With the defaults, retrieval finds and keeps twelve company rules of one sentence each, in any language."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from leafspan import Document, Hybrid, Index

DATA = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks" / "rules.py"))
STRICT = Hybrid(min_answer_probability=0.5)


@pytest.fixture(scope="module", params=["de", "en"])
def language(request):
    return request.param


@pytest.fixture(scope="module")
def index(language, tmp_path_factory):
    with Index.open(tmp_path_factory.mktemp("rules") / "kb") as opened:
        opened.add([Document(id_, text) for id_, text in DATA["RULES"][language].items()])
        yield opened


def test_the_right_rule_comes_first(index, language):
    first = {id_: index.retrieve(question, k=1)[0].document_id for id_, question in DATA["QUESTIONS"][language].items()}
    assert sum(id_ == found for id_, found in first.items()) >= 11


def test_rules_are_kept_and_foreign_questions_are_refused(index, language):
    asked, foreign = [*DATA["QUESTIONS"][language].values()], DATA["FOREIGN"][language]
    assert sum(map(bool, index.retrieve_many(asked, STRICT))) >= 10
    assert sum(not row for row in index.retrieve_many(foreign, STRICT)) >= 8
