"""Uses an installed leafspan with the extra named on the command line, and fails where something is not as it should be."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import sys
import tempfile
from pathlib import Path

import leafspan
from leafspan import Document, Index, Tree, Vector
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents

HOSTS = {"[langchain]": ("langchain_ext", "langchain_core"), "[llamaindex]": ("llamaindex_ext", "llama_index")}


def main(extra: str) -> None:
    assert (Path(leafspan.__file__).parent / "py.typed").exists()
    assert importlib.util.find_spec("tests") is None, "the wheel must not bring a package called tests"
    assert importlib.util.find_spec("shared") is None, "the wheel must not bring a package called shared"
    for package, host in HOSTS.values():
        wanted = extra == f"[{package.removesuffix('_ext')}]"
        assert (importlib.util.find_spec(host) is not None) == wanted, f"{host} with {extra}"
        if not wanted:
            with contextlib.suppress(leafspan.MissingExtra):
                __import__(package)
                raise SystemExit(f"{package} was imported without {host}, or without a word about it")
    with tempfile.TemporaryDirectory() as folder, Index.open(folder) as index:
        index.add(example_documents())
        index.add(Document("note", "A note on leaves."))
        question = EXAMPLE_QUESTIONS[0]
        expected = [passage.id for passage in index.retrieve(question, k=3)]
        assert expected
        picture = index.retrieve(question, k=3)._repr_html_()  # type: ignore[attr-defined]
        if extra == "[lab]":
            assert ".ls-strip" in picture, "the style of pictures is not there"
        else:
            assert picture is None, "a picture needs the extra lab"
        index.build_tree(summarizer=lambda texts: texts[0][:200])
        assert any(passage.layer for passage in index.retrieve(question, Tree(base=Vector()), k=24))
        if extra == "[langchain]":
            from langchain_ext import RelevantSegmentsRetriever

            assert [d.id for d in RelevantSegmentsRetriever(index=index, k=3).invoke(question)] == expected
        if extra == "[llamaindex]":
            from llamaindex_ext import RelevantSegmentsRetriever as InLlamaIndex

            assert [n.node_id for n in InLlamaIndex(index, similarity_top_k=3).retrieve(question)] == expected
    versions = {name: importlib.metadata.version(name) for name in ("leafspan", "chromadb")}
    print("used", extra or "the core alone", versions)


if __name__ == "__main__":
    main(sys.argv[1])
