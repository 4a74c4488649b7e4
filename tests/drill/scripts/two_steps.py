"""Over before it can be killed."""

import outlast

state = outlast.State(total=0)
for step in outlast.steps(2, state):
    state.total += step
