"""Finds embedders by name, or wraps any library's embedder."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from leafspan.checks import shown
from leafspan.embedding._e5 import NAME as E5
from leafspan.embedding._e5 import e5
from leafspan.embedding._embedders import Embedder, EmbedderIdentity, recognized
from leafspan.embedding._minilm import NAME as MINILM
from leafspan.embedding._minilm import minilm
from leafspan.embedding._wordllama import default_embedder
from leafspan.errors import InvalidArgument

_NAMED: dict[str, Callable[[], Embedder]] = {"wordllama": default_embedder, MINILM: minilm, E5: e5}
_ATTRIBUTE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")


def to_embedder(thing: object) -> Embedder:
    """Return an ``Embedder`` from a name, or from any library's embedder, which is recognised by its methods.

    Raises:
        InvalidArgument: if it is not an embedder of a known kind, or the named object cannot be imported.
    """
    if not isinstance(thing, str):
        return recognized(thing)
    if thing in _NAMED:
        return _NAMED[thing]()
    if _ATTRIBUTE.fullmatch(thing):
        return replace(recognized(_imported(thing)), name=thing)
    raise InvalidArgument(
        f"an embedder's name must be one of {', '.join(map(repr, _NAMED))}, or 'package.module:attribute', got "
        f"{shown(thing)}; for another model give an object that embeds with it, such as LangChain's "
        "OpenAIEmbeddings(model=...) for a model of OpenAI's, or SentenceTransformer(...) for one from Hugging Face"
    )


def recorded_embedder(recorded: EmbedderIdentity | None) -> Embedder:
    """Return the index's embedder if it has a name here, or else the default one."""
    made = (embedder() for embedder in _NAMED.values())
    known = (each for each in made if recorded is not None and each.name == recorded.name)
    return next(known, default_embedder())


def _imported(place: str) -> object:
    """Return the object at ``package.module:attribute``."""
    module, _, attributes = place.partition(":")
    try:
        found: object = import_module(module)
        for name in attributes.split("."):
            found = getattr(found, name)
    except Exception as error:
        raise InvalidArgument(
            f"the embedder {shown(place)} must be an object that can be imported, got {type(error).__name__}: {error}"
        ) from error
    return found
