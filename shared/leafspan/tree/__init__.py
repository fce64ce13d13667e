"""Trees of summaries over the leaves (RAPTOR)."""
