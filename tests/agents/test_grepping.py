"""``grep``: lines of documents by a regular expression or an exact text."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Document, DocumentNotFound, F, Index, InvalidArgument, RetrievalTimeout
from leafspan.agents import AgentTool, _grepping, agent_tools
from leafspan.flows import run
from tests.event_loop import wait_for_the_loop
from tests.profiles import examples

TEA = "# Tea\r\n\r\nGreen tea: E-123.\rBlack tea is not.\nÜber den Tee\u2028und mehr\n\nお茶は緑です。\nЧай зелёный\n"
BEES = "Bees dance.\n\nBees also make tea? No (really)."


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with Index.open(tmp_path_factory.mktemp("grep") / "kb", embedder=lambda texts: [[1.0, 0.0] for _ in texts]) as index:
        index.add([Document("tea", TEA, metadata={"year": 2020}), Document("bees", BEES), Document("empty", "")])
        yield index


@pytest.fixture(scope="module")
def grep(index: Index) -> AgentTool:
    return agent_tools(index)[3]


def lines_in(texts: dict[str, str], pattern: str, **options: Any) -> tuple[list[_grepping.Line], bool]:
    view: Any = SimpleNamespace(get=lambda id_: Document(id_, texts[id_]), aget=None)
    return run(_grepping.find_lines(view, [*texts], _grepping.line_expression(pattern, regex=True), **options))


def found(tool: AgentTool, pattern: str, **arguments: object) -> list[tuple[str, int]]:
    lines = tool.call({"pattern": pattern, **arguments}).content["lines"]
    return [(each["document_id"], each["line"]) for each in lines]


def test_each_line_comes_with_its_number_and_a_citation_that_can_be_read(index, grep):
    line, other = grep.call({"pattern": r"E-\d{3}|dance"}).content["lines"]
    assert line == {
        "citation": "bees:0-11",
        "document_id": "bees",
        "start": 0,
        "end": 11,
        "line": 1,
        "text": "Bees dance.",
    }
    assert TEA[other["start"] : other["end"]] == other["text"] == "Green tea: E-123."
    read = agent_tools(index)[1]
    assert other["text"] in read.call({"citation": other["citation"]}).content["text"]
    assert grep.call({"pattern": "dance"}).content.keys() == {"lines"}  # there are no more


@pytest.mark.parametrize(
    ("pattern", "arguments", "lines"),
    [
        ("tea", {}, [("bees", 3), ("tea", 3), ("tea", 4)]),
        ("TEA", {}, []),
        ("TEA", {"ignore_case": True}, [("bees", 3), ("tea", 1), ("tea", 3), ("tea", 4)]),
        ("(?i)TEA$", {}, [("tea", 1)]),
        ("^(Green|Black) tea", {}, [("tea", 3), ("tea", 4)]),
        (r"not\.$", {}, [("tea", 4)]),
        (r"\ABlack.*\z", {}, [("tea", 4)]),
        ("^$", {}, [("bees", 2), ("tea", 2), ("tea", 6)]),
        ("tee.und", {}, []),
        ("Tee.und mehr$", {}, [("tea", 5)]),  # U+2028 is no line end
        ("über", {"ignore_case": True}, [("tea", 5)]),
        (r"^\pL+は", {}, [("tea", 7)]),
        ("緑", {"regex": False}, [("tea", 7)]),
        ("ЗЕЛЁНЫЙ", {"ignore_case": True}, [("tea", 8)]),
        (r"\p{Cyrillic}", {}, [("tea", 8)]),
        ("(really).", {"regex": False}, [("bees", 3)]),
        ("(REALLY).", {"regex": False, "ignore_case": True}, [("bees", 3)]),
        (r"\Q(really).\E", {}, [("bees", 3)]),
        ("t.a", {"regex": False}, []),
        ("tea", {"document_id": "bees"}, [("bees", 3)]),
        ("tea", {"where": 'F("year") == 2020'}, [("tea", 3), ("tea", 4)]),
        ("tea", {"where": {"year": {"$gt": 2020}}}, []),
        ("tea", {"where": " "}, [("bees", 3), ("tea", 3), ("tea", 4)]),
        ("tea", {"where": 'F("year") == 2020', "document_id": "bees"}, []),
        (".", {"document_id": "empty"}, []),
        (".*", {"document_id": "empty"}, []),
    ],
)
def test_lines_that_match(grep, pattern, arguments, lines):
    assert found(grep, pattern, **arguments) == lines


def test_it_awaits_the_same(grep):
    assert asyncio.run(grep.acall({"pattern": "tea"})) == grep.call({"pattern": "tea"})


def test_searching_a_document_leaves_the_event_loop_free(grep, monkeypatch):
    async def call() -> None:
        loop, search, expected = asyncio.get_running_loop(), _grepping._lines_of, grep.call({"pattern": "tea"})
        monkeypatch.setattr(_grepping, "_lines_of", lambda *given: (wait_for_the_loop(loop), search(*given))[1])
        assert await grep.acall({"pattern": "tea"}) == expected

    asyncio.run(call())


def test_a_result_is_bounded_in_characters(tmp_path):
    with Index.open(tmp_path / "kb", embedder=lambda texts: [[1.0, 0.0] for _ in texts]) as index:
        index.add(Document("a", ("tea " * 100 + "\n") * 100))
        found = agent_tools(index)[3].call({"pattern": "tea", "limit": 100})
    assert len(found.text) < 21_000
    assert (len(found.content["lines"]), found.content["more"]) == (20_000 // 500, True)


def test_the_limit_is_said_to_have_been_reached_only_if_there_are_more(grep):
    assert grep.call({"pattern": "tea", "limit": 2}).content["more"]
    assert found(grep, "tea", limit=2) == [("bees", 3), ("tea", 3)]
    assert "more" not in grep.call({"pattern": "tea", "limit": 3}).content


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "pattern must have 1 to 1,000 characters, got 0"),
        ("a\nb", r"pattern must have no line ends, since each line is searched alone, got 'a\\nb'"),
        ("a\r", "pattern must have no line ends"),
        (
            "tea(",
            r"pattern must be a regular expression of RE2, got 'tea\(': missing \): tea\(; write an exact text as \\Q",
        ),
        ("(?=tea)", "pattern must be a regular expression of RE2"),
        (r"(t)\1", "pattern must be a regular expression of RE2"),
        (r"(?:\pL?){60}", "pattern too large"),
        ("a{1001}", "invalid repetition size"),
        ("\ud800", "pattern must be a regular expression of RE2"),
        ("x" * 1_001, "pattern must have at most 1000 characters, got 1001"),
    ],
)
def test_what_is_refused(grep, pattern, message):
    with pytest.raises(InvalidArgument, match=message):
        grep.call({"pattern": pattern})


def test_a_document_that_is_not_there(grep):
    with pytest.raises(DocumentNotFound, match="there is no document 'cats' in the index"):
        grep.call({"pattern": "tea", "document_id": "cats"})


def test_an_emptied_index_has_no_lines(tmp_path):
    with Index.open(tmp_path / "kb") as index:
        grep = agent_tools(index)[3]
        assert grep.call({"pattern": "tea"}).content == {"lines": []}
        index.add(Document("tea", TEA))
        assert found(grep, "Green") == [("tea", 3)]
        index.delete(["tea"])
        assert grep.call({"pattern": "tea"}).content == {"lines": []}


def test_a_document_that_is_deleted_meanwhile_has_no_lines(tmp_path, monkeypatch):
    with Index.open(tmp_path / "kb") as index:
        index.add([Document("bees", BEES), Document("tea", TEA)])
        before = index.documents()
        index.delete(["bees"])
        monkeypatch.setattr(index, "documents", lambda _: before)
        assert found(agent_tools(index)[3], "tea") == [("tea", 3), ("tea", 4)]


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*$", "(?:a?){500}a{500}$", r"(.*a){20}$", r"\pL{30}\pN", "(?:[ab]?){999}c"]
)
def test_no_expression_takes_long(pattern):
    """Python's re would take years for some of these."""
    reach = _grepping._STEPS // _grepping.line_expression(pattern, regex=True).programsize
    began = time.process_time()
    lines, complete = lines_in({"a": "a" * reach + "b!"}, pattern)
    assert time.process_time() - began < 5
    assert (lines, complete) == ([], False)  # its end was not searched


def test_the_rest_is_searched_if_a_line_is_too_long_for_its_expression():
    pattern = r"^(?:a?){500}b"
    reach = _grepping._STEPS // _grepping.line_expression(pattern, regex=True).programsize
    lines, complete = lines_in({"a": "c" * (reach + 1) + "\nb", "z": "ab"}, pattern)
    assert ([(each.document_id, each.number) for each in lines], complete) == ([("a", 2), ("z", 1)], False)


def test_a_long_line_is_shown_around_the_match_and_cited_there(tmp_path):
    text = "x" * 3_000 + " needle " + "y" * 3_000
    with Index.open(tmp_path / "kb", embedder=lambda texts: [[1.0, 0.0] for _ in texts]) as index:
        grep = agent_tools(index)[3]
        for long in (text, f"first\r\n{text}\r\n", text[2_000:], text[:3_100]):
            index.add(Document("a", long))
            [line] = grep.call({"pattern": "needle"}).content["lines"]
            assert line["cut"]
            assert "needle" in line["text"]
            assert len(line["text"]) == 500
            assert long[line["start"] : line["end"]] == line["text"]
            assert line["citation"] == f"a:{line['start']}-{line['end']}"


def test_when_time_is_up_the_lines_so_far_are_returned(monkeypatch):
    now = iter(range(100))  # one look at the clock before each document, and one after each line
    monkeypatch.setattr(_grepping.time, "monotonic", lambda: next(now))
    lines, complete = lines_in({"bees": BEES, "tea": TEA}, "tea", end=6)
    assert ([(each.document_id, each.number) for each in lines], complete) == ([("bees", 3), ("tea", 3)], False)


def test_a_call_has_an_end(index):
    with pytest.raises(RetrievalTimeout):
        agent_tools(index, timeout=1e-6)[3].call({"pattern": "tea"})
    assert found(agent_tools(index, timeout=None)[3], "dance") == [("bees", 1)]


def test_a_view_has_the_lines_of_its_documents(index):
    assert found(agent_tools(index.scoped(F("year") == 2020))[3], "tea") == [("tea", 3), ("tea", 4)]


literal = st.sampled_from(["a", "b", "é", "日", r"\.", "[ab]", "[^a]", ".", r"\d", r"\s", "^", "$"])
expressions = st.recursive(
    literal,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "*?"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@given(pattern=expressions, text=st.text("abé日. 1\r\n\u2028", max_size=30))
@examples(200)
def test_simple_expressions_match_as_pythons_do(pattern, text):
    lines = re.split(r"\r\n?|\n", text)
    expected = [number for number, line in enumerate(lines, 1) if re.search(pattern, line, re.ASCII)]
    if not lines[-1] and len(lines) in expected:
        expected.remove(len(lines))  # no line follows the last line end
    found, complete = lines_in({"a": text}, pattern)
    assert ([each.number for each in found], complete) == (expected, True)
    assert [each.text for each in found] == [lines[number - 1] for number in expected]
    assert all(text[each.start : each.start + len(each.text)] == each.text and each.is_whole for each in found)
