"""``leafspan index``: add files to an index."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._files import (
    Encoding,
    Exclude,
    Glob,
    IdField,
    Outputs,
    Paths,
    Root,
    Strict,
    TextField,
    TitleField,
    check_not_empty,
    print_left_out,
    print_skipped,
    skipped_as_json,
)
from leafspan.cli._json import print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, ConfigFile, EmbedderName, NewKnowledgeBase, open_index
from leafspan.cli._standard_input import standard_input
from leafspan.cli._sync import print_synced, sync_quietly
from leafspan.errors import InvalidArgument, InvalidDocument
from leafspan.files import Files, Unreadable, decode
from leafspan.splitting import HierarchicalSplitter
from leafspan.values import Document

_STDIN = [Path("-")]


def index(
    paths: Paths,
    kb: NewKnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete documents whose files are no longer there, like `leafspan sync`.")
    ] = False,
    id_: Annotated[
        str | None, typer.Option("--id", help="Id of the text that is read from standard input. Needs the path `-`.")
    ] = None,
    glob: Glob = None,
    exclude: Exclude = None,
    encoding: Encoding = None,
    text_field: TextField = "text",
    id_field: IdField = None,
    title_field: TitleField = None,
    root: Root = None,
    outputs: Outputs = False,
    strict: Strict = False,
    leaf_words: Annotated[
        int | None,
        typer.Option(help="Most words of a leaf (smallest piece), 45 by default. Fixed when the index is created."),
    ] = None,
    context_sentences: Annotated[
        int | None,
        typer.Option(
            help="Number of sentences from the previous and the next leaf to index with each leaf, 0 by default. "
            "Fixed when the index is created."
        ),
    ] = None,
    config: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Add new files to an index, replace changed ones, and skip unchanged ones.

    If a file cannot be read, its name is printed, and its document stays as it is.
    """
    files = Files(
        paths,
        glob=glob or (),
        exclude=exclude or (),
        encoding=encoding,
        text_field=text_field,
        id_field=id_field,
        title_field=title_field,
        root=root,
        outputs=outputs,
        strict=strict,
    )
    if (paths == _STDIN) != (id_ is not None) or (paths == _STDIN and prune):
        raise InvalidArgument("a text on standard input needs an id, and nothing else does: leafspan index - --id ID")
    # Check the files before creating the index, so that a mistyped path leaves no empty index behind.
    if id_ is None:
        check_not_empty(files)
    source: Files | Document = files if id_ is None else Document(id_, _standard_input(encoding))
    splitter = None if leaf_words is None else _splitter(leaf_words)
    with open_index(kb, embedder, splitter=splitter, context_sentences=context_sentences, config=config) as opened:
        if prune:
            print_synced(kb, sync_quietly(opened, files), opened.stats(), as_json=as_json)
            return
        added = opened.add(source)
        stats = opened.stats()
    if as_json:
        print_json(
            {
                "added": added.added,
                "replaced": added.replaced,
                "unchanged": added.unchanged,
                "skipped": skipped_as_json(added.skipped),
                "left_out": added.left_out,
                "documents": stats.documents,
                "leaves": stats.leaves,
                "words": stats.words,
            }
        )
        return
    skipped = f", {len(added.skipped)} skipped" if added.skipped else ""
    console().print(
        plain(f"{kb}: {len(added.added)} added, {len(added.replaced)} replaced, {added.unchanged} unchanged{skipped}; "),
        plain(f"now {stats.documents} documents, {stats.leaves} leaves, {stats.words} words", "dim"),
        sep="",
    )
    print_skipped(added.skipped)
    print_left_out(added.left_out)


def _standard_input(encoding: str | None) -> str:
    """Return the text on standard input.

    Raises:
        InvalidDocument: if it is in another encoding, or not a text.
    """
    try:
        return decode(standard_input().buffer.read(), encoding or "utf-8")
    except Unreadable as error:
        raise InvalidDocument(f"standard input must be text in {encoding or 'UTF-8'}: {error}") from None


def _splitter(leaf_words: int) -> HierarchicalSplitter:
    """Return the default splitter for leaves of up to this many words.

    Raises:
        InvalidArgument: if a leaf could have as many words as its parent.
    """
    parent_words = HierarchicalSplitter().parent_words[0]
    if not 0 < leaf_words < parent_words:
        rule = f"--leaf-words must be from 1 to {parent_words - 1}, as parents have {parent_words}"
        raise InvalidArgument(f"{rule}, got {leaf_words}")
    return HierarchicalSplitter(leaf_words)
