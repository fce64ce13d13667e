"""The attributes of a span, by the semantic conventions of OpenInference for retrievers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from leafspan.checks import is_unicode, shown
from leafspan.spans import citation
from leafspan.telemetry._hiding import REDACTED, Hiding
from leafspan.values import Passage, Query

KIND = "openinference.span.kind"
Attributes = dict[str, str | float]


def input_attributes(asked: object, hiding: Hiding) -> Attributes:
    """The question. None of a query that has no text."""
    text = asked.text if isinstance(asked, Query) else asked
    if not isinstance(text, str):
        return {}
    return {"input.value": REDACTED if hiding.inputs else valid(text), "input.mime_type": "text/plain"}


def document_attributes(passages: Sequence[Passage], hiding: Hiding) -> Attributes:
    """The passages. Their ids and scores are there even if their contents are left out."""
    found: Attributes = {}
    for number, passage in enumerate(passages):
        name = f"retrieval.documents.{number}.document"
        found[f"{name}.id"] = valid(str(passage.id))
        found[f"{name}.score"] = float(passage.score)
        if not hiding.outputs:
            found[f"{name}.content"] = valid(passage.text)
            why = {} if hiding.inputs else {"trace": passage.trace.explain()}  # which may quote phrasings of the question
            found[f"{name}.metadata"] = to_json({**passage.metadata, **citation(passage), **why})
    return found


def to_json(value: Mapping[str, object]) -> str:
    """Values by key as JSON; what JSON does not have, as its repr."""
    try:
        return _dumped(value)
    except (TypeError, ValueError, RecursionError):  # such as a key that is no text, in the metadata of another source
        return _dumped(
            {
                key if isinstance(key, str) else shown(key): each if _fits(each) else shown(each)
                for key, each in value.items()
            }
        )


def _dumped(value: object) -> str:
    return valid(json.dumps(value, ensure_ascii=False, allow_nan=False, default=shown))


def _fits(value: object) -> bool:
    try:
        _dumped(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def valid(text: str) -> str:
    """A text that can be sent: an exporter would drop all spans for one lone surrogate."""
    return text if is_unicode(text) else text.encode(errors="replace").decode()
