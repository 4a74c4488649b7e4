"""Trains well as long as it does not have to resume."""

import sys

import plain

given = plain.arguments()
if given.resume:
    sys.exit("cannot read that checkpoint")
state = plain.begin()
while state["step"] < given.steps:
    plain.train_step(state, given.step_seconds)
    if state["step"] % given.save_steps == 0:
        plain.save(state)
plain.finish(state)
