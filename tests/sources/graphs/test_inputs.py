"""A LightRAG's input from an index, without a network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from leafspan import Index
from leafspan.sources import lightrag_inputs


def test_inputs_are_the_leaves_with_their_ids(sentences: Index):
    inputs = lightrag_inputs(sentences)
    leaves = sentences.leaves()
    assert inputs["input"] == [leaf.text for leaf in leaves]
    assert inputs["ids"] == inputs["file_paths"] == [leaf.id for leaf in leaves]


@pytest.mark.slow
def test_a_lightrag_that_is_filled_and_asked_never_touches_the_network(tmp_path: Path):
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
