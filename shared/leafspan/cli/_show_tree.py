"""``leafspan tree show``: what the trees look like."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated

import typer

from leafspan.cli._console import console, plain, shortened
from leafspan.cli._options import DEFAULT_FOLDER, KnowledgeBase
from leafspan.index import Index
from leafspan.values import Passage

_INDENT = 2
_LEAST = 24  # characters of a text that are shown, however deep it is


@dataclass(frozen=True, slots=True)
class Line:
    """A node of a tree as it is printed: ``depth`` nodes above it, its place there, and its text."""

    depth: int
    place: str
    text: str

    def within(self, width: int) -> str:
        """The line in so many characters, as far as the place and a little text go."""
        start = f"{' ' * _INDENT * self.depth}{self.place}  "
        return start + shortened(self.text, max(_LEAST, width - len(start)))


def show(
    document: Annotated[str | None, typer.Argument(help="Of this document alone, by its id.", show_default="all")] = None,
    kb: KnowledgeBase = DEFAULT_FOLDER,
    leaves: Annotated[bool, typer.Option("--leaves", help="Print the leaves below the summaries, too.")] = False,
) -> None:
    """Print the trees, each summary below those that were made of it, with how much of the texts it covers.

    What is below several summaries is printed below each of them.
    """
    with Index.open(kb, create=False) as opened:
        lines = list(tree_lines(opened, document, leaves=leaves))
        stats = opened.stats()
    out = console()
    for line in lines:
        out.print(plain(line.within(out.width)))
    missing = stats.documents - stats.trees
    if document is None and missing:
        message = f"{missing} of {stats.documents} documents have no tree that is up to date: run `leafspan tree build`"
        console(stderr=True).print(plain(message, "yellow"))
    elif not lines:
        console(stderr=True).print(plain("there are no summaries", "yellow"))


def tree_lines(index: Index, document: str | None = None, *, leaves: bool = False) -> Iterator[Line]:
    """The nodes of a document's tree, or of all trees, and of the layers above them: each before what it was made of.

    With ``leaves`` also those; one that no summary was made of stands by itself.

    Raises:
        DocumentNotFound: if there is no document of that id.
    """
    summaries = {passage.id: passage for passage in index.summaries(document)}
    nodes = summaries | {leaf.id: leaf for leaf in (index.leaves(document) if leaves and summaries else ())}
    below = {child for passage in summaries.values() if passage.summary for child in passage.summary.children}
    # The highest first, so that a tree that is part of a larger one is not torn from it; each is met in its order.
    for passage in sorted(nodes.values(), key=lambda passage: -passage.layer):
        if passage.id not in below:
            yield from _lines(passage, nodes, 0, within="")


def _lines(passage: Passage, nodes: Mapping[str, Passage], depth: int, *, within: str) -> Iterator[Line]:
    """A node, and what is below it; ``within`` is the document that the node above is of, if it is one."""
    yield Line(depth, _place(passage, within), passage.text)
    for child in passage.summary.children if passage.summary else ():
        if child in nodes:
            yield from _lines(nodes[child], nodes, depth + 1, within=passage.document_id)


def _place(passage: Passage, within: str) -> str:
    if passage.summary is None:
        what, covers = f"leaf {passage.id.rsplit('#', 1)[1]}", []
        characters = passage.end - passage.start
    else:
        runs = passage.summary.covers
        leaves = sum(run.last - run.first + 1 for run in runs)
        what, covers = f"layer {passage.layer}", [_several(leaves, "leaf", "leaves")]
        characters = sum(run.end - run.start for run in runs)
        if not passage.document_id:
            covers.insert(0, f"{len({run.document_id for run in runs})} documents")
    if passage.document_id != within:
        covers.insert(0, passage.document_id)
    return f"{what}  {', '.join([*covers, _several(characters, 'character', 'characters')])}"


def _several(count: int, one: str, more: str) -> str:
    return f"{count:,} {one if count == 1 else more}"
