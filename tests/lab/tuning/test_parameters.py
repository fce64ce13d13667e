"""The numbers of strategies that can be tuned."""

from __future__ import annotations

import pytest

from leafspan import (
    BM25,
    AutoMerging,
    BM25Settings,
    Ensemble,
    Hybrid,
    MultiQuery,
    RelevantSegments,
    SentenceWindow,
    Strategy,
    Vector,
)
from leafspan.lab.tuning._parameters import _GRIDS, parameters_of, with_values
from leafspan.strategies import Browse

OF_THE_INDEX = BM25Settings(k1=1.5, b=0.75)
BASE = Hybrid(scales=(0.2, 0.2, 0.2), soft_matches=0.5)


def names(strategy, *kinds):
    return [each.name for each in parameters_of(strategy, kinds, OF_THE_INDEX)]


def test_the_weights_of_hybrid():
    assert names(BASE, "weights") == [
        "weights",
        "scales.parent",
        "scales.section",
        "scales.document",
        "soft_matches",
        "neighbour_bonus",
        "references",
        "bm25.k1",
        "bm25.b",
    ]


def test_what_has_no_effect_is_not_tuned():
    without_scales = names(Hybrid(scales=(0, 0, 0), soft_matches=0), "weights")
    assert "scales.parent" in without_scales
    assert "soft_matches" not in without_scales
    assert not {"scales.parent", "soft_matches"} & {*names(Hybrid(fusion="rrf"), "weights")}
    assert names(Hybrid(calibrate=False), "thresholds") == []
    assert names(Browse(), "weights", "windows", "thresholds") == []


def test_options_of_a_base_have_its_name_before_them():
    assert names(RelevantSegments(base=BM25()), "weights", "windows") == [
        "run_cost",
        "max_words",
        "base.bm25.k1",
        "base.bm25.b",
    ]
    assert names(SentenceWindow(base=Vector()), "thresholds") == ["base.min_score"]
    assert "base.base.weights" in names(MultiQuery(generate=str, base=SentenceWindow(base=Hybrid())), "weights")


def test_the_weights_of_an_ensemble_and_the_options_of_its_retrievers():
    ensemble = Ensemble(retrievers=[BM25(), Vector(), BM25(bm25=BM25Settings(k1=2.0))], weights=[2, 1, 2])
    found = parameters_of(ensemble, ("weights",), OF_THE_INDEX)
    assert [each.name for each in found] == [
        "weights.2",
        "weights.3",
        "retrievers.1.bm25.k1",
        "retrievers.1.bm25.b",
        "retrievers.3.bm25.k1",
        "retrievers.3.bm25.b",
    ]
    assert [each.read(ensemble) for each in found] == [0.5, 1, 1.5, 0.75, 2.0, 0.4]
    changed = with_values(ensemble, found, {"weights.2": 3.0, "retrievers.3.bm25.k1": 0.3})
    assert changed == Ensemble(retrievers=[BM25(), Vector(), BM25(bm25=BM25Settings(k1=0.3))], weights=[1, 3, 1])
    assert names(Ensemble(retrievers=[Vector(), Vector()], fusion="maximum"), "weights") == []


def test_a_value_is_changed_where_it_is():
    strategy = RelevantSegments(base=BASE, run_cost=17)
    found = parameters_of(strategy, ("weights", "windows"), OF_THE_INDEX)
    changed = with_values(strategy, found, {"base.scales.section": 0.5, "run_cost": 20, "base.weights": 0.6})
    assert changed == RelevantSegments(
        base=Hybrid(scales=(0.2, 0.5, 0.2), soft_matches=0.5, weights=(0.6, 0.4)), run_cost=20
    )
    assert strategy.run_cost == 17


def test_bm25_starts_from_the_settings_of_the_index():
    k1, b = parameters_of(BM25(), ("weights",), OF_THE_INDEX)
    assert (k1.read(BM25()), b.read(BM25())) == (1.5, 0.75)
    assert k1.change(BM25(), 0.9) == BM25(bm25=BM25Settings(k1=0.9, b=0.75))
    assert k1.read(BM25(bm25=BM25Settings(k1=1.2))) == 1.2


def test_the_value_of_the_strategy_is_among_those_that_are_tried():
    (run_cost, max_words) = parameters_of(RelevantSegments(run_cost=17, max_words=150), ("windows",), OF_THE_INDEX)
    assert run_cost.values == (0, 5, 10, 17, 20, 30, 50, 80, 120)
    assert max_words.values == (60, 100, 150, 200, 300, 500, None)
    (weights, *_) = parameters_of(Hybrid(weights=(1, 3)), ("weights",), OF_THE_INDEX)
    assert weights.values[0] == weights.read(Hybrid(weights=(1, 3))) == 1 / 4
    (lowest,) = parameters_of(Vector(min_score=0.35), ("thresholds",), OF_THE_INDEX)
    assert lowest.values == (None, 0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6)


@pytest.mark.parametrize("kind", _GRIDS, ids=lambda kind: kind.__name__)
def test_each_value_of_each_grid_can_be_set_and_read(kind: type[Strategy]):
    strategy = BASE if kind is Hybrid else kind()
    found = parameters_of(strategy, ("weights", "windows", "thresholds"), OF_THE_INDEX)
    assert found
    for parameter in found:
        assert parameter.read(strategy) in parameter.values
        for value in parameter.values:
            assert parameter.read(parameter.change(strategy, value)) == value


def test_auto_merging_has_both_windows_and_a_threshold():
    assert names(AutoMerging(base=Vector()), "windows") == ["fill_gaps", "max_words"]
    assert names(AutoMerging(base=Vector()), "thresholds") == ["threshold", "base.min_score"]
