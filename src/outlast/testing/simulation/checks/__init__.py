"""The promises, checked by code that reads only the history of the store and the log of engine and trainers.

Nothing here imports the code under test: records are plain JSON, the rules are written down a second time.
"""

from __future__ import annotations

from outlast.testing.simulation.checks.ends import Ends
from outlast.testing.simulation.checks.heads import Heads
from outlast.testing.simulation.checks.kept import Kept
from outlast.testing.simulation.checks.machines import Machines
from outlast.testing.simulation.checks.names import Names
from outlast.testing.simulation.checks.owners import Owners
from outlast.testing.simulation.checks.results import Results
from outlast.testing.simulation.checks.trainers import TrainersObey

ALL = (Heads, Owners, Kept, Names, Ends, Machines, TrainersObey, Results)
