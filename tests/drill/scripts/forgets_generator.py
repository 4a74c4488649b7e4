"""Resumes its weights and its step, but draws the same chances again from the start."""

import plain

given = plain.arguments()
state = plain.begin()
if given.resume:
    state = {**plain.load(given.resume), "chance": state["chance"]}
while state["step"] < given.steps:
    plain.train_step(state, given.step_seconds)
    if state["step"] % given.save_steps == 0:
        plain.save(state)
plain.finish(state)
