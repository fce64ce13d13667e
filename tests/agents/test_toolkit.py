"""The options of the tools, and their descriptions for a model."""

from __future__ import annotations

import json

import pytest

from leafspan import InvalidArgument, Vector
from leafspan.agents import Parameter, agent_tool, agent_tools
from leafspan.agents._tool import read_arguments


def test_every_description_is_short_enough_for_every_model(shared_index):
    tools = agent_tools(shared_index, writable=True, about="x" * 200, prefix="y" * 40)
    assert [len(tool.description) <= 1024 for tool in tools] == [True] * 6
    assert all(len(tool.name) <= 64 for tool in tools)


def test_every_argument_is_described(shared_index):
    for tool in agent_tools(shared_index, writable=True):
        schema = tool.schema
        json.dumps(schema)
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert all(len(each["description"]) >= 10 for each in schema["properties"].values())


def test_the_bounds_of_a_number_are_in_the_schema(shared_index):
    [search, *_] = agent_tools(shared_index, budget=100, max_budget=500)
    budget = search.schema["properties"]["budget"]
    assert (budget["minimum"], budget["default"], budget["maximum"]) == (20, 100, 500)


def test_tools_of_several_indexes_have_names_of_their_own(shared_index):
    search, read, outline, grep = agent_tools(shared_index, prefix="handbook_", about="the handbook")
    assert [search.name, read.name, outline.name, grep.name] == [
        f"handbook_{each}" for each in ("search", "read", "outline", "grep")
    ]
    assert "to handbook_read" in search.description
    assert "handbook_outline lists" in read.description


def test_a_tool_alone_speaks_of_no_other(shared_index):
    alone = agent_tool(shared_index)
    assert "read" not in alone.description
    assert "outline" not in json.dumps(alone.schema)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 10}, "budget must be a whole number >= 20, got 10"),
        ({"budget": 700, "max_budget": 600}, "budget must be at most max_budget, 600, got 700"),
        ({"k": 0}, "k must be a whole number >= 1, got 0"),
        ({"k": 26}, "k must be at most 25, got 26: a tool shows no more passages"),
        ({"max_budget": True}, "max_budget must be a whole number"),
        ({"about": " "}, "about must have 1 to 200 characters, got ' '"),
        ({"about": 7}, "about must be a string, got 7"),
        ({"timeout": 0}, "timeout must be a number of seconds > 0, got 0"),
        ({"strategies": "vectors"}, "did you mean 'vector'"),
        ({"strategies": 7}, "strategies must be a strategy such as Vector"),
        ({"strategies": {}}, r'strategies must have at least one, such as \["vector", "bm25"\], got an empty list'),
        ({"strategies": []}, r'strategies must have at least one, such as \["vector", "bm25"\], got an empty list'),
        ({"strategies": ["vector", "bm52"]}, "each of strategies must be one of .*; did you mean 'bm25'"),
        ({"strategies": ["vector", 7]}, "each of strategies must be a strategy such as Vector"),
        ({"strategies": {"a b": Vector()}}, "names of strategies must have 1 to 64 of the characters"),
        ({"strategies": {"a": Vector}}, "strategy 'a' must be a strategy such as Vector"),
    ],
)
def test_options_are_checked(shared_index, options, message):
    with pytest.raises(InvalidArgument, match=message):
        agent_tools(shared_index, **options)
    with pytest.raises(InvalidArgument, match=message):
        agent_tool(shared_index, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"prefix": "a b"}, "prefix must have up to 40"), ({"writable": 1}, "writable must be True or False, got 1")],
)
def test_options_of_all_tools_are_checked(shared_index, options, message):
    with pytest.raises(InvalidArgument, match=message):
        agent_tools(shared_index, **options)


def test_a_name_must_be_one_that_models_take(shared_index):
    with pytest.raises(InvalidArgument, match=r"name must have 1 to 64 of the characters .* got 'my tool'"):
        agent_tool(shared_index, name="my tool")


def test_only_a_view_can_be_searched():
    with pytest.raises(InvalidArgument, match="view must be an Index or a view of one, got 'kb'"):
        agent_tools("kb")


@pytest.mark.parametrize(
    ("kind", "given", "value"),
    [
        *((int, text, 3) for text in (3, 3.0, "3", " 3 ", "3.0", "3e0")),
        *((int, text, 7) for text in (None, "", " ", "null", "None")),
        *((bool, text, True) for text in (True, "true", "True", " TRUE\n")),
        (bool, "false", False),
        (dict, '{"year": 2020}', {"year": 2020}),
        (str, "3", "3"),
        (str, "true", "true"),
    ],
)
def test_a_value_that_a_client_writes_as_a_text_is_the_value(kind: type, given: object, value: object):
    assert read_arguments("tool", [Parameter("x", kind, "X.", 7)], {"x": given}) == {"x": value}


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        *((int, text) for text in ("three", "3.5", "true", "[3]", "1e400", "NaN", "9" * 5000, "0", True)),
        *((bool, text) for text in ("yes", "1", "0", 1)),
        *((dict, text) for text in ("[]", "3", "{", "[" * 100_000)),
    ],
)
def test_a_text_that_is_no_such_value_is_refused(kind: type, given: object):
    with pytest.raises(InvalidArgument, match="x must be"):
        read_arguments("tool", [Parameter("x", kind, "X.", least=1)], {"x": given})
