"""``leafspan index``: add files to an index."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._options import DEFAULT_FOLDER
from leafspan.documents import SUFFIXES, read_documents
from leafspan.errors import InvalidArgument, InvalidDocument
from leafspan.index import Index
from leafspan.splitting import HierarchicalSplitter


def index(
    paths: Annotated[list[Path], typer.Argument(help="Text and Markdown files, or folders of them.", show_default=False)],
    kb: Annotated[
        Path, typer.Option("--kb", help="The folder of the index, which is created if there is none.")
    ] = DEFAULT_FOLDER,
    leaf_words: Annotated[
        int | None, typer.Option(help="Most words of a leaf, 45 by default. Fixed when the index is created.")
    ] = None,
    context_sentences: Annotated[
        int | None,
        typer.Option(
            help="Number of sentences from the previous and the next leaf to index with each leaf, 0 by default. "
            "Fixed when the index is created."
        ),
    ] = None,
) -> None:
    """Add new files to an index, replace changed ones, and skip the others."""
    # Files are read before the index is created, so that a mistyped path leaves no empty index behind. Each counts once.
    documents = list({document.id: document for document in read_documents(paths)}.values())
    if not documents:
        raise InvalidDocument(
            f"there are no text or Markdown files ({', '.join(SUFFIXES)}) in {', '.join(map(str, paths))}"
        )
    splitter = None if leaf_words is None else _splitter(leaf_words)
    with Index.open(kb, splitter=splitter, context_sentences=context_sentences) as opened:
        added = opened.add(documents)
        stats = opened.stats()
    console().print(
        plain(f"{kb}: {len(added.added)} added, {len(added.replaced)} replaced, {added.unchanged} unchanged; "),
        plain(f"now {stats.documents} documents, {stats.leaves} leaves, {stats.words} words", "dim"),
        sep="",
    )


def _splitter(leaf_words: int) -> HierarchicalSplitter:
    """The default splitter, for leaves of up to this many words.

    Raises:
        InvalidArgument: if a leaf could have as many words as its parent.
    """
    parent_words = HierarchicalSplitter().parent_words[0]
    if not 0 < leaf_words < parent_words:
        rule = f"--leaf-words must be from 1 to {parent_words - 1}, as parents have {parent_words}"
        raise InvalidArgument(f"{rule}, got {leaf_words}")
    return HierarchicalSplitter(leaf_words)
