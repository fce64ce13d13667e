"""Uses an installed leafspan with the extra named on the command line, and fails at any difference."""

from __future__ import annotations

import contextlib
import importlib.metadata
import importlib.util
import io
import sys
import tempfile
from pathlib import Path
from typing import Any

import leafspan
from leafspan import Document, Index, Tree, Vector
from leafspan.examples import EXAMPLE_QUESTIONS, example_documents

FILES = {  # what each extra reads
    "html": [".html", ".odt"],
    "pdf": [".pdf"],
    "docx": [".docx", ".html", ".odt"],
    "pptx": [".pptx"],
    "xlsx": [".xlsx"],
    "odf": [".odt", ".html"],
    "ocr": [".pdf", ".png"],
    "code": [".py", ".js", ".go", ".rs", ".java", ".c", ".cpp", ".cs", ".rb", ".php", ".ts"],
}
USUAL = {"langchain_ext": "langchain_leafspan", "llamaindex_ext": "llama_index.retrievers.leafspan"}
HOSTS = {"[langchain]": ("langchain_ext", "langchain_core"), "[llamaindex]": ("llamaindex_ext", "llama_index.core")}


def main(extra: str) -> None:
    assert (Path(leafspan.__file__).parent / "py.typed").exists()
    assert importlib.util.find_spec("tests") is None, "the wheel must not bring a package called tests"
    assert importlib.util.find_spec("shared") is None, "the wheel must not bring a package called shared"
    for package, host in HOSTS.values():
        wanted = extra == f"[{package.removesuffix('_ext')}]"
        assert (importlib.util.find_spec(host) is not None) == wanted, f"{host} with {extra}"
        if not wanted:
            for name in (package, USUAL[package]):
                with contextlib.suppress(leafspan.MissingExtra):
                    __import__(name)
                    raise SystemExit(f"{name} was imported without {host}, or without a word about it")
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
        read_files(extra.strip("[]"))
        index.build_tree(summarizer=lambda texts: texts[0][:200])
        assert any(passage.layer for passage in index.retrieve(question, Tree(base=Vector()), k=24))
        if extra == "[langchain]":
            from langchain_ext import RelevantSegmentsRetriever

            assert [d.id for d in RelevantSegmentsRetriever(index=index, k=3).invoke(question)] == expected
            from langchain_leafspan import RelevantSegmentsRetriever as UnderItsUsualName

            assert UnderItsUsualName is RelevantSegmentsRetriever
        if extra == "[llamaindex]":
            from llamaindex_ext import RelevantSegmentsRetriever as InLlamaIndex

            assert [n.node_id for n in InLlamaIndex(index, similarity_top_k=3).retrieve(question)] == expected
            from llama_index.retrievers.leafspan import RelevantSegmentsRetriever as InTheNamespace

            assert InTheNamespace is InLlamaIndex
    versions = {name: importlib.metadata.version(name) for name in ("leafspan", "chromadb")}
    print("used", extra or "the core alone", versions)


def read_files(extra: str) -> None:
    """Read a file of each kind with the libraries that are there; the others are skipped with the name of their extra."""
    every = {suffix for kinds in FILES.values() for suffix in kinds}
    reads = every - {".png"} if extra == "files" else set(FILES.get(extra, ()))
    office = load("office")
    made = {
        ".docx": lambda: office.docx([("", "Tea.")]),
        ".odt": lambda: office.odf("<text:p>Tea.</text:p>"),
        ".ods": lambda: office.odf(
            "<table:table table:name='Tea'><table:table-row><table:table-cell><text:p>Tea.</text:p></table:table-cell>"
            "</table:table-row></table:table>",
            "spreadsheet",
        ),
    }
    if ".xlsx" in reads:
        made[".xlsx"] = lambda: office.xlsx({"Tea": [["Tea"]]})
    if ".pptx" in reads:
        made[".pptx"] = lambda: office.pptx([("Tea", "Green", "")])
    if ".pdf" in reads:
        made[".pdf"] = lambda: load("pdf").pdf(["Tea."])
    if ".png" in reads:
        made[".png"] = tea
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb") as index:
        plain = {".md", ".rst", ".csv", ".ipynb", ".eml", ".ods"}
        texts = {".ipynb": b'{"cells": [{"cell_type": "markdown", "source": "Tea."}]}', ".eml": b"Subject: Tea\n\nTea."}
        for suffix in every | plain:
            data = made[suffix]() if suffix in made else texts.get(suffix, b"Tea.")
            (Path(folder) / f"a{suffix}").write_bytes(data)
        done = index.sync(Path(folder))
        assert {Path(each).suffix for each in done.added} == reads | plain, done
        assert all("pip install" in each.reason for each in done.skipped), done.skipped
        if ".png" in reads:
            assert [each.text for each in index.leaves("a.png")] == ["The tea is green.\n"]


def tea() -> bytes:
    """A picture with a line of text."""
    from PIL import Image, ImageDraw, ImageFont

    picture, data = Image.new("L", (500, 100), 255), io.BytesIO()
    ImageDraw.Draw(picture).text((20, 20), "The tea is green.", font=ImageFont.load_default(40))
    picture.save(data, "PNG")
    return data.getvalue()


def load(name: str) -> Any:
    """A module of the tests that makes files."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parents[1] / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(sys.argv[1])
