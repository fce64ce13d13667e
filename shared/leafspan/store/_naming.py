"""The names of an index's collections, and the settings that are stored as metadata of a collection."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from leafspan.embedding import EmbedderIdentity


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


def is_manifest(metadata: Mapping[str, Any] | None) -> bool:
    """Whether a collection with this metadata is the manifest of an index."""
    return "leafspan" in (metadata or {})


def read_settings(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of an index, from the metadata of its manifest's collection."""
    return dict(json.loads(metadata["leafspan"]))


def read_embedder(metadata: Mapping[str, Any]) -> EmbedderIdentity | None:
    """The embedder of an index, from the metadata of its manifest's collection; None before the first embedding."""
    return EmbedderIdentity(**json.loads(metadata["embedder"])) if "embedder" in metadata else None
