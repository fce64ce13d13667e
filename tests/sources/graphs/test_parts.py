"""What a LightRAG needs to be made without a network."""

from __future__ import annotations

import asyncio
import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leafspan import Embedder, Index, InvalidArgument
from leafspan.sources import lightrag_inputs, lightrag_options
from leafspan.sources.graphs._parts import PieceTokenizer
from tests.profiles import examples


@examples(200)
@given(st.text())
def test_tokens_become_the_same_text(text: str):
    tokenizer = PieceTokenizer()
    assert tokenizer.decode(tokenizer.encode(text)) == text


@examples(200)
@given(st.text(), st.integers(0, 20))
def test_any_run_of_tokens_is_a_text(text: str, start: int):
    tokens = PieceTokenizer().encode(text)
    assert PieceTokenizer().decode(tokens[start:]) in text


def test_english_has_about_as_many_tokens_as_for_a_language_model():
    # Of tiktoken's o200k_base, this text has 20.
    text = "Karl von Frisch decoded the dance of the honey bees, and was awarded the Nobel Prize in 1973."
    assert 20 <= len(PieceTokenizer().encode(text)) <= 45


def test_the_embedding_has_the_dimension_of_the_embedder_and_tells_questions_from_texts():
    embedder = Embedder("mine", lambda texts: [[1.0, 0.0]] * len(texts), lambda texts: [[0.0, 1.0]] * len(texts))
    embedding = lightrag_options(embedder=embedder)["embedding_func"]
    assert embedding.embedding_dim == 2
    assert asyncio.run(embedding(["a", "b"], context="document")).tolist() == [[1, 0], [1, 0]]
    assert asyncio.run(embedding(["a"], context="query")).tolist() == [[0, 1]]


def test_the_default_embedding_is_the_one_of_an_index():
    embedding = lightrag_options()["embedding_func"]
    assert embedding.embedding_dim == 256
    assert np.linalg.norm(asyncio.run(embedding(["bees"]))[0]) == pytest.approx(1)


def test_a_language_model_gets_the_whole_prompt():
    seen: list[str] = []

    def generate(prompt: str) -> str:
        seen.append(prompt)
        return "yes"

    async def agenerate(prompt: str) -> str:
        return generate(prompt)

    history = [{"role": "user", "content": "Before?"}]
    for options in ({"generate": generate}, {"agenerate": agenerate}):
        ask = lightrag_options(**options)["llm_model_func"]
        assert asyncio.run(ask("Now?", system_prompt="Be brief.", history_messages=history, hashing_kv=None)) == "yes"
    assert seen == ["Be brief.\n\nuser: Before?\n\nNow?"] * 2
    assert "llm_model_func" not in lightrag_options()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"embedder": "bge-m3"}, "an embedder must be"),
        ({"generate": "gpt"}, "generate must be a function from a prompt to a text, got 'gpt'"),
        ({"max_tokens": 0}, "max_tokens must be a whole number >= 1, got 0"),
    ],
)
def test_a_part_must_be_in_its_range(options: dict[str, Any], message: str):
    with pytest.raises(InvalidArgument, match=message):
        lightrag_options(**options)


def test_inputs_are_the_leaves_with_their_ids(sentences: Index):
    inputs = lightrag_inputs(sentences)
    leaves = sentences.leaves()
    assert inputs["input"] == [leaf.text for leaf in leaves]
    assert inputs["ids"] == inputs["file_paths"] == [leaf.id for leaf in leaves]


def test_parts_can_be_copied_as_lightrag_does():
    tokenizer = lightrag_options()["tokenizer"]
    assert copy.deepcopy(tokenizer).encode("bees dance") == tokenizer.encode("bees dance")


@pytest.mark.slow
def test_a_lightrag_of_these_parts_never_touches_the_network(tmp_path: Path):
    program = f"""
import socket, json, asyncio

def refused(*arguments, **options):
    raise AssertionError("the network was touched")

socket.socket.connect = socket.getaddrinfo = refused
from leafspan.sources import LightRAG, LightRAGThread
from tests.sources.graphs.scripted import QUESTION, maker
from pathlib import Path

with LightRAGThread(maker(Path({str(tmp_path)!r}))) as thread:
    thread.run(lambda rag: rag.ainsert(["Karl von Frisch was born in Vienna."], ids=["x"]))
    print(json.dumps(LightRAG(thread).retrieve_data(QUESTION, "strings")))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Karl von Frisch was born in Vienna." in json.loads(done.stdout.splitlines()[-1])
