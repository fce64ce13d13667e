"""Options out of their range are refused with the rule and the value."""

from __future__ import annotations

import asyncio
import inspect
import re
from enum import IntEnum
from math import inf, nan

import numpy as np
import pytest

import leafspan
from leafspan import F, HostRetriever, Hybrid, Index, InvalidArgument, Vector, View
from leafspan.checks import (
    check_choice,
    check_flag,
    check_functions,
    check_model,
    check_number,
    check_path,
    check_text,
    check_whole,
    did_you_mean,
    function_failed,
    refuse_coroutine,
    shown,
    what_makes_one,
    write_file,
)
from leafspan.errors import UnusableResult
from leafspan.lab import explain


def message(check, *arguments, **options) -> str:
    with pytest.raises(InvalidArgument) as raised:
        check(*arguments, **options)
    return str(raised.value)


async def coroutine_function(text: str) -> str:
    return text


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None])
def test_a_whole_number_is_an_int_of_at_least(value):
    assert message(check_whole, "k", value, 1) == f"k must be a whole number >= 1, got {value!r}"
    check_whole("k", 1, 1)


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3), np.array(3), IntEnum("Size", {"SMALL": 3}).SMALL], ids=repr)
def test_a_whole_number_of_any_type_becomes_a_plain_int(value):
    checked = check_whole("k", value, 1)
    assert (checked, type(checked)) == (3, int)


@pytest.mark.parametrize("value", [np.float64(3), np.bool_(True), np.array([3, 4]), np.int64(0)], ids=repr)
def test_what_numpy_has_besides_whole_numbers_is_refused(value):
    assert message(check_whole, "k", value, 1) == f"k must be a whole number >= 1, got {value!r}"


@pytest.mark.parametrize(
    ("bounds", "inside", "outside", "rule"),
    [
        ({}, [-1e9, 0, 1.5], [], "a number"),
        ({"at_least": 0}, [0, 7.5], [-0.1], "a number >= 0"),
        ({"above": 0}, [0.1], [0, -1], "a number > 0"),
        ({"at_most": 1}, [1, -5], [1.1], "a number <= 1"),
        ({"below": 1}, [0.9], [1], "a number < 1"),
        ({"at_least": 0, "at_most": 1}, [0, 1], [-0.1, 1.1], "a number in [0, 1]"),
        ({"above": 0, "at_most": 1}, [0.1, 1], [0, 1.1], "a number in (0, 1]"),
        ({"at_least": 0, "below": 1}, [0, 0.9], [-0.1, 1], "a number in [0, 1)"),
        ({"above": 0, "below": 2.5}, [2.4], [0, 2.5], "a number in (0, 2.5)"),
        ({"above": 0, "unit": "seconds"}, [0.1], [0], "a number of seconds > 0"),
    ],
)
def test_a_number_is_finite_and_within_its_bounds(bounds, inside, outside, rule):
    for value in inside:
        check_number("x", value, **bounds)
    for value in (*outside, nan, inf, -inf, "1", None, True):
        assert message(check_number, "x", value, **bounds) == f"x must be {rule}, got {value!r}"


def test_flags_and_texts_are_no_other_type():
    check_flag("explain", True)
    check_text("name", "")
    assert message(check_flag, "explain", 1) == "explain must be True or False, got 1"
    assert message(check_text, "name", b"kb") == "name must be a string, got b'kb'"


def test_a_function_is_not_awaited_and_its_twin_is_called():
    check_functions("rerank", len, None)
    check_functions("rerank", len, coroutine_function)
    assert message(check_functions, "rerank", 7, None) == "rerank must be a function, got 7"
    assert message(check_functions, "rerank", len, 7) == "arerank must be a coroutine function like rerank, got 7"
    awaited = message(check_functions, "rerank", coroutine_function, None)
    assert re.fullmatch(r"rerank must be a function that is not awaited, got <function .*>: that is for arerank", awaited)


def test_a_model_is_a_function_with_or_without_a_coroutine_function_or_none():
    for model in ((None, None), (len, None), (len, coroutine_function)):
        check_model(*model)
    assert message(check_model, 7, None) == "generate must be a function from a prompt to a text, got 7"
    assert message(check_model, len, 7) == "agenerate must be a function from a prompt to a text, got 7"
    assert message(check_model, None, coroutine_function) == "agenerate must have generate beside it, got agenerate alone"
    assert "that is for agenerate" in message(check_model, coroutine_function, None)


def test_a_choice_is_one_of_them_and_the_one_that_is_spelt_alike_is_named():
    check_choice("fusion", "rrf", ("rrf", "maximum"))
    assert message(check_choice, "fusion", "maximun", ("rrf", "maximum")) == (
        "fusion must be one of 'rrf', 'maximum', got 'maximun'; did you mean 'maximum'?"
    )
    assert message(check_choice, "fusion", 7, ("rrf",)) == "fusion must be one of 'rrf', got 7"
    assert did_you_mean("zzz", ["rrf"]) == did_you_mean(7, ["rrf"]) == ""


def test_a_long_value_is_shown_with_its_middle_cut_out():
    assert shown("short") == "'short'"
    long = shown("a" * 500 + "z" * 500)
    assert (long[:3], long[-3:]) == ("'aa", "zz'")
    half = (len(long) - 3) // 2
    assert long[half : half + 3] == "..."
    assert len(shown("a" * (len(long) - 2))) <= len(long) + 1
    assert shown("a" * 20) == repr("a" * 20)


def test_the_method_that_makes_a_right_value_is_named():
    class View:
        as_strategy = as_retriever = lambda self: None

    assert what_makes_one(View(), ["as_retriever", "as_strategy"]) == "; its as_retriever() makes one"
    assert what_makes_one(View(), ["as_nothing", "as_strategy"]) == "; its as_strategy() makes one"
    assert what_makes_one(View, ["as_strategy"]) == what_makes_one(7, ["as_strategy"]) == ""


@pytest.mark.parametrize("value", [7, None, b"kb"])
def test_a_path_is_a_string_or_a_path(value):
    assert message(check_path, "path", value) == f"path must be a string or a pathlib.Path, got {value!r}"
    check_path("path", "kb")


def test_a_function_that_should_be_awaited_is_an_error_that_quotes_nothing():
    with pytest.raises(UnusableResult) as raised:
        refuse_coroutine("rerank", coroutine_function("secret"))
    assert raised.value.quoting_nothing == str(raised.value)
    assert str(raised.value).startswith("rerank must not return a coroutine: give the coroutine function as arerank")


@pytest.mark.parametrize(
    ("given", "shown_as"),
    [
        ("one", "; it was given 'one'"),
        (["one"], "; it was given 'one'"),
        (["one", "two"], "; it was given 2 texts, the first 'one'"),
        ([], ""),
        (None, ""),
    ],
)
def test_a_function_that_failed_is_named_with_what_it_was_given(given, shown_as):
    failed = function_failed("the embedder", "words", given, OSError("boom"))
    assert str(failed) == f"the embedder words failed with OSError: boom{shown_as}"


NAMES_OF_OTHERS = {
    "Index.retrieve has no option 'top_k'; here it is 'k'": lambda index: index.retrieve("bees", top_k=3),
    "Index.retrieve has no option 'similarity_top_k'; here it is 'k'": lambda index: index.retrieve(
        "bees", similarity_top_k=3
    ),
    "Index.retrieve has no option 'filter'; here it is 'where'": lambda index: index.retrieve("bees", filter={}),
    "Index.retrieve has no option 'buget'; did you mean 'budget'?": lambda index: index.retrieve("bees", buget=3),
    "View.retrieve has no option 'top_k'; here it is 'k'": lambda index: index.scoped(F("a") == 1).retrieve("b", top_k=3),
    "Index.aretrieve has no option 'top_k'; here it is 'k'": lambda index: asyncio.run(index.aretrieve("bees", top_k=3)),
    "explain has no option 'top_k'; here it is 'k'": lambda index: explain(index, "bees", top_k=3),
    "retrieve has no option 'top_k'; here it is 'k'": lambda index: leafspan.retrieve("bees", HostRetriever, top_k=3),
    "Index.retrieve has no option 'fetch_k'; here it is 'candidates'": lambda index: index.retrieve("bees", fetch_k=9),
    "Index.retrieve has no option 'search_type'; here it is 'strategy'": lambda index: index.retrieve(
        "bees", search_type="bm25"
    ),
    "Index.retrieve has no option 'search_kwargs'; give its content, such as k=2": lambda index: index.retrieve(
        "bees", search_kwargs={"k": 3}
    ),
    "Hybrid has no option 'alpha'; here it is 'weights'": lambda index: Hybrid(alpha=0.5),
    "Hybrid has no option 'reference'; did you mean 'references'?": lambda index: Hybrid(reference=0.5),
    "Vector has no option 'top_k'; here it is 'k'": lambda index: Vector(top_k=3),
    "Hybrid has no option 'top_k'; it is an option of the call: retrieve(question, strategy, k=...)": lambda index: Hybrid(
        top_k=3
    ),
    "Index.open has no option 'chunk_size'; here it is 'splitter'": lambda index: Index.open("kb", chunk_size=512),
    "Index.aopen has no option 'embed_model'; here it is 'embedder'": lambda index: asyncio.run(
        Index.aopen("kb", embed_model=len)
    ),
    "an index must be opened, got Index('kb'): use Index.open('kb')": lambda index: Index("kb"),
    "an index must be opened, got Index(...): use Index.open(...)": lambda index: Index(path="kb"),
}


@pytest.mark.parametrize(("message", "call"), NAMES_OF_OTHERS.items(), ids=NAMES_OF_OTHERS)
def test_names_that_others_have_for_an_option_lead_to_ours(shared_index, message, call):
    with pytest.raises(InvalidArgument, match=f"^{re.escape(message)}$"):
        call(shared_index)


@pytest.mark.parametrize("owner", [View.retrieve, View.aretrieve, Index.open, Index.aopen, Hybrid])
def test_functions_that_check_names_look_as_they_were_written(owner):
    assert "arguments" not in inspect.signature(owner).parameters  # which is what the decorator's function has
    assert inspect.iscoroutinefunction(owner) == owner.__name__.startswith("a")


def test_a_link_to_nothing_is_no_file_to_write(tmp_path):
    (tmp_path / "report.html").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidArgument, match="it is a link to a file that does not exist"):
        write_file(tmp_path / "report.html", "text")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("length", [256, 1_000_000])
def test_long_names_are_not_compared(length):
    assert did_you_mean("a" * length, ["a" * length]) == ""
    assert did_you_mean("hybird", ["a" * length, "hybrid"]) == "; did you mean 'hybrid'?"
