"""``leafspan tree build`` and ``leafspan tree show``: build the trees of an index, and print them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer

from leafspan.cli._console import console, plain, print_json, shortened
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, EmbedderName, KnowledgeBase, open_index
from leafspan.index import Index
from leafspan.indexing import summaries_of
from leafspan.trees import Extractive, TreesBuilt
from leafspan.values import LeafId, Passage

_SHOWN = 20  # printed failed summaries


def build_tree(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    across_documents: Annotated[
        bool, typer.Option("--across-documents", help="Also build layers of summaries above the trees, over all documents.")
    ] = False,
    max_layers: Annotated[int, typer.Option(help="Most layers of a document's tree, and most layers above the trees.")] = 5,
    max_words: Annotated[
        int | None,
        typer.Option(help="Most words of a summary, 75 by default. If given, trees with other summaries are built again."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build a tree of summaries over each document. Trees that are up to date are skipped.

    A summary consists of sentences from the texts. No language model is asked. The exit code is 1 if a summary failed.
    """
    # Without --max-words no summarizer is named, so that a language model's trees are not replaced by mistake.
    summarizer = None if max_words is None else Extractive(max_words=max_words)
    with open_index(kb, embedder, create=False) as opened:
        result = opened.build_tree(summarizer=summarizer, max_layers=max_layers, across_documents=across_documents)
        if as_json:
            print_json(_as_json(result))
            raise typer.Exit(1 if result.failed else 0)
        stats = opened.stats()
    trees = f"{len(result.built)} built, {result.unchanged} unchanged"
    summaries = f"{result.summaries} written, {result.share_asked:.0%} newly made, {len(result.failed)} failed"
    now = f"now {stats.trees} {'tree' if stats.trees == 1 else 'trees'}, {summaries_of(stats)}"
    console().print(plain(f"{kb}: trees: {trees}; summaries: {summaries}; "), plain(now, "dim"), sep="")
    for failed in result.failed[:_SHOWN]:
        console(stderr=True).print(plain(f"failed: {failed.tree}, layer {failed.layer}: {failed.error}", "red"))
    if len(result.failed) > _SHOWN:
        console(stderr=True).print(plain(f"and {len(result.failed) - _SHOWN:,} more failed", "red"))
    if result.failed:
        raise typer.Exit(1)


def _as_json(result: TreesBuilt) -> dict[str, Any]:
    failed = [{"tree": each.tree, "layer": each.layer, "error": str(each.error)} for each in result.failed]
    counts = {name: getattr(result, name) for name in ("built", "unchanged", "summaries", "asked")}
    return {**counts, "failed": failed}


_INDENT = 2  # characters for each level
_MIN_TEXT = 24  # least characters of a node's text that are printed, at any depth


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A printed node of a tree."""

    id: str
    depth: int  # number of nodes above it
    place: str  # its layer or ordinal, and what it covers
    text: str

    def fitted(self, width: int) -> str:
        """Return the line, cut to this number of characters. Its place and a little of its text always stay."""
        start = f"{' ' * _INDENT * self.depth}{self.place}  "
        return start + shortened(self.text, max(_MIN_TEXT, width - len(start)))


def show_tree(
    document: Annotated[
        str | None, typer.Argument(help="Id of a document whose tree to print.", show_default="all")
    ] = None,
    kb: KnowledgeBase = DEFAULT_FOLDER,
    leaves: Annotated[bool, typer.Option("--leaves", help="Print the leaves below the summaries as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print the trees: each summary, how much of the texts it covers, and indented below it what it was made from.

    What is below several summaries is printed below each of them.
    """
    with Index.open(kb, create=False) as opened:
        lines = list(tree_lines(opened, document, leaves=leaves))
        stats = opened.stats()
    if as_json:
        print_json([asdict(line) for line in lines])
        return
    out = console()
    for line in lines:
        out.print(plain(line.fitted(out.width)))
    missing = stats.documents - stats.trees
    if document is None and missing:
        message = f"{missing} of {stats.documents} documents have no tree that is up to date: run `leafspan tree build`"
        console(stderr=True).print(plain(message, "yellow"))
    elif not lines:
        console(stderr=True).print(plain("there are no summaries", "yellow"))


def tree_lines(index: Index, document: str | None = None, *, leaves: bool = False) -> Iterator[TreeLine]:
    """Yield the nodes of trees, and of the layers above them. Each node comes before its sources."""
    summaries = {passage.id: passage for passage in index.summaries(document)}
    nodes = summaries | {leaf.id: leaf for leaf in (index.leaves(document) if leaves and summaries else ())}
    below = {child for passage in summaries.values() if passage.summary for child in passage.summary.children}
    # The highest layer first, so that a tree within a larger one is printed only there. Otherwise the order stays.
    for passage in sorted(nodes.values(), key=lambda passage: -passage.layer):
        if passage.id not in below:
            yield from _lines(passage, nodes, 0, parent_document="")


def _lines(passage: Passage, nodes: Mapping[str, Passage], depth: int, *, parent_document: str) -> Iterator[TreeLine]:
    yield TreeLine(passage.id, depth, _place(passage, parent_document), passage.text)
    for child in passage.summary.children if passage.summary else ():
        if child in nodes:
            yield from _lines(nodes[child], nodes, depth + 1, parent_document=passage.document_id)


def _place(passage: Passage, parent_document: str) -> str:
    """Return a node's layer or ordinal, and what it covers, without its document if the node above names it."""
    if passage.summary is None:
        name, covers = f"leaf {LeafId.parse(passage.id).ordinal}", []
        characters = len(passage.text)
    else:
        runs = passage.summary.covers
        name, covers = f"layer {passage.layer}", [_counted(passage.summary.size, "leaf", "leaves")]
        characters = sum(run.end - run.start for run in runs)
        if not passage.document_id:
            covers.insert(0, f"{len({run.document_id for run in runs})} documents")
    if passage.document_id != parent_document:
        covers.insert(0, passage.document_id)
    return f"{name}  {', '.join([*covers, _counted(characters, 'character', 'characters')])}"


def _counted(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
