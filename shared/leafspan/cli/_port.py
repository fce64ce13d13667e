"""``leafspan port``: which leafspan classes replace the retrievers of langchain-community in a program."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._json import print_json
from leafspan.cli._options import AsJson, named_path
from leafspan.errors import InvalidArgument

_PACKAGES = ("langchain_community.", "langchain_classic.", "langchain_chroma.", "langchain.")
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
    uses: list[Use] = []
    for path in paths:
        for file in _files(path):
            try:
                uses += _uses(file)
            except InvalidArgument as error:
                if file == path:
                    raise
                console(stderr=True).print(plain(f"skipped: {error}"))
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


def _uses(path: Path) -> list[Use]:
    """The uses in a file, in order.

    Raises:
        InvalidArgument: if it is not Python.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidArgument(f"cannot read {str(path)!r} as Python: {error or type(error).__name__}") from error
    names: dict[str, str] = {}  # of classes in this file
    modules: set[str] = set()  # names of the packages in this file
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and f"{node.module}.".startswith(_PACKAGES):
            names |= {each.asname or each.name: each.name for each in node.names if each.name in _REPLACEMENTS}
            modules |= {each.asname or each.name for each in node.names}
        elif isinstance(node, ast.Import):
            modules |= {each.asname or each.name for each in node.names if f"{each.name}.".startswith(_PACKAGES)}
    found = [(node, _class_of(node, names, modules)) for node in ast.walk(tree) if isinstance(node, ast.expr)]
    used = [(node.lineno, node.col_offset, name) for node, name in found if name is not None]
    return [Use(str(path), line, name, _REPLACEMENTS[name]) for line, _, name in sorted(used)]


def _class_of(node: ast.expr, names: Mapping[str, str], modules: Collection[str]) -> str | None:
    """The replaced class that an expression names, as ``BM25Retriever`` or ``retrievers.BM25Retriever``."""
    if isinstance(node, ast.Name):
        return names.get(node.id)
    if isinstance(node, ast.Attribute) and node.attr in _REPLACEMENTS and ast.unparse(node.value) in modules:
        return node.attr
    return None
