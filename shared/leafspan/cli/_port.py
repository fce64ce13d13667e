"""``leafspan port``: which leafspan classes replace the retrievers of langchain-community in a program."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._json import print_json
from leafspan.cli._options import AsJson, named_path
from leafspan.errors import InvalidArgument

_PACKAGES = ("langchain_community.", "langchain_classic.", "langchain.")
_REPLACEMENTS = {
    "BM25Retriever": "BM25Retriever(index=index, k=4)",
    "TFIDFRetriever": "BM25Retriever(index=index, k=4)",
    "KNNRetriever": "VectorRetriever(index=index, k=4)",
    "SVMRetriever": "VectorRetriever(index=index, k=4)",
    "EnsembleRetriever": "EnsembleRetriever(index=index, retrievers=[...]), or HybridRetriever(index=index)",
    "MergerRetriever": "EnsembleRetriever(index=index, retrievers=[...])",
    "ParentDocumentRetriever": "ParentDocumentRetriever(index=index, level=1)",
    "MultiVectorRetriever": "ParentDocumentRetriever(index=index, level=1)",
    "MultiQueryRetriever": "MultiQueryRetriever(index=index, llm=llm)",
    "RePhraseQueryRetriever": "RewriteQueryRetriever(index=index, llm=llm)",
    "ContextualCompressionRetriever": "RerankRetriever(index=index, rerank=compressor)",
    "SelfQueryRetriever": "HybridRetriever(index=index).invoke(question, where=filter)",
    "TimeWeightedVectorStoreRetriever": "DecayRetriever(index=index, scale=timedelta(days=30))",
    "Chroma": "SpanVectorStore(index=index)",
}
_PAGE = "docs/from-langchain-community.md has each of them before and after."


@dataclass(frozen=True, slots=True)
class Use:
    """A use of a class that leafspan replaces.

    Attributes:
        path: The file.
        line: The line, from 1.
        found: The class.
        write: The leafspan retriever that replaces it.
    """

    path: str
    line: int
    found: str
    write: str


def port(
    paths: Annotated[
        list[Path], typer.Argument(help="Python files, and folders with such files.", parser=named_path, metavar="PATHS")
    ],
    as_json: AsJson = False,
) -> None:
    """List the retrievers of langchain-community and langchain-classic in a program, and what replaces each of them.

    The command reads the files. It neither runs nor changes them.
    """
    uses = [use for path in paths for file in _files(path) for use in _uses(file)]
    if as_json:
        print_json([asdict(use) for use in uses])
        return
    for use in uses:
        console().print(plain(f"{use.path}:{use.line}: {use.found} -> langchain_leafspan.{use.write}"))
    count = f"{len(uses)} {'use' if len(uses) == 1 else 'uses'} of retrievers that leafspan replaces."
    console().print(plain(f"{count} {_PAGE}" if uses else count))


def _files(path: Path) -> list[Path]:
    """The file, or the Python files of the folder without hidden folders and environments.

    Raises:
        InvalidArgument: if the path does not exist.
    """
    if path.is_dir():
        files = (each for each in sorted(path.rglob("*.py")) if each.is_file())
        return [each for each in files if not _is_foreign(each.relative_to(path))]
    if not path.is_file():
        raise InvalidArgument(f"path must be a Python file or a folder, got {str(path)!r}, which does not exist")
    return [path]


def _is_foreign(path: Path) -> bool:
    return any(part.startswith(".") or part == "site-packages" for part in path.parts)


def _uses(path: Path) -> Iterator[Use]:
    """The uses in a file, in order.

    Raises:
        InvalidArgument: if it is not Python.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError) as error:
        raise InvalidArgument(f"path must name Python files, got {str(path)!r}: {error}") from error
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(_PACKAGES):
            found |= {each.asname or each.name: each.name for each in node.names if each.name in _REPLACEMENTS}
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in found)
    for node in sorted(names, key=lambda name: (name.lineno, name.col_offset)):
        yield Use(str(path), node.lineno, found[node.id], _REPLACEMENTS[found[node.id]])
