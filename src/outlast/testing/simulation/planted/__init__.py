"""Bugs that were planted on purpose: the simulation must catch each of them, or it proves nothing.

Every entry breaks one rule of the protocol in our own source, by replacing a function for the length of a run. `rule` says what
is broken, `source` where the rule comes from: the issue's list, a rule that failed in the protocol's model, or a bug that the
simulation itself had found in this code.
"""

from __future__ import annotations

from outlast.testing.simulation.planted import agents, checkpoints, directories, fences, heads, launches, logs
from outlast.testing.simulation.planted.plant import Planted

ALL: tuple[Planted, ...] = (
    *heads.ALL,
    *fences.ALL,
    *checkpoints.ALL,
    *launches.ALL,
    *agents.ALL,
    *logs.ALL,
    *directories.ALL,
)
