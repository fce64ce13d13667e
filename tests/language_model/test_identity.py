"""Functions and objects are identified by their content, not by their place in memory."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import pytest

from leafspan.language_model import identity_of, model_name
from leafspan.trees import Bisecting


def make(name):
    return lambda texts: f"{name}: {texts[0]}"


def summarize(texts, *, model="small"):
    """Says something."""
    return f"{model} {texts}"


class Model:
    def __init__(self, name):
        self.name = name

    def __call__(self, texts):
        return self.name

    def summarize(self, texts):
        return self.name


DIFFERENT = [
    (make("one"), make("other")),
    (lambda texts: "one", lambda texts: "other"),
    (partial(summarize, model="one"), partial(summarize, model="other")),
    (Model("one"), Model("other")),
    (Model("one").summarize, Model("other").summarize),
    (Model("one").summarize, Model("one").__call__),
    (partial(Model("one").summarize), partial(Model("other").summarize)),
]


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_functions_that_hold_something_else_have_another_identity(one, other):
    assert identity_of(one) == identity_of(one) != identity_of(other)
    assert model_name(one) == model_name(one) != model_name(other)
    assert " at 0x" not in identity_of(one) + identity_of(other)


def test_functions_made_again_of_the_same_have_the_same_identity():
    assert identity_of(make("one")) == identity_of(make("one"))
    assert identity_of(Model("one")) == identity_of(Model("one"))
    assert identity_of(summarize).startswith("tests.language_model.test_identity.summarize#")


def test_the_identity_is_the_same_in_another_process():
    program = "from tests.language_model.test_identity import *; print(identity_of(make('one')), identity_of(summarize))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [identity_of(make("one")), identity_of(summarize)]


def test_a_function_that_holds_itself_has_an_identity():
    def endless(texts):
        return endless(texts)

    assert "endless#" in identity_of(endless)


def test_the_identity_does_not_show_what_a_function_holds():
    secret = "sk-123"
    for thing in (make(secret), partial(summarize, model=secret), Model(secret), Model(secret).summarize):
        assert secret not in identity_of(thing)
        assert secret not in model_name(thing)


def test_counting_in_a_function_does_not_change_its_identity():
    model, asked = Model("one"), []

    def counting(texts):
        asked.append(texts)
        return model(texts)

    before = identity_of(model), identity_of(counting)
    model.calls = 7
    counting(["a text"])
    assert (identity_of(model), identity_of(counting)) == before


def test_the_identity_of_a_frozen_dataclass_has_its_options():
    assert identity_of(Bisecting(size=3)) == identity_of(Bisecting(size=3)) != identity_of(Bisecting(size=4))


def test_a_wrapper_and_a_chain_of_langchain_s_have_the_names_of_their_models():
    from langchain_core.language_models.fake_chat_models import FakeListChatModel
    from langchain_core.prompts import ChatPromptTemplate

    class Named(FakeListChatModel):
        model_name: str

    one, other = (Named(responses=["yes"], model_name=name) for name in ("one", "other"))
    assert (
        model_name(one.with_retry())
        == model_name(one)
        == "test_a_wrapper_and_a_chain_of_langchain_s_have_the_names_of_their_models.<locals>.Named(one)"
    )
    assert model_name(ChatPromptTemplate.from_template("{text}") | one) != model_name(
        ChatPromptTemplate.from_template("{text}") | other
    )
