"""How an index's collections are called, and what they remember of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from leafspan.embedding import EmbedderIdentity
from leafspan.errors import IndexMismatch


def leaves_name(name: str) -> str:
    """The Chroma collection of an index's leaves."""
    return f"{name}.leaves"


def manifest_name(name: str) -> str:
    """The Chroma collection of an index's manifest."""
    return f"{name}.manifest"


def texts_name(name: str) -> str:
    """The Chroma collection of texts that are kept beside an index."""
    return f"{name}.texts"


def settings_with(settings: Mapping[str, Any], identity: EmbedderIdentity | None) -> dict[str, str]:
    """What the manifest's collection carries as its own metadata."""
    stored = {"leafspan": json.dumps(dict(settings))}
    if identity is not None:
        stored["embedder"] = json.dumps({"name": identity.name, "dimension": identity.dimension, "probe": identity.probe})
    return stored


def read_settings(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings from the collection's metadata.

    Raises:
        IndexMismatch: if the collection is somebody else's.
    """
    if not metadata or "leafspan" not in metadata:
        raise IndexMismatch("the manifest's collection was not made by leafspan; choose another name for the index")
    return dict(json.loads(metadata["leafspan"]))


def read_embedder(metadata: Mapping[str, Any]) -> EmbedderIdentity | None:
    """The embedder from the collection's metadata; None before the first embedding."""
    return EmbedderIdentity(**json.loads(metadata["embedder"])) if "embedder" in metadata else None
