"""How Chroma is called."""

from __future__ import annotations

import chromadb
import pytest
from chromadb.config import Settings

from leafspan.store._caller import Caller


def test_a_chroma_in_memory_has_no_place_that_could_be_named():
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    assert Caller.of(client) == Caller("this Chroma", native=False, timeout=None)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("finish", [True, False])
def test_a_call_says_where_it_goes_and_whether_a_cancelled_task_waits_for_its_end(native: bool, finish: bool):
    call = Caller("there", native=native).call("add leaves", print, ("a",), {"end": ""}, finish=finish)
    assert (call.arguments, call.options, call.finish, call.name) == (("a",), {"end": ""}, finish, "there")
    assert (call.function is None, call.native is None) == (native, not native)
