"""Documents and passages of a host: stored, read and deleted by id, cut into leaves, or recognised after reranking."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from leafspan.checks import check_flag, shown
from leafspan.documents import IndexSettings, OpenOptions, checked_keys, content_hash, is_single, to_document
from leafspan.embedding import check_vectors, default_embedder, normalize, to_embedder
from leafspan.errors import DocumentNotFound, InvalidArgument
from leafspan.flows import Call, Flow, arun, run
from leafspan.indexing import NewVersion, split_document
from leafspan.spans import runs_within_budget
from leafspan.splitting import HierarchicalSplitter, Splitter
from leafspan.strategies import RelevantSegments, Reranked
from leafspan.strategies.scoring import relevances
from leafspan.trace import EMPTY_TRACE
from leafspan.values import Candidate, Chunk, Document, Leaf, Passage, run_of_id
from leafspan.view import View

T = TypeVar("T")


def to_documents(
    things: Iterable[object],
    ids: Iterable[str | None] | None,
    *,
    split: bool,
    flatten_metadata: bool,
    volatile_keys: Collection[str] = (),
) -> list[Document]:
    """The documents to store for what a host adds."""
    check_flag("flatten_metadata", flatten_metadata)
    things = [things] if is_single(things) else list(things)
    listed = [None] * len(things) if ids is None else _listed(ids)
    if len(listed) != len(things):
        raise InvalidArgument(f"ids must have one for each of the {len(things)} documents, got {len(listed)}")
    documents, keys = [], checked_keys(volatile_keys)
    for thing, id_ in zip(things, listed, strict=True):
        document = to_document(thing, flatten_metadata=flatten_metadata, volatile_keys=keys)
        whole = (Chunk(len(document.text)),) if document.text and not split else document.chunks
        documents.append(replace(document, id=document.id if id_ is None else id_, chunks=whole))
    return documents


def with_ids(view: View, ids: Iterable[str]) -> Flow[list[Document | Passage]]:
    """The existing documents and passages with these ids, in the order of the ids."""
    stored = yield [Call(run, (_with_id(view, id_),), native=arun, what="") for id_ in _distinct(ids)]
    return [each for each in stored if each is not None]


def _with_id(view: View, id_: str) -> Flow[Document | Passage | None]:
    try:
        document: Document = yield Call(view.get, (id_,), native=view.aget, what="get")
        return document
    except DocumentNotFound:
        if not _is_of_leaves(id_):
            return None
    options = {"before": 0, "after": 0}
    try:
        passage: Passage = yield Call(view.surroundings, (id_,), options, native=view.asurroundings, what="get")
    except (DocumentNotFound, InvalidArgument):  # replaced, or never there
        return None
    return replace(passage, outline=None)  # the passage has the requested id


def delete(view: View, ids: Iterable[str] | None, where: object) -> Flow[None]:
    """Delete documents by their ids or by a filter. Missing ids are ignored, and ids of passages refused."""
    listed = None if ids is None else _distinct(ids)
    if passages := [id_ for id_ in listed or () if _is_of_leaves(id_)]:
        documents = yield Call(view.delete, (passages,), {"dry_run": True}, native=view.adelete, what="delete")
        wrong = next((id_ for id_ in passages if id_ not in documents), None)
        if wrong is not None:
            of = wrong.rsplit("#", 2)[0]
            rule = f"ids must be document ids, got the passage id {shown(wrong)}"
            raise InvalidArgument(f"{rule}: delete its document {shown(of)}")
    yield Call(view.delete, (listed,), {"where": where}, native=view.adelete, what="delete")


def _is_of_leaves(id_: str) -> bool:
    run = run_of_id(id_)
    return run is not None and not run[0].is_summary


def _distinct(ids: Iterable[str]) -> list[str]:
    listed = _listed(ids)
    if not all(isinstance(id_, str) for id_ in listed):
        raise InvalidArgument(f"ids must be a list of strings, got {shown(listed)}")
    return list(dict.fromkeys(listed))


def _listed(ids: Iterable[T]) -> list[T]:
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        meant = f"; did you mean [{shown(ids)}]?" if isinstance(ids, str) else ""
        raise InvalidArgument(f"ids must be a list of strings, got {shown(ids)}{meant}")
    return list(ids)


def split_into_leaves(document: Document, splitter: Splitter) -> list[Leaf]:
    """The leaves that an index with this splitter would make, with the same texts, places and ids."""
    settings = IndexSettings.made(OpenOptions(splitter))
    return list(split_document(NewVersion(document, content_hash(document)), settings).leaves)


def relevant_segments(
    texts: Sequence[str], question: str, embedder: object, budget: int
) -> Flow[list[tuple[int, int, int, float]]]:
    """What ``RelevantSegments`` over ``Vector`` finds in texts, without an index, best first.

    Each is the number of the text, the first character, the one after the last, and the cosine similarity of the best leaf.
    """
    documents = [Document(f"{number:09}", text) for number, text in enumerate(texts)]
    leaves = {leaf.id: leaf for each in documents for leaf in split_into_leaves(each, HierarchicalSplitter())}
    pieces = [texts[int(leaf.document_id)][leaf.start : leaf.end] for leaf in leaves.values()]
    if not pieces:
        return []
    model = default_embedder() if embedder is None else to_embedder(embedder)
    vectors = check_vectors((yield model.embed_documents(pieces)), pieces, name=model.name)
    query = check_vectors((yield model.embed_queries([question])), [question], name=model.name)
    scores = (normalize(vectors) @ normalize(query)[0]).tolist()
    scored = zip(leaves.values(), scores, strict=True)
    hits = [Candidate(leaf.span, score, EMPTY_TRACE, {}, leaf.words, leaf) for leaf, score in scored]
    relevance = {hit.span: each for hit, each in zip(hits, relevances(scores), strict=True)}
    hits.sort(key=lambda hit: hit.order)
    like = RelevantSegments()
    runs, _ = runs_within_budget(hits, budget, max_words=like.max_words, run_cost=like.run_cost, relevance=relevance)
    ends = [(run, leaves[run.span.leaf_ids[0]], leaves[run.span.leaf_ids[-1]]) for run in runs]
    return [(int(run.span.document_id), first.start, last.end, run.score) for run, first, last in ends]


_PLACE = ("doc_id", "start", "end")


@dataclass(frozen=True, slots=True)
class HostObject:
    thing: object
    id: str | None
    text: str
    metadata: Mapping[str, object]


def place_among(objects: Sequence[HostObject], returned: HostObject) -> int | None:
    """The place in ``objects``, from 0, of a returned thing, which may be a copy with more metadata or another text.

    It is the same object, or has the same id, place in a document, text or metadata. None if ``objects`` does not have it.
    """
    same: list[Callable[[HostObject], bool]] = [
        lambda each: each.thing is returned.thing,
        lambda each: each.id is not None and each.id == returned.id,
        lambda each: (place := _place(each)) is not None and place == _place(returned),
        lambda each: each.text == returned.text,
        lambda each: bool(each.metadata) and each.metadata == returned.metadata,
    ]
    return next((place for is_same in same for place, each in enumerate(objects) if is_same(each)), None)


def _place(thing: HostObject) -> tuple[object, ...] | None:
    """Its place in a document of an index, or None without one."""
    return tuple(thing.metadata[key] for key in _PLACE) if all(key in thing.metadata for key in _PLACE) else None


def recognise(
    name: str, things: str, objects: Sequence[HostObject], returned: Iterable[tuple[HostObject, float | None]]
) -> list[Reranked]:
    """The results of a host's reranker called ``name``, with its scores, as places among ``objects``."""
    results = []
    for each, score in returned:
        place = place_among(objects, each)
        if place is None:
            raise InvalidArgument(f"{name} must return {things} that it was given, got the text {shown(each.text)}")
        note = "" if each.text == objects[place].text else "the text that it changed stays as it is"
        results.append(Reranked(place, score, note))
    return results
