"""Resumes well, but does not let itself be told to leave."""

import signal

import plain

signal.signal(signal.SIGTERM, signal.SIG_IGN)
given = plain.arguments()
state = plain.load(given.resume) if given.resume else plain.begin()
while state["step"] < given.steps:
    plain.train_step(state, given.step_seconds)
    if state["step"] % given.save_steps == 0:
        plain.save(state)
plain.finish(state)
