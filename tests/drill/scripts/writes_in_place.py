"""Resumes well, but rewrites its only checkpoint in place, slowly; and not before the last one is kept."""

import json
import time

import plain

given = plain.arguments()
state = plain.load(given.resume) if given.resume else plain.begin()
while state["step"] < given.steps:
    plain.train_step(state, given.step_seconds)
    if state["step"] % given.save_steps == 0:
        plain.wait_until_kept(given, state["step"] // given.save_steps - 1)
        text = json.dumps(state)
        with open("checkpoints/last.json", "w") as file:
            file.write(text[: len(text) // 2])
            file.flush()
            time.sleep(0.5)
            file.write(text[len(text) // 2 :])
plain.finish(state)
