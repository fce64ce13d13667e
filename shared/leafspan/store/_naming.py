"""The names of an index's collections, and the settings that are stored as metadata of a collection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from leafspan.embedding import EmbedderIdentity
from leafspan.errors import IndexMismatch


def leaves_name(name: str) -> str:
    """The name of the Chroma collection of an index's leaves."""
    return f"{name}.leaves"


def manifest_name(name: str) -> str:
    """The name of the Chroma collection of an index's manifest."""
    return f"{name}.manifest"


def texts_name(name: str) -> str:
    """The name of the Chroma collection of the texts that are kept beside an index."""
    return f"{name}.texts"


def settings_with(settings: Mapping[str, Any], identity: EmbedderIdentity | None) -> dict[str, str]:
    """The metadata of the manifest's collection: the settings of the index, and its embedder if that is known."""
    stored = {"leafspan": json.dumps(dict(settings))}
    if identity is not None:
        stored["embedder"] = json.dumps({"name": identity.name, "dimension": identity.dimension, "probe": identity.probe})
    return stored


def read_settings(metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings of an index, from the metadata of its manifest's collection.

    Raises:
        IndexMismatch: if leafspan did not make the collection.
    """
    if not metadata or "leafspan" not in metadata:
        raise IndexMismatch("the manifest's collection was not made by leafspan; choose another name for the index")
    return dict(json.loads(metadata["leafspan"]))


def read_embedder(metadata: Mapping[str, Any]) -> EmbedderIdentity | None:
    """The embedder of an index, from the metadata of its manifest's collection; None before the first embedding."""
    return EmbedderIdentity(**json.loads(metadata["embedder"])) if "embedder" in metadata else None
