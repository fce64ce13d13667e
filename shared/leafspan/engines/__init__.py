"""The stores in which leafspan keeps records: Chroma, PostgreSQL and Qdrant, and the interface for further ones."""

from leafspan.engines._opening import connect, is_address, is_awaited, is_client, to_engine
from leafspan.engines._port import MOST_RESULTS, Engine, Field, Near, Notes, Record, StaleRead, Table
from leafspan.engines._tables import STEP, FlowEngine, FlowTable

__all__ = [
    "MOST_RESULTS",
    "STEP",
    "Engine",
    "Field",
    "FlowEngine",
    "FlowTable",
    "Near",
    "Notes",
    "Record",
    "StaleRead",
    "Table",
    "connect",
    "is_address",
    "is_awaited",
    "is_client",
    "to_engine",
]
