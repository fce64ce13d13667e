"""Summarizers, with both drivers; language models are the frameworks' own fakes."""

from __future__ import annotations

import asyncio
import functools
import itertools
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import FakeListLLM
from langchain_core.language_models.fake_chat_models import FakeListChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata, MockLLM
from llama_index.core.llms.callbacks import llm_completion_callback

from leafspan import InvalidArgument
from leafspan.errors import FunctionFailed, UnusableResult
from leafspan.flows import Call, arun, run
from leafspan.language_model import identity_of
from leafspan.text import count_words
from leafspan.trees import Abstractive, Extractive, to_summarizer
from leafspan.trees._abstractive import DEFAULT_PROMPT
from leafspan.trees._extractive import first_sentences, first_words, sentences, size
from tests.lateness import ends_within
from tests.profiles import examples

# Sentences about so much fire, tea and rain, which are the three dimensions of their vectors.
TOPICS = ("fire", "tea", "rain")


class Embedding:
    """Counts three words; and remembers the batches."""

    def __init__(self):
        self.batches = []

    def vectors(self, texts):
        self.batches.append(list(texts))
        return [[text.lower().count(topic) for topic in TOPICS] for text in texts]

    def __call__(self, texts):
        return (yield Call(self.vectors, (list(texts),)))


class Kept:
    """Remembers the messages and their threads."""

    def __init__(self):
        self.texts = {}
        self.threads = set()

    def put(self, place, text):
        assert place not in self.texts
        self.texts[place] = text
        self.threads.add(threading.get_ident())

    def __call__(self, place, text):
        yield Call(self.put, (place, text))


def flowing(summarizer, groups, embed=None):
    kept = Kept()
    return summarizer.summarizing(groups, embed or Embedding(), kept), kept


def summaries(summarizer, groups, embed=None):
    """The summaries by place; none may fail."""
    flow, kept = flowing(summarizer, groups, embed)
    assert run(flow) == {}
    return [kept.texts[place] for place in range(len(groups))]


async def of_both(make_summarizer, groups):
    """The summaries and errors of the blocking driver, which must be the same under asyncio."""
    flow, kept = flowing(make_summarizer(), groups)
    errors = await asyncio.to_thread(run, flow)
    aflow, akept = flowing(make_summarizer(), groups)
    aerrors = await arun(aflow)
    assert akept.texts == kept.texts
    assert {place: repr(error) for place, error in aerrors.items()} == {
        place: repr(error) for place, error in errors.items()
    }
    return kept.texts, errors


# --- extractive


FIRE = "The fire burnt the whole pier down."
FIRES = "Every fire of that week was another fire."
TEA = "They drank some tea in the meantime."
RAIN = "There was fire until rain came."


def test_the_sentences_closest_to_the_centroid_are_chosen_and_stand_in_their_original_order():
    # unit vectors: tea (0, 1, 0), fire (1, 0, 0) twice, fire and rain (1, 0, 1) / sqrt 2; their sum (2.71, 1, 0.71), whose
    # cosine with each: tea 0.34, fire 0.91, rain 0.81
    texts = [f"{TEA} {FIRE}", f"{RAIN} {FIRES}"]
    assert summaries(Extractive(max_words=15, diversity=0), [texts]) == [f"{FIRE} {FIRES}"]  # 7 + 8 words
    assert summaries(Extractive(max_words=14, diversity=0), [texts]) == [f"{FIRE} {RAIN}"]  # 7 + 6 words
    assert summaries(Extractive(max_words=6, diversity=0), [texts]) == [RAIN]
    assert summaries(Extractive(max_words=40), [texts]) == [f"{TEA} {FIRE} {RAIN} {FIRES}"]


def test_diversity_prefers_what_the_summary_does_not_say_yet():
    texts = [FIRE, FIRES, "A fire it was that nobody saw.", TEA]
    # centroid (3, 1, 0) / sqrt 10; a second fire 0.5 * 0.95 - 0.5 * 1 < tea 0.5 * 0.32 - 0.5 * 0
    assert summaries(Extractive(max_words=15, diversity=0), [texts]) == [f"{FIRE} {FIRES}"]
    assert summaries(Extractive(max_words=15, diversity=0.5), [texts]) == [f"{FIRE} {TEA}"]


def test_of_equals_the_first_is_chosen():
    texts = ["One fire was seen here.", "Two fire was seen here.", "Six fire was seen here."]
    assert summaries(Extractive(max_words=9, diversity=0), [texts]) == ["One fire was seen here."]


def test_a_repeated_sentence_counts_once():
    texts = [TEA, FIRE, FIRE.upper(), f"{FIRE}\n\n{FIRE}"]
    assert summaries(Extractive(), [texts]) == [f"{TEA} {FIRE}"]


def test_headings_and_scraps_are_chosen_only_where_there_is_nothing_else():
    texts = ["# The fire, the fire and the fire of the year\n\nThe fire\n\nFire!\n\n" + TEA]
    assert summaries(Extractive(), [texts]) == [TEA]
    assert summaries(Extractive(), [["and the fire that burnt the whole pier down.", TEA]]) == [TEA]
    assert summaries(Extractive(), [["# The fire\n\n---\n\nFire!"]]) == ["# The fire Fire!"]


def test_a_sentence_is_cut_between_words_only_where_none_fits():
    long = "The fire " + "burnt and " * 10 + "went out."
    assert summaries(Extractive(max_words=8), [[long, TEA]]) == [TEA]
    assert summaries(Extractive(max_words=4), [[long, TEA]]) == ["The fire burnt and"]
    assert summaries(Extractive(max_words=2), [["x" * 500]]) == ["x" * 35]  # 12 characters are a word


def test_texts_without_any_words_are_cut():
    assert summaries(Extractive(max_words=3), [["---", "* * *"], [], [" \n"]]) == ["--- * *", "", ""]


def test_characters_of_chinese_count_as_words():
    assert summaries(Extractive(max_words=7), [["他们喝茶的时候。火烧毁了码头的一切。"]]) == ["他们喝茶的时候"]
    assert summaries(Extractive(max_words=9), [["他们喝茶的时候。火烧毁了码头的一切。"]]) == ["他们喝茶的时候。"]


def test_sentences_are_embedded_in_large_batches_across_groups():
    groups = [[f"The fire number {n} was seen here.", f"The fire number {n + 1} was seen here."] for n in range(1_200)]
    embed = Embedding()
    made = summaries(Extractive(max_words=7), groups, embed)
    assert [len(batch) for batch in embed.batches] == [512, 512, 179]  # 1,201 sentences, two of them in two batches
    assert made[7] == "The fire number 7 was seen here."


async def test_extractive_summaries_are_kept_and_the_same_with_both_drivers():
    assert await of_both(Extractive, [[FIRE], [TEA, FIRE]]) == ({0: FIRE, 1: f"{TEA} {FIRE}"}, {})


def test_an_embedder_that_fails_ends_it():
    def failing(texts):
        raise ConnectionError("no route")
        yield

    with pytest.raises(ConnectionError, match="no route"):
        summaries(Extractive(), [[FIRE]], failing)


WORDS = st.sampled_from(
    ["fire", "tea", "rain", "Fire", "of", "the", "pier", "3.5", "Dr.", "e.g.", "J.", "naïve", "茶", "---", "#"]
)
TEXT = st.lists(
    st.tuples(
        st.lists(WORDS, min_size=1, max_size=12), st.sampled_from([". ", "! ", "?\n", "\n\n", "\n", "。", "... ", " "])
    ),
    max_size=6,
).map(lambda parts: "".join(" ".join(words) + end for words, end in parts))
GROUP = st.lists(TEXT, min_size=1, max_size=5)
OPTIONS = st.builds(Extractive, max_words=st.integers(1, 30), diversity=st.sampled_from([0, 0.25, 0.4, 1]))


@examples(150)
@given(GROUP, OPTIONS)
def test_an_extractive_summary_is_made_of_the_texts_own_sentences_and_within_its_limit(texts, summarizer):
    [summary] = summaries(summarizer, [texts])
    assert count_words(summary) <= summarizer.max_words
    source = [" ".join(sentence.split()) for text in texts for sentence in sentences(text)]
    everything = " ".join(" ".join(texts).split())
    if not any(sentence.startswith(summary) for sentence in [*source, everything]):  # else none fits, or one alone
        either = "|".join(map(re.escape, source))
        assert re.fullmatch(f"(?:{either})(?: (?:{either}))*", summary)
    assert bool(summary) == any(text.strip() for text in texts)


@examples(60)
@given(st.lists(GROUP, max_size=6), OPTIONS, st.data())
def test_the_order_of_the_groups_does_not_matter(groups, summarizer, data):
    order = data.draw(st.permutations(range(len(groups))))
    made = summaries(summarizer, groups)
    assert summaries(summarizer, [groups[place] for place in order]) == [made[place] for place in order]


PLAIN = st.lists(
    st.lists(st.sampled_from(["fire", "tea", "rain", "pier"]), min_size=4, max_size=9).map(
        lambda words: " ".join(["So", *words]) + "."
    ),
    min_size=1,
    max_size=8,
)


@examples(100)
@given(PLAIN, OPTIONS.filter(lambda summarizer: summarizer.max_words >= 10))
def test_the_summary_of_a_summary_is_itself(texts, summarizer):
    [summary] = summaries(summarizer, [texts])
    assert summaries(summarizer, [[summary]]) == [summary]


# --- sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It burnt. It rained! Why? ", ["It burnt.", "It rained!", "Why?"]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        (
            "Dr. J. Smith et al. saw 3.5 of them, e.g. the U.S. Army's.",
            ["Dr. J. Smith et al. saw 3.5 of them, e.g. the U.S. Army's."],
        ),
        ("They waited ... and went. x", ["They waited ... and went. x"]),
        ("# Fires\nIt burnt.\n- one\n- two", ["# Fires", "It burnt.", "- one", "- two"]),
        ("a" * 30 + " " + "b" * 30 + "\nand on", ["a" * 30 + " " + "b" * 30 + "\nand on"]),
        ("Dr.\n\nSmith", ["Dr.", "Smith"]),
        ("火。「茶。」雨", ["火。", "「茶。」", "雨"]),
        (" \n ", []),
    ],
)
def test_sentences_end_at_full_stops_and_lines(text, expected):
    assert sentences(text) == expected


@examples(200)
@given(st.one_of(st.text(), TEXT))
def test_sentences_lack_nothing_but_white_space(text):
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


@examples(200)
@given(st.one_of(st.text(), TEXT), st.integers(0, 20))
def test_a_start_of_a_text_is_within_its_limit_and_the_longest(text, limit):
    start = first_words(text, limit)
    assert text.strip().startswith(start)
    assert size(start) <= limit
    assert (start == text.strip()) == (size(text.strip()) <= limit)
    if limit and text.strip():
        assert start
    first = first_sentences(text, limit)
    assert start.startswith(first)


@pytest.mark.parametrize("character", [".", " ", "\n", '"', "a", "。", ". ", "A."])
def test_long_runs_take_no_long_time(character):
    start = time.thread_time()
    sentences(character * 100_000)
    assert time.thread_time() - start < 2


# --- abstractive


def counting(texts):
    return f"{len(texts)} texts."


GROUPS = [["a"], ["b", "c"], ["d", "e", "f"]]


async def test_a_function_is_given_the_texts_of_each_group():
    assert await of_both(lambda: to_summarizer(counting), GROUPS) == ({0: "1 texts.", 1: "2 texts.", 2: "3 texts."}, {})


async def test_a_coroutine_function_is_awaited_in_an_event_loop_and_refused_elsewhere():
    async def acounting(texts):
        await asyncio.sleep(0)
        return counting(texts)

    class Callable:
        async def __call__(self, texts):
            return counting(texts)

    for function in (acounting, functools.partial(acounting), Callable()):
        flow, kept = flowing(to_summarizer(function), GROUPS)
        assert await arun(flow) == {}
        assert kept.texts == {0: "1 texts.", 1: "2 texts.", 2: "3 texts."}
        with pytest.raises(
            InvalidArgument, match="a summarizer with a coroutine function alone runs in an event loop only"
        ):
            run(flowing(to_summarizer(function), GROUPS)[0])


async def test_a_model_is_given_the_prompt_with_the_texts_set_apart():
    prompts = []

    def generate(prompt):
        prompts.append(prompt)
        return "It burnt."

    summarizer = Abstractive(generate=generate, prompt="{max_words} words {{of}}: {texts}", max_words=9)
    assert await of_both(lambda: summarizer, [["{a}", "b"]]) == ({0: "It burnt."}, {})
    assert prompts == ["9 words {of}: {a}\n\nb"] * 2
    assert "75 words" in DEFAULT_PROMPT.format(max_words=75, texts="")


class Completing(CustomLLM):
    """A LlamaIndex model that runs in this process."""

    threads: set[int] = set()  # noqa: RUF012 - pydantic copies it

    @property
    def metadata(self):
        return LLMMetadata()

    @llm_completion_callback()
    def complete(self, prompt, formatted=False, **kwargs):
        self.threads.add(threading.get_ident())
        return CompletionResponse(text=" The pier burnt. ")

    def stream_complete(self, prompt, formatted=False, **kwargs):
        raise AssertionError("nobody asked for a stream")


BLOCKS = [
    {"type": "reasoning", "reasoning": "hm"},
    {"type": "text", "text": "The pier "},
    {"type": "text", "text": "burnt."},
]


class Answering:
    """Shaped like a chat model of another version, whose messages have a method instead of the text."""

    def __init__(self, content):
        self.content = content

    def text(self):
        raise AssertionError("the content will do")

    def invoke(self, prompt):
        return self

    async def ainvoke(self, prompt):
        return self


@pytest.mark.parametrize(
    "make",
    [
        lambda: FakeListChatModel(responses=["The pier burnt."]),
        lambda: FakeListLLM(responses=["The pier burnt."]),
        lambda: FakeMessagesListChatModel(responses=[AIMessage(BLOCKS)]),
        lambda: FakeListChatModel(responses=["The pier burnt."]).with_retry(),
        lambda: Answering(BLOCKS),
        lambda: Answering(["The pier ", "burnt."]),
        lambda: Answering("The pier burnt."),
        Completing,
    ],
    ids=["chat model", "LLM", "blocks", "runnable", "old blocks", "old strings", "old text", "LlamaIndex"],
)
async def test_models_of_either_framework_are_recognised_by_their_shape(make):
    assert await of_both(lambda: to_summarizer(make()), [["a"]]) == ({0: "The pier burnt."}, {})


async def test_a_llamaindex_model_that_would_block_the_event_loop_runs_in_a_thread():
    model = Completing()
    assert to_summarizer(model).agenerate is None
    await arun(flowing(to_summarizer(model), [["a"]])[0])
    assert threading.get_ident() not in model.threads

    class Remote(MockLLM):
        async def acomplete(self, prompt, formatted=False, **kwargs):
            return CompletionResponse(text="awaited")

    flow, kept = flowing(to_summarizer(Remote()), [["a"]])
    await arun(flow)
    assert kept.texts == {0: "awaited"}


class Failing:
    """Fails a number of times for each text, then answers; ``rotten`` texts always fail."""

    def __init__(self, failures=0, rotten=(), error=ConnectionError):
        self.failures, self.rotten, self.error = failures, rotten, error
        self.calls = []

    def __call__(self, texts):
        self.calls.append(texts[0])
        if texts[0] in self.rotten or self.calls.count(texts[0]) <= self.failures:
            raise self.error(f"no route for {texts[0]}")
        return f"of {texts[0]}"

    async def awaited(self, texts):
        await asyncio.sleep(0)
        return self(texts)


def persistent(model, asynchronous=False, **options):
    agenerate = model.awaited if asynchronous else None
    return Abstractive(generate=model, agenerate=agenerate, prompt=None, wait=0, name="m", **options)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("error", [ConnectionError, TypeError, ValueError])
async def test_a_model_that_fails_is_asked_again(asynchronous, error):
    models = []

    def make():
        models.append(Failing(2, error=error))
        return persistent(models[-1], asynchronous, retries=2)

    assert await of_both(make, [["a"], ["b"]]) == ({0: "of a", 1: "of b"}, {})
    assert [sorted(model.calls) for model in models] == [["a"] * 3 + ["b"] * 3] * 2


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_group_that_fails_every_time_is_reported_and_the_others_are_kept(asynchronous):
    models = []

    def make():
        models.append(Failing(rotten="bd"))
        return persistent(models[-1], asynchronous, retries=3, concurrency=2)

    kept, errors = await of_both(make, [[letter] for letter in "abcde"])
    assert kept == {0: "of a", 2: "of c", 4: "of e"}
    failed = "the summarizer m failed with ConnectionError: no route for"
    assert {place: str(error) for place, error in errors.items()} == {
        1: f"{failed} b; it was given 'b'",
        3: f"{failed} d; it was given 'd'",
    }
    assert {type(error.__cause__) for error in errors.values()} == {ConnectionError}
    assert list(errors) == [1, 3]
    assert [model.calls.count("b") for model in models] == [4, 4]  # once, and three times again


@pytest.mark.parametrize("error", [NotImplementedError, ImportError, NameError])
async def test_what_no_repetition_repairs_is_not_repeated(error):
    model = Failing(rotten="a", error=error)
    _, errors = await of_both(lambda: persistent(model), [["a"]])
    assert isinstance(errors[0], FunctionFailed)
    assert isinstance(errors[0].__cause__, error)
    assert model.calls == ["a", "a"]  # once with each driver


@pytest.mark.parametrize("answer", ["", " \n", "\ud800", None, 3, ["text"]])
async def test_an_answer_that_is_no_text_or_blank_is_a_failure_and_repeated(answer):
    answers = iter([answer, "It burnt.", answer, "It burnt."])
    assert await of_both(lambda: persistent(lambda texts: next(answers)), [["a"]]) == ({0: "It burnt."}, {})
    _, errors = await of_both(lambda: persistent(lambda texts: answer, retries=0), [["a"]])
    assert isinstance(errors[0], UnusableResult)
    rule = "return a text that is not blank, and is valid Unicode"
    assert str(errors[0]) == f"the summarizer m must {rule}, got {answer!r}"


def test_the_waits_double_up_to_a_minute_and_vary_by_the_first_one(monkeypatch):
    waits = []
    monkeypatch.setattr("tenacity.sleep_using_event", lambda event: waits.append)
    summarizer = replace(persistent(Failing(rotten="a"), retries=8), wait=1.0)
    assert list(run(flowing(summarizer, [["a"]])[0])) == [0]
    waited = zip([1, 2, 4, 8, 16, 32, 60, 60], waits, strict=True)
    assert all(least <= wait <= least + 1 for least, wait in waited)
    assert any(wait != int(wait) for wait in waits)


async def test_the_waits_of_tasks_are_no_longer_than_the_waits_of_threads():
    start = time.perf_counter()
    with ends_within(2):
        errors = await arun(flowing(replace(persistent(Failing(rotten="a"), True, retries=2), wait=0.02), [["a"]])[0])
    assert list(errors) == [0]
    assert time.perf_counter() - start >= 0.02 + 0.04


PATIENCE = 60.0  # seconds


class Watching:
    """Counts how many calls are under way. The first ones wait until ``together`` of them are."""

    def __init__(self, together=1):
        self.lock = threading.Lock()
        self.now = self.most = 0
        self.order = []
        self.together, self.met = together, threading.Event()

    def begin(self, texts):
        with self.lock:
            self.order.append(texts[0])
            self.now += 1
            self.most = max(self.most, self.now)
            if self.now >= self.together:
                self.met.set()

    def end(self):
        with self.lock:
            self.now -= 1

    def __call__(self, texts):
        self.begin(texts)
        assert self.met.wait(PATIENCE)
        time.sleep(0.01)
        self.end()
        return "done"

    async def awaited(self, texts):
        self.begin(texts)
        async with asyncio.timeout(PATIENCE):
            while not self.met.is_set():  # noqa: ASYNC110 (it may be set in a thread)
                await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        self.end()
        return "done"


@pytest.mark.parametrize("concurrency", [1, 2, 4])
async def test_no_more_groups_are_summarised_at_the_same_time_than_concurrency_allows(concurrency):
    groups = [[str(number)] for number in range(12)]
    for driver, asynchronous in (("threads", False), ("tasks in threads", False), ("tasks", True)):
        model = Watching(together=concurrency)
        flow, kept = flowing(persistent(model, asynchronous, concurrency=concurrency), groups)
        errors = await (asyncio.to_thread(run, flow) if driver == "threads" else arun(flow))
        assert (errors, len(kept.texts), model.most) == ({}, 12, concurrency)
        if concurrency == 1 or asynchronous:
            assert model.order == [str(number) for number in range(12)]


def test_summaries_are_kept_at_once_and_by_the_threads_that_work():
    flow, kept = flowing(persistent(lambda texts: str(len(kept.texts)), concurrency=1), [["a"]] * 4)
    run(flow)
    assert kept.texts == {0: "0", 1: "1", 2: "2", 3: "3"}
    assert kept.threads == {threading.get_ident()}
    flow, kept = flowing(persistent(Watching(together=2), concurrency=2), [["a"]] * 4)
    run(flow)
    assert len(kept.threads) == 2
    assert threading.get_ident() not in kept.threads


@pytest.mark.parametrize("concurrency", [1, 3])
def test_after_an_interruption_no_further_group_is_begun_and_none_is_kept(concurrency):
    begun, going = [], threading.Event()

    def generate(texts):
        begun.append(texts[0])
        if texts[0] == "1":
            raise KeyboardInterrupt
        if concurrency > 1:
            going.wait(PATIENCE)
        return "done"

    flow, kept = flowing(persistent(generate, concurrency=concurrency), [[str(n)] for n in range(50)])
    with pytest.raises(KeyboardInterrupt):
        run(flow)
    going.set()
    time.sleep(0.05)
    assert len(begun) <= concurrency + 1
    assert list(kept.texts) == ([0] if concurrency == 1 else [])


@pytest.mark.skipif(sys.platform == "win32", reason="signals cannot be sent to a thread")
def test_after_an_interruption_by_the_user_no_further_group_is_begun():
    interrupted, begun, numbers = threading.Event(), [], itertools.count()

    def generate(texts):
        begun.append(texts[0])
        if next(numbers) == 4:  # one thread only meets this number
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            interrupted.set()
        if interrupted.is_set():
            time.sleep(0.5)  # long enough for the main thread to notice, however busy the machine is
        return "done"

    flow, _ = flowing(persistent(generate, concurrency=3), [[str(n)] for n in range(300)])
    with pytest.raises(KeyboardInterrupt):
        run(flow)
    time.sleep(0.6)  # those under way end
    ended = len(begun)
    time.sleep(0.1)
    assert ended == len(begun) < 100


def test_an_interruption_ends_the_waiting_for_the_next_attempt():
    calls, failing, others = [], threading.Event(), set(threading.enumerate())

    def generate(texts):
        calls.append(texts[0])
        if texts[0] == "b":
            assert failing.wait(PATIENCE)
            raise KeyboardInterrupt
        failing.set()
        raise ConnectionError("no route")

    flow, _ = flowing(replace(persistent(generate, concurrency=2), wait=20), [["a"], ["b"], ["c"]])
    with ends_within(5):
        with pytest.raises(KeyboardInterrupt):
            run(flow)
        for thread in set(threading.enumerate()) - others:
            if thread.name.startswith("leafspan flow"):
                thread.join()
    assert sorted(calls) == ["a", "b"]


async def test_cancelling_ends_all_tasks():
    model = Watching()
    flow, _ = flowing(persistent(model, True, concurrency=3), [[str(n)] for n in range(90)])
    task = asyncio.ensure_future(arun(flow))
    while len(model.order) < 3:  # noqa: ASYNC110 (it is the model that counts)
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    begun = len(model.order)
    await asyncio.sleep(0.05)
    assert begun == len(model.order) < 30


@pytest.mark.parametrize("concurrency", [1, 3])
async def test_where_a_summary_cannot_be_kept_the_work_ends_with_that_error(concurrency):
    def keep(place, text):
        raise OSError("the disk is full")
        yield

    for driver in (run, arun):
        model = Watching()
        flow = persistent(model, concurrency=concurrency).summarizing([["a"]] * 50, Embedding(), keep)
        with pytest.raises(OSError, match="the disk is full"):
            await (asyncio.to_thread(run, flow) if driver is run else arun(flow))
        assert len(model.order) <= 2 * concurrency


async def test_no_groups_ask_nothing():
    assert await of_both(lambda: to_summarizer(Failing(9)), []) == ({}, {})
    assert await of_both(Extractive, []) == ({}, {})


def test_an_answer_over_twice_as_long_as_wished_ends_with_a_sentence():
    def answering(answer):
        return summaries(Abstractive(generate=lambda prompt: answer, max_words=5), [["a"]])

    assert answering("One two three. Four five six. Seven eight nine ten.") == [
        "One two three. Four five six. Seven eight nine ten."  # 10 words
    ]
    assert answering("One two three. Four  five six. Seven eight nine ten eleven.") == ["One two three. Four  five six."]
    assert answering("word " * 11) == ["word word word word word word word word word word"]
    assert answering(" a \ud800fire ") == ["a fire"]


def test_what_a_model_thinks_before_it_answers_is_no_part_of_a_summary():
    def answering(answer):
        return Abstractive(generate=lambda prompt: answer, retries=0)

    assert summaries(answering("<think>\nWhat do they share?\n</think>\n\nA fire."), [["a"]]) == ["A fire."]
    flow, _ = flowing(answering("<think>What do they share"), [["a"]])
    assert "must return a text that is not blank" in str(run(flow)[0])


def test_texts_that_are_too_long_are_cut_in_the_same_proportion_between_words():
    given = []

    def generate(texts):
        given.append(texts)
        return "done"

    summarizer = Abstractive(generate=generate, prompt=None, max_input_words=6)
    long, short = "one two three four five six seven eight", "nine ten eleven twelve"
    summaries(summarizer, [[long, " ", short], [short, " "], ["a b c d e f g h i j k l", "m"]])
    # 6 of 12 words: half of each; then nothing over; then 6 * 12 // 13 = 5 of 12, and the last
    assert sorted(given) == sorted([["one two three four", "nine ten"], [short], ["a b c d e", "m"]])


@examples(100)
@given(st.lists(TEXT, min_size=1, max_size=6), st.integers(1, 40))
def test_what_is_sent_is_within_the_limit(texts, limit):
    given = []

    def generate(texts):
        given.extend(texts)
        return "done"

    summaries(Abstractive(generate=generate, prompt=None, max_input_words=limit), [texts])
    assert sum(map(count_words, given)) <= limit
    stripped = [text for text in texts if text.strip()]
    assert all(any(text.strip().startswith(part.strip()) for text in stripped) for part in given)


# --- what they are


def test_a_summarizer_is_recognised():
    assert to_summarizer(None) == Extractive()
    mine = Extractive(max_words=20)
    assert to_summarizer(mine) is mine
    assert to_summarizer(counting).prompt is None
    made = Abstractive.of(FakeListChatModel(responses=["a"]), max_words=20, name="fake", prompt="{texts} {max_words}")
    assert (made.max_words, made.name, made.prompt) == (20, "fake", "{texts} {max_words}")
    assert to_summarizer(made) is made


class Named(FakeListChatModel):
    model: str = "small-1"


def test_the_identity_says_all_that_a_summary_depends_on():
    assert Extractive().identity == "Extractive(1, max_words=75, diversity=0.4)"
    assert Extractive(diversity=0).identity == "Extractive(1, max_words=75, diversity=0.0)"
    name = identity_of(counting)
    assert to_summarizer(counting).identity == (
        f"Abstractive(name='{name}', prompt=None, max_words=75, max_input_words=2500)"
    )
    made = to_summarizer(Named(responses=["a"]))
    assert made.identity.startswith("Abstractive(name='Named(small-1)', prompt='Summarise the passages below")
    assert made.identity == to_summarizer(Named(responses=["b"])).identity
    assert to_summarizer(functools.partial(counting)).name.startswith("tests.trees.test_summarizers.counting#")
    assert to_summarizer(Failing()).name.startswith("Failing#")
    assert to_summarizer(Completing()).name == "Completing"
    changes = [{"name": "x"}, {"prompt": "{texts}{max_words}"}, {"max_words": 9}, {"max_input_words": 9}]
    assert len({made.identity, *(replace(made, **change).identity for change in changes)}) == 5
    assert replace(made, concurrency=9, retries=0, wait=0).identity == made.identity


def test_only_an_extractive_summary_asks_nobody():
    assert not Extractive().asks
    assert to_summarizer(counting).asks


@pytest.mark.parametrize("wrong", ["gpt", 3, FakeListChatModel, Extractive, Abstractive])
def test_what_is_no_summarizer_is_refused(wrong):
    with pytest.raises(InvalidArgument, match=r"a summarizer must be Extractive\(\), an Abstractive, .* got "):
        to_summarizer(wrong)
    with pytest.raises(InvalidArgument, match=r"a language model must be a LangChain chat model or LLM, .* got "):
        Abstractive.of(wrong)


@pytest.mark.parametrize(
    ("kind", "wrong", "message"),
    [
        (Extractive, {"max_words": 0}, "max_words must be a whole number >= 1, got 0"),
        (Extractive, {"max_input_words": 0}, "max_input_words must be a whole number >= 1, got 0"),
        (Extractive, {"diversity": 1.1}, r"diversity must be a number in \[0, 1\], got 1.1"),
        (Extractive, {"diversity": float("nan")}, r"diversity must be a number in \[0, 1\], got nan"),
        (Abstractive, {}, "generate or agenerate must be a function that gives a text, got neither"),
        (Abstractive, {"generate": "gpt"}, "generate must be a function that gives a text, got 'gpt'"),
        (Abstractive, {"generate": counting, "agenerate": 3}, "agenerate must be a function that gives a text, got 3"),
        (Abstractive, {"generate": counting, "name": None}, "name must be a string, got None"),
        (Abstractive, {"generate": counting, "max_words": 0}, "max_words must be a whole number >= 1, got 0"),
        (Abstractive, {"generate": counting, "max_input_words": 0}, "max_input_words must be a whole number >= 1, got 0"),
        (Abstractive, {"generate": counting, "concurrency": 0}, "concurrency must be a whole number >= 1, got 0"),
        (Abstractive, {"generate": counting, "retries": -1}, "retries must be a whole number >= 0, got -1"),
        (Abstractive, {"generate": counting, "wait": -1}, "wait must be a number of seconds >= 0, got -1"),
    ],
)
def test_options_out_of_range_are_refused(kind, wrong, message):
    with pytest.raises(InvalidArgument, match=message):
        kind(**wrong)


@pytest.mark.parametrize(
    "prompt", ["{texts}", "{max_words}", "{texts} {max_words} {x}", "{texts", "{texts.x} {max_words}", 3]
)
def test_a_prompt_without_its_fields_is_refused(prompt):
    with pytest.raises(InvalidArgument, match=r"prompt must be a text with {texts} and {max_words}, and no other fields"):
        Abstractive(generate=counting, prompt=prompt)


def test_importing_loads_neither_framework_nor_tenacity():
    code = "import sys\nfrom leafspan.trees import *\nprint([m for m in sys.modules if m in {'langchain_core', 'llama_index', 'tenacity', 'chromadb'}])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_zero_vectors_can_be_clustered():
    assert np.isfinite(Embedding().vectors(["nothing here"])).all()
    texts = ["There is nothing of it here.", "Nor is there any of it there."]
    assert summaries(Extractive(max_words=6), [texts]) == [texts[0]]
