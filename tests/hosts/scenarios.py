"""One table of retrievals, which the core and both adapters must answer alike."""

from __future__ import annotations

from datetime import date

from llama_index.core.vector_stores import FilterOperator, MetadataFilter, MetadataFilters

from leafspan import (
    BM25,
    AutoMerging,
    BM25Settings,
    Browse,
    Ensemble,
    F,
    Hybrid,
    MultiQuery,
    Query,
    RelevantSegments,
    SentenceWindow,
    Vector,
)
from leafspan.strategies import Filtered
from tests.hosts.contract import by_first_letter, without_question_mark, words_in_common
from tests.hosts.scenario import Scenario

OKAPI = BM25Settings(k1=1.5, b=0.75, variant="okapi")
PHRASINGS = ["the iron pier of 1904", "how bees tell each other where flowers are"]
ANSWER = "1. the iron pier of 1904\n2. how bees tell each other where flowers are\n3. water below eighty degrees"
WORDS_AND_VECTORS = Ensemble(retrievers=[BM25(), Vector()])
REPHRASED = MultiQuery(phrasings=PHRASINGS)

WORDS_OR_MEANING = {"words": BM25(), "meaning": Vector()}
ABOUT = {"words": "Who was it, and when?", "meaning": "How hot should it be?"}
OF_ANIMALS = Filtered(AutoMerging(base=Vector(), threshold=0.2), F("topic") == "animals")
BY_TOPIC = {"key": "topic", "targets": {"food": Filtered(BM25(), F("topic") == "food"), "animals": OF_ANIMALS}}
TALES = F("topic") != "food"


def never(question: str) -> None:
    """A rule that chooses nothing."""


def always_both(question: str) -> list[str]:
    """A rule that chooses everything."""
    return ["words", "meaning"]


# How the ids of leaves begin.
HARBOUR, BEES, TEA = "harbour#99355868#", "bees#a8bf019c#", "tea#646f0146#"


def at(beginning: str, scores: dict[str, float]) -> dict[str, float]:
    """Scores by the ids that begin like this."""
    return {beginning + end: score for end, score in scores.items()}


# The same condition in every dialect.
OLD_OR_FOOD = {
    "the builder": (F("year") < 1900) | (F("topic") == "food"),
    "Chroma's dialect": {"$or": [{"year": {"$lt": 1900}}, {"topic": "food"}]},
    "Haystack's dialect": {
        "operator": "OR",
        "conditions": [
            {"field": "meta.year", "operator": "<", "value": 1900},
            {"field": "meta.topic", "operator": "==", "value": "food"},
        ],
    },
    "LlamaIndex's dialect": MetadataFilters(
        filters=[
            MetadataFilter(key="year", value=1900, operator=FilterOperator.LT),
            MetadataFilter(key="topic", value="food"),
        ],
        condition="or",
    ),
}

SCENARIOS = [
    Scenario(
        "segments",
        "RelevantSegmentsRetriever",
        expected=(0, {**at(BEES, {"0-10": 0.8442}), **at(TEA, {"0-4": 0.0000}), **at(HARBOUR, {"0-15": 0.0000})}),
    ),
    Scenario(
        "segments in a budget", "RelevantSegmentsRetriever", {}, {"budget": 60}, expected=(1, at(HARBOUR, {"1-6": 0.8335}))
    ),
    Scenario("short segments", "RelevantSegmentsRetriever", {"words": 60, "max_words": 20, "run_cost": 0}, {"k": 4}),
    Scenario("segments over words", "RelevantSegmentsRetriever", {"base": BM25(scale=True)}, {"budget": 40}),
    Scenario("segments filtered", "RelevantSegmentsRetriever", {}, {"where": {"topic": {"$ne": "animals"}}}),
    Scenario("vector", "VectorRetriever"),
    Scenario(
        "vector, three",
        "VectorRetriever",
        {},
        {"k": 3},
        expected=(1, at(HARBOUR, {"3": 0.6749, "4": 0.4279, "1": 0.4199})),
    ),
    Scenario("vector with an instruction", "VectorRetriever", {"instruction": "question: "}),
    Scenario("vector above a score", "VectorRetriever", {"min_score": 0.35}, {"k": 20}),
    Scenario("vector, all above a score", "VectorRetriever", {"min_score": 0.1}),
    Scenario("vector in a large budget", "VectorRetriever", {}, {"budget": 400}),
    Scenario("vector in a budget", "VectorRetriever", {}, {"budget": 30}),
    Scenario("vector filtered", "VectorRetriever", {}, {"where": {"topic": "animals"}}),
    Scenario(
        "vector filtered by a list and a number",
        "VectorRetriever",
        {},
        {"where": {"$and": [{"tags": {"$contains": "sea"}}, {"year": {"$lt": 1900}}]}},
    ),
    Scenario("vector as of a day", "VectorRetriever", {}, {"as_of": date(2024, 5, 1)}),
    Scenario("words", "BM25Retriever", expected=(1, at(HARBOUR, {"3": 2.9259, "5": 1.6118, "1": 1.1995, "4": 1.1700}))),
    Scenario(
        "words, scaled",
        "BM25Retriever",
        {"scale": True},
        {"k": 20},
        expected=(2, at(TEA, {"3": 0.3679, "4": 0.2605, "0": 0.2409, "2": 0.1139, "1": 0.0882})),
    ),
    Scenario(
        "words by Okapi",
        "BM25Retriever",
        {"bm25": OKAPI},
        expected=(1, at(HARBOUR, {"3": 5.7252, "5": 2.9786, "1": 2.2133, "4": 2.0855})),
    ),
    Scenario("words by rank-bm25", "BM25Retriever", {"bm25": OKAPI, "engine": "rank-bm25"}),
    Scenario("words above a score", "BM25Retriever", {"min_score": 0.3, "scale": True}, {"k": 20}),
    Scenario("words in a budget", "BM25Retriever", {}, {"budget": 30}),
    Scenario(
        "words filtered", "BM25Retriever", {}, {"where": F("topic").in_(["places", "animals"]) | F("rating").exists()}
    ),
    Scenario(
        "hybrid",
        "HybridRetriever",
        expected=(0, at(BEES, {"6": 0.8442, "5": 0.0690, "7": 0.0594, "4": 0.0183, "3": 0.0078})),
    ),
    Scenario("hybrid, nine", "HybridRetriever", {}, {"k": 9}),
    Scenario(
        "hybrid of many words",
        "HybridRetriever",
        {"weights": (0.95, 0.05)},
        expected=(1, at(HARBOUR, {"3": 0.8405, "4": 0.0647, "2": 0.0592, "5": 0.0181, "1": 0.0103})),
    ),
    Scenario(
        "hybrid of few words",
        "HybridRetriever",
        {"weights": (0.05, 0.95)},
        expected=(2, at(TEA, {"3": 0.7198, "4": 0.1145, "0": 0.0867, "2": 0.0569, "1": 0.0127})),
    ),
    Scenario("hybrid with equal weights", "HybridRetriever", {"weights": (1, 1)}),
    Scenario("hybrid of few", "HybridRetriever", {}, {"candidates": 3}),
    Scenario("hybrid without references", "HybridRetriever", {"references": 0}),
    Scenario("hybrid with topics as aliases", "HybridRetriever", {"references": 1, "aliases": "topic"}, {"k": 9}),
    Scenario("hybrid above a score", "HybridRetriever", {"min_score": 0.3}, {"k": 20}),
    Scenario("hybrid where there is an answer", "HybridRetriever", {"min_answer_probability": 0.1}),
    Scenario("hybrid with settings", "HybridRetriever", {"bm25": OKAPI, "instruction": "question: "}),
    Scenario("hybrid in a budget", "HybridRetriever", {}, {"budget": 60}),
    Scenario("hybrid of words as they are", "HybridRetriever", {"spelling": False}),
    *(Scenario(f"hybrid filtered in {name}", "HybridRetriever", {}, {"where": it}) for name, it in OLD_OR_FOOD.items()),
    Scenario(
        "parents",
        "ParentDocumentRetriever",
        expected=(
            3,
            {**at(HARBOUR, {"4-7": 0.5274, "8-11": 0.3230, "12-15": 0.0016, "0-3": 0.0004}), **at(BEES, {"8-10": 0.0000})},
        ),
    ),
    Scenario("parents, second level", "ParentDocumentRetriever", {"level": 2}, {"k": 3}),
    Scenario(
        "whole documents",
        "ParentDocumentRetriever",
        {"level": None},
        expected=(1, {**at(HARBOUR, {"0-15": 0.8335}), **at(TEA, {"0-4": 0.0000}), **at(BEES, {"0-10": 0.0000})}),
    ),
    Scenario("two parents", "ParentDocumentRetriever", {"max_parents": 2}),
    Scenario("parents in a budget", "ParentDocumentRetriever", {}, {"budget": 100}),
    Scenario("parents over vectors", "ParentDocumentRetriever", {"base": Vector()}),
    Scenario("parents over words", "ParentDocumentRetriever", {"base": BM25()}),
    Scenario("parents over an ensemble", "ParentDocumentRetriever", {"base": WORDS_AND_VECTORS}),
    Scenario("windows", "SentenceWindowRetriever"),
    Scenario(
        "windows ahead",
        "SentenceWindowRetriever",
        {"before": 0, "after": 2},
        {"k": 2},
        # The 16 leaves of one document are the best hits, whose windows unite. The next hit has the second window.
        expected=(1, {**at(HARBOUR, {"0-15": 0.8335}), **at(TEA, {"1-3": 0.0000})}),
    ),
    Scenario("windows of few candidates", "SentenceWindowRetriever", {}, {"candidates": 4}),
    Scenario("windows in a budget", "SentenceWindowRetriever", {}, {"budget": 80, "candidates": 6}),
    Scenario("short windows", "SentenceWindowRetriever", {"before": 1, "after": 2, "max_words": 25}, {"k": 8}),
    Scenario("windows that fill a budget", "SentenceWindowRetriever", {"before": 1, "after": 1}, {"budget": 90}),
    Scenario("windows over vectors", "SentenceWindowRetriever", {"base": Vector()}, {"candidates": 4}),
    Scenario("windows over words", "SentenceWindowRetriever", {"base": BM25(scale=True)}, {"candidates": 4}),
    Scenario("windows over several phrasings", "SentenceWindowRetriever", {"base": REPHRASED}, {"candidates": 6}),
    Scenario(
        "merging",
        "AutoMergingRetriever",
        {},
        {"candidates": 8},
        expected=(0, at(BEES, {"0-7": 0.8442})),
    ),
    Scenario("merging eagerly", "AutoMergingRetriever", {"threshold": 0.2}, {"candidates": 8}),
    Scenario("merging one level", "AutoMergingRetriever", {"max_level": 1}),
    Scenario("merging small", "AutoMergingRetriever", {"max_words": 40}, {"candidates": 10}),
    Scenario("merging without gaps", "AutoMergingRetriever", {"fill_gaps": 0}, {"candidates": 8}),
    Scenario(
        "merging by the mean",
        "AutoMergingRetriever",
        {"score": "mean"},
        {"candidates": 8},
        expected=(0, at(BEES, {"0-7": 0.1250})),
    ),
    Scenario("merging in a budget", "AutoMergingRetriever", {}, {"budget": 60, "k": 4}),
    Scenario("merging what a threshold leaves", "AutoMergingRetriever", {"base": Vector(min_score=0.3)}),
    Scenario("merging filtered", "AutoMergingRetriever", {}, {"where": {"topic": {"$ne": "animals"}}}),
    Scenario("merging vectors", "AutoMergingRetriever", {"base": Vector()}, {"candidates": 8}),
    Scenario("merging words", "AutoMergingRetriever", {"base": BM25()}, {"candidates": 8}),
    Scenario("merging an ensemble", "AutoMergingRetriever", {"base": WORDS_AND_VECTORS}, {"candidates": 8}),
    Scenario("merging several phrasings", "AutoMergingRetriever", {"base": REPHRASED}, {"candidates": 8}),
    Scenario(
        "ensemble of leaves",
        "EnsembleRetriever",
        {"retrievers": [BM25(), Vector(), Hybrid()]},
        expected=(
            0,
            at(
                BEES,
                {
                    "6": (1 / 61 + 1 / 63 + 1 / 61) / 3,
                    "3": (1 / 62 + 1 / 61 + 1 / 65) / 3,
                    "5": (1 / 63 + 1 / 65 + 1 / 62) / 3,
                    "4": (1 / 64 + 1 / 62 + 1 / 64) / 3,
                    "2": (1 / 68 + 1 / 64 + 1 / 66) / 3,
                },
            ),
        ),
    ),
    Scenario("ensemble of spans", "EnsembleRetriever", {"retrievers": [AutoMerging(), SentenceWindow(), BM25()]}),
    Scenario(
        "ensemble with weights",
        "EnsembleRetriever",
        {
            "retrievers": [BM25(), Vector()],
            "weights": [0.7, 0.3],
            "fusion": "relative_score",
            "names": ["words", "meaning"],
        },
        expected=(1, {**at(HARBOUR, {"3": 1.0000, "5": 0.2936, "1": 0.1992, "4": 0.1909}), **at(TEA, {"1": 0.0646})}),
    ),
    Scenario(
        "ensemble by distribution", "EnsembleRetriever", {"retrievers": [BM25(), Vector()], "fusion": "distribution_based"}
    ),
    Scenario("ensemble by the maximum", "EnsembleRetriever", {"retrievers": [Vector(), Hybrid()], "fusion": "maximum"}),
    Scenario(
        "ensemble that looks further",
        "EnsembleRetriever",
        {"retrievers": [BM25(), Vector()], "min_candidates": 12, "rank_constant": 10, "timeout": 60},
        {"candidates": 4},
    ),
    Scenario(
        "ensemble filtered",
        "EnsembleRetriever",
        {"retrievers": [AutoMerging(), BM25()]},
        {"where": F("topic") != "animals"},
    ),
    Scenario("several phrasings", "MultiQueryRetriever", {"phrasings": PHRASINGS}),
    Scenario("several phrasings by the maximum", "MultiQueryRetriever", {"phrasings": PHRASINGS, "fusion": "maximum"}),
    Scenario("several phrasings of vectors", "MultiQueryRetriever", {"phrasings": PHRASINGS, "base": Vector()}, {"k": 8}),
    Scenario("several phrasings, merged", "MultiQueryRetriever", {"phrasings": PHRASINGS[:1], "base": AutoMerging()}),
    Scenario(
        "phrasings by a model",
        "MultiQueryRetriever",
        answer=ANSWER,
        expected=(
            0,
            {**at(BEES, {"2": 0.0141, "7": 0.0141}), **at(TEA, {"3": 0.0141}), **at(BEES, {"1": 0.0140, "6": 0.0139})},
        ),
    ),
    Scenario(
        "two phrasings by a model",
        "MultiQueryRetriever",
        {"count": 2, "prompt": "{question} {count} times, please.", "base": BM25()},
        answer=ANSWER,
    ),
    Scenario("phrasings by a model without an idea", "MultiQueryRetriever", answer="..."),
    Scenario(
        "routed by a rule",
        "RouterRetriever",
        {"retrievers": WORDS_OR_MEANING, "choose": by_first_letter},
        {"k": 3},
        expected=(2, at(TEA, {"3": 0.7840, "0": 0.6746, "4": 0.6015})),
    ),
    Scenario("routed by a rule to the default", "RouterRetriever", {"retrievers": WORDS_OR_MEANING, "choose": never}),
    Scenario(
        "routed by a rule to both",
        "RouterRetriever",
        {"retrievers": WORDS_OR_MEANING, "choose": always_both, "fusion": "relative_score", "timeout": 60},
        {"budget": 60},
    ),
    Scenario(
        "routed by descriptions",
        "RouterRetriever",
        {"retrievers": WORDS_OR_MEANING, "descriptions": ABOUT, "min_similarity": -1},
    ),
    Scenario(
        "routed by descriptions to both",
        "RouterRetriever",
        {"retrievers": {"words": BM25(), "meaning": AutoMerging()}, "descriptions": ABOUT, "most": 2},
        {"candidates": 8},
    ),
    Scenario(
        "routed by descriptions that are too far",
        "RouterRetriever",
        {"retrievers": WORDS_OR_MEANING, "descriptions": ABOUT, "min_similarity": 0.99, "default": ["meaning"]},
    ),
    Scenario(
        "routed by a model",
        "RouterRetriever",
        {"retrievers": WORDS_OR_MEANING, "descriptions": ABOUT},
        answer="1. **words**",
        expected=(1, at(HARBOUR, {"3": 2.9259, "5": 1.6118, "1": 1.1995, "4": 1.1700})),
    ),
    Scenario(
        "routed by a model without an idea",
        "RouterRetriever",
        {"retrievers": WORDS_OR_MEANING, "descriptions": ABOUT, "default": "meaning"},
        answer="I do not know.",
    ),
    Scenario("routed in a view", "RouterRetriever", {"retrievers": WORDS_OR_MEANING, "choose": never}, scope=TALES),
    Scenario("references", "FollowReferencesRetriever"),
    Scenario(
        "references to others",
        "FollowReferencesRetriever",
        {"base": Vector(), **BY_TOPIC},
        {"k": 5},
        # The leaves of tea lead to those that match its words best. The leaves of bees come next, and lead to merged ones.
        expected=(
            2,
            {
                **at(TEA, {"3": 0.7840, "4": 0.7840, "0": 0.7840}),
                **at(BEES, {"0-10": 0.2318}),
                **at(HARBOUR, {"3": 0.1055}),
            },
        ),
    ),
    Scenario("references beside others", "FollowReferencesRetriever", {**BY_TOPIC, "keep": True, "per_reference": 2}),
    Scenario(
        "references in a row", "FollowReferencesRetriever", {"base": BM25(), **BY_TOPIC, "depth": 5}, {"candidates": 9}
    ),
    Scenario("references in a budget", "FollowReferencesRetriever", {"base": SentenceWindow(), **BY_TOPIC}, {"budget": 80}),
    Scenario("references filtered", "FollowReferencesRetriever", BY_TOPIC, {"where": F("topic") != "animals"}),
    Scenario("references in a view", "FollowReferencesRetriever", BY_TOPIC, scope=TALES),
    Scenario(
        "rewritten by a model",
        "RewriteQueryRetriever",
        {"base": Vector()},
        {"k": 3},
        answer="When did the old pier burn down?",
        expected=(3, at(HARBOUR, {"3": 0.6749, "4": 0.4279, "1": 0.4199})),  # the scores of that question
    ),
    Scenario("rewritten by a model without an idea", "RewriteQueryRetriever", answer="..."),
    Scenario("an imagined answer", "RewriteQueryRetriever", {"how": "hyde"}, answer="The old pier burned down in 1902."),
    Scenario(
        "an imagined answer without the question",
        "RewriteQueryRetriever",
        {"how": "hyde", "keep_question": False, "base": Vector()},
        {"k": 1},
        answer="The pier burned down in 1902.",
        expected=(0, at(HARBOUR, {"3": 0.9013})),
    ),
    Scenario("a step back", "RewriteQueryRetriever", {"how": "step-back"}, answer="What happened to the pier?"),
    Scenario("in parts", "RewriteQueryRetriever", {"how": "decompose", "base": AutoMerging()}, answer=ANSWER),
    Scenario(
        "in two parts by the maximum",
        "RewriteQueryRetriever",
        {"how": "decompose", "count": 2, "fusion": "maximum", "prompt": "Divide: {question}", "base": Vector()},
        {"budget": 60},
        answer=ANSWER,
    ),
    Scenario("by a function", "RewriteQueryRetriever", {"how": without_question_mark, "base": BM25()}),
    Scenario(
        "by a function to several",
        "RewriteQueryRetriever",
        {"how": lambda question: [question.lower(), Query("the iron pier")], "base": Vector()},
        {"k": 8},
    ),
    Scenario("by a function without an idea", "RewriteQueryRetriever", {"how": lambda question: None}),
    Scenario(
        "reordered",
        "RerankRetriever",
        {"rerank": words_in_common},
        expected=(
            1,
            {
                **at(HARBOUR, {"3": 2 / 7, "5": 2 / 7}),
                **at(BEES, {"4": 1 / 7, "8": 1 / 7}),
                **at(HARBOUR, {"0": 1 / 7}),
            },
        ),
    ),
    Scenario("reordered spans", "RerankRetriever", {"rerank": words_in_common, "base": SentenceWindow()}),
    Scenario("reordered segments", "RerankRetriever", {"rerank": words_in_common, "base": RelevantSegments()}),
    Scenario("the best three reordered", "RerankRetriever", {"rerank": words_in_common, "depth": 3}),
    Scenario("reordered and different", "RerankRetriever", {"rerank": words_in_common, "diversity": 0.4}),
    Scenario("reordered in a budget", "RerankRetriever", {"rerank": words_in_common}, {"budget": 60}),
    Scenario("reordered above a score", "RerankRetriever", {"rerank": words_in_common}, {"min_score": 0.2}),
    Scenario(
        "different",
        "RerankRetriever",
        {"base": Vector(), "diversity": 0.3},
        expected=(1, {**at(HARBOUR, {"3": 0.4724, "1": 0.1620, "5": 0.1099, "4": 0.0972}), **at(TEA, {"1": 0.0550})}),
    ),
    Scenario("different spans", "RerankRetriever", {"base": AutoMerging(), "diversity": 0.3}, {"k": 3}),
    Scenario("different in a budget", "RerankRetriever", {"diversity": 0.3}, {"budget": 80}),
    Scenario("different, filtered", "RerankRetriever", {"diversity": 0.3}, {"where": F("topic") != "animals"}),
    Scenario("older", "DecayRetriever", {"key": "year", "scale": 365 * 50, "now": "2026-01-01"}),
    Scenario(
        "older by a line",
        "DecayRetriever",
        {"key": "year", "scale": 36500, "now": "1973-01-01", "shape": "linear", "missing": 0, "base": Browse()},
        {"k": 40},
    ),
    Scenario(
        "older, in part",
        "DecayRetriever",
        {"key": "year", "scale": 3650, "offset": 365, "now": "2000-01-01", "shape": "gaussian", "weight": 0.5},
        {"budget": 80},
    ),
    Scenario("older spans", "DecayRetriever", {"key": "year", "now": "2000-01-01", "base": SentenceWindow()}),
    Scenario("older in a view", "DecayRetriever", {"key": "year", "now": "2000-01-01"}, scope=F("year").exists()),
    Scenario("all", "BrowseRetriever"),
    Scenario("a few words of all", "BrowseRetriever", {}, {"budget": 70}),
    Scenario(
        "filtered",
        "BrowseRetriever",
        {},
        {"where": F("topic") == "food"},
        expected=(0, at(TEA, {"0": 1.0000, "1": 1.0000, "2": 1.0000, "3": 1.0000, "4": 1.0000})),
    ),
    Scenario(
        "the third page, filtered",
        "BrowseRetriever",
        {"offset": 4},
        {"k": 2, "where": {"year": {"$gt": 1800}}},
        expected=(0, at(BEES, {"4": 1.0000, "5": 1.0000})),
    ),
    Scenario("vector with summaries", "VectorRetriever", {"summaries": True}, {"k": 8}),
    Scenario("words with summaries", "BM25Retriever", {"summaries": True}, {"k": 8}),
    Scenario("hybrid with summaries", "HybridRetriever", {"summaries": True}, {"k": 8}),
    Scenario(
        "tree",
        "TreeRetriever",
        {},
        {"k": 8},
        expected=(
            3,
            at(
                HARBOUR,
                {"7": 0.5274, "10": 0.3230, "11": 0.0445, "8": 0.0393, "6": 0.0375, "9": 0.0246, "12": 0.0016, "4": 0.0006},
            ),
        ),
    ),
    Scenario("tree, twenty", "TreeRetriever", {}, {"k": 20}),
    Scenario("tree in a budget", "TreeRetriever", {}, {"budget": 200}),
    Scenario("tree of vectors", "TreeRetriever", {"base": Vector()}),
    Scenario("tree of words", "TreeRetriever", {"base": BM25(scale=True)}, {"budget": 200}),
    Scenario("tree of some vectors", "TreeRetriever", {"base": Filtered(Vector(), F("topic") != "animals")}),
    Scenario("tree, the best six", "TreeRetriever", {"top_k": 6}),
    Scenario("tree above a score", "TreeRetriever", {"base": Vector(), "min_score": 0.3}),
    Scenario("tree with repeats", "TreeRetriever", {"keep_covered_summaries": True}, {"k": 50, "candidates": 50}),
    Scenario("tree, expanded", "TreeRetriever", {"expand": True}, {"k": 8}),
    Scenario("tree, expanded to one", "TreeRetriever", {"base": Vector(), "expand": 1, "top_k": 9}, {"budget": 80}),
    Scenario("tree filtered", "TreeRetriever", {}, {"where": F("year") < 1900, "k": 8}),
    Scenario(
        "tree of vectors filtered", "TreeRetriever", {"base": Vector()}, {"where": {"topic": {"$ne": "food"}}, "k": 8}
    ),
    Scenario("traversal", "TreeRetriever", {"mode": "traversal"}),
    Scenario(
        "traversal of few",
        "TreeRetriever",
        {"mode": "traversal", "top_k": 2},
        expected=(
            0,
            {
                "leafspan:layer:dbe5a4d0d55928c4#t1d283de#0": 0.2068,
                "bees#tfbcaa83#4": 0.3395,
                "tea#tdc79bc2#0": 0.0353,
                "bees#tfbcaa83#2": 0.5232,
                "bees#tfbcaa83#3": 0.3667,
                **at(BEES, {"3": 0.4543, "4": 0.4416}),
            },
        ),
    ),
    Scenario("traversal above a score", "TreeRetriever", {"mode": "traversal", "min_score": 0.2}),
    Scenario("traversal, the best above a score", "TreeRetriever", {"mode": "traversal", "min_score": 0.2, "top_k": 3}),
    Scenario("traversal from a layer", "TreeRetriever", {"mode": "traversal", "start_layer": 1}),
    Scenario("traversal to a layer", "TreeRetriever", {"mode": "traversal", "end_layer": 1}),
    Scenario("traversal of a layer", "TreeRetriever", {"mode": "traversal", "start_layer": 2, "end_layer": 2}),
    Scenario("traversal of leaves", "TreeRetriever", {"mode": "traversal", "start_layer": 0}),
    Scenario("traversal, the first four", "TreeRetriever", {"mode": "traversal"}, {"k": 4}),
    Scenario("traversal in a budget", "TreeRetriever", {"mode": "traversal"}, {"budget": 200}),
    Scenario("traversal with repeats", "TreeRetriever", {"mode": "traversal", "keep_covered_summaries": True}),
    Scenario("traversal, expanded", "TreeRetriever", {"mode": "traversal", "end_layer": 1, "expand": 2}),
    Scenario("traversal filtered", "TreeRetriever", {"mode": "traversal"}, {"where": F("topic") != "animals"}),
    Scenario("a tree in a view", "TreeRetriever", {}, {"k": 8}, scope=F("topic") == "places"),
    Scenario("a traversal in a view", "TreeRetriever", {"mode": "traversal"}, scope={"topic": {"$ne": "places"}}),
    Scenario("a view", "HybridRetriever", scope={"topic": {"$ne": "animals"}}),
    Scenario("a view, merged", "AutoMergingRetriever", {"base": Vector()}, {"candidates": 8}, scope=F("topic") == "places"),
    Scenario(
        "a view, filtered",
        "EnsembleRetriever",
        {"retrievers": [BM25(), Vector()]},
        {"where": F("year") > 1900},
        F("year").exists(),
        expected=(
            0,
            at(
                BEES,
                {
                    "3": (1 / 62 + 1 / 61) / 2,
                    "6": (1 / 61 + 1 / 63) / 2,
                    "4": (1 / 64 + 1 / 62) / 2,
                    "5": (1 / 63 + 1 / 65) / 2,
                    "2": (1 / 68 + 1 / 64) / 2,
                },
            ),
        ),
    ),
    Scenario("a view, as of a moment", "HybridRetriever", {}, {"as_of": "2024-05-01T10:00+02:00", "where": TALES}, TALES),
    Scenario("a view, all of it", "BrowseRetriever", {}, {"k": 30}, scope=F("topic") == "food"),
]
