"""``leafspan tree build``: build the trees of an index."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from leafspan.cli._console import console, plain
from leafspan.cli._json import print_json
from leafspan.cli._options import DEFAULT_FOLDER, AsJson, EmbedderName, KnowledgeBase, open_index
from leafspan.indexing import summaries_of
from leafspan.trees import Extractive, TreesBuilt

_SHOWN = 20  # printed failed summaries


def build(
    kb: KnowledgeBase = DEFAULT_FOLDER,
    embedder: EmbedderName = None,
    across_documents: Annotated[
        bool,
        typer.Option("--across-documents", help="Also build layers of summaries above the trees, over all documents."),
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
    now = f"now {stats.trees} {'tree' if stats.trees == 1 else 'trees'}, {summaries_of(stats)}"
    console().print(plain(f"{kb}: {_counts(result)}; "), plain(now, "dim"), sep="")
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


def _counts(result: TreesBuilt) -> str:
    return (
        f"trees: {len(result.built)} built, {result.unchanged} unchanged; "
        f"summaries: {result.summaries} written, {result.share_asked:.0%} newly made, {len(result.failed)} failed"
    )
