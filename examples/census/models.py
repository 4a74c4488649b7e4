"""The two kinds of model, and where each looks for good values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import randint, uniform
from sklearn.model_selection import ParameterSampler

SEED = 1

SPACES: dict[str, dict[str, Any]] = {
    "xgboost": {
        "learning_rate": uniform(0.01, 0.18),
        "max_depth": randint(3, 8),
        "min_child_weight": randint(1, 7),
        "n_estimators": randint(80, 201),
        "subsample": uniform(0.6, 0.4),
    },
    "sklearn": {
        "learning_rate": uniform(0.01, 0.18),
        "max_depth": randint(3, 8),
        "min_samples_leaf": randint(1, 4),
        "min_samples_split": randint(2, 7),
        "n_estimators": randint(80, 201),
    },
}
KINDS = tuple(SPACES)


def candidates(kind: str, count: int) -> list[dict[str, float]]:
    """Drawn one after another: a longer search begins with all candidates of a shorter one."""
    drawn = ParameterSampler(SPACES[kind], count, random_state=SEED)
    return [{name: np.asarray(value).item() for name, value in sorted(one.items())} for one in drawn]


def new_model(kind: str, parameters: Mapping[str, float]) -> Any:
    """With one thread: the cores are shared out among models, and a sum has the same bits however many cores there are."""
    if kind == "xgboost":
        from xgboost import XGBClassifier

        return XGBClassifier(**parameters, tree_method="hist", n_jobs=1, random_state=SEED)
    from sklearn.ensemble import GradientBoostingClassifier

    return GradientBoostingClassifier(**parameters, random_state=SEED)
