"""A service over an index: ask, stream an answer with its sources, sync a folder, and check health.

    pip install ".[files]" -r examples/service/requirements.txt
    LEAFSPAN_INDEX=kb LEAFSPAN_DOCS=docs uvicorn app:app --app-dir examples/service --workers 2

Each worker opens the index when it starts. At each question, a worker sees all changes of the others. Only one writer
syncs at a time. Call your model in ``answer``: the example repeats the best source, so that it runs without a model.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Header, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from leafspan import F, Index, Passage
from leafspan.errors import ConcurrentUpdate, LeafspanError, RetrievalTimeout, StorageFailed, WriterBusy

SECONDS = 5.0  # for one question


@asynccontextmanager
async def opened(app: FastAPI) -> AsyncIterator[None]:
    """Open the index before the first request, and close it after the last request."""
    with Index.open(os.environ.get("LEAFSPAN_INDEX", "kb")) as index:
        index.warm()
        app.state.index = index
        yield


class AnyText(JSONResponse):
    """JSON in ASCII, which can have any text: names of files that are no Unicode, too."""

    def render(self, content: Any) -> bytes:
        """The response's bytes."""
        return json.dumps(content).encode()


app = FastAPI(title="Ask the documents", lifespan=opened, default_response_class=AnyText)


class Asked(BaseModel):
    """A question."""

    question: str = Field(min_length=1, max_length=2_000)
    k: int = Field(default=5, ge=1, le=50)


def index_of(request: Request, tenant: Annotated[str | None, Header(alias="X-Tenant")] = None) -> Any:
    """The index, or the view for a tenant. Take the tenant from your login, not from a header that anybody can send."""
    index: Index = request.app.state.index
    return index if tenant is None else index.scoped(F("tenant") == tenant)


View = Annotated[Any, Depends(index_of)]


def source(number: int, passage: Passage) -> dict[str, Any]:
    """A passage as a citation."""
    where = passage.place or (f"lines {passage.lines[0]} to {passage.lines[1]}" if passage.lines else None)
    return {"number": number, "document": passage.document_id, "where": where, "text": passage.text, "score": passage.score}


async def answer(question: str, passages: Sequence[Passage]) -> AsyncIterator[str]:
    """Yield the words of an answer one by one. Call your model here."""
    if not passages:
        yield "The documents do not say."
        return
    for word in passages[0].text.split():
        yield f"{word} "
    yield "[1]"


@app.post("/ask")
async def ask(asked: Asked, view: View) -> dict[str, Any]:
    """Return the answer with its sources."""
    passages = await view.aretrieve(asked.question, k=asked.k, timeout=SECONDS)
    words = [word async for word in answer(asked.question, passages)]
    return {"answer": "".join(words).strip(), "sources": [source(n, each) for n, each in enumerate(passages, 1)]}


@app.post("/stream")
async def stream(asked: Asked, view: View) -> StreamingResponse:
    """Stream the answer as events. The sources come first, so that a page can show them while the words arrive."""
    passages = await view.aretrieve(asked.question, k=asked.k, timeout=SECONDS)

    async def events() -> AsyncIterator[str]:
        sources = [source(n, each) for n, each in enumerate(passages, 1)]
        yield f"event: sources\ndata: {json.dumps(sources)}\n\n"
        async for word in answer(asked.question, passages):
            yield f"event: word\ndata: {json.dumps(word)}\n\n"
        yield "event: end\ndata: {}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


@app.post("/sync")
async def sync(request: Request) -> dict[str, Any]:
    """Bring the index up to date with the folder of documents. Protect this route, or let a job do it instead."""
    synced = await request.app.state.index.a_sync(Path(os.environ.get("LEAFSPAN_DOCS", "docs")), progress=False)
    counts = {name: len(getattr(synced, name)) for name in ("added", "replaced", "deleted", "unchanged")}
    return {**counts, "skipped": [{"path": each.path, "reason": each.reason} for each in synced.skipped]}


@app.get("/health")
async def health(request: Request) -> dict[str, int]:
    """Whether the index can be read."""
    return {"documents": await request.app.state.index.acount()}


@app.exception_handler(RequestValidationError)
async def malformed(_: Request, error: RequestValidationError) -> JSONResponse:
    """Say what is wrong with a request, without its values, which may have no form in JSON, such as 1e400."""
    return AnyText({"detail": [{"where": each["loc"], "rule": each["msg"]} for each in error.errors()]}, 422)


@app.exception_handler(LeafspanError)
async def refused(_: Request, error: LeafspanError) -> JSONResponse:
    """Turn an error into a status that a client can act on."""
    statuses: list[tuple[type[Exception], int]] = [
        (ValueError, 422),  # InvalidArgument, InvalidDocument, EmptySource
        (RetrievalTimeout, 504),
        (WriterBusy, 409),
        (ConcurrentUpdate, 503),
        (StorageFailed, 503),
    ]
    status = next((status for kind, status in statuses if isinstance(error, kind)), 500)
    return AnyText({"detail": str(error)}, status, headers={"Retry-After": "1"} if status in (409, 503) else None)
