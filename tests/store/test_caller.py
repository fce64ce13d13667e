"""How Chroma is called."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import chromadb
import pytest
from chromadb.config import Settings

from leafspan import ServerTimeout
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


@pytest.mark.parametrize("writing", [True, False])
@pytest.mark.parametrize("native", [True, False])
def test_what_has_no_answer_in_time_is_named_and_whether_it_was_to_write(native: bool, writing: bool):
    released = threading.Event()

    async def never() -> None:
        await asyncio.sleep(3600)

    call = Caller("there", native=native, timeout=0.05).call(
        "add leaves", never if native else released.wait, (), {}, finish=writing
    )
    said = (
        r"^could not add leaves in there: it has not answered within the timeout of 0\.05 seconds; see whether the server "
        rf"runs and is reached, or open the index with a longer timeout{'; whether it was written .*' if writing else ''}$"
    )
    with pytest.raises(ServerTimeout, match=said):
        asyncio.run(call.native()) if native else call.function()
    released.set()


def test_without_a_timeout_no_other_thread_is_needed():
    assert Caller("there").call("look", threading.get_ident).function() == threading.get_ident()


@pytest.mark.parametrize("secret", ["", "user:word@", "user:w@rd@"])
def test_the_address_of_a_server_is_named_without_what_is_secret_in_it(secret: str):
    server = SimpleNamespace(get_api_url=lambda: f"https://{secret}example.org:8000/api/v2")
    assert Caller.of(SimpleNamespace(_server=server)).place == "the Chroma server at https://example.org:8000"
