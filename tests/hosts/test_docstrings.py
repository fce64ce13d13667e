"""Both adapters' docstrings describe each option like the core."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

import pytest
from langchain_core.retrievers import BaseRetriever

import langchain_ext
import langchain_ext.retriever
import llamaindex_ext
import llamaindex_ext.retriever
from leafspan.agents import agent_tool, agent_tools
from leafspan.hosting._docs import entries_of
from leafspan.hosting._options import CALL_OPTIONS

HOSTS = {
    langchain_ext: langchain_ext.retriever.WORDS,
    llamaindex_ext: llamaindex_ext.retriever.WORDS,
}
EVERY = [
    pytest.param(words, getattr(package, name), id=f"{words.name}-{name}")
    for package, words in HOSTS.items()
    for name in package.__all__
    if name.endswith("Retriever")
]


def defaults_of(retriever):
    """The options of a retriever with their defaults, in the order in which they are declared."""
    if issubclass(retriever, BaseRetriever):
        options = {name: field.default for name, field in retriever.model_fields.items()}
        return {name: default for name, default in options.items() if name not in BaseRetriever.model_fields}
    return {field.name: field.default for field in fields(retriever)}


@pytest.mark.parametrize(("words", "retriever"), EVERY)
def test_every_option_is_described_the_strategys_own_between_the_index_and_the_common_ones(words, retriever):
    described = list(entries_of(retriever.__doc__))
    assert set(described) == set(defaults_of(retriever))
    assert described[0] == "index"
    own = described[: described.index(words.k)]
    common = [words.k, *CALL_OPTIONS[1:], "retrieval_timeout", "filter_policy", *words.own]
    assert described[described.index(words.k) :] == [name for name in common if name not in own]


def in_words(default):
    """How a default is described, None if that takes a sentence."""
    if isinstance(default, str):
        return f'``"{default}"``' if default else "none"
    if isinstance(default, float):
        return f"{default:g}"
    return str(default) if isinstance(default, int | tuple) and default != () else None


@pytest.mark.parametrize(("words", "retriever"), EVERY)
def test_the_default_that_is_described_is_the_one_in_the_code(words, retriever):
    entries = entries_of(retriever.__doc__)
    for name, default in defaults_of(retriever).items():
        if in_words(default) is None or name.endswith("prompt"):
            continue
        found = re.search(r"Default: (\(.*?\)|.*?)[.,;](?:\s|$)", entries[name])
        assert found, name
        assert found[1] == in_words(default), name


@pytest.mark.parametrize(("words", "retriever"), EVERY)
def test_the_docstring_begins_with_the_sentence_of_its_class_and_ends_with_what_is_raised(words, retriever):
    docstring = inspect.getdoc(retriever)
    assert docstring.splitlines()[0].endswith(".")
    assert words.name in docstring.split("\n\nArgs:\n")[0]
    assert " ".join(docstring.split("\n\nRaises:\n")[1].split()) == words.raises
    assert max(map(len, docstring.splitlines())) <= 120
    assert "{" not in docstring.replace("{" + "question}", "").split("Args:")[0]


def test_a_retriever_of_ones_own_keeps_its_docstring():
    class Mine(langchain_ext.HybridRetriever):
        """Mine."""

    assert Mine.__doc__ == "Mine."


@pytest.mark.parametrize("package", HOSTS)
@pytest.mark.parametrize(("name", "like"), [("as_tools", agent_tools), ("as_tool", agent_tool)])
def test_the_options_of_the_tools_are_described_as_in_the_core(package, name, like):
    function = getattr(package, name)
    described, core = entries_of(function.__doc__), entries_of(like.__doc__)
    assert set(core) == set(inspect.signature(like).parameters)
    named = inspect.signature(function).parameters.keys() - {"options"}
    assert set(described) == named | core.keys() - {"view", "limits"}
    assert all(described[option] == core[option] for option in described.keys() & core.keys())


def test_entries_may_span_lines_and_end_where_the_section_does():
    assert entries_of("""Something.

    Args:
        one: The first, which
            spans lines. Default: 1.
        two: The second.

    Raises:
        InvalidArgument: if not.
    """) == {"one": "The first, which spans lines. Default: 1.", "two": "The second."}
