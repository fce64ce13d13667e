"""How Chroma is called."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace

import chromadb
import httpx
import pytest
from chromadb.config import Settings

from leafspan.engines._caller import Caller
from leafspan.engines.chroma._chroma import _with_timeout
from leafspan.engines.chroma._failures import caller_of
from leafspan.errors import ServerTimeout


def test_a_chroma_in_memory_has_no_place_that_could_be_named():
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    assert caller_of(client) == Caller("this Chroma", native=False, timeout=None)


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
    call = Caller("there", native=native, timeout=0.05).call(
        "add leaves", asyncio.sleep if native else released.wait, (10.0,), finish=writing
    )
    said = (
        r"^could not add leaves in there: it has not answered within the timeout of 0\.05 seconds; check that the server "
        rf"runs and is reachable, or open the index with a longer timeout{'; whether it was written .*' if writing else ''}$"
    )
    with pytest.raises(ServerTimeout, match=said):
        asyncio.run(call.native(*call.arguments)) if native else call.function(*call.arguments)
    released.set()


def test_without_a_timeout_no_other_thread_is_needed():
    assert Caller("there").call("look", threading.get_ident).function() == threading.get_ident()


@pytest.mark.parametrize("secret", ["", "user:word@", "user:w@rd@"])
def test_the_address_of_a_server_is_named_without_what_is_secret_in_it(secret: str):
    server = SimpleNamespace(get_api_url=lambda: f"https://{secret}example.org:8000/api/v2")
    assert caller_of(SimpleNamespace(_server=server)).place == "the Chroma server at https://example.org:8000"


def test_requests_of_a_client_get_a_timeout_unless_the_user_has_given_one():
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.extensions["timeout"]["read"])
        return httpx.Response(200)

    def client(seconds: float | None) -> SimpleNamespace:
        session = httpx.Client(timeout=seconds, transport=httpx.MockTransport(answer))
        return SimpleNamespace(_server=SimpleNamespace(_session=session))

    endless, limited, other = client(None), client(3.0), SimpleNamespace(_server=SimpleNamespace())
    assert _with_timeout(limited, 5.0) is limited
    assert _with_timeout(other, 5.0) is other
    for each in (_with_timeout(endless, 5.0), endless):
        each._server._session.request("GET", "http://example.org")
    assert asked == [5.0, None]  # the user's own client stays as it is
    limited_twin = _with_timeout(endless, 5.0)
    endless._server._session.close()
    with pytest.raises(RuntimeError, match="closed"):  # what the user closed is closed for leafspan, too
        limited_twin._server._session.request("GET", "http://example.org")
