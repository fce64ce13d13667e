"""The docstrings of both adapters say of each option what the core says of it."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from langchain_core.retrievers import BaseRetriever

from tools import adapter_docs
from tools.adapter_docs import HOSTS, LANGCHAIN, entries_of, retrievers_of

EVERY = [
    pytest.param(host, retriever, id=f"{host.name}-{retriever.__name__}")
    for host in HOSTS
    for retriever in retrievers_of(host)
]


def test_the_docstrings_of_the_adapters_are_up_to_date():
    checked = subprocess.run(
        [sys.executable, adapter_docs.__file__, "--check"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout) == (0, "")


def defaults_of(host, retriever):
    """The options of a retriever with their defaults, in the order in which they are declared."""
    if host is LANGCHAIN:
        options = {name: field.default for name, field in retriever.model_fields.items()}
        return {name: default for name, default in options.items() if name not in BaseRetriever.model_fields}
    return {field.name: field.default for field in fields(retriever)}


@pytest.mark.parametrize(("host", "retriever"), EVERY)
def test_every_option_is_described_the_strategys_own_between_the_index_and_the_common_ones(host, retriever):
    described = list(entries_of(retriever.__doc__))
    assert set(described) == set(defaults_of(host, retriever))
    own = described[: described.index(host.k)]
    common = [host.k if name == "k" else name for name in host.common if name not in own]
    assert described[0] == "index"
    assert described[-len(common) :] == common


def in_words(default):
    """How a default is described, None if that takes a sentence."""
    if isinstance(default, str):
        return f'``"{default}"``' if default else "none"
    if isinstance(default, float):
        return f"{default:g}"
    return str(default) if isinstance(default, int | tuple) and default != () else None


@pytest.mark.parametrize(("host", "retriever"), EVERY)
def test_the_default_that_is_described_is_the_one_in_the_code(host, retriever):
    entries = entries_of(retriever.__doc__)
    for name, default in defaults_of(host, retriever).items():
        if in_words(default) is None or name.endswith("prompt"):
            continue
        found = re.search(r"Default: (\(.*?\)|.*?)[.,;](?:\s|$)", entries[name])
        assert found, name
        assert found[1] == in_words(default), name


@pytest.mark.parametrize(("host", "retriever"), EVERY)
def test_no_line_is_longer_than_the_projects(host, retriever):
    path, text, _ = adapter_docs.source_with_docs(retriever, host)
    assert path.name == f"{Path(retriever.__module__.replace('.', '/')).name}.py"
    assert max(map(len, text.splitlines())) <= adapter_docs.WIDTH


def test_entries_may_span_lines_and_end_where_the_section_does():
    assert entries_of("""Something.

    Args:
        one: The first, which
            spans lines. Default: 1.
        two: The second.

    Raises:
        InvalidArgument: if not.
    """) == {"one": "The first, which spans lines. Default: 1.", "two": "The second."}


def test_what_is_out_of_date_is_named(monkeypatch, capsys):
    monkeypatch.setattr(adapter_docs, "_INDEX", "Another text.")
    assert adapter_docs.main(["--check"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "langchain_ext/strategy.py is out of date: run python tools/adapter_docs.py" in lines
    assert len(lines) == len(EVERY)


def test_another_argument_is_refused(capsys):
    assert adapter_docs.main(["--chek"]) == 2
    assert capsys.readouterr().err == "usage: python tools/adapter_docs.py [--check]\n"
