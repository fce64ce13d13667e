"""``leafspan tree show``: print the trees of an index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from leafspan.cli._console import console, plain, shortened
from leafspan.cli._json import print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, KnowledgeBase
from leafspan.index import Index
from leafspan.values import LeafId, Passage

_INDENT = 2  # characters for each level
_MIN_TEXT = 24  # least characters of a node's text that are printed, at any depth


@dataclass(frozen=True, slots=True)
class TreeLine:
    """A printed node of a tree.

    Attributes:
        id: Id of the summary or leaf.
        depth: Number of nodes above it.
        place: Its layer or ordinal, and what it covers.
        text: Its text.
    """

    id: str
    depth: int
    place: str
    text: str

    def fitted(self, width: int) -> str:
        """Return the line, cut to this number of characters. Its place and a little of its text always stay."""
        start = f"{' ' * _INDENT * self.depth}{self.place}  "
        return start + shortened(self.text, max(_MIN_TEXT, width - len(start)))


def show(
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
    """Yield the nodes of trees, and of the layers above them. Each node comes before its sources.

    Args:
        index: The index.
        document: Id of the document whose tree to list. Default: all trees, and the layers above them.
        leaves: Whether to list leaves as well. A leaf without a summary has depth 0. Default: False.

    Raises:
        DocumentNotFound: if no document has that id.
    """
    summaries = {passage.id: passage for passage in index.summaries(document)}
    nodes = summaries | {leaf.id: leaf for leaf in (index.leaves(document) if leaves and summaries else ())}
    below = {child for passage in summaries.values() if passage.summary for child in passage.summary.children}
    # The highest layer first, so that a tree within a larger one is printed only there. Otherwise the order stays.
    for passage in sorted(nodes.values(), key=lambda passage: -passage.layer):
        if passage.id not in below:
            yield from _lines(passage, nodes, 0, parent_document="")


def _lines(passage: Passage, nodes: Mapping[str, Passage], depth: int, *, parent_document: str) -> Iterator[TreeLine]:
    """Yield a node, and all nodes below it.

    Args:
        passage: The node.
        nodes: All nodes by id.
        depth: Number of nodes above it.
        parent_document: Id of the document of the node above, or "" if it has several, or no node is above.
    """
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
