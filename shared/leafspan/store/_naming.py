"""The names of an index's tables, whether leafspan made them, and the settings that are stored as a table's notes."""

from __future__ import annotations

import base64
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from leafspan.checks import shown
from leafspan.documents import FORMAT
from leafspan.embedding import EmbedderIdentity
from leafspan.engines import FlowEngine, FlowTable, Notes
from leafspan.errors import DamagedIndex, IndexMismatch
from leafspan.flows import Flow
from leafspan.store._damage import DamageRule

LEAVES_NOTES = {"made_by": "leafspan"}

_BYTES = 4  # bytes per number of a vector
_RESTORE = "restore the index from a backup, or add the documents to a new one"
_MOST_NAMED = 10  # indexes that an error names


_EDITIONS = "editions"  # the key of the editions in the notes on the manifest of the first one
EDITION_OF = "edition_of"  # a key in the notes of each further edition, for the index's name
SPARE = "spare"  # a key in the notes on the manifest of an edition that answers no questions


class Editions(NamedTuple):
    """The editions of an index: the same documents with other vectors or leaves, each stored under a name of its own."""

    current: str  # the edition that answers questions
    spare: str | None = None  # another one: the next one, or the one before
    newest: int = 1  # the number in the newest one's name, since no number is used twice
    deleted: str | None = None  # one that is being deleted

    @classmethod
    def read(cls, notes: Notes, name: str) -> Editions:
        """Read the editions from the notes on the manifest of the first one, which has the index's name."""
        if _EDITIONS not in notes:
            return cls(name)
        try:
            return cls(**json.loads(notes[_EDITIONS]))
        except (ValueError, TypeError) as error:
            raise DamagedIndex(
                f"the editions of the index are damaged, got {shown(notes[_EDITIONS])}: {_RESTORE}"
            ) from error

    @property
    def silent(self) -> list[str]:
        """The names of the editions that answer no questions, and of their trees."""
        return [*family(self.spare), *family(self.deleted)]

    @property
    def notes(self) -> dict[str, str]:
        return {_EDITIONS: json.dumps(self._asdict())}


class WantedIndex(NamedTuple):
    """How a user wants an index to be opened."""

    name: str
    settings: Mapping[str, Any]  # of an index that is made
    create: bool
    timeout: float
    cache_dir: str | Path | None
    suggest: bool  # whether errors and warnings name what could be adopted
    read_only: bool
    freshness: float
    damage: DamageRule
    base: str  # the name of the index, and of its first edition
    spare: EmbedderIdentity | None  # the embedder of a spare edition, which is opened to be written

    @property
    def notes(self) -> dict[str, str]:
        return settings_with(self.settings, self.spare, spare_of=None if self.spare is None else self.base)

    def current(self, notes: Notes) -> WantedIndex:
        """Return the same for the edition that answers questions. A spare one is opened as it is."""
        return self if self.spare is not None else self._replace(name=Editions.read(notes, self.name).current)


def family(edition: str | None) -> list[str]:
    """Return the names of an edition and of its trees."""
    return [] if edition is None else [edition, f"{edition}.tree"]


def spare_written(name: str) -> IndexMismatch:
    """Return the error for a write to a spare edition: what is written there would be lost with it."""
    return IndexMismatch(
        f"{name!r} is the spare edition of an index that was re-embedded: open the index again, under its own name and "
        "with the embedder that it has now, to write to it"
    )


def warn_of_spare(described: str) -> None:
    """Warn readers of an index that was re-embedded after it was opened."""
    warnings.warn(
        f"the index {described} was re-embedded: this process goes on with the vectors that it had opened, and does not "
        "see what is written from now on; open it again, with the embedder that it has now",
        RuntimeWarning,
        stacklevel=2,
    )


class TableNames(NamedTuple):
    """The names of an index's tables."""

    leaves: str
    texts: str
    segments: str
    manifest: str

    @classmethod
    def of(cls, index: str) -> TableNames:
        return cls(*(f"{index}.{table}" for table in cls._fields))


def settings_with(
    settings: Mapping[str, Any], identity: EmbedderIdentity | None, *, spare_of: str | None = None
) -> dict[str, str]:
    """The notes on the manifest: the index's settings, and its embedder if it is known."""
    stored = {"leafspan": json.dumps(dict(settings))}
    if identity is not None:
        stored["embedder"] = json.dumps({"name": identity.name, "dimension": identity.dimension, "probe": identity.probe})
    return stored if spare_of is None else {**stored, SPARE: "yes", EDITION_OF: spare_of}


def is_manifest(notes: Notes) -> bool:
    return "leafspan" in notes


def read_settings(notes: Notes) -> dict[str, Any]:
    """Read an index's settings from the notes on its manifest. ``IndexSettings`` checks the other values."""
    settings = _from_json(notes.get("leafspan"))
    if not isinstance(settings, dict) or "format" not in settings:
        raise DamagedIndex(f"the settings of the index are damaged, got {shown(notes.get('leafspan'))}: {_RESTORE}")
    if settings["format"] != FORMAT:
        raise IndexMismatch(
            f"the index is stored in format {settings['format']!r}, and this version of leafspan reads format "
            f"{FORMAT!r}: open it with the version that wrote it, or add the documents to a new index"
        )
    return settings


def read_embedder(notes: Notes) -> EmbedderIdentity | None:
    """Read an index's embedder from the notes on its manifest. Return None before the first embedding."""
    if "embedder" not in notes:
        return None
    stored = _from_json(notes["embedder"])
    if not isinstance(stored, dict) or set(stored) != {"name", "dimension", "probe"} or not _is_embedder(**stored):
        raise DamagedIndex(f"the record of the index's embedder is damaged, got {shown(notes['embedder'])}: {_RESTORE}")
    return EmbedderIdentity(**stored)


def find_manifest(engine: FlowEngine, name: str) -> Flow[FlowTable | None]:
    """An index's manifest, or None if there is no such index. Tables of another program are an IndexMismatch."""
    manifest = yield from engine.table(TableNames.of(name).manifest)
    if manifest is not None:
        if not is_manifest(manifest.notes):
            raise (yield from _refusal(engine, manifest.name))
        return manifest
    # A process that was killed or is still at work may have made only the table of leaves.
    leaves = yield from engine.table(TableNames.of(name).leaves)
    if leaves is not None and leaves.notes.get("made_by") != LEAVES_NOTES["made_by"]:
        raise (yield from _refusal(engine, leaves.name))
    return None


def warn_of_namesake(engine: FlowEngine, name: str) -> Flow[None]:
    """Warn if a collection that leafspan did not make has the name of an index that will be made."""
    if name in (yield from engine.adoptable()) and (maker := (yield from engine.maker(name))) is not None:
        warnings.warn(
            f"this makes an empty index {name!r} beside the Chroma collection {name!r}, whose records were written by "
            f"{maker}: to make an index of them, use leafspan.adopt, or the command leafspan adopt",
            UserWarning,
            stacklevel=2,
        )


def adoptable(engine: FlowEngine, others: Sequence[str] = ()) -> Flow[str]:
    """The end of an error message: which collections could be adopted, and which indexes exist, with ``others``."""
    said = ""
    if names := (yield from engine.adoptable()):
        listed = ", ".join(map(repr, names))
        said = f", but there are Chroma collections ({listed}): leafspan.adopt, or leafspan adopt, makes an index of one"
    tables = yield from engine.tables()
    suffix = TableNames.of("").manifest
    indexes = [name.removesuffix(suffix) for name, notes in tables.items() if is_manifest(notes)] + list(others)
    if own := sorted(name for name in indexes if name.rpartition(".")[0] not in indexes):  # without trees, such as kb.tree
        listed = ", ".join([*map(repr, own[:_MOST_NAMED]), *(["..."] if len(own) > _MOST_NAMED else [])])
        said += f"; there is {listed}" if len(own) == 1 else f"; there are {listed}"
    return said


def _from_json(text: object) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _is_embedder(name: object, dimension: object, probe: object) -> bool:
    if not isinstance(name, str) or type(dimension) is not int or not isinstance(probe, str):
        return False
    try:
        return len(base64.b64decode(probe, validate=True)) == _BYTES * dimension > 0
    except ValueError:
        return False


def _refusal(engine: FlowEngine, name: str) -> Flow[IndexMismatch]:
    maker = yield from engine.maker(name)
    whose = f"its records were written by {maker}" if maker else "it is empty"
    return IndexMismatch(
        f"the {engine.kind} {name!r} was not made by leafspan ({whose}): choose another name for the index"
    )
