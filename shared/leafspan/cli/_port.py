"""``leafspan port``: which leafspan classes replace the retrievers of langchain-community in a program."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from leafspan.cli._console import console, plain, print_json
from leafspan.cli._options import AsJson, named_path
from leafspan.errors import InvalidArgument

_PACKAGES = ("langchain_community.", "langchain_classic.", "langchain_chroma.", "langchain_core.", "langchain.")
_REPLACEMENTS = {
    "BM25Retriever": "BM25Retriever(index=index, k=4)",
    "TFIDFRetriever": "BM25Retriever(index=index, k=4)",
    "KNNRetriever": "VectorRetriever(index=index, k=4)",
    "SVMRetriever": "VectorRetriever(index=index, k=4)",
    "EnsembleRetriever": "EnsembleRetriever(index=index, retrievers=[...]), or HybridRetriever(index=index)",
    "MergerRetriever": "EnsembleRetriever(index=index, retrievers=[...])",
    "ParentDocumentRetriever": "ParentDocumentRetriever(index=index, level=1)",
    "MultiVectorRetriever": "FollowReferencesRetriever(index=index)",
    "MultiQueryRetriever": "MultiQueryRetriever(index=index, llm=llm)",
    "RePhraseQueryRetriever": "RewriteQueryRetriever(index=index, llm=llm)",
    "ContextualCompressionRetriever": "RerankRetriever(index=index, rerank=compressor)",
    "SelfQueryRetriever": "HybridRetriever(index=index).invoke(question, where=filter)",
    "TimeWeightedVectorStoreRetriever": "DecayRetriever(index=index, scale=timedelta(days=30))",
    "Chroma": "SpanVectorStore(index=index)",
    "VectorStoreRetriever": "VectorRetriever(index=index, k=4)",
}
_SEARCH_TYPES = {"mmr": "VectorRetriever(index=index, k=4, diversity=0.5)"}  # of as_retriever
_OF_IPYTHON = re.compile(r"^(\s*)(?:[%!?].*|.*\?)$", re.MULTILINE)
_PAGE = "docs/from-langchain-community.md has most of them before and after, docs/coming-from.md the differences."


@dataclass(frozen=True, slots=True)
class Replaceable:
    """A use of a class that leafspan replaces."""

    path: str
    line: int  # from 1, in its cell if the file is a notebook
    found: str  # the class, or as_retriever
    write: str  # the leafspan retriever that replaces it
    cell: int | None = None  # of a notebook, from 1

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.cell is None else f"{self.path}, cell {self.cell}, line {self.line}"
        return f"{place}: {self.found} -> langchain_leafspan.{self.write}"


def port(
    paths: Annotated[
        list[Path],
        typer.Argument(help="Python files, notebooks, and folders with such files.", parser=named_path, metavar="PATHS"),
    ],
    as_json: AsJson = False,
) -> None:
    """List the retrievers of langchain-community and langchain-classic in a program, and what replaces each of them.

    The command reads the files. It neither runs nor changes them.
    """
    uses: list[Replaceable] = []
    for path in paths:
        for file in _files(path):
            try:
                uses += _uses(file)
            except InvalidArgument as error:
                if file == path:
                    raise
                console(stderr=True).print(plain(f"skipped: {error}"))
    if as_json:
        print_json([{name: value for name, value in asdict(use).items() if value is not None} for use in uses])
        return
    for use in uses:
        console().print(plain(str(use)))
    count = f"{len(uses)} {'use' if len(uses) == 1 else 'uses'} of retrievers that leafspan replaces."
    console().print(plain(f"{count} {_PAGE}" if uses else count))


def _files(path: Path) -> list[Path]:
    """The file, or the Python files and notebooks of the folder without hidden folders and environments."""
    if path.is_dir():
        files = (each for each in sorted(path.rglob("*")) if each.suffix in (".py", ".ipynb") and each.is_file())
        parts = ((each, each.relative_to(path).parts) for each in files)
        return [each for each, names in parts if not any(name.startswith(".") or name == "site-packages" for name in names)]
    if not path.is_file():
        raise InvalidArgument(f"path must be a Python file or a folder, got {str(path)!r}, which does not exist")
    return [path]


def _uses(path: Path) -> list[Replaceable]:
    """The uses in a file, in order."""
    try:
        trees = dict(_cells(path)) if path.suffix == ".ipynb" else {None: ast.parse(path.read_bytes())}
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        kind = "a notebook" if path.suffix == ".ipynb" else "Python"
        raise InvalidArgument(f"cannot read {str(path)!r} as {kind}: {error or type(error).__name__}") from error
    names = _Names()
    for tree in trees.values():
        for node in ast.walk(tree):
            names.read(node)
    uses: list[Replaceable] = []
    for cell, tree in trees.items():
        nodes = (node for node in ast.walk(tree) if isinstance(node, ast.expr))
        in_order = sorted((node.lineno, node.col_offset, *use) for node in nodes if (use := names.use(node)) is not None)
        uses += [Replaceable(str(path), line, name, write, cell) for line, _, name, write in in_order]
    return uses


def _cells(path: Path) -> Iterator[tuple[int, ast.Module]]:
    """The cells of a notebook that are Python, by their numbers, without the lines that only IPython reads."""
    notebook = json.loads(path.read_bytes())
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise InvalidArgument("it has no list of cells")
    for number, cell in enumerate(cells, start=1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            text = "".join(map(str, source)) if isinstance(source, list) else str(source)
            with suppress(SyntaxError):  # of another language
                yield number, ast.parse(_OF_IPYTHON.sub(r"\1pass", text))


class _Names:
    """What the imports of a program name."""

    def __init__(self) -> None:
        self._classes: dict[str, str] = {}
        self._modules: set[str] = set()
        self._hosts: set[str] = set()

    def read(self, node: ast.AST) -> None:
        if isinstance(node, ast.ImportFrom) and not node.level:
            is_ours = f"{node.module}.".startswith(_PACKAGES)
            self._hosts.add(str(node.module).split("_")[0].split(".")[0])
            for each in node.names:
                name = each.asname or each.name
                if each.name == "*" and is_ours:
                    self._classes |= {replaced: replaced for replaced in _REPLACEMENTS}
                elif is_ours and each.name in _REPLACEMENTS:
                    self._classes[name] = each.name
                elif is_ours:
                    self._modules.add(name)
                else:
                    self._classes.pop(name, None)
        elif isinstance(node, ast.Import):
            self._hosts |= {each.name.split("_")[0].split(".")[0] for each in node.names}
            self._modules |= {each.asname or each.name for each in node.names if f"{each.name}.".startswith(_PACKAGES)}

    def use(self, node: ast.expr) -> tuple[str, str] | None:
        """The replaced class that an expression names, or as_retriever, with what replaces it."""
        if isinstance(node, ast.Call):
            return self._of_store(node)
        name: str | None = None
        if isinstance(node, ast.Name):
            name = self._classes.get(node.id)
        elif isinstance(node, ast.Attribute) and node.attr in _REPLACEMENTS and ast.unparse(node.value) in self._modules:
            name = node.attr
        return None if name is None else (name, _REPLACEMENTS[name])

    def _of_store(self, call: ast.Call) -> tuple[str, str] | None:
        """The retriever of a vector store of LangChain: its options, or else the imports, tell it from LlamaIndex's."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "as_retriever":
            return None
        options = {each.arg: each.value for each in call.keywords}
        if not options.keys() & {"search_type", "search_kwargs"} and self._hosts & {"langchain", "llama"} != {"langchain"}:
            return None
        kind = options.get("search_type")
        named = str(kind.value) if isinstance(kind, ast.Constant) else ""
        return "as_retriever", _SEARCH_TYPES.get(named, _REPLACEMENTS["VectorStoreRetriever"])
