"""The adapters under the names that packages for LangChain and LlamaIndex usually have."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import langchain_ext
import llamaindex_ext
from tests.profiles import quick

NAMES = {"langchain_leafspan": langchain_ext, "llama_index.retrievers.leafspan": llamaindex_ext}


@pytest.mark.parametrize("name", NAMES)
def test_the_usual_name_has_what_the_adapter_has(name: str):
    usual, adapter = importlib.import_module(name), NAMES[name]
    assert usual.__all__ == adapter.__all__
    assert {each: getattr(usual, each) for each in usual.__all__} == {
        each: getattr(adapter, each) for each in usual.__all__
    }
    assert {*usual.__all__} <= {*dir(usual)}
    with pytest.raises(AttributeError):
        usual.Nothing  # noqa: B018


@pytest.mark.parametrize("name", quick(1, NAMES))
def test_importing_it_loads_no_strategy(name: str):
    """As the adapter itself: a name is loaded when it is first asked for."""
    code = f"import sys, {name}; print('leafspan.strategies._vector' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_other_parts_of_the_namespace_stay():
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.retrievers.leafspan import HybridRetriever

    assert issubclass(HybridRetriever, BaseRetriever)
