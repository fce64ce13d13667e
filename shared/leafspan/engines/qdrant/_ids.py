"""Ids of Qdrant's points."""

from uuid import NAMESPACE_URL, uuid5


def point_id(id_: str) -> str:
    """The id of the point of a record: Qdrant takes UUIDs and numbers only."""
    return str(uuid5(NAMESPACE_URL, f"leafspan:{id_}"))
