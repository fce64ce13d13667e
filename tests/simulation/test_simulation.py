"""Nothing is lost, doubled or torn by what happens in between; and the simulator would notice."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date

import pytest

from tests.profiles import quick
from tests.simulation.mutants import MOST_SEEDS, MUTANTS, Mutant, planted, seed_that_finds
from tests.simulation.running import Report, run_scenario
from tests.simulation.scenario import STORES, scenario_of
from tests.simulation.shrinking import described, shrunk
from tests.simulation.soak import soak

SEEDS, TOGETHER = 20, 2  # of each store, and of one test
SOON_FOUND = (
    "what a killed writer left is not finished",
    "changes are not counted",
    "the token is not compared",
    "the manifest does not note the leaves that will come",
    "the writer's lock is released early",
    "a sync deletes what it does not cover",
)


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("first", range(0, SEEDS, TOGETHER))
def test_nothing_is_found(store: str, first: int) -> None:
    for seed in range(first, first + TOGETHER):
        report = run_scenario(scenario_of(seed, store))
        assert not report.problems, described(shrunk(report))


@pytest.mark.slow
def test_nothing_is_found_with_seeds_that_were_never_run() -> None:
    for _ in range(200):
        seed = random.SystemRandom().randrange(10**9)
        report = run_scenario(scenario_of(seed))
        assert not report.problems, f"python -m tests.simulation --seed {seed}\n{described(shrunk(report))}"


def test_a_run_depends_on_its_seed_alone() -> None:
    for seed in (3, 8):
        first, second = (run_scenario(scenario_of(seed), verbose=True) for _ in range(2))
        assert [line.split(":segment")[0] for line in first.log] == [line.split(":segment")[0] for line in second.log]
        assert first.events == second.events
        assert first.counts == second.counts


def test_kills_failures_and_lost_answers_do_happen() -> None:
    missing = {"kills", "failures", "lost answers", "interrupts", "stalls", "switches", "files written"}
    for seed in (8, 20, 23, *range(200)):  # the first three do
        missing -= (+run_scenario(scenario_of(seed)).counts).keys()
        if not missing:
            return
    raise AssertionError(f"in 200 runs there were no {missing}")


def test_every_fault_can_be_planted() -> None:
    for mutant in MUTANTS:
        with planted(mutant):
            pass


@pytest.mark.parametrize("name", quick(3, SOON_FOUND))
def test_a_planted_fault_is_found(name: str) -> None:
    (mutant,) = (each for each in MUTANTS if each.name == name)
    _check_found(mutant, 200)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS[date.today().toordinal() % 10 :: 10], ids=lambda mutant: mutant.name)
def test_some_planted_faults_are_found_each_day_others(mutant: Mutant) -> None:
    """All of them take a quarter of an hour: python -m tests.simulation.mutants."""
    _check_found(mutant, MOST_SEEDS)


def _check_found(mutant: Mutant, seeds: int) -> None:
    seed, problem = seed_that_finds(mutant, seeds)
    assert seed is not None
    assert problem


def test_a_finding_is_made_small_and_says_what_happened() -> None:
    mutant = next(each for each in MUTANTS if each.name == "what a killed writer left is not finished")
    with planted(mutant):
        small = shrunk(first_finding())
    operations = [each for plan in small.scenario.processes for thread in plan.threads for each in thread]
    assert small.problems
    assert len(operations) <= 2
    assert len(small.events) <= 3
    assert "FOUND" in described(small)
    assert not run_scenario(replace(small.scenario)).problems  # without the fault


def first_finding() -> Report:
    """The report of the first seed from 52 on that finds something, with the fault that is planted right now.

    The work to make a finding small, and what is left of it, depend on its seed: of eight seeds, six leave one or two operations.
    """
    for seed in range(52, 150):
        report = run_scenario(scenario_of(seed))
        if report.problems:
            return report
    raise AssertionError("nothing found")


@pytest.mark.slow
def test_half_a_minute_of_the_soak_finds_nothing() -> None:
    stages = soak(0.5, random.SystemRandom().randrange(10**6))
    assert [(stage.name, finding) for stage in stages for finding in stage.findings] == []
