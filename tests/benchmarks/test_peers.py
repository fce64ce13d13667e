"""The benchmarks' peers find what they should, and peers that are not installed are named."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

SCRIPTS = Path(__file__).parents[2] / "benchmarks"
PLACE = 40  # of the leaf that is looked for


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """All systems that are installed, over a hundred leaves."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # langchain-community says of itself that it is not maintained
        patch.syspath_prepend(SCRIPTS)
        patch.setattr(sys, "dont_write_bytecode", True)
        from corpus import Corpus
        from peers.stores import Systems

        folder = tmp_path_factory.mktemp("peers")
        corpus = Corpus.made(100, {"book": 0})
        systems = Systems(folder, corpus)
        stores = list(systems.stores())
        for store in stores:
            for documents, rows in corpus.groups():
                store.add(documents, rows)
            store.finish()
        asked = {each.name: each for each in systems.asked()}
        yield SimpleNamespace(corpus=corpus, stores=stores, asked=asked, missing=systems.missing)
        systems.close()


def test_each_finds_the_leaf_whose_text_is_asked_for(compared):
    corpus = compared.corpus
    kin = {node.id: node.parent for node in corpus.nodes()}
    leaf = corpus.ids[PLACE]
    wanted = {leaf}
    while (above := kin[leaf]) is not None:
        wanted.add(above)
        leaf = above
    for name, system in compared.asked.items():
        if "retrieve_many" in name:
            continue
        found = system.ask(corpus.texts[PLACE])
        if system.kind in ("vectors", "words"):
            assert found[0] == corpus.ids[PLACE], name
        elif name.startswith("leafspan") and system.kind not in ("words and vectors",):
            assert found, name  # spans have ids of their own
        else:
            assert wanted & set(found), name


def test_each_that_searches_vectors_finds_as_many_as_it_is_said_to(compared):
    for name, system in compared.asked.items():
        if system.kind == "vectors" and system.within:
            assert len(system.ask("honey")) == system.count, name


def test_each_filter_keeps_to_its_documents(compared):
    books = dict(zip(compared.corpus.ids, compared.corpus.books, strict=True))
    filtered = {name: each.within for name, each in compared.asked.items() if each.within and each.kind == "vectors"}
    assert len(filtered) >= 5
    for name, within in filtered.items():
        found = within("honey", 1, 2)
        assert {books[id_] for id_ in found} == {1}, name


@pytest.mark.slow
def test_each_program_of_a_new_process_answers(compared):
    from peers.programs import first_answer

    for store in compared.stores:
        for program in store.programs.values():
            first_answer(program, store.folder, "Who decoded the dance?")


def test_what_is_not_installed_is_named_with_its_package(compared):
    from peers._asking import installed

    named = {each.package for each in compared.missing}
    present = {each.package for each in compared.asked.values()}
    assert named == {package for package in named if installed([package])}
    assert not named & present
    assert named | present >= {"zvec", "lancedb", "haystack-ai", "langchain-classic", "bm25s", "chromadb"}
    assert installed(["leafspan", "no-such-package"]) == "no-such-package"
