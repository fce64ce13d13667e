"""The user's own readers: functions, loaders of LangChain, readers of LlamaIndex."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from leafspan.checks import shown
from leafspan.errors import LeafspanError
from leafspan.files._opening import Unreadable
from leafspan.files._record import BadRecord, Record
from leafspan.values import Document


def read_with(reader: Any, path: Path) -> Iterator[Record | BadRecord]:
    """Read a file's documents with a user's own reader; a single document has the file's id."""
    try:
        if hasattr(reader, "load_data"):
            returned = (reader() if isinstance(reader, type) else reader).load_data(path)
        else:
            returned = reader(str(path) if isinstance(reader, type) else path)  # LangChain's loaders take a string
        if hasattr(returned, "lazy_load"):  # a loader for this file
            returned = list(returned.lazy_load())
        is_single = isinstance(returned, str | Document | Mapping) or not isinstance(returned, Iterable)
        records = [_record(each) for each in ([returned] if is_single or hasattr(returned, "page_content") else returned)]
    except (LeafspanError, Unreadable, OSError) as error:
        raise Unreadable(str(error)) from error
    except Exception as error:
        raise Unreadable(f"its reader failed with {type(error).__name__}: {error}") from error
    if len(records) == 1:
        yield records[0]
        return
    for number, record in enumerate(records, start=1):
        yield record._replace(part=f"document={number}")


def _record(given: Any) -> Record:
    title: object = None
    metadata: Mapping[str, Any] = {}
    if isinstance(given, str):
        text = given
    elif isinstance(given, Document):
        text, metadata, title = given.text, given.metadata, given.title
    elif hasattr(given, "page_content"):
        text, metadata = given.page_content, given.metadata or {}
    elif hasattr(given, "get_content") and hasattr(given, "metadata"):
        text, metadata = given.get_content(), given.metadata or {}
    else:
        raise Unreadable(f"its reader must return a text or documents, got {shown(given)}")
    title = metadata.get("title") if title is None else title
    others = {key: value for key, value in metadata.items() if key not in ("source", "title")}
    if not isinstance(text, str):
        raise Unreadable(f"its reader must return documents with a text, got {shown(text)}")
    return Record(text, title if isinstance(title, str) else None, others, parts=())
