"""Each of its saves is another one, because it holds the time; `--blind`: it never looks at what it saved."""

import sys
import time

import plain

blind = "--blind" in sys.argv
sys.argv = [argument for argument in sys.argv if argument != "--blind"]
given = plain.arguments()
state = plain.load(given.resume) if given.resume and not blind else plain.begin()
while state["step"] < given.steps:
    plain.train_step(state, given.step_seconds)
    if state["step"] % given.save_steps == 0:
        plain.save({**state, "at": time.time()})
plain.finish(state)
