"""``search``: from a question to passages that can be cited."""

from __future__ import annotations

import json

import pytest

from leafspan import Config, Document, Hybrid, Index, InvalidArgument, Rerank, RetrievalTimeout, Tree, Vector
from leafspan.agents import AgentTool, agent_tool, agent_tools
from leafspan.text import count_words
from tests.corpus import SPLITTER, TEXTS


@pytest.fixture(scope="module")
def search(shared_index: Index) -> AgentTool:
    return agent_tools(shared_index)[0]


def test_a_passage_has_its_text_its_document_and_a_citation(search):
    found = search.call({"question": "Who decoded the dance of the bees?", "budget": 60})
    best = found.content["passages"][0]
    assert "Karl von Frisch decoded the dance" in best["text"]
    assert best["citation"] == f"bees:{best['start']}-{best['end']}"
    assert (best["document_id"], best["title"]) == ("bees", "Honey bees")
    assert best["metadata"] == {"topic": "animals", "year": 1973}
    assert 0 < best["score"] <= 1
    assert TEXTS["bees"][best["start"] : best["end"]] == best["text"]


def test_headings_are_a_list_outermost_first(search):
    best = search.call({"question": "When was the lamp lit by gas?", "budget": 30}).content["passages"][0]
    assert best["headings"] == ["The harbour", "The lighthouse"]


def test_the_passages_themselves_are_there_for_code(search):
    found = search.call({"question": "tea", "budget": 100})
    assert [each["text"] for each in found.content["passages"]] == [passage.text for passage in found.passages]


def test_the_text_for_the_model_is_the_content_as_json(search):
    found = search.call({"question": "tea"})
    assert json.loads(found.text) == found.content


@pytest.mark.parametrize("budget", [20, 60, 200])
def test_the_budget_is_kept(search, budget):
    found = search.call({"question": "harbour pier tea bees", "budget": budget}).content
    assert 0 < sum(count_words(each["text"]) for each in found["passages"]) <= budget


@pytest.mark.parametrize(
    "where",
    ['F("year") < 1900', '{"year": {"$lt": 1900}}', {"field": "meta.year", "operator": "<", "value": 1900}],
    ids=["text", "json", "mapping"],
)
def test_a_filter_can_be_a_text_json_or_a_mapping(search, where):
    found = search.call({"question": "honey", "where": where, "strategy": "vector"}).content["passages"]
    assert {each["document_id"] for each in found} == {"harbour"}


@pytest.mark.parametrize("blank", ["", "  ", None, {}, "{}"])
def test_a_filter_that_says_nothing_is_none(search, blank):
    assert search.call({"question": "honey", "where": blank}) == search.call({"question": "honey"})


@pytest.mark.parametrize("name", ["auto-merging", "sentence-window", "parent-document", "hybrid", "vector", "bm25", "tree"])
def test_the_model_can_choose_a_strategy(search, name):
    found = search.call({"question": "Who decoded the dance?", "strategy": name}).content["passages"]
    assert found[0]["document_id"] == "bees"


def test_what_nothing_answers_has_no_passages_and_says_so(search):
    found = search.call({"question": "xylophone", "strategy": "bm25"}).content
    assert found["passages"] == []
    assert "Try other words" in found["note"]


def test_a_summary_says_what_it_covers(index):
    index.build_tree()
    search = agent_tool(index, strategies=Tree(base=Vector()))
    found = search.call({"question": "Salt, timber and herring at the harbour", "budget": 300}).content["passages"]
    [summary, *_] = [each for each in found if each.get("kind") == "summary"]
    assert "citation" not in summary
    start, _, end = summary["covers"][0].removeprefix("harbour:").partition("-")
    assert 0 <= int(start) < int(end) <= len(TEXTS["harbour"])


def test_a_single_strategy_is_no_choice(shared_index):
    tool = agent_tool(shared_index, name="bees", strategies=Vector(), about="texts about bees")
    assert tool.name == "bees"
    assert "Search texts about bees." in tool.description
    assert list(tool.schema["properties"]) == ["question", "where", "budget", "k"]
    assert tool.call({"question": "dance"}).content["passages"]


def test_a_strategy_may_be_a_name(shared_index):
    assert agent_tool(shared_index, strategies="vector").call({"question": "dance"}) == agent_tool(
        shared_index, strategies=Vector()
    ).call({"question": "dance"})


def test_the_strategy_of_the_index_comes_first(tmp_path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER, config={"strategy": "bm25"}) as index:
        index.add(Document("tea", TEXTS["tea"]))
        search = agent_tool(index)
        given = search.schema["properties"]["strategy"]
        assert given["enum"][:2] == ["default", "relevant-segments"]
        assert given["description"].count("(the default)") == 1
        assert "default: as this index is usually searched (the default)" in given["description"]
        assert search.call({"question": "tea"}) == search.call({"question": "tea", "strategy": "bm25"})


def test_the_limits_of_a_configuration_are_the_defaults_and_a_call_has_the_last_word(tmp_path):
    config = {"k": 2, "budget": 50, "strategy": "vector"}
    with Index.open(tmp_path / "kb", splitter=SPLITTER, config=config) as index:
        index.add([Document(id_, text) for id_, text in TEXTS.items()])
        search, read, *_ = agent_tools(index)
        properties = search.schema["properties"]
        assert (properties["k"]["default"], properties["budget"]["default"]) == (2, 50)
        assert read.schema["properties"]["budget"]["default"] == 50

        def found(**arguments):
            return len(search.call({"question": "bees and tea", **arguments}).passages)

        assert (found(), found(k=4, budget=500), found(k=1)) == (2, 4, 1)


def test_the_lowest_score_of_a_configuration_holds_in_tools(tmp_path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER, config={"strategy": "vector", "min_score": 0.3}) as index:
        index.add([Document(id_, text) for id_, text in TEXTS.items()])
        found = agent_tool(index).call({"question": "Who decoded the dance of the bees?"}).passages
        assert found == tuple(index.retrieve("Who decoded the dance of the bees?", budget=600))
        assert min(each.score for each in found) >= 0.3


@pytest.mark.parametrize(
    ("config", "options", "expected"),
    [
        ({}, {}, (None, 600)),
        ({}, {"max_budget": 400}, (None, 400)),
        ({"k": 3}, {}, (3, 600)),
        ({"k": 100}, {}, (25, 600)),  # a tool shows no more
        ({"budget": 10}, {}, (None, 20)),
        ({"budget": 5000}, {}, (None, 3000)),
        ({"budget": {"limit": 400, "count": {"given": "tokens"}}}, {}, (None, 300)),  # a token is 3/4 of a word
        ({"k": 3, "budget": 50}, {"budget": 100}, (None, 100)),  # k and budget say one thing together
        ({"k": 3, "budget": 50}, {"k": 1}, (1, 600)),
    ],
)
def test_where_the_defaults_of_tools_come_from(tmp_path, config, options, expected):
    made = Config.from_dict(config, given={"tokens": len})
    with Index.open(tmp_path / "kb", config=made) as index:
        properties = agent_tool(index, **options).schema["properties"]
        assert (properties["k"].get("default"), properties["budget"]["default"]) == expected
        assert ("By default" in properties["k"]["description"]) is (expected[0] is None)


def test_strategies_can_be_a_list_and_have_the_names_of_configurations(shared_index):
    strategies = ["vector", Rerank(diversity=0.5), {"type": "hybrid", "weights": [0.5, 0.5]}, Hybrid()]
    tool = agent_tool(shared_index, strategies=strategies)
    given = tool.schema["properties"]["strategy"]
    assert given["enum"] == ["vector", "rerank", "hybrid", "hybrid-2"]
    assert given["default"] == "vector"
    assert "vector: by meaning alone (the default); rerank; " in given["description"]
    assert tool.call({"question": "dance"}) == agent_tool(shared_index, strategies="vector").call({"question": "dance"})


def test_strategies_of_ones_own_have_names(shared_index):
    strategies = {"plain": Vector(), "diverse": Rerank(diversity=0.5)}
    [tool, *_] = agent_tools(shared_index, strategies=strategies)
    assert tool.schema["properties"]["strategy"]["enum"] == ["plain", "diverse"]
    assert tool.schema["properties"]["strategy"]["default"] == "plain"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "search must be given question"),
        ({"question": 7}, "question must be a string, got 7"),
        ({"question": " "}, "a query must be a text that is not blank"),
        ({"question": "\ud800"}, "must be valid Unicode"),
        ({"question": "tea " * 1251}, "question must have at most 5000 characters, got 5004"),
        ({"query": "tea"}, "search takes question, strategy, where, budget, k, got 'query'"),
        ({"question": "tea", "strategy": "vectors"}, "did you mean 'vector'"),
        ({"question": "tea", "budget": 19}, "budget must be a whole number >= 20, got 19"),
        ({"question": "tea", "k": 26}, "k must be at most 25, got 26"),
        ({"question": "tea", "budget": 3001}, "budget must be at most 3000, got 3001"),
        ({"question": "tea", "budget": True}, "budget must be a whole number"),
        ({"question": "tea", "where": "year > 3"}, "where must be JSON, or like F(\"year\") >= 2020, got 'year > 3'$"),
        ({"question": "tea", "where": '{"year" 3}'}, "got '{\"year\" 3}': expecting ':' delimiter at character 9"),
        ({"question": "tea", "where": "(__import__('os'))"}, "where, given as a text, must be like"),
        ({"question": "tea", "where": "{"}, "where must be JSON"),
        ({"question": "tea", "where": {"year": {"$near": 3}}}, r"unknown operator '\$near'"),
        ({"question": "tea", "where": [1]}, "where must be a string"),
    ],
)
def test_what_is_refused(search, arguments, message):
    with pytest.raises(InvalidArgument, match=message.replace("(", r"\(").replace(")", r"\)").replace("{", r"\{")):
        search.call(arguments)


def test_a_whole_number_may_be_written_with_a_point(search):
    assert search.call({"question": "tea", "budget": 60.0}) == search.call({"question": "tea", "budget": 60})


async def test_the_asynchronous_twin_finds_the_same(search):
    assert await search.acall({"question": "tea"}) == search.call({"question": "tea"})


def test_a_call_ends_with_its_timeout(tmp_path):
    with Index.open(tmp_path / "kb", splitter=SPLITTER) as index:
        index.add(Document("tea", TEXTS["tea"]))
        [search, *_] = agent_tools(index, timeout=1e-6)
        with pytest.raises(RetrievalTimeout, match="still at work"):
            search.call({"question": "tea"})
