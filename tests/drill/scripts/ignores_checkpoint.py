"""Saves well and never looks at what it saved: every attempt begins at zero, and its result is right all the same."""

import plain

given = plain.arguments()
state = plain.begin()
while state["step"] < given.steps:
    plain.train_step(state, given.step_seconds)
    if state["step"] % given.save_steps == 0:
        plain.save(state)
plain.finish(state)
