"""From a fused score to a probability."""

from __future__ import annotations

from math import exp


def probability(fused: float, share: float, cosine: float) -> float:
    return 1 / (1 + exp(-(-6.0 + 5.0 * fused)))


def is_calibrated_for(embedder: str | None) -> bool:
    return embedder is not None and embedder.startswith("WordLlama")
