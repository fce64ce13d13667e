"""An index, or a view of one, as a picture for notebooks."""

from __future__ import annotations

from leafspan.errors import LeafspanError
from leafspan.flows import Flow, run
from leafspan.indexing._contents import DocumentInfo, Stats, summaries_of


def view_picture(title: str, documents: Flow[list[DocumentInfo]], stats: Flow[Stats]) -> str:
    """What the index holds, how it was made, and its documents. What cannot be read is said instead.

    Args:
        title: What it is called.
        documents: Its documents.
        stats: It in numbers.
    """
    from leafspan.lab.pictures import embedded, index_picture

    try:
        listed, known = run(documents), run(stats)
    except LeafspanError as error:  # a picture that fails would hide what it is a picture of
        return embedded(index_picture(title, {"not shown": str(error)}, None))
    return embedded(index_picture(title, facts_of(known), listed))


def facts_of(stats: Stats) -> dict[str, str]:
    """How an index was made, in a few words.

    Args:
        stats: It in numbers.
    """
    facts = {"splitter": stats.splitter, "analyzer": stats.analyzer}
    if stats.embedder is not None:
        facts = {"embedder": f"{stats.embedder}, {stats.dimension} dimensions", **facts}
    if stats.trees:
        facts["trees"] = f"{stats.trees:,}, with {summaries_of(stats)}"
    return facts
