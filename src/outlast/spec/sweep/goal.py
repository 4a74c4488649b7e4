"""Whether less or more of a metric is better: as was said, else by its name."""

from __future__ import annotations

LESS_IS_BETTER = ("loss", "error", "perplexity", "mse", "mae", "rmse")


def falls(metric: str, goal: str = "") -> bool:
    """True: less is better. `goal`: `min`, `max`, or empty."""
    return goal == "min" if goal else any(word in metric.lower() for word in LESS_IS_BETTER)
