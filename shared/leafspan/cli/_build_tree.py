"""``leafspan tree build``: the trees grow."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from leafspan.checks import check_choice
from leafspan.cli._console import console, plain
from leafspan.cli._options import DEFAULT_FOLDER, KnowledgeBase
from leafspan.index import Index
from leafspan.tree import Abstractive, Bisecting, Clusterer, Extractive, RaptorClusters, TreesBuilt

CLUSTERERS: dict[str, Clusterer] = {"bisecting": Bisecting(), "raptor": RaptorClusters()}
"""The clusterers by the names that the command knows them by."""


def build(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    across_documents: Annotated[
        bool, typer.Option("--across-documents", help="Add layers above the trees, over all documents.")
    ] = False,
    partition_by: Annotated[
        str | None,
        typer.Option(help="Add layers over the documents with the same value of this metadata key.", metavar="KEY"),
    ] = None,
    max_layers: Annotated[int, typer.Option(help="Layers of a document's tree at most, and of those above.")] = 5,
    clusterer: Annotated[
        str, typer.Option(help=f"One of {', '.join(CLUSTERERS)}; raptor needs the extra umap.")
    ] = "bisecting",
    max_words: Annotated[
        int | None,
        typer.Option(help="Words of a summary at most, 75 by default; where given, trees of other ones are built anew."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
) -> None:
    """Build a tree of summaries over each document; those that are up to date are left alone.

    The summaries are made of sentences of the texts, so no language model is asked. The exit code is 1 where a summary
    failed.
    """
    check_choice("clusterer", clusterer, CLUSTERERS)
    # Without --max-words none is chosen, so that trees which a language model wrote are not replaced unasked.
    summarizer = None if max_words is None else Extractive(max_words=max_words)
    with Index.open(kb, create=False) as opened:

        def built(summarizer: object) -> TreesBuilt:
            return opened.build_tree(
                summarizer=summarizer,
                clusterer=CLUSTERERS[clusterer],
                max_layers=max_layers,
                across_documents=across_documents,
                partition_by=partition_by,
                dry_run=dry_run,
            )

        done = built(summarizer)
        if dry_run:
            asking = Abstractive(generate="".join, max_words=max_words or Extractive().max_words)
            _print_plan(str(kb), done, built(asking), console())
            return
        stats = opened.stats()
    now = f"now {stats.trees} trees, {stats.summaries} summaries in {stats.layers} layers"
    console().print(plain(f"{kb}: {_summary(done)}; "), plain(now, "dim"), sep="")
    for failed in done.failed:
        console(stderr=True).print(plain(f"failed: {failed.tree}, layer {failed.layer}: {failed.error}", "red"))
    if done.failed:
        raise typer.Exit(1)


def _summary(done: TreesBuilt) -> str:
    return (
        f"trees: {len(done.built)} built, {done.unchanged} unchanged; "
        f"summaries: {done.summaries} written, {done.share_asked:.0%} made anew, {len(done.failed)} failed"
    )


def _print_plan(kb: str, done: TreesBuilt, asking: TreesBuilt, out: Console) -> None:
    """What a build would do, ``done``, and what it would take to be ``asking`` a language model for all summaries."""
    trees = f"trees: {len(done.built)} to build, {done.unchanged} unchanged"
    out.print(plain(f"{kb}: {trees}; summaries: {done.summaries}, extracted, so no call and no tokens"))
    tokens = f"about {_tokens(asking.words_sent):,} tokens sent and {_tokens(asking.words_received):,} received"
    out.print(plain(f"all {asking.summaries} by a language model instead: {asking.asked} calls, {tokens}", "dim"))


def _tokens(words: int) -> int:
    """About so many tokens: a token is taken for three quarters of a word."""
    return round(words * 4 / 3)
