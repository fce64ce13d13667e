"""The command: ``python -m tests.simulation --seeds 1000``."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence

from tests.simulation.running import Report, run_scenario
from tests.simulation.scenario import STORES, scenario_of
from tests.simulation.shrinking import described, shrunk

_MOST_FINDINGS = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Run scenarios, print what was done and found, and return 1 if anything was."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1_000, help="number of seeds to run (default: 1000)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="first of these seeds (default: 0)")
    parser.add_argument("--seed", type=int, help="run this seed only")
    parser.add_argument("--store", choices=STORES, help="store (default: either, by the seed)")
    parser.add_argument("--verbose", action="store_true", help="print all that happens (for --seed)")
    parser.add_argument("--no-shrink", action="store_true", help="do not make findings small")
    told = parser.parse_args(arguments)
    seeds = range(told.first, told.first + told.seeds) if told.seed is None else [told.seed]
    began = time.monotonic()
    counts: Counter[str] = Counter()
    findings: list[Report] = []
    for seed in seeds:
        report = run_scenario(scenario_of(seed, told.store), verbose=told.verbose)
        counts += report.counts
        if told.verbose:
            print(*report.log, sep="\n")
        if report.problems:
            findings.append(report)
            print(f"\nseed {seed}: {report.problems[0]}", flush=True)
            if not told.no_shrink:
                print(described(shrunk(report)))
        if len(findings) >= _MOST_FINDINGS:
            print(f"\nstopped after {_MOST_FINDINGS} findings")
            break
    print(f"\n{len(seeds)} seeds in {time.monotonic() - began:.0f} seconds")
    for what, count in sorted(counts.items()):
        print(f"{count:10,} {what}")
    print(f"{len(findings):10,} findings", *(f"(seed {each.scenario.seed})" for each in findings))
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
