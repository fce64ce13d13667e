"""Makes a finding's scenario small: fewer operations, documents and events, as long as it still has a finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeVar

from tests.simulation.running import Report, run_scenario
from tests.simulation.scenario import Operation, ProcessPlan, Scenario

T = TypeVar("T")
_MOST_RUNS = 400


def shrunk(report: Report) -> Report:
    """The report of a smaller scenario in which something is found, too.

    Args:
        report: A report with problems.
    """
    best = report
    scenario = replace(report.scenario, events=dict(report.events))
    runs = 0
    smaller = True
    while smaller and runs < _MOST_RUNS:
        smaller = False
        for candidate in _smaller(scenario):
            runs += 1
            found = run_scenario(candidate)
            if found.problems:
                best, scenario, smaller = found, replace(candidate, events=dict(found.events)), True
                break
            if runs >= _MOST_RUNS:
                break
    return run_scenario(replace(scenario), verbose=True) if best.problems else best


def described(report: Report) -> str:
    """A report as text: what was done, what happened, and what was found."""
    scenario = report.scenario
    lines = [
        f"    a {scenario.store}, batch {scenario.batch}, files after {scenario.threshold}, recovery: {scenario.recovery}"
    ]
    lines += [f"    at first: {each}" for each in scenario.first]
    for plan in scenario.processes:
        kind = "in an event loop" if plan.native else "blocking"
        lines += [f"    {plan.name} ({kind}): {' | '.join(map(str, thread))}" for thread in plan.threads]
    lines += [f"    {line}" for line in report.log]
    lines += [f"    FOUND {problem}" for problem in report.problems]
    return "\n".join(lines)


def _smaller(scenario: Scenario) -> Iterator[Scenario]:
    """Scenarios with something left out, large parts first."""
    for place in range(len(scenario.processes)):
        yield replace(scenario, processes=_without(scenario.processes, place))
    for place, plan in enumerate(scenario.processes):
        for smaller in _smaller_plans(plan):
            processes = (*scenario.processes[:place], smaller, *scenario.processes[place + 1 :])
            yield replace(scenario, processes=processes)
    for place in range(len(scenario.first)):
        yield replace(scenario, first=_without(scenario.first, place))
    for place, operation in enumerate(scenario.first):
        for fewer in _with_fewer_documents(operation):
            yield replace(scenario, first=(*scenario.first[:place], fewer, *scenario.first[place + 1 :]))
    events = sorted((scenario.events or {}).items())
    size = len(events)
    while size:
        for start in range(0, len(events), size):
            yield replace(scenario, events=dict(events[:start] + events[start + size :]))
        size //= 2


def _smaller_plans(plan: ProcessPlan) -> Iterator[ProcessPlan]:
    for number, thread in enumerate(plan.threads):
        if len(plan.threads) > 1:
            yield replace(plan, threads=_without(plan.threads, number))
        for place, operation in enumerate(thread):
            threads = [_without(thread, place)]
            threads += [(*thread[:place], fewer, *thread[place + 1 :]) for fewer in _with_fewer_documents(operation)]
            for smaller in threads:
                yield replace(plan, threads=(*plan.threads[:number], smaller, *plan.threads[number + 1 :]))
    if plan.native:
        yield replace(plan, native=False)


def _with_fewer_documents(operation: Operation) -> Iterator[Operation]:
    for place in range(len(operation.documents)):
        if len(operation.documents) > 1 or operation.kind == "sync":
            yield replace(operation, documents=_without(operation.documents, place))
    for place in range(len(operation.ids)):
        if len(operation.ids) > 1:
            yield replace(operation, ids=_without(operation.ids, place))


def _without(items: tuple[T, ...], place: int) -> tuple[T, ...]:
    return (*items[:place], *items[place + 1 :])
