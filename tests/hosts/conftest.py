"""Fixtures shared by the tests of both adapters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from llama_index.core import Settings

from leafspan import Index
from leafspan.trees import Bisecting
from tests.corpus import DOCUMENTS, SPLITTER
from tests.reading import only_read

TREE = {"clusterer": Bisecting(size=3), "across_documents": True}


@pytest.fixture(scope="session", autouse=True)
def _no_default_model() -> Iterator[None]:
    """No test may fall back to a model that LlamaIndex would look for by itself."""

    def refuse(self):
        raise AssertionError("a default model was asked for")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(Settings), "llm", property(refuse))
        patch.setattr(type(Settings), "embed_model", property(refuse))
        yield


@pytest.fixture(scope="session")
def forest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """The small corpus in a folder, with its trees and layers above them, for tests that only read."""
    with Index.open(tmp_path_factory.mktemp("forest") / "kb", splitter=SPLITTER) as opened:
        opened.add(DOCUMENTS)
        opened.build_tree(**TREE)
        with only_read(opened):
            yield opened
