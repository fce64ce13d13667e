"""A question, and the strategies' results, side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from leafspan import Config, Document, Hybrid, Index, Vector
from tests.lab.serving.browsing import STRATEGIES, Browser

QUESTION = "Who decoded the dance of the bees?"


def test_at_first_there_is_only_a_form(browser: Browser):
    page = browser.open()
    assert page.status == 200
    assert page.fields == [("q", ""), ("s", "hybrid"), ("s", ""), ("s", ""), ("k", ""), ("budget", ""), ("where", "")]
    assert 'class="ls-card"' not in page.html
    assert page.alerts == []


def test_the_form_asks_what_was_typed_and_keeps_it(browser: Browser):
    page = browser.send(browser.open(), q=QUESTION, k="2", where='F("topic") == "animals"')
    assert page.html.count('class="ls-card"') == 2
    assert "Karl von Frisch" in page.text
    again = [("q", QUESTION), ("s", "hybrid"), ("s", ""), ("s", ""), ("k", "2"), ("budget", "")]
    assert page.fields == [*again, ("where", 'F("topic") == "animals"')]
    assert "harbour" not in page.text


def test_strategies_stand_side_by_side_each_once(browser: Browser):
    page = browser.ask(QUESTION, "hybrid", "vector", "hybrid", k="1")
    assert page.html.count('class="ls-strategy"') == 2
    assert [value for name, value in page.fields if name == "s"] == ["hybrid", "vector", ""]


def test_what_several_strategies_found_is_said(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index:
        index.add(Document("a", "Honey is made by bees."))
        with Browser(index, {"one": Config(strategy=Hybrid()), "two": Config(strategy=Vector())}) as browser:
            page = browser.ask("Who makes honey?", "one", "two")
            assert "2 of these 2 passages were found" in page.text
            assert "also found by two (1)" in page.text
            assert "also found by one (1)" in page.text
            assert "also found" not in browser.ask("Who makes honey?", "one").text


def test_why_a_passage_was_returned_is_there(browser: Browser):
    page = browser.ask(QUESTION, "hybrid", k="1")
    assert "<summary>why</summary>" in page.html
    assert "bm25" in page.text


def test_by_default_five_passages_are_found_by_every_strategy(browser: Browser):
    assert browser.ask("", "browse").html.count('class="ls-card"') == 5
    assert browser.ask("", "browse", k="7").html.count('class="ls-card"') == 7


def test_a_budget_limits_words(browser: Browser, shared_index: Index):
    found = shared_index.retrieve(QUESTION, Hybrid(), budget=40)
    assert browser.ask(QUESTION, "hybrid", budget="40").html.count('class="ls-card"') == len(found)


def test_a_configuration_brings_its_limits_unless_the_form_has_some(shared_index: Index):
    known = {"mine": Config(strategy=Vector(), k=3), "high": Config(strategy=Vector(), min_score=0.99)}
    with Browser(shared_index, known) as browser:
        assert browser.ask(QUESTION, "mine").html.count('class="ls-card"') == 3
        assert browser.ask(QUESTION, "mine", k="1").html.count('class="ls-card"') == 1
        assert "nothing was found" in browser.ask(QUESTION, "high").text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"k": "0"}, "k must be a whole number in [1, 50], got '0'"),
        ({"k": "51"}, "k must be a whole number in [1, 50]"),
        ({"k": "9" * 5000}, "k must be a whole number in [1, 50]"),
        ({"k": "²"}, "k must be a whole number in [1, 50]"),
        ({"budget": "-1"}, "budget must be a whole number in [1, 10,000]"),
        ({"where": "year >= 2020"}, 'where must be JSON, or like F("year") >= 2020'),
        ({"where": '{"$nor": []}'}, "$nor"),
        ({"where": "(" * 1500}, "got "),
        ({"where": "x" * 2001}, "a filter must have at most 2,000 characters, got 2,001"),
        ({"s": "hybird"}, "did you mean 'hybrid'?"),
        ({"q": "x" * 2001}, "a question must have at most 2,000 characters, got 2,001"),
        ({"q": "  "}, "blank"),
    ],
)
def test_what_is_wrong_stands_beside_the_form(browser: Browser, fields: dict[str, str], message: str):
    page = browser.open("", {"q": QUESTION, **fields})
    assert page.status == 200
    assert len(page.alerts) == 1
    assert message in page.alerts[0]
    assert "Traceback" not in page.html
    assert page.action == "./"
    assert dict(page.fields)["k"] == fields.get("k", "")


def test_there_are_three_strategies_at_most(browser: Browser):
    page = browser.ask(QUESTION, "hybrid", "vector", "windows", "tree")
    assert page.alerts == ["there must be at most 3 strategies, got 4"]


def test_a_strategy_that_fails_does_not_keep_others_from_answering(browser: Browser):
    page = browser.open("", [("q", ""), ("s", "hybrid"), ("s", "browse")])
    assert len(page.alerts) == 1
    assert page.html.count('class="ls-card"') == 5


def test_a_retrieval_ends_in_time(shared_index: Index):
    with Browser(shared_index, timeout=1e-9) as browser:
        assert "within its timeout of 1e-09 seconds" in browser.ask(QUESTION, "hybrid").alerts[0]


def test_an_unexpected_failure_is_for_the_log_alone(
    shared_index: Index, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    async def failing(*_: object, **__: object) -> None:
        raise RuntimeError("a secret \x1b[31mpath")

    monkeypatch.setattr(type(shared_index), "aretrieve", failing)
    with Browser(shared_index) as browser:
        page = browser.ask(QUESTION, "hybrid")
    assert page.status == 500
    assert page.alerts == ["This failed for a reason that the terminal shows: try again."]
    assert "secret" not in page.html
    assert "a secret ␛[31mpath" in caplog.text


def test_each_strategy_answers(browser: Browser):
    for name in STRATEGIES:
        assert browser.ask(QUESTION, name).alerts == []


def test_an_empty_index_has_pages(tmp_path: Path):
    with Index.open(tmp_path / "kb") as index, Browser(index) as browser:
        assert "nothing was found" in browser.ask(QUESTION, "hybrid").text
        for address in ("", "documents", "trees", "index"):
            assert browser.open(address).status == 200
