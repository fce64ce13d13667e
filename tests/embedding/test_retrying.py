"""A service that fails for a while is asked again, and gets smaller requests if it refuses large ones."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from leafspan import Document, Embedder, Index, WriterBusy
from leafspan.embedding import embed_in_batches, to_embedder
from leafspan.embedding._checked import RetryingEmbedder, asks_for_less, may_pass, retry_after
from leafspan.errors import FunctionFailed
from leafspan.flows import arun, run
from tests.embedding.test_embedding import vector

REQUEST = httpx.Request("POST", "https://example.org/embeddings")


def of_httpx(status: int, text: str = "", **headers: str) -> httpx.HTTPStatusError:
    response = httpx.Response(status, headers={name.replace("_", "-"): value for name, value in headers.items()})
    return httpx.HTTPStatusError(text or f"status {status}", request=REQUEST, response=response)


def named(name: str, message: str = "", **attributes: object) -> Exception:
    """An error of a class of this name, as SDKs have them."""
    error = type(name, (Exception,), {})(message)
    error.__dict__.update(attributes)
    return error


def wrapped(cause: Exception) -> Exception:
    error = RuntimeError("the host's client failed")
    error.__cause__ = cause
    return error


class Service:
    """A model that raises these errors, one a call, and then answers; it takes at most ``most`` texts at once."""

    def __init__(self, *errors: Exception, most: int = 1_000, refusal: str = "batch size must not exceed {most}") -> None:
        self.errors = list(errors)
        self.most = most
        self.refusal = refusal
        self.calls: list[int] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(len(texts))
        if self.errors:
            raise self.errors.pop(0)
        if len(texts) > self.most:
            raise named("BadRequestError", self.refusal.format(most=self.most), status_code=400)
        return [vector(text) for text in texts]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited, without waiting."""
    waited: list[float] = []
    really_sleep = time.sleep

    def pretend(seconds: float) -> None:
        if seconds >= 0.5:
            waited.append(seconds)
        else:  # who waits for a lock, and looks again and again
            really_sleep(seconds)

    monkeypatch.setattr(time, "sleep", pretend)

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    monkeypatch.setattr("random.uniform", lambda low, high: low)
    return waited


def embed(service, texts: int = 1) -> list[list[float]]:
    return run(RetryingEmbedder(to_embedder(service)).documents([f"text {n}" for n in range(texts)])).tolist()


PASSING = [
    *(of_httpx(status) for status in (408, 409, 429, 500, 502, 503, 529)),
    httpx.ConnectError("refused"),
    httpx.ReadTimeout("late"),
    httpx.RemoteProtocolError("disconnected"),
    named("RateLimitError", status_code=429),
    named("APIConnectionError"),
    named("ResourceExhausted", code=429),
    named("TooManyRequestsError", http_status=429),
    named("ClientError", response={"ResponseMetadata": {"HTTPStatusCode": 503}}),
    named("ThrottlingException"),
    ConnectionResetError("reset"),
    TimeoutError("late"),
    wrapped(of_httpx(503)),
]
LASTING = [
    *(of_httpx(status) for status in (400, 401, 403, 404, 422)),
    named("AuthenticationError", status_code=401),
    named("RateLimitError", status_code=429, code="insufficient_quota"),
    ValueError("no such model"),
    KeyError("key"),
    WriterBusy("another writer"),
    wrapped(of_httpx(401)),
]


@pytest.mark.parametrize("error", PASSING, ids=repr)
def test_retrying_that_pass_are_waited_out(waits, error):
    service = Service(error, error, error)
    assert embed(service) == [pytest.approx(vector("text 0"))]
    assert (service.calls, waits) == ([1, 1, 1, 1], [1.0, 2.0, 4.0])


@pytest.mark.parametrize("error", LASTING, ids=repr)
def test_retrying_that_last_are_raised_at_once(waits, error):
    service = Service(error)
    with pytest.raises((FunctionFailed, WriterBusy)) as caught:
        embed(service)
    assert error in (caught.value, caught.value.__cause__)  # an error of leafspan's stays as it is
    assert (service.calls, waits) == ([1], [])


def test_after_four_attempts_the_error_is_raised(waits):
    service = Service(*(of_httpx(429) for _ in range(9)))
    with pytest.raises(FunctionFailed, match="failed with HTTPStatusError: status 429") as caught:
        embed(service)
    assert isinstance(caught.value.__cause__, httpx.HTTPStatusError)
    assert (service.calls, waits) == ([1] * 4, [1.0, 2.0, 4.0])


async def test_asyncio_waits_without_blocking(waits):
    service = Service(of_httpx(429), of_httpx(503))

    async def documents(texts):
        return service(texts)

    embedder = RetryingEmbedder(Embedder("service", None, None, adocuments=documents))
    assert (await arun(embedder.documents(["text 0"]))).tolist() == [pytest.approx(vector("text 0"))]
    assert waits == [1.0, 2.0]


def test_the_service_says_how_long_to_wait(waits):
    embed(Service(of_httpx(429, retry_after="20"), named("RateLimited", status_code=429)))
    assert waits == [20.0, 2.0]


def test_a_date_to_wait_for_is_understood():
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 50 < retry_after(of_httpx(503, Retry_After=date)) <= 60
    assert retry_after(of_httpx(503, retry_after="soon")) == 0
    assert retry_after(of_httpx(503, retry_after="-5")) == 0
    assert retry_after(ValueError()) == 0
    assert retry_after(wrapped(of_httpx(429, retry_after="7"))) == 7


def test_nothing_waits_longer_than_two_minutes(waits):
    with pytest.raises(FunctionFailed, match="HTTPStatusError"):
        embed(Service(of_httpx(429, retry_after="3600")))
    assert waits == []
    with pytest.raises(FunctionFailed, match="HTTPStatusError"):
        embed(Service(*(of_httpx(429, retry_after="50") for _ in range(4))))
    assert waits == [50.0, 50.0]


def test_waits_differ_so_that_processes_do_not_come_back_together(monkeypatch):
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    for _ in range(20):
        embed(Service(of_httpx(429)))
    assert len(set(waited)) == 20
    assert all(1.0 <= wait <= 1.25 for wait in waited)


REFUSALS = [
    "batch size must not exceed {most}",
    "Too many inputs. The max is {most}.",
    "maximum allowed number of inputs is {most}",
    "This model's maximum context length is 8192 tokens",
    "Requested tokens exceed the limit",
    "at most {most} items: texts over the maximum",
    "invalid request: the total number of texts exceeds {most}",
]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_batch_that_is_refused_as_too_large_is_halved(waits, refusal):
    service = Service(most=10, refusal=refusal)
    assert embed(service, 32) == [pytest.approx(vector(f"text {n}")) for n in range(32)]
    assert (service.calls, waits) == ([32, 16, 8, 8, 8, 8], [])


@pytest.mark.parametrize(
    "error", [of_httpx(413), named("RateLimitError", "Request too large for model: tokens per min", status_code=429)]
)
def test_less_is_asked_for_at_once_where_the_status_says_so(waits, error):
    service = Service(error)
    assert len(embed(service, 32)) == 32
    assert (service.calls, waits) == ([32, 16, 16], [])


def test_later_batches_are_no_larger_than_those_that_were_taken(waits):
    service = Service(most=100)
    embedder = RetryingEmbedder(to_embedder(service))
    vectors = run(embed_in_batches(embedder.documents, [f"text {n}" for n in range(300)]))
    assert [list(each) for each in vectors] == [pytest.approx(vector(f"text {n}")) for n in range(300)]
    assert service.calls == [128, 64, 64, 64, 64, 44]


def test_a_text_that_is_too_long_by_itself_is_an_error_and_the_next_batch_is_whole(waits):
    service = Service(most=0, refusal="the input is too long: maximum 512 tokens")
    embedder = RetryingEmbedder(to_embedder(service))
    with pytest.raises(FunctionFailed, match="the input is too long"):
        run(embedder.documents(["a", "b", "c", "d"]))
    service.most = 10
    run(embedder.documents(["a", "b", "c", "d"]))
    assert service.calls == [4, 2, 1, 4]


def test_a_rate_limit_does_not_ask_for_less():
    limit = "Rate limit reached on tokens per min (TPM): Limit 1000000, Used 990000, Requested 20000"
    assert not asks_for_less(named("RateLimitError", limit, status_code=429))
    assert not asks_for_less(named("RateLimitError", "Maximum requests of texts per minute exceeded", status_code=429))
    assert may_pass(named("RateLimitError", limit, status_code=429))


def test_a_local_embedder_is_not_asked_again(waits):
    service = Service(TimeoutError("late"))
    with pytest.raises(FunctionFailed, match="the embedder local failed with TimeoutError: late; it was given 'text'"):
        run(RetryingEmbedder(Embedder("local", service, service, local=True)).documents(["text"]))
    assert service.calls == [1]


def test_an_index_waits_for_its_embedder_and_a_question_does_not(tmp_path: Path, waits):
    service = Service(of_httpx(429))
    with Index.open(tmp_path, embedder=service, embedding_cache=False) as index:
        index.add(Document("a", "One."))
        assert waits == [1.0]
        service.errors = [of_httpx(429)]
        with pytest.raises(FunctionFailed, match="failed with HTTPStatusError: status 429; it was given"):
            index.retrieve("One.")
    assert waits == [1.0]


def test_errors_that_carry_strange_things_are_read_without_failing():
    for strange in (SimpleNamespace(headers=None), SimpleNamespace(headers=[1]), {"headers": 1}, None, "text"):
        error = named("SomeError", response=strange, status_code="no number", code=lambda: 3)
        assert (may_pass(error), asks_for_less(error), retry_after(error)) == (False, False, 0)
