"""Passages as LangChain Documents."""

from __future__ import annotations

from collections.abc import Iterable

from langchain_core.documents import Document

from leafspan import Document as StoredDocument
from leafspan import Passage, View
from leafspan.hosting import citation, numbered_sources, shown_text


def to_document(passage: Passage, *, explain: bool = False) -> Document:
    """The passage as a Document: the user's own metadata, plus ``doc_id``, ``start``, ``end`` and ``score``.

    Where they are known, and the user has no such keys, there are also ``title``, ``headings`` (one text such as
    ``"Tea > Brewing"``), ``start_line`` and ``end_line``. A summary has a ``layer`` and ``covers``, too, and what is of a
    document only where it is of one. A passage of another source has a ``kind`` instead. The Document of another retriever
    of LangChain keeps its metadata and its id, if it has one, and gets the ``score``.

    With ``explain`` there is also ``trace``, a list of sentences that say how the passage came about.
    """
    host_document = passage.origin if isinstance(passage.origin, Document) else None
    ours: dict[str, object] = {**({} if host_document else citation(passage)), "score": passage.score}
    if "title" in passage.hidden:
        ours.pop("title", None)  # a user's own key stays
    if explain:
        ours["trace"] = passage.trace.explain()
    if host_document is not None:
        return host_document.model_copy(update={"id": passage.id, "metadata": {**host_document.metadata, **ours}})
    return Document(id=passage.id, page_content=shown_text(passage), metadata={**passage.metadata, **ours})


def to_stored_document(stored: Passage | StoredDocument) -> Document:
    """A vector store's document as a Document with the id and metadata that it was added with.

    A passage that is not all of its document has the metadata of ``to_document``, without the score.
    """
    if isinstance(stored, StoredDocument) or stored.whole:
        id_ = stored.id if isinstance(stored, StoredDocument) else stored.document_id
        title = {"title": stored.title} if stored.title else {}
        return Document(id=id_, page_content=stored.text, metadata={**title, **stored.metadata})
    document = to_document(stored)
    del document.metadata["score"]
    return document


def prompt_sources(documents: Iterable[Document]) -> str:
    """Documents as numbered sources of a prompt, so that a model can cite them as [1].

    Each is a line of JSON with its number, place, title, headings and text: no text can end its line or its value.
    """
    return numbered_sources((each.page_content, each.metadata, ()) for each in documents)


def leaf_documents(index: View) -> list[Document]:
    """The leaves of the index, to build a LangChain retriever that can be the base of a leafspan retriever.

    They carry no score: leafspan scores the results of such a retriever by rank, unless it returns scores of its own.
    """
    documents = [to_document(leaf) for leaf in index.leaves()]
    for document in documents:
        del document.metadata["score"]
    return documents
